// Which activations are held in blocks (microscaling), and along which axis.
//
// Blocks pay off where a sum runs over them: then one product of two scales serves a whole block. So the recipe's type
// with blocks goes to the values that layers (multiply-accumulate nodes) read, along the axis that they sum over
// (ReductionAxis), if all of this holds:
//   - every layer that reads the value, or what moving its elements makes of it, sums over the same lines of elements
//   - none of these layers is one that cannot be blocked: depthwise and grouped convolutions whose groups do not hold
//     whole blocks; transposed convolutions; sums shorter than a quarter of a block, as over the colours of an image;
//     products of two activations where one of the sums does not run along the last axis, since hardware writes scales
//     along rows
//   - the other operand of these layers is blocked as well, where it is an activation
// All other values take the element format with one scale per tensor (ElementType): mxint8 becomes int8, mxfp8_e4m3
// e4m3.
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

// The type for what cannot be blocked: the element format, fixed point as the integers of its codes, with fp32 scales
// under `scheme` (per tensor or per channel). Types without blocks come back as they are.
QuantType ElementType(const QuantType& type, Scheme scheme);

// Whether sums of the layer can run over blocks of that size, by its shapes alone.
bool CanBeBlocked(const Node& layer, int block_size);

// Values that share one annotation (shared_values.h), with the block size that their recipe asks for.
struct BlockCandidate {
  std::vector<Value*> members;
  int block_size = 0;
};

// Layers that a recipe keeps float: they read values, whatever these are held in.
using FloatLayers = std::unordered_set<const Node*>;

class BlockPlan {
 public:
  BlockPlan() = default;
  static BlockPlan Make(const Graph& graph, std::span<const BlockCandidate> candidates,
                        const FloatLayers& float_layers = {});

  // The blocked axis of an activation; nullopt when it has no blocks.
  std::optional<int> AxisOf(const Value* value) const;
  // Whether every activation that the layer multiplies is blocked.
  bool HasBlockedInputs(const Node* layer) const;

 private:
  std::unordered_map<const Value*, int> axes_;
};

}  // namespace kiln

#endif  // KILN_QUANTISE_BLOCK_AXES_H_
