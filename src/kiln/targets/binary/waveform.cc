// Runs the launches of a program at the cycle level and in RTL, side by side.

#include "kiln/targets/binary/waveform.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kiln/targets/binary/isa/stream.h"
#include "kiln/targets/binary/run_network.h"
#include "kiln/targets/binary/simulate/cycle/cycle.h"
#include "kiln/targets/binary/simulate/rtl/machine.h"
#include "kiln/targets/interface/difference.h"
#include "kiln/targets/run/merge_trace.h"
#include "kiln/targets/run/tensor_machine.h"

namespace kiln::binary {
namespace {

namespace fs = std::filesystem;

// Half of the cycles that are recorded after a pixel has left the machine at both levels.
constexpr int64_t kHalfAfter = 8;

// The stream out by stage: the beats of its pixels, and the cycles in which the last beat of each
// pixel leaves, if `cycles` has those of the beats. Beats of a stage that the program does not have
// are left out.
struct StageStreams {
  std::vector<std::vector<uint8_t>> beats;
  std::vector<std::vector<int64_t>> pixels;
};

StageStreams ByStage(const BlockProgram& program, std::span<const uint8_t> beats,
                     std::span<const int64_t> cycles) {
  const auto size = static_cast<size_t>(program.config.beat_bytes);
  StageStreams streams{.beats = std::vector<std::vector<uint8_t>>(program.stages.size()),
                       .pixels = std::vector<std::vector<int64_t>>(program.stages.size())};
  for (size_t i = 0; i < beats.size() / size; ++i) {
    const std::span<const uint8_t> beat = beats.subspan(i * size, size);
    const size_t stage = beat.back();
    if (stage >= program.stages.size()) continue;
    std::vector<uint8_t>& own = streams.beats[stage];
    own.insert(own.end(), beat.begin(), beat.end());
    const size_t pixel = size * static_cast<size_t>(program.stages[stage].list);
    if (own.size() % pixel == 0 && !cycles.empty()) streams.pixels[stage].push_back(cycles[i]);
  }
  return streams;
}

// Returns the pixel with the first wrong results: of all stages, the one that leaves first at the
// cycle level. Returns nullopt if only the order of the stages' beats is another one.
std::optional<EventPlace> FirstWrongPixel(const BlockProgram& program, const StageStreams& expected,
                                          const StageStreams& actual) {
  std::optional<EventPlace> first;
  int64_t earliest = 0;
  for (size_t s = 0; s < program.stages.size(); ++s) {
    const auto [byte, other] = std::ranges::mismatch(expected.beats[s], actual.beats[s]);
    if (byte == expected.beats[s].end()) continue;
    const auto pixel = static_cast<size_t>(byte - expected.beats[s].begin()) /
                       static_cast<size_t>(program.config.beat_bytes * program.stages[s].list);
    const int64_t cycle = expected.pixels[s][pixel];
    if (first.has_value() && earliest <= cycle) continue;
    first = EventPlace{s, pixel};
    earliest = cycle;
  }
  return first;
}

// Returns the difference of a launch at both levels, if there is one. Behind memory, the simulation
// gives no cycles for single beats, and launches are compared as a whole.
StatusOr<std::optional<LevelDifference>> DifferenceOf(const BlockProgram& program,
                                                      const CycleResult& cycle,
                                                      const StreamSimulation::Result& rtl,
                                                      bool timed) {
  if (rtl.beat_cycles.empty()) {
    const auto whole = [&program](std::span<const uint8_t> beats, int64_t cycles,
                                  std::vector<uint8_t>* memory) {
      for (const std::vector<uint8_t>& stage : ByStage(program, beats, {}).beats)
        memory->insert(memory->end(), stage.begin(), stage.end());
      return LevelRun{.events = {},
                      .end = cycles + kHalfAfter,
                      .totals = {static_cast<uint64_t>(cycles)},
                      .memory = *memory};
    };
    std::vector<uint8_t> expected, actual;
    return FindLevelDifference(
        whole(cycle.beats, cycle.trace.cycles, &expected),
        whole(rtl.bytes, rtl.trace.cycles, &actual), timed, kHalfAfter,
        []() -> StatusOr<std::optional<EventPlace>> { return std::nullopt; });
  }
  const StageStreams expected = ByStage(program, cycle.beats, cycle.beat_cycles);
  const StageStreams actual = ByStage(program, rtl.bytes, rtl.beat_cycles);
  const auto level = [](const StageStreams& streams, int64_t cycles,
                        std::span<const uint8_t> beats) {
    return LevelRun{.events = streams.pixels,
                    .end = cycles,
                    .totals = {static_cast<uint64_t>(cycles)},
                    .memory = beats};
  };
  return FindLevelDifference(level(expected, cycle.trace.cycles, cycle.beats),
                             level(actual, rtl.trace.cycles, rtl.bytes), timed, kHalfAfter,
                             [&]() -> StatusOr<std::optional<EventPlace>> {
                               return FirstWrongPixel(program, expected, actual);
                             });
}

}  // namespace

StatusOr<Waveform> RecordDifference(const NetworkProgram& program, const Batch& batch,
                                    const RtlOptions& options, bool timed, const fs::path& file) {
  KILN_ASSIGN_OR_RETURN(const auto simulation,
                        RtlMachine::Build(program.config(), options, /*trace=*/true));
  const auto run = [&](const KernelPlace& place, size_t number, std::span<const int32_t> records,
                       Trace* trace, Waveform* found) -> StatusOr<StageResults> {
    const BlockProgram& launch =
        program.launches()[static_cast<size_t>(place.kernel)][number].program;
    KILN_ASSIGN_OR_RETURN(CycleResult cycle, RunCycle(launch, records, StreamMemoryOf(options)));
    const RtlOptions limited = LimitedOptions(options, timed, cycle.trace.cycles);
    KILN_ASSIGN_OR_RETURN(const StreamSimulation::Result rtl,
                          simulation->RunBeats(launch, records, limited));
    KILN_ASSIGN_OR_RETURN(const std::optional<LevelDifference> difference,
                          DifferenceOf(launch, cycle, rtl, timed));
    if (!difference.has_value()) {
      AppendTrace(cycle.trace, trace);
      return std::move(cycle.results);
    }
    const auto [begin, end] = difference->window;
    KILN_RETURN_IF_ERROR(simulation
                             ->RunBeats(launch, records, limited,
                                        {.file = fs::absolute(file), .begin = begin, .end = end})
                             .status());
    const int64_t before = place.begin + trace->cycles;
    *found = {
        .recorded = true, .kernel = place.kernel, .begin = before + begin, .end = before + end};
    return absl::CancelledError("recorded");
  };
  return RecordOnTensorMachine(program, program.network(), batch, [&](Waveform* found) {
    return MakeNetworkMachine(
        program,
        [&run, found](const KernelPlace& place, size_t launch, std::span<const int32_t> records,
                      Trace* trace) { return run(place, launch, records, trace, found); });
  });
}

}  // namespace kiln::binary
