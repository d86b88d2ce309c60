// Computation graphs of well-known kernels by name, for examples, comparisons and tests.
#ifndef KILN_TARGETS_CGRA_GRAPH_NAMED_GRAPHS_H_
#define KILN_TARGETS_CGRA_GRAPH_NAMED_GRAPHS_H_

#include <span>
#include <string>
#include <string_view>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/graph/graph.h"

namespace kiln::cgra {

struct NamedGraph {
  std::string_view name;
  std::string_view what;  // one line for lists
  ComputationGraph (*make)();
};

// All rows, in the order of lists. The span is valid for the whole program.
std::span<const NamedGraph> NamedGraphs();

// Returns the graph with this name. "fir-N" is a filter of N taps, 1 to 64, also where the list has
// no such row. Errors: a name that is not known, with the ones that are.
StatusOr<ComputationGraph> MakeNamedGraph(std::string_view name);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_GRAPH_NAMED_GRAPHS_H_
