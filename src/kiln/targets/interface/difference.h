// Finds the first cycles in which simulated hardware differs from the cycle level. A family
// provides the outcome of a segment of its program at both levels, and functions that replay the
// segment. A segment is a part of a program that the machine runs without interruption: the
// instructions between two host kernels, or one launch.
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

#include "kiln/hardware/axi_port_model.h"
#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"

namespace kiln {

// Cycles of a run, from `begin` to `end`.
struct CycleWindow {
  int64_t begin = 0, end = 0;
};

// The outcome of a segment at one level.
struct LevelRun {
  // By unit, in ascending order: the cycles in which it starts (or retires) its instructions.
  std::vector<std::vector<int64_t>> events;
  // The cycle in which the segment ends. Set if the events are starts; it then also counts as the
  // last event of every unit.
  std::optional<int64_t> end;
  std::vector<uint64_t> totals;     // cycles and counters of the segment that events do not show
  std::span<const uint8_t> memory;  // after the segment
};
// Event number `index` of a unit.
struct EventPlace {
  size_t unit, index;
};
// The first difference of two levels.
struct LevelDifference {
  std::optional<EventPlace> place;  // nullopt: no event differs, only the totals or the memory
  CycleWindow window;               // the cycles to record
};
// Called if the memories differ. Returns the event around which wrong bits are first written, or
// nullopt if no single event can be named.
using WrongEvent = std::function<StatusOr<std::optional<EventPlace>>()>;

// Returns the first difference of two levels in a segment, or nullopt if they agree.
//   bits    The window surrounds the event that `wrong_event` returns; without one it is the whole
//           segment.
//   cycles  Compared if `timed`. The window surrounds the earliest event, of any unit, that is in
//           different cycles; if only totals differ, it is the whole segment.
// If bits and cycles differ, returns the earlier difference. The order is that of event numbers if
// there is one unit, otherwise that of the windows' first cycles. `latency` is passed to
// WindowAround. Errors: those of `wrong_event`.
StatusOr<std::optional<LevelDifference>> FindLevelDifference(const LevelRun& expected,
                                                             const LevelRun& actual, bool timed,
                                                             int64_t latency,
                                                             const WrongEvent& wrong_event);

// Returns the index of a part of a sequence of `length` parts: two levels agree on the parts before
// it, and differ on these and the part. They must differ on the whole. `differs` runs both levels
// on the first parts; the search is binary and calls it log2(length) times. Errors: those of
// `differs`.
StatusOr<size_t> LastOfShortestDifference(
    size_t length, const std::function<StatusOr<bool>(size_t length)>& differs);

// Replays the first `instructions` instructions of a segment, always from the same initial memory,
// and returns the memory after them.
using PrefixReplay = std::function<StatusOr<std::vector<uint8_t>>(size_t instructions)>;

// Returns the index of an instruction before which the memories of two levels are equal and after
// which they differ. They must differ after all `instructions`. The search is binary and takes log2
// replays at each level. If a later instruction overwrites an earlier difference, the result may
// not be the first such instruction. Errors: those of the replays.
StatusOr<size_t> FirstWrongInstruction(size_t instructions, const PrefixReplay& expected,
                                       const PrefixReplay& actual);

// Returns the first index at which two lists differ, or nullopt if they are equal. If one list is a
// prefix of the other, the index is its length.
std::optional<size_t> FirstDifferent(const std::vector<int64_t>& a, const std::vector<int64_t>& b);

// Returns the cycles to record around event `index` of one unit. The window begins two events
// earlier, because units work ahead, and ends 2 * `latency` cycles after the event at both levels,
// so that it includes the memory's answers.
CycleWindow WindowAround(size_t index, const std::vector<int64_t>& expected,
                         const std::vector<int64_t>& actual, int64_t latency);

// The cycles of a run to record. An empty `file` disables recording.
struct WaveOptions {
  std::filesystem::path file;  // FST
  CycleWindow window;
};

// Returns the cycles after which a simulation that should take `expected` cycles is stopped,
// because faulty hardware may never finish.
uint64_t MostCyclesFor(int64_t expected);
// Returns the options of a run of a segment that should take `expected` cycles: with that limit if
// they have none and cycles are comparable (`timed`).
RtlOptions LimitedOptions(const RtlOptions& options, bool timed, int64_t expected);

// Returns the timing of the memory that these options describe, whose latency is `own_latency` if
// they name none, without stalls. It is the memory of a simulation with MemoryArguments.
hardware::AxiTiming MemoryTimingOf(const RtlOptions& options, uint64_t own_latency);

// Returns the command-line arguments of a simulation (rtl/testbench/kiln_simulate_options.h) for
// these options: the memory behind its ports unless it is the design point's ideal memory, the
// seed, and the limit on cycles.
std::vector<std::string> MemoryArguments(const RtlOptions& options, uint64_t seed);

}  // namespace kiln

#endif  // KILN_TARGETS_INTERFACE_DIFFERENCE_H_
