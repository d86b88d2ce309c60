#include "kiln/targets/interface/difference.h"

#include <gtest/gtest.h>

#include <vector>

namespace kiln {
namespace {

// A level that finishes instruction i in cycle ends[i] and then has written `writes[i]` to byte
// places[i].
struct RunLevel {
  std::vector<int64_t> ends;
  std::vector<size_t> places;
  std::vector<uint8_t> writes;
  int replays = 0;

  std::vector<uint8_t> MemoryAfter(size_t instructions) const {
    std::vector<uint8_t> memory(8, 0);
    for (size_t i = 0; i < instructions; ++i) memory[places[i]] = writes[i];
    return memory;
  }
  PrefixReplay Replay() {
    return [this](size_t instructions) -> StatusOr<std::vector<uint8_t>> {
      ++replays;
      return MemoryAfter(instructions);
    };
  }
};

RunLevel Example(size_t instructions) {
  RunLevel level;
  for (size_t i = 0; i < instructions; ++i) {
    level.ends.push_back(static_cast<int64_t>(100 * (i + 1)));
    level.places.push_back(i % 8);
    level.writes.push_back(static_cast<uint8_t>(i + 1));
  }
  return level;
}

StatusOr<std::optional<LevelDifference>> Compare(RunLevel& expected, RunLevel& actual, bool timed) {
  const size_t count = expected.places.size();
  const std::vector<uint8_t> a = expected.MemoryAfter(count), b = actual.MemoryAfter(count);
  return FindLevelDifference(
      {.events = {expected.ends}, .end = std::nullopt, .totals = {}, .memory = a},
      {.events = {actual.ends}, .end = std::nullopt, .totals = {}, .memory = b}, timed,
      /*latency=*/16, [&]() -> StatusOr<std::optional<EventPlace>> {
        KILN_ASSIGN_OR_RETURN(const size_t index,
                              FirstWrongInstruction(count, expected.Replay(), actual.Replay()));
        return EventPlace{0, index};
      });
}

// The instruction around which the levels differ.
std::optional<size_t> Find(RunLevel expected, RunLevel actual, bool timed = true) {
  const auto found = Compare(expected, actual, timed);
  EXPECT_TRUE(found.ok()) << found.status();
  if (!found->has_value()) return std::nullopt;
  return (*found)->place->index;
}

TEST(FindLevelDifference, NoneInEqualRuns) {
  EXPECT_EQ(Find(Example(6), Example(6)), std::nullopt);
}

TEST(FindLevelDifference, FindsWrongBitsWhereverTheyAre) {
  for (size_t count = 1; count <= 8; ++count) {
    for (size_t wrong = 0; wrong < count; ++wrong) {
      RunLevel actual = Example(count);
      actual.writes[wrong] ^= 0x40;
      EXPECT_EQ(Find(Example(count), actual), wrong) << "of " << count;
      EXPECT_EQ(Find(Example(count), actual, /*timed=*/false), wrong) << "of " << count;
    }
  }
}

TEST(FindLevelDifference, TakesFewReplays) {
  RunLevel expected = Example(1000), actual = Example(1000);
  actual.writes[997] ^= 1;  // the last but two, of a place that nothing overwrites
  ASSERT_TRUE(Compare(expected, actual, true).ok());
  EXPECT_LE(actual.replays, 10);
}

TEST(FindLevelDifference, CyclesCountWhereTheyAreCompared) {
  RunLevel actual = Example(6);
  actual.ends[3] += 1;
  EXPECT_EQ(Find(Example(6), actual), 3u);
  EXPECT_EQ(Find(Example(6), actual, /*timed=*/false), std::nullopt);
}

TEST(FindLevelDifference, TheFirstOfBothIsTaken) {
  RunLevel actual = Example(6);
  actual.ends[4] += 1;
  actual.writes[1] ^= 1;
  EXPECT_EQ(Find(Example(6), actual), 1u);
  actual = Example(6);
  actual.ends[0] += 1;
  actual.writes[5] ^= 1;
  EXPECT_EQ(Find(Example(6), actual), 0u);
}

// A machine that finishes fewer instructions than it was given differs in the first that it has
// not.
TEST(FindLevelDifference, MissingEnds) {
  RunLevel actual = Example(4);
  actual.ends.pop_back();
  EXPECT_EQ(Find(Example(4), actual), 3u);
}

TEST(FindLevelDifference, ErrorsOfAReplayAreHandedOn) {
  const PrefixReplay fails = [](size_t) -> StatusOr<std::vector<uint8_t>> {
    return absl::InternalError("stopped");
  };
  RunLevel expected = Example(4);
  EXPECT_FALSE(FirstWrongInstruction(4, expected.Replay(), fails).ok());
  const std::vector<uint8_t> one = {1}, two = {2};
  EXPECT_FALSE(
      FindLevelDifference(
          {.events = {{}}, .end = std::nullopt, .totals = {}, .memory = one},
          {.events = {{}}, .end = std::nullopt, .totals = {}, .memory = two}, true, 16,
          []() -> StatusOr<std::optional<EventPlace>> { return absl::InternalError("stopped"); })
          .ok());
}

// Of several units the event that comes first; of totals alone, the whole.
TEST(FindLevelDifference, UnitsAreComparedByTheirCycles) {
  const auto never = []() -> StatusOr<std::optional<EventPlace>> {
    ADD_FAILURE() << "memories are alike";
    return std::optional<EventPlace>();
  };
  LevelRun expected{
      .events = {{10, 500}, {20, 30, 40}}, .end = 600, .totals = {600, 7}, .memory = {}};
  LevelRun actual = expected;
  actual.events = {{10, 501}, {20, 30, 41}};
  auto found = *FindLevelDifference(expected, actual, true, 16, never);
  ASSERT_TRUE(found.has_value() && found->place.has_value());
  EXPECT_EQ(found->place->unit, 1u);
  EXPECT_EQ(found->place->index, 2u);
  EXPECT_EQ(found->window.begin, 20);
  EXPECT_EQ(found->window.end, 41 + 32);
  actual = expected;
  actual.totals[1] = 8;
  found = *FindLevelDifference(expected, actual, true, 16, never);
  ASSERT_TRUE(found.has_value());
  EXPECT_FALSE(found->place.has_value());
  EXPECT_EQ(found->window.begin, 0);
  EXPECT_EQ(found->window.end, 600);
  EXPECT_FALSE((*FindLevelDifference(expected, actual, false, 16, never)).has_value());
}

TEST(FirstDifferent, LengthsCount) {
  EXPECT_EQ(FirstDifferent({1, 2, 3}, {1, 2, 3}), std::nullopt);
  EXPECT_EQ(FirstDifferent({}, {}), std::nullopt);
  EXPECT_EQ(FirstDifferent({1, 2, 3}, {1, 4, 3}), 1u);
  EXPECT_EQ(FirstDifferent({1, 2}, {1, 2, 3}), 2u);
  EXPECT_EQ(FirstDifferent({1, 2, 3}, {1, 2}), 2u);
}

TEST(WindowAround, BeginsBeforeTheKernelBeforeAndEndsBehindBoth) {
  const std::vector<int64_t> expected = {100, 200, 300, 400}, actual = {100, 210, 330, 390};
  const CycleWindow first = WindowAround(0, expected, actual, 16);
  EXPECT_EQ(first.begin, 0);
  EXPECT_EQ(first.end, 132);
  const CycleWindow third = WindowAround(2, expected, actual, 16);
  EXPECT_EQ(third.begin, 100);
  EXPECT_EQ(third.end, 362);
  const CycleWindow last = WindowAround(3, expected, actual, 16);
  EXPECT_EQ(last.begin, 210);
  EXPECT_EQ(last.end, 432);
  // Of a machine that stopped early.
  EXPECT_EQ(WindowAround(3, expected, {100, 210}, 16).begin, 210);
}

TEST(SimulationArguments, IdealMemoriesHaveASeedOnly) {
  EXPECT_EQ(MemoryArguments({}, 7), (std::vector<std::string>{"--seed", "7"}));
  RtlOptions options;
  options.stall_probability = 0.25;
  options.memory_latency = 9;
  EXPECT_EQ(MemoryArguments(options, 1),
            (std::vector<std::string>{"--seed", "1", "--stalls", "0.25", "--latency", "9"}));
}

TEST(LimitedOptions, FaultyHardwareIsStopped) {
  RtlOptions options;
  options.seed = 7;
  EXPECT_EQ(LimitedOptions(options, /*timed=*/true, 50).most_cycles, 100'100u);
  EXPECT_EQ(LimitedOptions(options, /*timed=*/true, 50).seed, 7u);
  // The time behind another memory has no bound, and the caller's limit is kept.
  EXPECT_EQ(LimitedOptions(options, /*timed=*/false, 50).most_cycles, 0u);
  options.most_cycles = 3;
  EXPECT_EQ(LimitedOptions(options, /*timed=*/true, 50).most_cycles, 3u);
}

}  // namespace
}  // namespace kiln
