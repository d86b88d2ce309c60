// Reads the values of a graph's inputs as JSON: for each input a list of threads, each a number for
// all lanes or a list with a number for each lane.
//   {"x": [3, 4.5, [1, 2, 3, 4]], "y": [0, 0, 0]}
#ifndef KILN_TARGETS_CGRA_GRAPH_INPUTS_FILE_H_
#define KILN_TARGETS_CGRA_GRAPH_INPUTS_FILE_H_

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/graph/evaluate.h"
#include "kiln/targets/cgra/graph/graph.h"

namespace kiln::cgra {

// By thread and by input (InputsOf), a vector of lanes.
using ThreadInputs = std::vector<std::vector<Vector>>;

// What numbers a value is made of.
enum class NumberKind : uint8_t { kEither, kInteger, kBinary32 };

// Returns, by node, what its value is made of. It is binary32 where a binary32 operator computes it
// or has it as an operand, also through operators that hand numbers on: copies, choices, minima,
// maxima, operations on bits, outputs. Else it is integers where sums, products or shifts do.
// Graphs that only hand numbers on leave it open.
std::vector<NumberKind> NumberKinds(const ComputationGraph& graph);

// Parses values for `threads` threads, or for as many as the lists have if `threads` is 0; a graph
// without inputs then gets none. Numbers of inputs that are binary32 (NumberKinds) are read as
// binary64 and rounded to binary32, both to nearest, ties to even. Those of integer inputs are
// integers of 32 bits, from -2^31 to 2^32 - 1. Where the graph leaves it open, a number with a
// point or an exponent is binary32. Errors name the key: no JSON object, an input that is missing
// or that the graph does not have, no list, fewer values than threads or another number than the
// first input has, more than budgets::kComputationThreads, a number that is out of range or no
// integer, a list of another length than `lanes`.
StatusOr<ThreadInputs> ParseInputs(std::string_view text, std::string_view source,
                                   const ComputationGraph& graph, int lanes, int threads);
StatusOr<ThreadInputs> ReadInputs(const std::filesystem::path& path, const ComputationGraph& graph,
                                  int lanes, int threads);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_GRAPH_INPUTS_FILE_H_
