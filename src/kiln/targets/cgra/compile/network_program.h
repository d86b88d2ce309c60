// A network compiled for the machine: kernels of the machine and of the host, in order.
#ifndef KILN_TARGETS_CGRA_COMPILE_NETWORK_PROGRAM_H_
#define KILN_TARGETS_CGRA_COMPILE_NETWORK_PROGRAM_H_

#include <memory>
#include <string>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/compile/kernel.h"
#include "kiln/targets/cgra/compile/lower.h"
#include "kiln/targets/cgra/config/config.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/interface/program.h"

namespace kiln::cgra {

class NetworkProgram final : public Program {
 public:
  // `lowered` refers to values of `network`.
  NetworkProgram(Config config, Graph network, LoweredNetwork lowered);
  // Prints graphs, mappings and configurations, and how often each runs.
  std::string Print() const override;

  const Config& config() const { return config_; }
  const Graph& network() const { return network_; }
  // In the order of kernels(), without the tail.
  const std::vector<LoweredKernel>& lowered() const { return lowered_.kernels; }
  const std::vector<DerivedValue>& views() const { return lowered_.views; }

 private:
  const Config config_;
  const Graph network_;
  const LoweredNetwork lowered_;
};

// Compiles a network whose shapes are known. A design point whose machine is not built runs all
// nodes on the host. Errors: the errors of Lower.
StatusOr<std::unique_ptr<Program>> CompileNetwork(const Graph& network, const Config& config,
                                                  const CompileOptions& options);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_COMPILE_NETWORK_PROGRAM_H_
