// The cycle level: the machine of docs/vta-machine.md, unit by unit and queue by queue, with the bits of the functional
// level.
//
// Every cycle looks only at what is visible in it: units read queues and counters as they stood at its begin, and what
// they do is there in the next. Cycles in which no queue, counter or unit changes, and runs of elements that one unit
// moves while all others stand still, are gone through in one step.
//
// Data move instruction by instruction: a load's in the cycle of its last word, a GEMM or ALU instruction's in the
// cycle in which it is done, a store's when its last element is in memory. Programs whose accesses are ordered by
// tokens cannot tell that from element by element; what races do is not defined.
#ifndef KILN_TARGETS_VTA_CYCLE_H_
#define KILN_TARGETS_VTA_CYCLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/vta/config.h"
#include "kiln/targets/vta/counters.h"
#include "kiln/targets/vta/cycle_data.h"
#include "kiln/targets/vta/faults.h"
#include "kiln/targets/vta/memory.h"
#include "kiln/targets/vta/profile.h"
#include "kiln/targets/vta/timeline.h"

namespace kiln::vta {

// A machine with its buffers, zero at first. Buffers and tokens stay from one launch to the next.
class CycleMachine {
 public:
  explicit CycleMachine(const Config& config);
  ~CycleMachine();

  struct Result {
    std::optional<Fault> fault;
    // What the hardware says. It is another fault, or none, where a FINISH retires that has not waited for all other
    // instructions: it is enough for the hardware that they are done by then.
    std::optional<Fault> met;
    RunTime time;  // without a fault
  };
  // Runs `count` instructions that begin at byte `address` of `memory`. Faults are found by the unit that meets them,
  // with decoding, ranges and tokens of this level. They are those of the functional level; of several, the one that
  // the machine meets first. A full instruction queue may be what a deadlock is due to, which only this level knows.
  // The machine is to be thrown away after a fault. After `most_cycles` (0: no limit) the fault is kTooLong. `timeline`
  // is told the spans of this launch, if it is not null.
  Result Launch(DeviceMemory& memory, uint64_t address, size_t count, uint64_t most_cycles = 0,
                Timeline* timeline = nullptr);

  const Profile& profile() const;
  // For tests of the skipping: goes through every cycle.
  void set_skips(bool skips);

 private:
  class Machine;
  std::unique_ptr<Machine> machine_;
};

// Tells how many cycles a program takes, without its data: what loads, GEMM and ALU instructions compute does not
// decide when they do it. Cheaper than CycleMachine by far, and without system calls from one program to the next.
class CycleTimer {
 public:
  explicit CycleTimer(const Config& config);
  ~CycleTimer();

  // The program's instructions are at byte `address` of the memory; they have no static faults, and every address that
  // they load from or store to counts as there. Micro-ops come from `uops`. nullopt: not done after `most_cycles`
  // cycles (0: no limit). Errors: a fault that the machine meets.
  StatusOr<std::optional<uint64_t>> CyclesOf(const std::vector<Instruction>& program,
                                             uint64_t address, const UopsInMemory& uops,
                                             uint64_t most_cycles);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_CYCLE_H_
