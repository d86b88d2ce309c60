// oneDNN as the reference executor uses it: threads, buffers and the primitives for single nodes. Programs on fp32
// only.
#ifndef KILN_EXECUTE_REFERENCE_ONEDNN_H_
#define KILN_EXECUTE_REFERENCE_ONEDNN_H_

#include <memory>
#include <optional>
#include <vector>

#include "dnnl.hpp"
#include "kiln/ir/graph.h"

namespace kiln::reference {

const dnnl::engine& CpuEngine();

// Sets how many threads OpenMP, and so oneDNN, gives this thread's work while the object lives. Primitives remember the
// number they were created under: create and execute them under the same one.
class OpenMpThreads {
 public:
  explicit OpenMpThreads(int threads);
  ~OpenMpThreads();
  OpenMpThreads(const OpenMpThreads&) = delete;
  OpenMpThreads& operator=(const OpenMpThreads&) = delete;

 private:
  int before_;
};

// Uninitialised memory on a 64-byte boundary.
std::shared_ptr<void> AllocateBuffer(size_t bytes);

// Row-major fp32 of the given dimensions.
dnnl::memory::desc PlainDesc(const std::vector<int64_t>& dims);
// The same dimensions in whatever order of memory the primitive likes best.
dnnl::memory::desc AnyDesc(const std::vector<int64_t>& dims);

// What is applied to a result before it is stored.
struct PostOperations {
  bool adds_residual = false;  // result += what stands in the destination
  std::optional<dnnl::algorithm> activation;
  float alpha = 0, beta = 0;  // of the activation

  bool empty() const { return !adds_residual && !activation.has_value(); }
};

// The activation as an oneDNN element-wise algorithm, where it is one and its parameters are constants.
std::optional<PostOperations> FindActivation(const Node& node);

// One operand or result of a primitive: which argument, the layout in which the graph's tensor stands in memory, and
// the layout that the primitive wants.
struct Argument {
  int index = 0;
  int operand = 0;  // of the node
  dnnl::memory::desc plain, wanted;
};

// A primitive ready to run, with its arguments. Results are always argument DNNL_ARG_DST.
struct OneDnnNode {
  dnnl::primitive primitive;
  std::vector<Argument> arguments;
  dnnl::memory::desc plain_result, result;
  size_t scratchpad_bytes = 0;
};

// Layouts in which operands stand already, by operand; empty descriptors where they stand row-major.
using KnownLayouts = std::vector<dnnl::memory::desc>;

// The types that the operands and the first result of a node have in one run; shapes are known.
struct NodeShapes {
  std::vector<std::optional<TensorType>> operands;  // nullopt: absent
  TensorType result;
};
// The functions below give nullopt where the node's types, shapes or attributes are not for oneDNN.
//
// Heavy operators: Conv, Gemm, MatMul, MaxPool, AveragePool, GlobalAveragePool, GlobalMaxPool.
std::optional<OneDnnNode> MakeHeavy(const Node& node, const NodeShapes& shapes, const KnownLayouts& layouts,
                                    const PostOperations& post);
// Cheap operators that are worth oneDNN only because an operand stands in a layout of its own: Relu and other
// activations, Add, Mul, BatchNormalization.
std::optional<OneDnnNode> MakeInLayout(const Node& node, const NodeShapes& shapes, const KnownLayouts& layouts);

}  // namespace kiln::reference

#endif  // KILN_EXECUTE_REFERENCE_ONEDNN_H_
