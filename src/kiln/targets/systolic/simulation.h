// The simulation of an emitted machine (emit.h) as a program that is run on memory images.
#ifndef KILN_TARGETS_SYSTOLIC_SIMULATION_H_
#define KILN_TARGETS_SYSTOLIC_SIMULATION_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kiln/support/process.h"
#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/interface/difference.h"
#include "kiln/targets/interface/trace.h"
#include "kiln/targets/systolic/program.h"

namespace kiln::systolic {

struct Simulated {
  int64_t cycles = -1;
  std::vector<int64_t> finished;  // the cycle in which each instruction was finished
  std::vector<UnitTrace> units;   // what the performance counters say (units.h)
};

class Simulation {
 public:
  // Builds the simulation of the design in `folder`, which it keeps using; of `options` it takes the memory. With
  // `trace` it can record waveforms, and is slower. Errors: no Verilator or clang++-19.
  static StatusOr<Simulation> Build(std::filesystem::path folder, const RtlOptions& options,
                                    bool trace = false);

  // The same of a program's design, which it emits into `options.folder`, or else into a folder that goes with it.
  static StatusOr<Simulation> BuildDesign(const SystolicProgram& program, const RtlOptions& options,
                                          bool trace = false);

  // Runs the program that begins at address `start` of `program`, which stands in memory at `base`, behind `memory`,
  // and leaves in `memory` what the machine has left there. `name` tells apart runs at the same time; cycles of `wave`
  // are counted as the instructions' ends are. Errors: the
  // machine stops with an error code or does not end.
  StatusOr<Simulated> Run(const std::string& name, std::span<const uint8_t> program, uint64_t base,
                          uint64_t start, uint64_t seed, std::span<uint8_t> memory,
                          const WaveOptions& wave = {}) const;

 private:
  Simulation(std::filesystem::path folder, std::filesystem::path simulate,
             const RtlOptions& options)
      : folder_(std::move(folder)), simulate_(std::move(simulate)), options_(options) {}

  std::filesystem::path folder_, simulate_;
  RtlOptions options_;
  std::optional<TemporaryFolder> temporary_;
};

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_SIMULATION_H_
