// The rtl level: the emitted hardware of a design point, simulated by Verilator in a process of its own.
#ifndef KILN_TARGETS_VTA_RTL_MACHINE_H_
#define KILN_TARGETS_VTA_RTL_MACHINE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kiln/support/process.h"
#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/interface/difference.h"
#include "kiln/targets/vta/config.h"
#include "kiln/targets/vta/counters.h"
#include "kiln/targets/vta/faults.h"
#include "kiln/targets/vta/instruction.h"
#include "kiln/targets/vta/memory.h"

namespace kiln::vta {

// Simulations that have been built, one a design point.
class RtlDesigns {
 public:
  // In a folder for each under `folder`, or, where that is empty, under one that goes with this.
  explicit RtlDesigns(std::filesystem::path folder = {}) : folder_(std::move(folder)) {}

  // The simulation in the design point's folder (hardware::BuildSimulation), built where this has not. Errors: what
  // EmitMachine says; no Verilator or clang++-19.
  StatusOr<std::filesystem::path> SimulationOf(const Config& config, bool trace = false);

  // Those of this process.
  static RtlDesigns& Shared();

 private:
  std::mutex mutex_;
  std::filesystem::path folder_;
  std::optional<TemporaryFolder> temporary_;
  std::map<std::pair<std::string, bool>, std::filesystem::path>
      programs_;  // by the top module's text; with trace
};

// The design point as the cycle level times it behind that memory, as far as it follows it.
Config Behind(const RtlOptions& memory, const Config& design);

// A machine with its buffers, zero at first. Buffers and tokens stay from one launch to the next.
class RtlMachine {
 public:
  // `options`: the memory; its folder is not looked at. `wave`: what to record of launch `wave_launch`, counted from 0;
  // the file is whole when that one has ended.
  static StatusOr<RtlMachine> Start(const Config& config, RtlDesigns& designs,
                                    const RtlOptions& options = {}, const WaveOptions& wave = {},
                                    size_t wave_launch = 0);

  struct Result {
    std::optional<Fault> fault;
    RunTime time;                     // without a fault
    uint64_t accumulator_writes = 0;  // by the machine's register
    // The cycles in which each stage has started its instructions, one after the other.
    std::array<std::vector<int64_t>, kStages> starts;
  };
  // Runs `count` instructions that begin at byte `address` of `memory`, all of which goes to the simulation and back.
  // After `most_cycles` (0: no limit) the fault is kTooLong, and the machine is to be thrown away. After other faults
  // it can go on: its buffers are as the program has left them. Errors: a simulation that ends by itself, which is what
  // a failed assertion of the hardware does.
  StatusOr<Result> Launch(DeviceMemory& memory, uint64_t address, size_t count,
                          uint64_t most_cycles = 0);

 private:
  RtlMachine(TemporaryFolder folder, ChildProcess process)
      : folder_(std::move(folder)), process_(std::move(process)) {}

  TemporaryFolder folder_;  // for the log
  ChildProcess process_;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_RTL_MACHINE_H_
