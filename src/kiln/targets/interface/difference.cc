// Compares the events of both levels, and bisects for the first wrong instruction.
#include "kiln/targets/interface/difference.h"

#include <algorithm>

#include "fmt/format.h"
#include "kiln/support/check.h"

namespace kiln {
namespace {

// A unit's events with the end of the stretch behind them.
std::vector<int64_t> Closed(const LevelRun& run, size_t unit) {
  std::vector<int64_t> events = run.events[unit];
  if (run.end.has_value()) events.push_back(*run.end);
  return events;
}

int64_t CycleOf(const std::vector<int64_t>& events, size_t index) {
  return events.empty() ? 0 : events[std::min(index, events.size() - 1)];
}

// The unit's event that is the first in another cycle.
std::optional<EventPlace> FirstOtherCycle(const LevelRun& expected, const LevelRun& actual) {
  std::optional<EventPlace> place;
  int64_t first = 0;
  for (size_t unit = 0; unit < expected.events.size(); ++unit) {
    const auto index = FirstDifferent(expected.events[unit], actual.events[unit]);
    if (!index.has_value()) continue;
    const int64_t cycle =
        std::min(CycleOf(Closed(expected, unit), *index), CycleOf(Closed(actual, unit), *index));
    if (place.has_value() && first <= cycle) continue;
    first = cycle;
    place = {unit, *index};
  }
  return place;
}

bool ComesBefore(const LevelDifference& a, const LevelDifference& b, size_t units) {
  if (units == 1 && a.place.has_value() && b.place.has_value()) {
    return a.place->index < b.place->index;
  }
  return a.window.begin < b.window.begin;
}

}  // namespace

StatusOr<std::optional<LevelDifference>> FindLevelDifference(const LevelRun& expected,
                                                             const LevelRun& actual, bool timed,
                                                             int64_t latency,
                                                             const WrongEvent& wrong_event) {
  KILN_CHECK(expected.events.size() == actual.events.size());
  const auto around = [&](const std::optional<EventPlace>& place) -> LevelDifference {
    if (!place.has_value()) {
      return {place, {0, std::max(expected.end.value_or(0), actual.end.value_or(0))}};
    }
    return {place, WindowAround(place->index, Closed(expected, place->unit),
                                Closed(actual, place->unit), latency)};
  };
  std::optional<LevelDifference> bits, cycles;
  if (!std::ranges::equal(expected.memory, actual.memory)) {
    KILN_ASSIGN_OR_RETURN(const std::optional<EventPlace> place, wrong_event());
    bits = around(place);
  }
  if (timed) {
    const std::optional<EventPlace> place = FirstOtherCycle(expected, actual);
    if (place.has_value() || expected.totals != actual.totals) cycles = around(place);
  }
  const bool by_cycles = cycles.has_value() &&
                         (!bits.has_value() || ComesBefore(*cycles, *bits, expected.events.size()));
  return by_cycles ? cycles : bits;
}

StatusOr<size_t> LastOfShortestDifference(
    size_t length, const std::function<StatusOr<bool>(size_t length)>& differs) {
  size_t alike = 0, different = length;
  while (different - alike > 1) {
    const size_t middle = alike + (different - alike) / 2;
    KILN_ASSIGN_OR_RETURN(const bool differ, differs(middle));
    (differ ? different : alike) = middle;
  }
  return different - 1;
}

StatusOr<size_t> FirstWrongInstruction(size_t instructions, const PrefixReplay& expected,
                                       const PrefixReplay& actual) {
  return LastOfShortestDifference(instructions, [&](size_t length) -> StatusOr<bool> {
    KILN_ASSIGN_OR_RETURN(const std::vector<uint8_t> a, expected(length));
    KILN_ASSIGN_OR_RETURN(const std::vector<uint8_t> b, actual(length));
    return a != b;
  });
}

std::optional<size_t> FirstDifferent(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  const auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (x == a.end() && y == b.end()) return std::nullopt;
  return static_cast<size_t>(x - a.begin());
}

CycleWindow WindowAround(size_t index, const std::vector<int64_t>& expected,
                         const std::vector<int64_t>& actual, int64_t latency) {
  constexpr size_t kBefore = 2;
  CycleWindow window;
  if (index >= kBefore && index - kBefore < actual.size()) window.begin = actual[index - kBefore];
  for (const std::vector<int64_t>* events : {&expected, &actual}) {
    if (events->empty()) continue;
    window.end = std::max(window.end, (*events)[std::min(index, events->size() - 1)]);
  }
  window.end += 2 * latency;
  return window;
}

uint64_t MostCyclesFor(int64_t expected) { return 2 * static_cast<uint64_t>(expected) + 100'000; }

RtlOptions LimitedOptions(const RtlOptions& options, bool timed, int64_t expected) {
  RtlOptions limited = options;
  if (timed && limited.most_cycles == 0) limited.most_cycles = MostCyclesFor(expected);
  return limited;
}

hardware::AxiTiming MemoryTimingOf(const RtlOptions& options, uint64_t own_latency) {
  hardware::AxiTiming timing;
  timing.latency = options.memory_latency > 0 ? options.memory_latency : own_latency;
  timing.bytes_per_cycle = options.dram_bytes_per_cycle;
  timing.row_miss = options.dram_row_miss;
  return timing;
}

std::vector<std::string> MemoryArguments(const RtlOptions& options, uint64_t seed) {
  std::vector<std::string> arguments = {"--seed", std::to_string(seed)};
  const auto add = [&](const char* flag, std::string value) {
    arguments.insert(arguments.end(), {flag, std::move(value)});
  };
  if (options.stall_probability > 0) add("--stalls", fmt::format("{}", options.stall_probability));
  if (options.dram_bytes_per_cycle > 0)
    add("--dram", fmt::format("{}", options.dram_bytes_per_cycle));
  if (options.dram_row_miss > 0) add("--row-miss", std::to_string(options.dram_row_miss));
  if (options.memory_latency > 0) add("--latency", std::to_string(options.memory_latency));
  if (options.most_cycles > 0) add("--limit", std::to_string(options.most_cycles));
  return arguments;
}

}  // namespace kiln
