// Tests of the choice of modules that synthesis maps on their own.
#include "kiln/hardware/synthesis_boundaries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kiln::hardware {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// A combinational module of so many gates, in words of 1 bit.
ModuleStatistics Logic(int64_t gates) { return {.memory_bits = 0, .cells = {{"$and_1", gates}}}; }
ModuleStatistics Holding(std::map<std::string, int64_t> parts) {
  return {.memory_bits = 0, .cells = std::move(parts)};
}

TEST(GateEstimate, GrowsWithTheOperatorAndItsWidth) {
  EXPECT_EQ(GateEstimate("$and_8"), 8);
  EXPECT_LT(GateEstimate("$and_8"), GateEstimate("$mux_8"));
  EXPECT_LT(GateEstimate("$mux_8"), GateEstimate("$add_8"));
  EXPECT_LT(GateEstimate("$add_16"), GateEstimate("$shl_16"));
  EXPECT_LT(GateEstimate("$shl_16"), GateEstimate("$mul_16"));
  EXPECT_EQ(GateEstimate("$mul_48"), 4 * GateEstimate("$mul_24"));
  EXPECT_EQ(ArithmeticEstimate("$mul_48"), GateEstimate("$mul_48"));
  EXPECT_EQ(ArithmeticEstimate("$mux_48"), 0);
  for (const char* none : {"$dff_32", "$mem_v2_8", "$_AND_", "$add", "kiln_delay", "module_8"}) {
    EXPECT_EQ(GateEstimate(none), 0) << none;
  }
}

TEST(Boundaries, LargeCopiesAreMappedOnce) {
  const NetlistStatistics statistics = {
      {"top", Holding({{"$dff_8", 1}, {"often", 3}, {"once", 1}, {"small", 3}})},
      {"often", Logic(kCopiedGates)},
      {"once", Logic(kCopiedGates)},
      {"small", Logic(kCopiedGates / 2)}};
  const Boundaries found = FindBoundaries(statistics, "top");
  EXPECT_THAT(found.kept, UnorderedElementsAre("top", "often"));
  EXPECT_THAT(found.large, IsEmpty());
}

TEST(Boundaries, CopiesAreThoseInWhatIsMapped) {
  // Four in a register file that stands a hundred times and is mapped once; a wrapper that becomes
  // part of it has them.
  NetlistStatistics statistics = {{"top", Holding({{"file", 100}})},
                                  {"file", Holding({{"$dff_8", 1}, {"pair", 2}})},
                                  {"pair", Holding({{"$and_1", 1}, {"leaf", 2}})},
                                  {"leaf", Logic(kCopiedGates / 3)}};
  EXPECT_THAT(FindBoundaries(statistics, "top").kept, UnorderedElementsAre("top", "file"));
  statistics["leaf"] = Logic(kCopiedGates / 3 + 1);
  EXPECT_THAT(FindBoundaries(statistics, "top").kept, UnorderedElementsAre("top", "file", "leaf"));
  // Large enough for the wrapper: then its leaves stand twice in one module that is mapped, and
  // become part of it.
  statistics["leaf"] = Logic(kCopiedGates / 2 + 1);
  EXPECT_THAT(FindBoundaries(statistics, "top").kept, UnorderedElementsAre("top", "file", "pair"));
}

TEST(Boundaries, LargeIsArithmeticThatBecomesPartIncluded) {
  const int64_t adders = kArithmeticGates / GateEstimate("$add_1") + 1;
  NetlistStatistics statistics = {
      {"top", Holding({{"half", 1}, {"$and_1", kLargeGates}, {"kept", 1}})},
      {"half", Holding({{"$add_1", adders}})},
      {"kept",
       Holding({{"$dff_1", 1}, {"$mux_1", 100 * kLargeGates}})}};  // large, but no arithmetic
  const Boundaries found = FindBoundaries(statistics, "top");
  EXPECT_THAT(found.kept, UnorderedElementsAre("top", "kept"));
  EXPECT_THAT(found.large, ElementsAre("top"));
  // With little arithmetic, or with little beside it, it is not.
  statistics["half"] = Holding({{"$add_1", adders - 1}});
  EXPECT_THAT(FindBoundaries(statistics, "top").large, IsEmpty());
  statistics["half"] = Holding({{"$add_1", adders}});
  statistics["top"] = Holding({{"half", 1}, {"$and_1", kLargeGates / 2}, {"kept", 1}});
  EXPECT_THAT(FindBoundaries(statistics, "top").large, IsEmpty());
}

TEST(Boundaries, TablesRememberNothing) {
  const NetlistStatistics statistics = {
      {"top", Holding({{"table", 1}, {"memory", 1}, {"often", 3}})},
      {"table", {.memory_bits = 64, .cells = {{"$memrd", 1}, {"$meminit_v2", 1}}}},
      {"memory", {.memory_bits = 64, .cells = {{"$memrd", 1}, {"$memwr_v2", 1}}}},
      {"often", Logic(2 * kDoubtfulGates)}};
  const Boundaries found = FindBoundaries(statistics, "top");
  EXPECT_THAT(found.kept, UnorderedElementsAre("top", "table", "memory", "often"));
  EXPECT_THAT(found.stateless, UnorderedElementsAre("table", "often"));
}

// A module that is kept because its estimate is above what may be mapped again, until it is known
// what it comes to.
TEST(Boundaries, SmallEstimatesAreInDoubt) {
  const NetlistStatistics statistics = {{"top", Holding({{"$dff_8", 1}, {"decode", 3}})},
                                        {"decode", Holding({{"inside", 1}})},
                                        {"inside", Logic(kDoubtfulGates)}};
  const Boundaries found = FindBoundaries(statistics, "top");
  EXPECT_THAT(found.kept, UnorderedElementsAre("top", "decode"));
  EXPECT_THAT(found.doubtful, ElementsAre("decode"));
  const Boundaries small = FindBoundaries(statistics, "top", {{"decode", 20}});
  EXPECT_THAT(small.kept, ElementsAre("top"));
  EXPECT_THAT(small.doubtful, IsEmpty());
  const Boundaries large = FindBoundaries(statistics, "top", {{"decode", kCopiedGates}});
  EXPECT_THAT(large.kept, UnorderedElementsAre("top", "decode"));
  EXPECT_THAT(large.stateless, ElementsAre("decode"));
  EXPECT_THAT(large.doubtful, IsEmpty());
  NetlistStatistics larger = statistics;
  larger["inside"] = Logic(kDoubtfulGates + 1);
  EXPECT_THAT(FindBoundaries(larger, "top").doubtful, IsEmpty());
}

}  // namespace
}  // namespace kiln::hardware
