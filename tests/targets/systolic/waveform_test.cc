#include "kiln/targets/systolic/waveform.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace kiln::systolic {
namespace {

// A level that finishes instruction i in cycle ends[i] and then has written `writes[i]` to byte places[i].
struct Level {
  std::vector<int64_t> ends;
  std::vector<size_t> places;
  std::vector<uint8_t> writes;
  int runs = 0;

  PrefixRunner Runner() {
    return [this](size_t instructions) -> StatusOr<PrefixRun> {
      ++runs;
      PrefixRun run{
          .ends = {ends.begin(), ends.begin() + static_cast<std::ptrdiff_t>(instructions)},
          .memory = std::vector<uint8_t>(8, 0)};
      for (size_t i = 0; i < instructions; ++i) run.memory[places[i]] = writes[i];
      return run;
    };
  }
};

Level Example(size_t instructions) {
  Level level;
  for (size_t i = 0; i < instructions; ++i) {
    level.ends.push_back(static_cast<int64_t>(100 * (i + 1)));
    level.places.push_back(i % 8);
    level.writes.push_back(static_cast<uint8_t>(i + 1));
  }
  return level;
}

std::optional<size_t> Find(Level expected, Level actual, bool timed = true) {
  const auto found =
      FirstDifferentInstruction(expected.ends.size(), timed, expected.Runner(), actual.Runner());
  EXPECT_TRUE(found.ok()) << found.status();
  return *found;
}

TEST(FirstDifferentInstruction, NoneInEqualRuns) {
  EXPECT_EQ(Find(Example(6), Example(6)), std::nullopt);
}

TEST(FirstDifferentInstruction, FindsWrongBitsWhereverTheyAre) {
  for (size_t count = 1; count <= 8; ++count) {
    for (size_t wrong = 0; wrong < count; ++wrong) {
      Level actual = Example(count);
      actual.writes[wrong] ^= 0x40;
      EXPECT_EQ(Find(Example(count), actual), wrong) << "of " << count;
      EXPECT_EQ(Find(Example(count), actual, /*timed=*/false), wrong) << "of " << count;
    }
  }
}

TEST(FirstDifferentInstruction, TakesFewRuns) {
  Level expected = Example(1000), actual = Example(1000);
  actual.writes[997] ^= 1;  // the last but two, of a place that nothing overwrites
  ASSERT_TRUE(FirstDifferentInstruction(1000, true, expected.Runner(), actual.Runner()).ok());
  EXPECT_LE(actual.runs, 12);
}

TEST(FirstDifferentInstruction, CyclesCountWhereTheyAreCompared) {
  Level actual = Example(6);
  actual.ends[3] += 1;
  EXPECT_EQ(Find(Example(6), actual), 3u);
  EXPECT_EQ(Find(Example(6), actual, /*timed=*/false), std::nullopt);
}

TEST(FirstDifferentInstruction, TheFirstOfBothIsTaken) {
  Level actual = Example(6);
  actual.ends[4] += 1;
  actual.writes[1] ^= 1;
  EXPECT_EQ(Find(Example(6), actual), 1u);
  actual = Example(6);
  actual.ends[0] += 1;
  actual.writes[5] ^= 1;
  EXPECT_EQ(Find(Example(6), actual), 0u);
}

// A machine that finishes fewer instructions than it was given differs in the first that it has not.
TEST(FirstDifferentInstruction, MissingEnds) {
  Level expected = Example(4);
  const PrefixRunner short_of_one = [&](size_t instructions) -> StatusOr<PrefixRun> {
    StatusOr<PrefixRun> run = expected.Runner()(instructions);
    run->ends.pop_back();
    return run;
  };
  const auto found = FirstDifferentInstruction(4, true, expected.Runner(), short_of_one);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, 3u);
}

TEST(FirstDifferentInstruction, ErrorsOfARunAreHandedOn) {
  Level expected = Example(4);
  const PrefixRunner fails = [](size_t) -> StatusOr<PrefixRun> {
    return absl::InternalError("stopped");
  };
  EXPECT_FALSE(FirstDifferentInstruction(4, true, expected.Runner(), fails).ok());
}

}  // namespace
}  // namespace kiln::systolic
