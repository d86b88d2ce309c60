// Convolutions and matrix products of the reference executor on the kernels of fp32_gemm.h, on fp32 alone.
#ifndef KILN_EXECUTE_REFERENCE_FAST_H_
#define KILN_EXECUTE_REFERENCE_FAST_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kiln/execute/fp32_kernels.h"
#include "kiln/ir/graph.h"
#include "kiln/support/status.h"

namespace kiln::reference {

// Uninitialised memory on a 64-byte boundary. Error: there is not so much.
StatusOr<std::shared_ptr<void>> AllocateBuffer(size_t bytes);

// What is applied to a result before it is stored. The bits are those of separate nodes.
struct PostOperations {
  bool adds_residual = false;
  internal::Fp32Activation activation = internal::Fp32Activation::kNone;
  float low = 0, high = 0;  // of the activation (Fp32Finish)

  bool empty() const { return !adds_residual && activation == internal::Fp32Activation::kNone; }
};

// The node as a fused activation, where it is one and its parameters are constants.
std::optional<PostOperations> FindActivation(const Node& node);

// Constants as panels of columns, shared by the plans of one executor.
class WeightCache {
 public:
  // The panels of a constant; `pack` makes them when they are asked for first. Null where memory does not suffice for
  // them: then they are packed for each run. A constant is packed in more than one
  // way only if nodes use it differently: `use` tells these apart.
  std::shared_ptr<const float> Get(const Value& constant, const std::vector<int64_t>& use,
                                   size_t elements, const std::function<void(float* to)>& pack);

 private:
  std::unordered_map<const Value*,
                     std::vector<std::pair<std::vector<int64_t>, std::shared_ptr<const float>>>>
      entries_;
};

// A node that is ready to run.
class FastNode {
 public:
  virtual ~FastNode() = default;
  // `operands` are the node's, row-major, null for absent. `residual` is null, or as large as `result`, which it may
  // be. Uses several threads where `parallel` is set; that does not change the bits. Error: out of memory.
  virtual Status Run(std::span<const float* const> operands, const float* residual, float* result,
                     bool parallel) const = 0;
};

// The types that the operands and the first result of a node have in one run; shapes are known.
struct NodeShapes {
  std::vector<std::optional<TensorType>> operands;  // nullopt: absent
  TensorType result;
};

// Whether Conv, Gemm or MatMul of these types, shapes and attributes can be a FastNode.
bool IsFast(const Node& node, const NodeShapes& shapes);
// Requires IsFast. Constant operands are read through the node, and must outlive the result.
std::unique_ptr<FastNode> MakeFast(const Node& node, const NodeShapes& shapes,
                                   const PostOperations& post, WeightCache& weights);

}  // namespace kiln::reference

#endif  // KILN_EXECUTE_REFERENCE_FAST_H_
