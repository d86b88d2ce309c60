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
#include "kiln/targets/vta/functional.h"
#include "kiln/targets/vta/memory.h"
#include "kiln/targets/vta/timeline.h"

namespace kiln::vta {

struct CycleLaunch {
  const Config& config;
  const std::vector<Instruction>& program;
  DeviceMemory& memory;
  CycleData& data;
  TokenCounters& tokens;
  Profile& profile;
  Timeline* timeline;  // may be null

  Cycle now = 0;
  // Whether anything happened in this cycle that others may see in the next: all but requests in the midst of a load.
  bool changed = false;
  bool finished = false;
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
  // The instruction is done: gives its tokens.
  void Done(size_t instruction) {
    tokens.Give(program[instruction]);
    if (timeline != nullptr) timeline->AddInstruction(instruction, begun[instruction], now);
    changed = true;
  }
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_CYCLE_LAUNCH_H_
