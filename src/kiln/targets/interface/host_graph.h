// What the host runs of a compiled network, in fp32: one meaning for all families and levels.
//
// Every annotated value is rounded where it is annotated (RoundTensor of execute/codes.h), whether it leaves the
// subgraph or not, so that bits do not depend on how a family groups the nodes that it leaves to the host.
#ifndef KILN_TARGETS_INTERFACE_HOST_GRAPH_H_
#define KILN_TARGETS_INTERFACE_HOST_GRAPH_H_

#include <span>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/ir/tensor.h"
#include "kiln/support/status.h"

namespace kiln {

struct HostGraph {
  Graph
      graph;  // annotated constants hold the values of their codes; results keep their annotations
  // The network's values that the subgraph's inputs and outputs are copies of, in their order.
  std::vector<const Value*> inputs, outputs;
};

// A copy of some nodes, in the order given, which is the network's. Outputs are the results that other nodes or the
// network's outputs need.
HostGraph CopyForHost(const Graph& network, std::span<const Node* const> nodes);

// Evaluates such a subgraph on its inputs, which are rounded already, and returns its outputs as they were computed:
// whoever stores one rounds it to its annotation. Nodes inside see rounded values.
//   errors  whatever EvaluateNode reports
StatusOr<std::vector<Tensor>> RunHostGraph(const Graph& graph, std::span<const Tensor> inputs);

}  // namespace kiln

#endif  // KILN_TARGETS_INTERFACE_HOST_GRAPH_H_
