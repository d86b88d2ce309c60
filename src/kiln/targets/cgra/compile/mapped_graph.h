// Maps the graphs of kernels. Graphs that differ in names and literals alone are mapped once.
#ifndef KILN_TARGETS_CGRA_COMPILE_MAPPED_GRAPH_H_
#define KILN_TARGETS_CGRA_COMPILE_MAPPED_GRAPH_H_

#include <memory>
#include <string>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/config/config.h"
#include "kiln/targets/cgra/graph/graph.h"
#include "kiln/targets/cgra/graph/mapping.h"
#include "kiln/targets/cgra/isa/program.h"

namespace kiln::cgra {

// A graph with the mapping by which the machine executes it.
struct MappedGraph {
  ComputationGraph graph;
  Mapping mapping;
  CgraProgram program;  // built from both
  int latency = 0;      // cycles
  // No mapping of the first space (MapResult::space) has a smaller interval, and none of the second
  // one has this interval and a smaller latency.
  std::string interval_space, latency_space;
  int interval_bound = 1, latency_bound = 0;
  bool optimal = false;  // proved for both
};

// Returns the graph with a mapping. The result depends on the graph's structure and the design
// point alone. Errors: a refusal, if the mapper finds no mapping; the errors of BuildProblem.
StatusOr<std::shared_ptr<const MappedGraph>> MapGraph(ComputationGraph graph, const Config& config);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_COMPILE_MAPPED_GRAPH_H_
