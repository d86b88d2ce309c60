// The rtl level: the emitted hardware of a design point, simulated by Verilator in a separate
// process.
#ifndef KILN_TARGETS_VTA_SIMULATE_RTL_RTL_MACHINE_H_
#define KILN_TARGETS_VTA_SIMULATE_RTL_RTL_MACHINE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "kiln/hardware/rtl_project.h"
#include "kiln/hardware/simulation_session.h"
#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/interface/difference.h"
#include "kiln/targets/vta/config/config.h"
#include "kiln/targets/vta/isa/counters.h"
#include "kiln/targets/vta/isa/faults.h"
#include "kiln/targets/vta/isa/instruction.h"
#include "kiln/targets/vta/isa/memory.h"

namespace kiln::vta {

// A provider of built simulations, one per design point.
class RtlDesigns {
 public:
  // Writes each design to its own folder under `folder`. If `folder` is empty, no design is
  // written.
  explicit RtlDesigns(std::filesystem::path folder = {}) : folder_(std::move(folder)) {}

  // Builds the design point's simulation if necessary and returns its program
  // (hardware/simulation_cache.h). Errors: those of EmitMachine and of BuildSimulation; Verilator
  // or clang++-19 is missing.
  StatusOr<std::filesystem::path> SimulationOf(const Config& config,
                                               const hardware::SimulationKind& kind = {});

  // Returns the shared instance without a folder.
  static RtlDesigns& Shared();

 private:
  std::mutex mutex_;  // protects the folder
  std::filesystem::path folder_;
};

// A machine with its buffers, which are zero at first. Buffers and tokens keep their contents from
// one launch to the next.
class RtlMachine {
 public:
  // Starts the simulation of a design point. `options` describes the memory and whether the
  // machine is a netlist; its folder is ignored.
  // With `trace` the machine can record waveforms, but is slower.
  static StatusOr<RtlMachine> Start(const Config& config, RtlDesigns& designs,
                                    const RtlOptions& options = {}, bool trace = false);

  // Records the given cycles of the next launch. The file is complete when that launch has ended.
  Status Record(const WaveOptions& wave);

  struct Result {
    std::optional<Fault> fault;
    RunTime time;                     // valid if there is no fault
    uint64_t accumulator_writes = 0;  // register 0x24
    // By stage, the cycles in which it started its instructions, in order.
    std::array<std::vector<int64_t>, kStages> starts;
  };
  // Runs `count` instructions that begin at byte `address` of `memory`. All of the memory is copied
  // to the simulation and back. After `most_cycles` cycles (0: no limit) the fault is kTooLong, and
  // the machine must not be used again. After other faults it remains usable, with its buffers as
  // the program left them. Errors: the simulation ends early, as it does when an assertion of the
  // hardware fails.
  StatusOr<Result> Launch(DeviceMemory& memory, uint64_t address, size_t count,
                          uint64_t most_cycles = 0);

 private:
  explicit RtlMachine(hardware::SimulationSession session) : session_(std::move(session)) {}

  hardware::SimulationSession session_;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_SIMULATE_RTL_RTL_MACHINE_H_
