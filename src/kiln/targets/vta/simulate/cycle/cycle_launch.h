// The state that the parts of the cycle level's machine share during a launch.
#ifndef KILN_TARGETS_VTA_SIMULATE_CYCLE_CYCLE_LAUNCH_H_
#define KILN_TARGETS_VTA_SIMULATE_CYCLE_CYCLE_LAUNCH_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "kiln/targets/vta/config/config.h"
#include "kiln/targets/vta/isa/counters.h"
#include "kiln/targets/vta/isa/faults.h"
#include "kiln/targets/vta/isa/memory.h"
#include "kiln/targets/vta/isa/profile.h"
#include "kiln/targets/vta/isa/timeline.h"
#include "kiln/targets/vta/simulate/cycle/cycle_data.h"
#include "kiln/targets/vta/simulate/cycle/cycle_ports.h"
#include "kiln/targets/vta/simulate/cycle/cycle_units.h"

namespace kiln::vta {

// One launch: its program and memory, the current cycle, its outcome and its counters.
struct CycleLaunch {
  const Config& config;
  const std::vector<Instruction>& program;  // up to the first instruction outside of the memory
  const size_t count;                       // instructions in the launch
  DeviceMemory& memory;
  CycleData& data;
  TokenLinks& tokens;
  Profile& profile;
  Timeline* timeline;    // may be null
  SharedMemory* shared;  // null: every request has the design point's latency

  Cycle now = 0;
  // Whether anything happened in this cycle that other units may see in the next one. Requests in
  // the middle of a load do not count.
  bool changed = false;
  bool finished = false;
  size_t done = 0;  // instructions that are done
  // Whether a FINISH has retired that did not wait for all other instructions. At that point the
  // hardware stops with the fault `stopped`, or ends the launch without a fault if all other
  // instructions happen to be done.
  bool finished_early = false;
  std::optional<Fault> stopped;
  std::optional<Fault> fault;
  Counters counters;
  // The counters of the stalls in this cycle. Each grows by one, and by one more for every cycle
  // that is skipped after it.
  std::array<Counter, 4> lost{};
  size_t lost_count = 0;
  std::vector<Cycle> begun;  // by instruction, for the timeline

  void Stop(Fault what) {
    if (!fault.has_value()) fault = std::move(what);
  }
  void Lose(Counter counter) { lost[lost_count++] = counter; }
  void Span(Unit unit, size_t instruction, Cycle begin, Cycle end) const {
    if (timeline != nullptr) timeline->Add(unit, instruction, begin, end);
  }
  void Begin(size_t instruction) {
    if (timeline != nullptr) begun[instruction] = now;
  }
  // Returns the fault of a launch that ends without a FINISH that waits for all other instructions.
  Fault NoFinish() const {
    return {FaultKind::kNoFinish, count == 0 ? 0 : count - 1,
            "there is no FINISH that waits for all other instructions"};
  }
  // Counts an instruction as done and gives its tokens.
  void Done(size_t instruction) {
    ++done;
    tokens.Give(program[instruction], instruction);
    if (timeline != nullptr) timeline->AddInstruction(instruction, begun[instruction], now);
    changed = true;
  }
  // Retires a FINISH. If it did not wait for all other instructions, the launch continues, to find
  // out whether the others ever end.
  void Finish(size_t instruction) {
    if (finished_early) return;  // the hardware's launch has ended with an earlier FINISH
    if (tokens.KnownDone(instruction) + 1 == count) {
      finished = true;
    } else {
      finished_early = true;
      if (done != count) stopped = NoFinish();
    }
  }
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_SIMULATE_CYCLE_CYCLE_LAUNCH_H_
