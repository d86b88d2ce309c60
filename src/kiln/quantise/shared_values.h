// Which values of a graph are quantised, and which of them share one annotation.
//
// Values share where an operator only moves or picks elements: then codes pass through as they are. A value whose only
// user is a Relu or Clip shares with that user's result and takes its range: what the clamp throws away needs no code.
//
//   conv ─▶ relu ─▶ max_pool ─▶ reshape      one annotation for all four results, from the range of relu's
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

struct SharedValues {
  std::vector<Value*> members;  // in graph order
  TensorRecipe recipe;          // symmetric where an operator asks for that
  Histogram histogram;          // of the members that introduce elements, merged
  // Those of their channels, one after the other; empty where they were not counted.
  std::vector<Histogram> channels;
};

// Divides the values to be quantised into groups; values that stay fp32 are in none:
//   constants, and values that are not fp32
//   results of nodes that a recipe keeps float
//   graph outputs (unless the recipe quantises them), and values that reach only such outputs by moving data
// Operands of a matrix product or convolution whose other operand is not constant are made symmetric: no offline
// correction for a zero point exists there. The operands of a Concat share with its result when their ranges are
// within a factor of two of each other.
//   errors  a value that the calibration data lacks
StatusOr<std::vector<SharedValues>> DivideValues(const Graph& graph, const Recipe& recipe,
                                                 const SettingsOfNodes& settings,
                                                 const CalibrationData& data);

}  // namespace kiln

#endif  // KILN_QUANTISE_SHARED_VALUES_H_
