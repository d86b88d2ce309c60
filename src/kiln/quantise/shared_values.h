// Decides which values of a graph are quantised and which of them share one annotation.
//
// Values share if an operator only moves or picks elements: their codes then pass through
// unchanged. A value with a Relu or Clip as its only user shares with the result of that user and
// takes the result's range, because elements that the clamp cuts off need no codes.
//
//   conv ─▶ relu ─▶ max_pool ─▶ reshape      one annotation for all four results, from relu's range
#ifndef KILN_QUANTISE_SHARED_VALUES_H_
#define KILN_QUANTISE_SHARED_VALUES_H_

#include <unordered_map>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/quantise/calibration_data.h"
#include "kiln/quantise/layer_settings.h"
#include "kiln/quantise/recipe.h"
#include "kiln/support/status.h"

namespace kiln {

// A set of values that share one annotation.
struct SharedValues {
  std::vector<Value*> members;  // in graph order
  TensorRecipe recipe;          // made symmetric if an operator requires it
  // The members that introduce elements, whose histograms decide on the range.
  std::vector<const Value*> introduce;
};

// Divides the values to be quantised into sets that share an annotation. These values stay fp32 and
// are in no set:
//   - constants, and values that are not fp32
//   - results of nodes that a recipe keeps float
//   - values that are computed from integers alone and of which only sines and cosines are made:
//     the angles of a rotary embedding, which may be many turns
//   - graph outputs (unless the recipe quantises them), and values from which only such outputs are
//     made by moving data
// Operands of a matrix product or convolution with no constant operand become symmetric, because a
// zero point could not be corrected offline. The operands of a Concat share with its result if
// their ranges are within a factor of two of each other.
//   errors  a value without calibration data
StatusOr<std::vector<SharedValues>> DivideValues(const Graph& graph, const Recipe& recipe,
                                                 const SettingsOfNodes& settings,
                                                 const CalibrationData& data);

}  // namespace kiln

#endif  // KILN_QUANTISE_SHARED_VALUES_H_
