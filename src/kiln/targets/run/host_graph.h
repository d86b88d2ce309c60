// Kernels of a compiled network that run on the host, in fp32, with the same semantics for all
// families and levels.
//
// Every annotated value is rounded to its annotation (RoundTensor of execute/codes.h), whether or
// not it leaves the subgraph. The bits therefore do not depend on how a family groups the nodes
// that run on the host.
#ifndef KILN_TARGETS_RUN_HOST_GRAPH_H_
#define KILN_TARGETS_RUN_HOST_GRAPH_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/ir/tensor.h"
#include "kiln/support/status.h"

namespace kiln {

// A host kernel: a subgraph of the network as a graph of its own.
struct HostGraph {
  // Annotated constants hold the values of their codes; results keep their annotations.
  Graph graph;
  // The network's values of which the inputs and outputs of `graph` are copies, in the same order.
  std::vector<const Value*> inputs, outputs;
};

// Copies nodes, given in the network's order, to a graph of their own. Its outputs are the results
// that other nodes of the network read or that are outputs of the network.
HostGraph CopyForHost(const Graph& network, std::span<const Node* const> nodes);

// Returns the tensor rounded to its annotation (RoundTensor of execute/codes.h), or the tensor
// itself if it has no annotation or is not fp32.
Tensor RoundedAsAnnotated(const Tensor& tensor, const std::optional<Quantisation>& annotation);

// Runs a host kernel, a graph made by CopyForHost. `load(i)` returns input i, already rounded;
// nodes read rounded values. `store(i, computed)` receives output i before it is rounded and stores
// it according to its annotation, because a machine encodes and rounds at once.
//   errors  those of EvaluateNode; the first error of `store`
Status RunHostKernel(const Graph& graph, const std::function<Tensor(size_t i)>& load,
                     const std::function<Status(size_t i, const Tensor& computed)>& store);

}  // namespace kiln

#endif  // KILN_TARGETS_RUN_HOST_GRAPH_H_
