// What the parts of the cycle level's machine share in a launch.
#ifndef KILN_TARGETS_VTA_CYCLE_LAUNCH_H_
#define KILN_TARGETS_VTA_CYCLE_LAUNCH_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "kiln/targets/vta/config.h"
#include "kiln/targets/vta/counters.h"
#include "kiln/targets/vta/cycle_data.h"
#include "kiln/targets/vta/cycle_units.h"
#include "kiln/targets/vta/faults.h"
#include "kiln/targets/vta/memory.h"
#include "kiln/targets/vta/profile.h"
#include "kiln/targets/vta/timeline.h"

namespace kiln::vta {

struct CycleLaunch {
  const Config& config;
  const std::vector<Instruction>& program;  // up to the first word that the memory does not hold
  const size_t count;                       // of instructions in the launch
  DeviceMemory& memory;
  CycleData& data;
  TokenLinks& tokens;
  Profile& profile;
  Timeline* timeline;  // may be null

  Cycle now = 0;
  // Whether anything happened in this cycle that others may see in the next: all but requests in the midst of a load.
  bool changed = false;
  bool finished = false;
  size_t done = 0;  // instructions
  // A FINISH has retired that did not wait for all other instructions; the hardware stopped there (`stopped`), or
  // ended its launch well where they all happened to be done.
  bool finished_early = false;
  std::optional<Fault> stopped;
  std::optional<Fault> fault;
  Counters counters;
  // What stages wait for in this cycle: one more each in these counters, and again for every cycle like it that is
  // skipped.
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
  // The launch ends without a FINISH that waits for all others.
  Fault NoFinish() const {
    return {FaultKind::kNoFinish, count == 0 ? 0 : count - 1,
            "there is no FINISH that waits for all other instructions"};
  }
  // The instruction is done: gives its tokens.
  void Done(size_t instruction) {
    ++done;
    tokens.Give(program[instruction], instruction);
    if (timeline != nullptr) timeline->AddInstruction(instruction, begun[instruction], now);
    changed = true;
  }
  // A FINISH, which is done, retires. Where it did not wait for all others the launch goes on, to find out whether the
  // others ever end.
  void Finish(size_t instruction) {
    if (finished_early) return;  // by an earlier FINISH, which is where the hardware's launch ended
    if (tokens.KnownDone(instruction) + 1 == count) {
      finished = true;
    } else {
      finished_early = true;
      if (done != count) stopped = NoFinish();
    }
  }
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_CYCLE_LAUNCH_H_
