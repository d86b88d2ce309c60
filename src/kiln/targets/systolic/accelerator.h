// The systolic family behind the interface that all families share. SystolicAccelerator is one
// design point: it compiles graphs, runs programs at each level, emits SystemVerilog and estimates
// cost and energy.
#ifndef KILN_TARGETS_SYSTOLIC_ACCELERATOR_H_
#define KILN_TARGETS_SYSTOLIC_ACCELERATOR_H_

#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/run/network_accelerator.h"
#include "kiln/targets/systolic/config/config.h"
#include "kiln/targets/systolic/config/derived.h"
#include "kiln/targets/systolic/isa/program.h"
#include "kiln/targets/systolic/simulate/cycle/cycle.h"
#include "kiln/targets/systolic/simulate/rtl/waveform.h"

namespace kiln::systolic {

// Compiles a network in which every shape is known.
StatusOr<std::unique_ptr<Program>> CompileNetwork(const Graph& graph, const Config& config,
                                                  const CompileOptions& options);
// Runs a program, its tail included, at every level but the reference.
StatusOr<RunResult> RunNetwork(const SystolicProgram& program, const Batch& batch,
                               const RunOptions& options);

// A systolic design point as an accelerator.
class SystolicAccelerator final : public NetworkAccelerator<Config, SystolicProgram> {
 public:
  using NetworkAccelerator::NetworkAccelerator;

  std::string_view family() const override { return "systolic"; }
  std::vector<std::string> ActivationFormats() const override;
  std::vector<std::string> WeightFormats() const override;
  NamedRecipe OwnRecipe() const override;
  StatusOr<std::unique_ptr<Accelerator>> WithFormats(const QuantType& activations,
                                                     const QuantType& weights) const override;

  std::vector<Objective> Objectives() const override {
    return {std::begin(kObjectives), std::end(kObjectives)};
  }
  Status EmitRtl(const Program& program, const FolderContent& content,
                 const std::filesystem::path& folder) const override;
  StatusOr<Cost> EstimateCost(int node_nm) const override;
  StatusOr<Energy> EstimateEnergy(const Program& program, int node_nm) const override;
  StatusOr<Traffic> EstimateTraffic(const Program& program) const override;
  uint64_t MostMemoryLatency() const override {
    return static_cast<uint64_t>(AnswerCycles(config_));
  }
  double PeakMacsPerCycle() const override { return static_cast<double>(config_.macs_per_cycle()); }
  StatusOr<std::unique_ptr<Accelerator>> WithMemoryLatency(uint64_t cycles) const override;
};

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_ACCELERATOR_H_
