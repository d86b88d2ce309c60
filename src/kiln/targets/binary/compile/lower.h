// Lowers a network: layers with constant weights become blocks of the machine, all other nodes
// kernels of the host.
#ifndef KILN_TARGETS_BINARY_COMPILE_LOWER_H_
#define KILN_TARGETS_BINARY_COMPILE_LOWER_H_

#include <optional>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/support/status.h"
#include "kiln/targets/binary/compile/block.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/run/host_graph.h"
#include "kiln/targets/run/tensor_machine.h"

namespace kiln::binary {

// A kernel: on the machine, or on the host.
struct LoweredKernel {
  KernelInfo info;
  std::vector<BlockLayer> layers;  // of the machine; empty on the host
  std::vector<Launch> launches;
  std::optional<HostGraph> host;
};

struct LoweredNetwork {
  std::vector<LoweredKernel> kernels;
  std::vector<DerivedValue> views;  // values that move the elements of others
};

// Lowers a graph whose shapes are known; the result refers to it.
//   errors  a node for the host where options.host_fallback is false; with
//           Prediction::kPredicted the errors of ThresholdsOf, and trained thresholds of which no
//           test of the machine uses any
StatusOr<LoweredNetwork> Lower(const Graph& graph, const Config& config,
                               const CompileOptions& options);

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_COMPILE_LOWER_H_
