// Constants that multiply-accumulate operators hold as codes.
#ifndef KILN_QUANTISE_WEIGHTS_H_
#define KILN_QUANTISE_WEIGHTS_H_

#include <optional>
#include <string_view>

#include "kiln/ir/graph.h"
#include "kiln/quantise/recipe.h"
#include "kiln/support/status.h"

namespace kiln {

struct WeightOperand {
  int operand = 1;
  int axis = -1;       // of the output channels; -1: scales per tensor only
  int reduction = -1;  // the axis that sums run along; -1: unknown
  friend bool operator==(const WeightOperand&, const WeightOperand&) = default;
};

// The constant fp32 operand that a node multiplies by, or nullopt.
//   Conv            weights [out_channels, in_channels/groups, ...]: axis 0
//   ConvTranspose   weights [in_channels, out_channels/groups, ...]: axis 1 (groups share the scales)
//   Gemm            b [k, n]: axis 1; with transB [n, k]: axis 0. Otherwise a constant a, per tensor.
//   MatMul          b [..., k, n]: its last axis (with transpose_b the one before). Otherwise a constant a, per tensor.
std::optional<WeightOperand> WeightsOf(const Node& node);

// The annotation for weights.
//   blocked  whether blocks along operand.reduction can be had, where the recipe asks for blocks; else the element
//            format with a scale per channel (ElementType in block_axes.h). The scales of blocks are left to the rule.
//   source  file name, for errors
//   errors  a NaN or infinity (names the value and the first index)
StatusOr<Quantisation> QuantiseWeights(const Value& weights, const WeightOperand& operand,
                                       const TensorRecipe& recipe, bool blocked,
                                       std::string_view source);

}  // namespace kiln

#endif  // KILN_QUANTISE_WEIGHTS_H_
