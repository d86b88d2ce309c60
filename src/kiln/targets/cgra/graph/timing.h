// How the value of an edge travels on a machine, which follows from the operators at its ends and
// from the design point's rules.
#ifndef KILN_TARGETS_CGRA_GRAPH_TIMING_H_
#define KILN_TARGETS_CGRA_GRAPH_TIMING_H_

#include <vector>

#include "kiln/targets/cgra/config/config.h"
#include "kiln/targets/cgra/graph/graph.h"

namespace kiln::cgra {

enum class EdgeTiming {
  kStored,        // from a constant, input or variable: the consumer's tile holds it
  kLink,          // over links of the synchronous fabric, after the pipeline and the hops
  kOrder,         // no value moves: the target issues after the source's pipeline
  kAsynchronous,  // over the asynchronous fabric: it ends a flow and begins another
  kResult         // to an output: leaves the machine
};

EdgeTiming TimingOf(const ComputationGraph& graph, const Config& config, const GraphEdge& edge);

// Returns the flow of every instruction, numbered from 0 in the order of their first nodes: the
// instructions that edges of kLink and kOrder connect. -1 for nodes without a slot.
std::vector<int> FlowsOf(const ComputationGraph& graph, const Config& config);

// Returns the instructions that rule 2 binds: the first of each flow, that is its first node that
// no kLink or kOrder edge of distance 0 enters; with every_source_starts, all such nodes.
std::vector<int> FlowStarts(const ComputationGraph& graph, const Config& config);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_GRAPH_TIMING_H_
