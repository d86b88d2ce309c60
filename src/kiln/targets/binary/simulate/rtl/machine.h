// The rtl level: the simulation of a machine's hardware in Verilator.
#ifndef KILN_TARGETS_BINARY_SIMULATE_RTL_MACHINE_H_
#define KILN_TARGETS_BINARY_SIMULATE_RTL_MACHINE_H_

#include <cstdint>
#include <memory>
#include <span>

#include "kiln/support/status.h"
#include "kiln/targets/binary/isa/stream.h"
#include "kiln/targets/run/stream_simulation.h"

namespace kiln::binary {

// A built simulation of a design point. Programs are loaded by the stream, so that one build serves
// all programs of the design point.
class RtlMachine {
 public:
  // Builds the simulation, in options.folder if that is not empty. With `trace` it can record
  // waveforms. Errors: the errors of StreamSimulation::Build.
  static StatusOr<std::unique_ptr<RtlMachine>> Build(const Config& config,
                                                     const RtlOptions& options, bool trace = false);

  struct Result {
    StageResults results;
    Trace trace;  // StreamSimulation::Result
  };
  // Loads a program that passes Check, and runs it on the records of all pixels (AppendRun).
  // Errors: the errors of StreamSimulation::Run and of SplitResults.
  StatusOr<Result> Run(const BlockProgram& program, std::span<const int32_t> records,
                       const RtlOptions& options) const;
  // Does the same and returns the beats: as they left the machine, with their cycles, or, behind
  // memory, stage by stage. Errors: the errors of StreamSimulation::Run.
  StatusOr<StreamSimulation::Result> RunBeats(const BlockProgram& program,
                                              std::span<const int32_t> records,
                                              const RtlOptions& options,
                                              const RecordedCycles& wave = {}) const;

 private:
  RtlMachine() = default;
  std::unique_ptr<StreamSimulation> simulation_;
};

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_SIMULATE_RTL_MACHINE_H_
