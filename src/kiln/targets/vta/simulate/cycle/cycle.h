// The cycle level: the machine of docs/vta-machine.md, unit by unit and queue by queue, with the
// bits of the functional level.
//
// Each cycle depends only on the state at its start: units read queues and counters as of the start
// of the cycle, and their changes are visible in the next one. The model advances over several
// cycles at once while no queue, counter or unit changes, or while a single unit moves elements and
// all others wait.
//
// Data are moved one instruction at a time: those of a load in the cycle in which its last element
// arrives, those of a GEMM or ALU instruction in the cycle in which it is done, those of a store
// when its last element is in memory. A program whose accesses are ordered by tokens cannot observe
// the difference from moving single elements; the effect of races is not defined.
#ifndef KILN_TARGETS_VTA_SIMULATE_CYCLE_CYCLE_H_
#define KILN_TARGETS_VTA_SIMULATE_CYCLE_CYCLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kiln/hardware/axi_port_model.h"
#include "kiln/support/status.h"
#include "kiln/targets/vta/config/config.h"
#include "kiln/targets/vta/isa/counters.h"
#include "kiln/targets/vta/isa/faults.h"
#include "kiln/targets/vta/isa/memory.h"
#include "kiln/targets/vta/isa/profile.h"
#include "kiln/targets/vta/isa/timeline.h"
#include "kiln/targets/vta/simulate/cycle/cycle_data.h"

namespace kiln::vta {

// A machine with its buffers, which are zero at first. Buffers and tokens keep their contents from
// one launch to the next.
class CycleMachine {
 public:
  // With `memory`, the ports are behind this memory, whose stalls are ignored: a launch takes the
  // cycles of the hardware behind the same memory, whose open rows stay open from one launch to the
  // next. Without it, every request has the design point's latency, so that runs of requests are
  // simulated in one step.
  explicit CycleMachine(const Config& config,
                        const std::optional<hardware::AxiTiming>& memory = std::nullopt);
  ~CycleMachine();

  struct Result {
    std::optional<Fault> fault;
    // The fault that the hardware reports. It differs from `fault`, or is empty, if a FINISH
    // retires that has not waited for all other instructions: the hardware only requires that they
    // are done by then.
    std::optional<Fault> met;
    RunTime time;  // valid if there is no fault
  };
  // Runs `count` instructions that begin at byte `address` of `memory`. The unit that meets a fault
  // reports it, using this level's own decoder, ranges and tokens. Faults are those of the
  // functional level; of several, the result is the one that the machine meets first. Only this
  // level reports deadlocks that a full instruction queue causes. The machine must not be used
  // after a fault. After `most_cycles` cycles (0: no limit) the fault is kTooLong. If `timeline` is
  // not null, the spans of this launch are added to it.
  Result Launch(DeviceMemory& memory, uint64_t address, size_t count, uint64_t most_cycles = 0,
                Timeline* timeline = nullptr);

  const Profile& profile() const;
  // Sets whether the model may advance over several cycles at once. Tests turn this off to compare.
  void set_skips(bool skips);

 private:
  class Machine;
  std::unique_ptr<Machine> machine_;
};

// A model of a program's time without its data, because the values that loads, GEMM and ALU
// instructions produce do not affect time. It is much faster than CycleMachine and makes no system
// calls between programs.
class CycleTimer {
 public:
  explicit CycleTimer(const Config& config);
  ~CycleTimer();

  // Returns the cycles of a program, or nullopt if it is not done after `most_cycles` cycles (0: no
  // limit). The instructions are at byte `address` of the memory and have no static faults. Every
  // address that they load from or store to counts as mapped, and micro-ops come from `uops`.
  // Errors: a fault that the machine meets.
  StatusOr<std::optional<uint64_t>> CyclesOf(const std::vector<Instruction>& program,
                                             uint64_t address, const UopsInMemory& uops,
                                             uint64_t most_cycles);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_SIMULATE_CYCLE_CYCLE_H_
