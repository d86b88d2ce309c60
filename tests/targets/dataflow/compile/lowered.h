// Graphs in text form, lowered: the layers that they become, as text and as numbers.
#ifndef KILN_TESTS_TARGETS_DATAFLOW_COMPILE_LOWERED_H_
#define KILN_TESTS_TARGETS_DATAFLOW_COMPILE_LOWERED_H_

#include <string>
#include <string_view>
#include <vector>

#include "kiln/targets/dataflow/compile/assemble.h"
#include "kiln/targets/dataflow/compile/network.h"
#include "kiln/targets/dataflow/config/config.h"

namespace kiln::dataflow {

// Parses `graph "t" { BODY }` and returns the graph. In the body, " Q" is replaced by an annotation
// with signed codes of 8 bits, scale 1 and zero point 0.
Graph GraphOf(std::string body);

// Lowers a graph text of GraphOf. Nodes without a layer are errors if `host` is false.
StatusOr<Lowered> LowerText(const std::string& body, bool host = true, const Config& config = {});

// Returns a line for each layer (kind with its numbers, shapes and codes of its maps), then a line
// for each host kernel with its reason. If lowering fails, returns the text of the error.
std::string LayersOf(const std::string& body, const Config& config = {});

// Returns folds of one lane and one element for all layers.
std::vector<LayerFold> UnitFolds(const Lowered& network);

// Runs a network without host nodes at the functional level. `input` contains whole codes, which
// are the values of the input (scale 1, zero point 0 or as annotated). Returns the values of the
// first output. Both are in the row-major order of their tensors.
std::vector<double> RunLowered(const Lowered& network, const std::vector<double>& input);

}  // namespace kiln::dataflow

#endif  // KILN_TESTS_TARGETS_DATAFLOW_COMPILE_LOWERED_H_
