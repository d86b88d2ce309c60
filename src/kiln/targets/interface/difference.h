// The finder of the first cycles in which simulated hardware does something else than the cycle
// level says. A family says what a stretch of its programs comes to at both levels, and how to
// replay it; and what a simulation needs to be told for that.
#ifndef KILN_TARGETS_INTERFACE_DIFFERENCE_H_
#define KILN_TARGETS_INTERFACE_DIFFERENCE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"

namespace kiln {

struct CycleWindow {
  int64_t begin = 0, end = 0;
};

// What a stretch of a program that the accelerator runs in one go (a step, a launch) comes to at
// one level.
struct LevelRun {
  // By unit, the cycles of its events in order: where it starts, or finishes, its instructions.
  std::vector<std::vector<int64_t>> events;
  // The cycle in which the stretch ends, where the events are starts: it closes every unit's list.
  std::optional<int64_t> end;
  std::vector<uint64_t> totals;     // cycles and counters of the whole, where events are not all
  std::span<const uint8_t> memory;  // afterwards
};
// Event number `index` of a unit.
struct EventPlace {
  size_t unit, index;
};
struct LevelDifference {
  std::optional<EventPlace> place;  // nullopt: nothing more than that the whole differs
  CycleWindow window;               // to record
};
// Called where the memories differ: returns the event around which wrong bits are first written;
// nullopt: of none.
using WrongEvent = std::function<StatusOr<std::optional<EventPlace>>()>;

// Returns where two levels first differ in a stretch; nullopt: nowhere.
//   bits    around the event that `wrong_event` returns, or the whole stretch
//   cycles  (`timed`) around the first event that is in another cycle, whichever unit's; the whole
//           stretch where only totals differ
// Of both the one that comes first: by its number where there is one unit, else by its window.
// Errors: of `wrong_event`.
StatusOr<std::optional<LevelDifference>> FindLevelDifference(const LevelRun& expected,
                                                             const LevelRun& actual, bool timed,
                                                             int64_t latency,
                                                             const WrongEvent& wrong_event);

// Replays the first `instructions` of a stretch on the same memory every time; returns the memory
// afterwards.
using PrefixReplay = std::function<StatusOr<std::vector<uint8_t>>(size_t instructions)>;

// Returns the first of `instructions` behind which the memories of two levels differ, given that
// they differ behind the last. It is found by halving (log2 of their number replays at each level):
// memory is alike before it and not behind it, though when a difference is written over later there
// may be an earlier one. Errors: of the replays.
StatusOr<size_t> FirstWrongInstruction(size_t instructions, const PrefixReplay& expected,
                                       const PrefixReplay& actual);

// The first place in which two lists differ; their lengths count.
std::optional<size_t> FirstDifferent(const std::vector<int64_t>& a, const std::vector<int64_t>& b);

// Cycles to record around event `index` of a list of events by their cycles: from the last but one
// before it, since units work ahead, to its own at both levels, and what becomes of it in a memory
// of latency `latency`.
CycleWindow WindowAround(size_t index, const std::vector<int64_t>& expected,
                         const std::vector<int64_t>& actual, int64_t latency);

// Which cycles of a run to record; no file: none.
struct WaveOptions {
  std::filesystem::path file;  // FST
  CycleWindow window;
};

// What a built simulation is told on its command line (rtl/testbench/kiln_simulate_options.h): the
// memory behind its ports, where that is not the design point's ideal one, the seed, the limit of
// cycles.
std::vector<std::string> MemoryArguments(const RtlOptions& options, uint64_t seed);

}  // namespace kiln

#endif  // KILN_TARGETS_INTERFACE_DIFFERENCE_H_
