// The weights of multiply-accumulate operators: which constants they are, and their annotation.
#ifndef KILN_QUANTISE_WEIGHTS_H_
#define KILN_QUANTISE_WEIGHTS_H_

#include <optional>
#include <string_view>

#include "kiln/ir/graph.h"
#include "kiln/quantise/recipe.h"
#include "kiln/support/status.h"

namespace kiln {

// A weight operand of a node, with its axes.
struct WeightOperand {
  int operand = 1;
  int axis = -1;       // axis of the output channels; -1: scales per tensor only
  int reduction = -1;  // axis that sums run along; -1: unknown
  friend bool operator==(const WeightOperand&, const WeightOperand&) = default;
};

// Returns the constant fp32 operand that a node multiplies by; nullopt if it has none.
//   Conv            weights [out_channels, in_channels/groups, ...]: axis 0
//   ConvTranspose   weights [in_channels, out_channels/groups, ...]: axis 1 (convolution groups
//                   share the scales)
//   Gemm            b [k, n]: axis 1; with transB [n, k]: axis 0. Without a constant b, a constant
//                   a, per tensor.
//   MatMul          b [..., k, n]: the last axis (transpose_b: the second to last). Without a
//                   constant b, a constant a, per tensor.
std::optional<WeightOperand> WeightsOf(const Node& node);

// Returns the annotation of a weight constant.
//   blocked  whether blocks along operand.reduction are possible, if the recipe asks for blocks.
//            Otherwise the element format with a scale per channel is used (ElementType in
//            block_axes.h). The block format's rule determines the scales of blocks.
//   source   file name, for errors
//   errors   a NaN or infinity (names the value and the first index)
StatusOr<Quantisation> QuantiseWeights(const Value& weights, const WeightOperand& operand,
                                       const TensorRecipe& recipe, bool blocked,
                                       std::string_view source);

}  // namespace kiln

#endif  // KILN_QUANTISE_WEIGHTS_H_
