// Lowers a network to kernels of the machine and of the host.
#ifndef KILN_TARGETS_CGRA_COMPILE_LOWER_H_
#define KILN_TARGETS_CGRA_COMPILE_LOWER_H_

#include <optional>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/support/status.h"
#include "kiln/targets/cgra/compile/kernel.h"
#include "kiln/targets/cgra/config/config.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/run/host_graph.h"
#include "kiln/targets/run/tensor_machine.h"

namespace kiln::cgra {

// What runs for one kernel of the program, in order. One of the two is set.
struct LoweredKernel {
  KernelInfo info;
  std::optional<MachineKernel> machine;
  std::optional<HostGraph> host;
};

struct LoweredNetwork {
  std::vector<LoweredKernel> kernels;
  // Values that are views of others. The host streams vectors in any order, so that a view takes no
  // work.
  std::vector<DerivedValue> views;
};

// `graph` must outlive the result. Errors: unknown shapes; a node for the host where
// options.host_fallback is false.
StatusOr<LoweredNetwork> Lower(const Graph& graph, const Config& config,
                               const CompileOptions& options);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_COMPILE_LOWER_H_
