// The dataflow family behind the interface that all families share. A design point is a device; the
// hardware is built for one network when it is compiled.
#ifndef KILN_TARGETS_DATAFLOW_ACCELERATOR_H_
#define KILN_TARGETS_DATAFLOW_ACCELERATOR_H_

#include <memory>
#include <string>
#include <vector>

#include "kiln/targets/dataflow/compile/compile.h"
#include "kiln/targets/dataflow/compile/program.h"
#include "kiln/targets/dataflow/config/config.h"
#include "kiln/targets/dataflow/run_network.h"
#include "kiln/targets/dataflow/waveform.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/run/network_accelerator.h"

namespace kiln::dataflow {

class DataflowAccelerator final : public NetworkAccelerator<Config, DataflowProgram> {
 public:
  using NetworkAccelerator::NetworkAccelerator;

  std::string_view family() const override { return "dataflow"; }
  std::vector<std::string> ActivationFormats() const override;
  std::vector<std::string> WeightFormats() const override;
  NamedRecipe OwnRecipe() const override;
  Status EmitRtl(const Program& program, const FolderContent& content,
                 const std::filesystem::path& folder) const override;
  StatusOr<Cost> EstimateCost(int node_nm) const override;
  StatusOr<Cost> EstimateProgramCost(const Program& program, int node_nm) const override;
  StatusOr<Energy> EstimateEnergy(const Program& program, int node_nm) const override;
  StatusOr<Traffic> EstimateTraffic(const Program& program) const override;
  bool SimulatesMemory() const override { return true; }
  StatusOr<int64_t> IntervalBehind(const Program& program, const RtlOptions& rtl) const override;
  double PeakMacsPerCycle() const override {
    return static_cast<double>(config_.dsp) * config_.products_per_dsp;
  }
};

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_ACCELERATOR_H_
