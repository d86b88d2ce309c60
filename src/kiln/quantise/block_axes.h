// Decides which activations are held in blocks (microscaling), and along which axis.
//
// Blocks pay off where a sum runs over them: then one product of two scales serves a whole block.
// The recipe's block type is therefore used for the values that layers (multiply-accumulate nodes)
// read, along the axis that the layers sum over (ReductionAxis), if all of these conditions hold:
//   - All layers that read the value, directly or after nodes that only move its elements, sum over
//     the same lines of elements.
//   - Each of these layers can be blocked. These cannot: depthwise and grouped convolutions whose
//     groups do not hold whole blocks; transposed convolutions; sums shorter than a quarter of a
//     block, such as a sum over the colours of an image; products of two activations where one of
//     the sums does not run along the last axis, because hardware writes scales along rows.
//   - The other operand of each of these layers is blocked as well, if it is an activation.
// All other values take the element format with one scale per tensor (ElementType): mxint8 becomes
// int8, mxfp8_e4m3 becomes e4m3.
// int8, mxfp8_e4m3 e4m3.
#ifndef KILN_QUANTISE_BLOCK_AXES_H_
#define KILN_QUANTISE_BLOCK_AXES_H_

#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/numerics/format.h"

namespace kiln {

// Returns the type of values that cannot be blocked: the element format with fp32 scales under
// `scheme` (per tensor or per channel). A fixed-point element format becomes the integer format of
// its codes. Types without blocks are returned unchanged.
QuantType ElementQuantType(const QuantType& type, Scheme scheme);

// Returns whether the sums of the layer can run over blocks of `block_size` elements, judging by
// its shapes alone.
bool CanBeBlocked(const Node& layer, int block_size);

// Values that share one annotation (shared_values.h) and a recipe that asks for blocks of
// `block_size` elements.
struct BlockCandidate {
  std::vector<Value*> members;
  int block_size = 0;
};

// Layers that a recipe keeps in fp32. They accept their inputs in any representation.
using FloatLayers = std::unordered_set<const Node*>;

// The blocked axis of every activation of a graph that is blocked.
class BlockPlan {
 public:
  BlockPlan() = default;
  // Computes the plan for the candidates; values outside the candidates are never blocked.
  static BlockPlan Make(const Graph& graph, std::span<const BlockCandidate> candidates,
                        const FloatLayers& float_layers = {});

  // Returns the blocked axis of an activation; nullopt if it is not blocked.
  std::optional<int> AxisOf(const Value* value) const;
  // Returns whether the layer multiplies at least one activation and all of them are blocked.
  bool HasBlockedInputs(const Node* layer) const;

 private:
  std::unordered_map<const Value*, int> axes_;
};

}  // namespace kiln

#endif  // KILN_QUANTISE_BLOCK_AXES_H_
