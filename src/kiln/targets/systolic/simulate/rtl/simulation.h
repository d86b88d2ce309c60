// The simulation of an emitted machine (emit.h), built as a program that runs on memory images.
#ifndef KILN_TARGETS_SYSTOLIC_SIMULATE_RTL_SIMULATION_H_
#define KILN_TARGETS_SYSTOLIC_SIMULATE_RTL_SIMULATION_H_

#include <cstdint>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/interface/difference.h"
#include "kiln/targets/interface/trace.h"
#include "kiln/targets/systolic/isa/program.h"

namespace kiln::systolic {

// The result of one run.
struct Simulated {
  int64_t cycles = -1;
  std::vector<int64_t> finished;  // the cycle in which each instruction was finished
  std::vector<UnitTrace> units;   // the performance counters (units.h)
};

// A simulation that has been built, with the memory behind the machine's ports.
class Simulation {
 public:
  // Builds the simulation of the design in `folder`; uses only the memory settings of `options`.
  // With `trace` it can record waveforms, and is slower. Errors: Verilator or clang++-19 is
  // missing.
  static StatusOr<Simulation> Build(const std::filesystem::path& folder, const RtlOptions& options,
                                    bool trace = false);

  // Builds the simulation of a program's design. Also writes the design to `options.folder` if that
  // is set.
  static StatusOr<Simulation> BuildDesign(const SystolicProgram& program, const RtlOptions& options,
                                          bool trace = false);

  // Runs the program that begins at address `start`, in a separate process. `program` is stored in
  // memory at `base`, after `memory`. Updates `memory` to its content after the run. Cycles of
  // `wave` are counted like the ends of instructions. Errors: the machine stops with an error code
  // or does not end.
  StatusOr<Simulated> Run(std::span<const uint8_t> program, uint64_t base, uint64_t start,
                          uint64_t seed, std::span<uint8_t> memory,
                          const WaveOptions& wave = {}) const;

 private:
  Simulation(std::filesystem::path simulate, const RtlOptions& options)
      : simulate_(std::move(simulate)), options_(options) {}

  std::filesystem::path simulate_;
  RtlOptions options_;
};

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_SIMULATE_RTL_SIMULATION_H_
