// Reads the values of a graph's inputs as JSON: for each input a list of threads, each a number for
// all lanes or a list with a number for each lane.
//   {"x": [3, 4.5, [1, 2, 3, 4]], "y": [0, 0, 0]}
#ifndef KILN_TARGETS_CGRA_GRAPH_INPUTS_FILE_H_
#define KILN_TARGETS_CGRA_GRAPH_INPUTS_FILE_H_

#include <filesystem>
#include <string_view>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/graph/evaluate.h"
#include "kiln/targets/cgra/graph/graph.h"

namespace kiln::cgra {

// By thread and by input (InputsOf), a vector of lanes.
using ThreadInputs = std::vector<std::vector<Vector>>;

// Returns, by node, whether its value is a binary32 number: a binary32 operator computes it or has
// it as an operand.
std::vector<bool> FloatNodes(const ComputationGraph& graph);

// Parses values for `threads` threads, or for as many as the lists have if `threads` is 0; a graph
// without inputs then gets none. Numbers of inputs that are binary32 (FloatNodes) are rounded to
// binary32, ties to even; those of the other inputs are integers of 32 bits, from -2^31 to 2^32 - 1.
// Errors name the key: no JSON object, an input that is missing or that the graph does not have, no
// list, fewer values than threads or another number than the first input has, more than
// budgets::kComputationThreads, a number that is out of range or no integer, a list of another length than `lanes`.
StatusOr<ThreadInputs> ParseInputs(std::string_view text, std::string_view source,
                                   const ComputationGraph& graph, int lanes, int threads);
StatusOr<ThreadInputs> ReadInputs(const std::filesystem::path& path, const ComputationGraph& graph,
                                  int lanes, int threads);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_GRAPH_INPUTS_FILE_H_
