// The dataflow family behind the interface that all families share. A design point is a device; the
// hardware is built for one network when it is compiled.
#ifndef KILN_TARGETS_DATAFLOW_ACCELERATOR_H_
#define KILN_TARGETS_DATAFLOW_ACCELERATOR_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kiln/targets/dataflow/config/config.h"
#include "kiln/targets/interface/accelerator.h"

namespace kiln::dataflow {

class DataflowAccelerator final : public Accelerator {
 public:
  explicit DataflowAccelerator(Config config) : config_(std::move(config)) {}

  const Config& config() const { return config_; }
  std::string_view family() const override { return "dataflow"; }
  const std::string& name() const override { return config_.name; }
  std::string Describe() const override { return PrintConfig(config_); }
  std::vector<std::string> ActivationFormats() const override;
  std::vector<std::string> WeightFormats() const override;
  NamedRecipe OwnRecipe() const override;
  StatusOr<std::unique_ptr<Program>> Compile(const Graph& graph,
                                             const CompileOptions& options) const override;
  StatusOr<RunResult> Run(const Program& program, const Batch& batch,
                          const RunOptions& options) const override;
  Status EmitRtl(const Program& program, const std::filesystem::path& folder) const override;
  StatusOr<Cost> EstimateCost(int node_nm) const override;
  StatusOr<Cost> EstimateProgramCost(const Program& program, int node_nm) const override;
  StatusOr<Energy> EstimateEnergy(const Program& program, int node_nm) const override;
  StatusOr<Waveform> RecordDifference(const Program& program, const Batch& batch,
                                      const RtlOptions& options,
                                      const std::filesystem::path& file) const override;
  double ClockMhz() const override { return config_.clock_mhz; }
  double PeakMacsPerCycle() const override {
    return static_cast<double>(config_.dsp) * config_.products_per_dsp;
  }

 private:
  Config config_;
};

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_ACCELERATOR_H_
