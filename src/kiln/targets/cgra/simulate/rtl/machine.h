// The rtl level: the simulation of a machine's hardware in Verilator.
#ifndef KILN_TARGETS_CGRA_SIMULATE_RTL_MACHINE_H_
#define KILN_TARGETS_CGRA_SIMULATE_RTL_MACHINE_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/isa/program.h"
#include "kiln/targets/run/stream_simulation.h"

namespace kiln::cgra {

// A built simulation of a design point. Programs are loaded by the stream, so that one build serves
// all programs of the design point.
class RtlMachine {
 public:
  // Builds the simulation, in options.folder if that is not empty. With `trace` it can record
  // waveforms. Errors: the errors of CheckStreamMachine and StreamSimulation::Build.
  static StatusOr<std::unique_ptr<RtlMachine>> Build(const Config& config,
                                                     const RtlOptions& options, bool trace = false);

  struct Result {
    // By thread from the first that is sent, then by output: Config::lanes elements.
    std::vector<int32_t> data;
    Trace trace;  // StreamSimulation::Result
  };
  // Loads a program and runs it (AppendLoad, AppendRun). Errors: the errors of
  // StreamSimulation::Run. The program passes Check and is one of this design point.
  StatusOr<Result> Run(const CgraProgram& program, int64_t threads, int64_t first_sent,
                       std::span<const int32_t> data, const RtlOptions& options) const;

  // Sends a stream of whole beats and receives `beats` beats. Errors: the errors of
  // StreamSimulation::Run.
  StatusOr<Result> RunStream(std::span<const uint8_t> stream, int64_t beats,
                             const RtlOptions& options, const RecordedCycles& wave = {}) const;

 private:
  explicit RtlMachine(Config config) : config_(std::move(config)) {}

  Config config_;
  std::unique_ptr<StreamSimulation> simulation_;
};

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_SIMULATE_RTL_MACHINE_H_
