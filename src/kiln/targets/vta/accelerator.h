// The VTA family behind the interface that all families share. VtaAccelerator is one design point:
// it compiles graphs, runs the programs at each level, emits SystemVerilog and estimates cost.
#ifndef KILN_TARGETS_VTA_ACCELERATOR_H_
#define KILN_TARGETS_VTA_ACCELERATOR_H_

#include <memory>
#include <string>
#include <vector>

#include "kiln/hardware/axi_port.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/run/network_accelerator.h"
#include "kiln/targets/vta/compile/program.h"
#include "kiln/targets/vta/config/config.h"
#include "kiln/targets/vta/config/derived.h"
#include "kiln/targets/vta/run/run_network.h"
#include "kiln/targets/vta/run/waveform.h"

namespace kiln::vta {

// Compiles a network whose shapes are all known, with `threads` virtual threads in every layer
// (Generate in codegen.h says how 0 is read).
StatusOr<std::unique_ptr<Program>> CompileNetwork(const Graph& graph, const Config& config,
                                                  const CompileOptions& options, int threads = 0);

// A VTA design point as an accelerator.
class VtaAccelerator final : public NetworkAccelerator<Config, VtaProgram> {
 public:
  using NetworkAccelerator::NetworkAccelerator;

  std::string_view family() const override { return "vta"; }
  std::vector<std::string> ActivationFormats() const override;
  std::vector<std::string> WeightFormats() const override;
  NamedRecipe OwnRecipe() const override;

  // Compiles as Compile does, with `threads` virtual threads in every layer.
  StatusOr<std::unique_ptr<Program>> CompileWithThreads(const Graph& graph,
                                                        const CompileOptions& options,
                                                        int threads) const;
  Status EmitRtl(const Program& program, const FolderContent& content,
                 const std::filesystem::path& folder) const override;
  StatusOr<Cost> EstimateCost(int node_nm) const override;
  StatusOr<Energy> EstimateEnergy(const Program& program, int node_nm) const override;
  StatusOr<Traffic> EstimateTraffic(const Program& program) const override;
  uint64_t MostMemoryLatency() const override {
    return static_cast<uint64_t>(AnswerCycles(config_));
  }
  StatusOr<std::unique_ptr<Accelerator>> WithMemoryLatency(uint64_t cycles) const override;
  double PeakMacsPerCycle() const override {
    return static_cast<double>(config_.batch) * config_.block_in * config_.block_out;
  }
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_ACCELERATOR_H_
