#include "kiln/targets/interface/difference.h"

#include <gtest/gtest.h>

namespace kiln {
namespace {

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

TEST(SimulationArguments, WavesHaveAWindow) {
  EXPECT_TRUE(WaveArguments({}).empty());
  EXPECT_EQ(WaveArguments({.file = "a.fst", .window = {3, 90}}),
            (std::vector<std::string>{"--wave", "a.fst", "--wave-from", "3", "--wave-to", "90"}));
}

}  // namespace
}  // namespace kiln
