// What the host does beside the kernels of the accelerator: kernels of its own, and values that are
// views of others.
#ifndef KILN_TARGETS_LOWER_HOST_KERNEL_H_
#define KILN_TARGETS_LOWER_HOST_KERNEL_H_

#include <span>
#include <string>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/targets/interface/program.h"
#include "kiln/targets/lower/strided_view.h"
#include "kiln/targets/run/host_graph.h"
#include "kiln/targets/run/tensor_machine.h"

namespace kiln {

// Nodes that were refused together.
struct HostNodes {
  std::vector<const Node*> nodes;
  std::string reason;
};

// A kernel of the host: its description and its graph.
struct HostKernel {
  KernelInfo info;
  HostGraph host;
};

// Merges the groups into one kernel, which evaluates the nodes in the graph's order. Its
// description lists each reason once, starting with the reason of the most operations.
HostKernel MakeHostKernel(const Graph& graph, std::span<const HostNodes> groups);

// Returns a value that has the elements of `from` that the view locates, in row-major order.
DerivedValue DerivedByView(const Value* value, const Value* from, const StridedView& view);

}  // namespace kiln

#endif  // KILN_TARGETS_LOWER_HOST_KERNEL_H_
