// The VTA family behind the interface that all families share. VtaAccelerator is one design point:
// it compiles graphs, runs the programs at each level, emits SystemVerilog and estimates cost.
#ifndef KILN_TARGETS_VTA_ACCELERATOR_H_
#define KILN_TARGETS_VTA_ACCELERATOR_H_

#include <memory>
#include <string>
#include <vector>

#include "kiln/hardware/axi_port.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/vta/config/config.h"
#include "kiln/targets/vta/config/derived.h"

namespace kiln::vta {

// A VTA design point as an accelerator.
class VtaAccelerator final : public Accelerator {
 public:
  explicit VtaAccelerator(Config config) : config_(std::move(config)) {}

  const Config& config() const { return config_; }
  std::string_view family() const override { return "vta"; }
  const std::string& name() const override { return config_.name; }
  std::string Describe() const override { return PrintConfig(config_); }
  std::vector<std::string> ActivationFormats() const override;
  std::vector<std::string> WeightFormats() const override;
  NamedRecipe OwnRecipe() const override;

  StatusOr<std::unique_ptr<Program>> Compile(const Graph& graph,
                                             const CompileOptions& options) const override;
  // Compiles as Compile does, with `threads` virtual threads in every layer (Generate in codegen.h
  // says how 0 is read).
  StatusOr<std::unique_ptr<Program>> CompileWithThreads(const Graph& graph,
                                                        const CompileOptions& options,
                                                        int threads) const;
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
  StatusOr<std::unique_ptr<Accelerator>> WithMemoryLatency(uint64_t cycles) const override;
  double ClockMhz() const override { return config_.clock_mhz; }
  double PeakMacsPerCycle() const override {
    return static_cast<double>(config_.batch) * config_.block_in * config_.block_out;
  }

 private:
  // Compiles a graph whose shapes are all known.
  StatusOr<std::unique_ptr<Program>> CompileKnown(const Graph& graph, const CompileOptions& options,
                                                  int threads) const;

  Config config_;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_ACCELERATOR_H_
