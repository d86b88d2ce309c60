// Runs Conv, Gemm and MatMul of the reference executor on the kernels of fp32_gemm.h, for fp32
// only. reference_plan.cc decides which nodes become FastNodes and which activations are fused into
// them.
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

// Allocates memory as AllocateUninitialised does (support/buffer.h). Error: ResourceExhausted if it
// is not available.
StatusOr<std::shared_ptr<void>> AllocateBuffer(size_t bytes);

// Operations applied to a result before it is stored. The bits are those of separate nodes.
struct PostOperations {
  bool adds_residual = false;
  internal::Fp32Activation activation = internal::Fp32Activation::kNone;
  float low = 0, high = 0;  // of the activation (Fp32Finish)

  // Returns true if results are stored as they are.
  bool empty() const { return !adds_residual && activation == internal::Fp32Activation::kNone; }
};

// Returns the node as a fused activation, or nullopt if it is not a supported activation or its
// parameters are not constants.
std::optional<PostOperations> FindActivation(const Node& node);

// Packed constants (panels of columns), shared by the plans of one executor. Not thread-safe; the
// executor's mutex guards it.
// Panels are shared because a graph run with several input shapes has several plans.
class WeightCache {
 public:
  // Returns the panels of a constant; calls `pack` to create them on first use. Returns null if
  // memory does not suffice, and the caller then packs in each run. `use` distinguishes the
  // packings of a constant that several nodes use in different ways.
  std::shared_ptr<const float> Get(const Value& constant, const std::vector<int64_t>& use,
                                   size_t elements, const std::function<void(float* to)>& pack);

 private:
  std::unordered_map<const Value*,
                     std::vector<std::pair<std::vector<int64_t>, std::shared_ptr<const float>>>>
      entries_;
};

// A node prepared for certain operand shapes.
class FastNode {
 public:
  virtual ~FastNode() = default;
  // Runs the node. `operands` are the node's, row-major, null if absent. `residual` is null or has
  // the size of `result`; both may be the same buffer. Uses several threads if `parallel` is set,
  // which does not change the bits. Error: out of memory.
  virtual Status Run(std::span<const float* const> operands, const float* residual, float* result,
                     bool parallel) const = 0;
};

// The types of a node's operands and first result in one run; all shapes are known.
struct NodeShapes {
  std::vector<std::optional<TensorType>> operands;  // nullopt: absent
  TensorType result;
};

// Returns true if a Conv, Gemm or MatMul with these types, shapes and attributes can be a FastNode.
bool IsFast(const Node& node, const NodeShapes& shapes);
// Creates the FastNode of a node for which IsFast holds. Constant operands are read through the
// node and must outlive the result.
std::unique_ptr<FastNode> MakeFast(const Node& node, const NodeShapes& shapes,
                                   const PostOperations& post, WeightCache& weights);

}  // namespace kiln::reference

#endif  // KILN_EXECUTE_REFERENCE_FAST_H_
