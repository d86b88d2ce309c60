// Bounds and refutations without search, by hand.

#include <gtest/gtest.h>

#include "kiln/targets/cgra/map/problem.h"

namespace kiln::cgra {
namespace {

Problem Chain(int count) {
  Problem problem;
  for (int i = 0; i < count; ++i) {
    problem.instructions.push_back({{i}, false, std::string(1, static_cast<char>('a' + i))});
    problem.group.push_back(-1);
    problem.source.push_back(i == 0);
    if (i > 0) problem.dependences.push_back({i - 1, i, 0, true});
  }
  return problem;
}

TEST(Bounds, RoutesGoAlongTheRowFirst) {
  Config config;
  config.rows = 4;
  config.columns = 8;
  config.hop_cycles = 3;
  EXPECT_EQ(RouteOf(config, 9, 9), std::vector<LinkUse>{});
  // From row 1, column 1 to row 2, column 6.
  EXPECT_EQ(RouteOf(config, 9, 22),
            (std::vector<LinkUse>{{9, 11, 0}, {11, 13, 6}, {13, 14, 12}, {14, 22, 15}}));
  EXPECT_EQ(RouteOf(config, 24, 0), (std::vector<LinkUse>{{24, 8, 0}, {8, 0, 6}}));
}

TEST(Bounds, CountsInstructionsOnTiles) {
  Problem problem = Chain(7);
  problem.config.columns = 3;
  EXPECT_EQ(LeastInterval(problem).value, 3);
  EXPECT_EQ(LeastInterval(problem).why, "7 instructions on 3 tiles");
  problem.config.tile_period = 2;  // 6 slots, at any interval
  EXPECT_NE(WhyImpossible(problem), "");
  problem.config.tile_period = 4;
  EXPECT_EQ(LeastInterval(problem).value, 4);
}

TEST(Bounds, CountsGroups) {
  Problem problem = Chain(6);
  problem.groups = {{0, 2, 4, 5}};
  problem.group_names = {"x"};
  problem.group = {0, -1, 0, -1, 0, 0};
  EXPECT_EQ(LeastInterval(problem).value, 4);
  EXPECT_EQ(LeastInterval(problem).why, "4 instructions on one tile, as all use x");
  problem.config.instruction_depth = 2;
  EXPECT_EQ(WhyImpossible(problem),
            "4 instructions share a tile, as all use x, and a tile holds 2 instructions");
}

TEST(Bounds, PacksGroups) {
  // Three groups of two on two tiles: one tile has two of them.
  Problem problem = Chain(6);
  problem.config.columns = 2;
  problem.groups = {{0, 1}, {2, 3}, {4, 5}};
  problem.group_names = {"x", "y", "z"};
  problem.group = {0, 0, 1, 1, 2, 2};
  EXPECT_EQ(LeastInterval(problem).value, 4);
}

TEST(Bounds, CountsRecurrences) {
  Problem problem = Chain(4);
  problem.dependences.push_back({2, 1, 2, true});
  // 6 cycles over 2 threads, but at an interval of 3 cycles instructions that follow each other at
  // once have the same slot, and to another tile a value takes a hop: 8 cycles.
  EXPECT_EQ(LeastInterval(problem).value, 4);
  EXPECT_EQ(LeastInterval(problem).why, "the recurrence b -> c -> b takes 8 cycles over 2 threads");
  problem.dependences.back().distance = 1;
  EXPECT_EQ(LeastInterval(problem).value, 6);
  problem.config.feedback = false;  // each step of the recurrence leaves its tile
  EXPECT_EQ(LeastInterval(problem).value, 8);
}

// A chain of four: 3 cycles each, and a cycle between two of them where the pipeline's latency is a
// multiple of the interval.
TEST(Bounds, CountsSlotsAndHopsBetweenInstructions) {
  const Problem problem = Chain(4);
  EXPECT_EQ(LeastLatency(problem, 1).value, 15);
  EXPECT_EQ(LeastLatency(problem, 2).value, 12);
  EXPECT_EQ(LeastLatency(problem, 3).value, 15);
  EXPECT_EQ(LeastLatency(problem, 4).value, 12);
  EXPECT_EQ(LeastLatency(problem, 3, Passes::kAny).value, 15);
  Config config;
  EXPECT_EQ(LeastDelay(config, 3), 1);
  EXPECT_EQ(LeastDelay(config, 6), 0);
  config.tile_period = 3;
  EXPECT_EQ(LeastDelay(config, 6), 1);
  config.hop_cycles = 0;
  EXPECT_EQ(LeastDelay(config, 6), 0);
}

TEST(Bounds, CountsTheFirstPeriod) {
  // `e` issues before cycle II, and its operand of the thread before comes after cycle 9 + 3 - II.
  Problem problem = Chain(4);
  problem.instructions.push_back({{4}, false, "e"});
  problem.group.push_back(-1);
  problem.source.push_back(true);
  problem.dependences.push_back({3, 4, 1, true});
  EXPECT_EQ(LeastInterval(problem).value, 7);
  problem.dependences.back().distance = 2;
  EXPECT_EQ(LeastInterval(problem).value, 5);
  problem.config.later_periods = true;
  EXPECT_EQ(LeastInterval(problem).value, 1);
}

TEST(Bounds, TheLatencyHasTheHopsOfSiblings) {
  // b, c and d use a: one on its tile, two one hop away; the three meet in e.
  Problem problem = Chain(1);
  for (int i = 1; i < 4; ++i) {
    problem.instructions.push_back({{i}, false, std::string(1, static_cast<char>('a' + i))});
    problem.dependences.push_back({0, i, 0, true});
  }
  problem.instructions.push_back({{4}, false, "e"});
  for (int i = 1; i < 4; ++i) problem.dependences.push_back({i, 4, 0, true});
  problem.group.assign(5, -1);
  problem.source = {true, false, false, false, false};
  EXPECT_EQ(LeastLatency(problem, 4).value, 10);
  problem.config.hop_cycles = 2;
  EXPECT_EQ(LeastLatency(problem, 4).value, 11);
  // The third user is two tiles away, or behind a pass-through of 3 cycles; then a hop to e.
  problem.config.feedback = false;
  EXPECT_EQ(LeastLatency(problem, 4).value, 3 + 3 + 3 + 2 + 3);
}

TEST(Bounds, TheLatencyHasTurnsOnATile) {
  Problem problem;
  for (int i = 0; i < 4; ++i) {
    problem.instructions.push_back({{i}, false, std::string(1, static_cast<char>('a' + i))});
    problem.source.push_back(true);
  }
  problem.groups = {{0, 1, 2, 3}};
  problem.group_names = {"x"};
  problem.group.assign(4, 0);
  EXPECT_EQ(LeastLatency(problem, 4).value, 6);  // issues in the cycles 0 to 3
}

TEST(Bounds, SaysWhatIsImpossible) {
  Problem problem = Chain(3);
  problem.groups = {{1, 2}};
  problem.group_names = {"x"};
  problem.group = {-1, 0, 0};
  EXPECT_EQ(WhyImpossible(problem), "");
  problem.siblings = {{1, 2}};
  problem.sibling_producer = {0};
  EXPECT_EQ(WhyImpossible(problem),
            "'b' and 'c' share a tile, as all users of x do, and may not, as both use the result "
            "of 'a'");
  problem.siblings.clear();
  problem.starts = {1, 2};
  EXPECT_EQ(WhyImpossible(problem),
            "'b' and 'c' share a tile, as all users of x do, and may not, as both start a flow");
  problem.groups.clear();
  problem.group.assign(3, -1);
  EXPECT_EQ(WhyImpossible(problem), "");
  problem.config.columns = 1;
  EXPECT_EQ(WhyImpossible(problem),
            "2 instructions start flows, each on a tile of its own, and there is 1 tile");
  problem.starts.clear();
  problem.dependences.push_back({0, 0, 1, true});
  problem.config.feedback = false;
  EXPECT_EQ(WhyImpossible(problem), "'a' uses its own result, and tiles have no feedback");
  problem.dependences.pop_back();
  problem.config.feedback = true;
  problem.config.spoke_depth = 2;
  EXPECT_EQ(WhyImpossible(problem),
            "the machine's longest interval is 2 cycles, too short: 3 instructions on 1 tile");
}

}  // namespace
}  // namespace kiln::cgra
