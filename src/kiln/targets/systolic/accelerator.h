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
#include "kiln/targets/systolic/config/config.h"
#include "kiln/targets/systolic/config/derived.h"
#include "kiln/targets/systolic/simulate/cycle/cycle.h"

namespace kiln::systolic {

// A systolic design point as an accelerator.
class SystolicAccelerator final : public Accelerator {
 public:
  explicit SystolicAccelerator(Config config) : config_(std::move(config)) {}

  const Config& config() const { return config_; }
  std::string_view family() const override { return "systolic"; }
  const std::string& name() const override { return config_.name; }
  std::string Describe() const override { return PrintConfig(config_); }
  std::vector<std::string> ActivationFormats() const override;
  std::vector<std::string> WeightFormats() const override;
  NamedRecipe OwnRecipe() const override;
  StatusOr<std::unique_ptr<Accelerator>> WithFormats(const QuantType& activations,
                                                     const QuantType& weights) const override;

  std::vector<Objective> Objectives() const override {
    return {std::begin(kObjectives), std::end(kObjectives)};
  }
  StatusOr<std::unique_ptr<Program>> Compile(const Graph& graph,
                                             const CompileOptions& options) const override;
  StatusOr<RunResult> Run(const Program& program, const Batch& batch,
                          const RunOptions& options) const override;
  Status EmitRtl(const Program& program, const FolderContent& content,
                 const std::filesystem::path& folder) const override;
  StatusOr<Waveform> RecordDifference(const Program& program, const Batch& batch,
                                      const RtlOptions& options,
                                      const std::filesystem::path& file) const override;
  StatusOr<Cost> EstimateCost(int node_nm) const override;
  StatusOr<Energy> EstimateEnergy(const Program& program, int node_nm) const override;
  StatusOr<Traffic> EstimateTraffic(const Program& program) const override;
  uint64_t MostMemoryLatency() const override {
    return static_cast<uint64_t>(AnswerCycles(config_));
  }
  double PeakMacsPerCycle() const override { return static_cast<double>(config_.macs_per_cycle()); }
  StatusOr<std::unique_ptr<Accelerator>> WithMemoryLatency(uint64_t cycles) const override;
  double ClockMhz() const override { return config_.clock_mhz; }

 private:
  // Compiles a graph in which every shape is known.
  StatusOr<std::unique_ptr<Program>> CompileKnown(const Graph& graph,
                                                  const CompileOptions& options) const;

  Config config_;
};

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_ACCELERATOR_H_
