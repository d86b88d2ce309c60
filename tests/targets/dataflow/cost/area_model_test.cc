#include "kiln/targets/dataflow/cost/area_model.h"

#include "kiln/targets/dataflow/cost/module_counts.h"
#include "tests/targets/area_model_checks.h"

namespace kiln::dataflow {
namespace {

using hardware::FittedModel;
using hardware::GridPoint;

const std::vector<GridPoint>& Grid() {
  static const std::vector<GridPoint> grid =
      hardware::ReadGrid("technology/osu018/dataflow_grid.csv");
  return grid;
}

TEST(DataflowAreaModel, StatedErrorsAreThoseOnTheGrid) {
  hardware::ExpectStatedErrorsAreThoseOnTheGrid(FamilyAreaModels(), Grid());
}

TEST(DataflowAreaModel, EveryPointHasAModel) {
  EXPECT_GT(Grid().size(), 150u);
  hardware::ExpectEveryPointHasAModel(FamilyAreaModels(), Grid());
}

TEST(DataflowAreaModel, EveryModelIsFittedWithSmallErrors) {
  const hardware::AreaModels models = FamilyAreaModels();
  EXPECT_EQ(models.fitted.size(), models.models.size());
  for (const FittedModel& fitted : models.fitted) {
    EXPECT_GE(fitted.fit.points, 2) << fitted.name;
    EXPECT_GE(fitted.check.points, 1) << fitted.name;
    EXPECT_LT(fitted.fit.mean, 0.12) << fitted.name;
    EXPECT_LT(fitted.check.mean, 0.15) << fitted.name;
  }
}

TEST(DataflowAreaModel, GrowsWithEverySize) {
  const char* const sizes[] = {"IN_BITS", "WEIGHT_BITS", "TERMS",   "BITS",     "SUM_BITS",
                               "C_BITS",  "WORDS",       "LANES",   "WIDTH",    "DEPTH",
                               "H",       "W",           "CG",      "KY",       "KX",
                               "OUTPUTS", "INPUTS",      "FACTOR",  "CHANNELS", "WORD_WIDTH",
                               "PIXELS",  "ACC_BITS",    "IN_BEATS"};
  hardware::ExpectGrowth(FamilyAreaModels(), Grid(), sizes);
}

// Two packed products of 8 x 8 bits: 25 bits of weights times 8 and a sign; the fields of both, and
// both again behind the correction. Four of 4 x 4 bits: fields of 7 bits.
TEST(DataflowModuleCounts, OfMultipliers) {
  EXPECT_EQ(MultiplierCountsOf(8, true, 8, 1).pairs, 9 * 8);
  EXPECT_EQ(MultiplierCountsOf(8, false, 8, 1).pairs, 8 * 8);
  EXPECT_EQ(MultiplierCountsOf(8, true, 8, 1).register_bits, 8 + 16);
  EXPECT_EQ(MultiplierCountsOf(8, true, 8, 2).pairs, 9 * 25);
  EXPECT_EQ(MultiplierCountsOf(8, true, 8, 2).register_bits, 25 + 32 + 32);
  EXPECT_EQ(MultiplierCountsOf(4, false, 4, 4).pairs, 5 * 26);
  EXPECT_EQ(MultiplierCountsOf(4, false, 4, 4).register_bits, 26 + 28 + 8 + 32);
}

TEST(DataflowModuleCounts, OfTrees) {
  // Five terms of 8 bits: two sums and a delayed term of 9, a sum and a term of 10, a sum of 11.
  EXPECT_EQ(SumTreeCountsOf(5, 8).operator_bits, 2 * 9 + 10 + 11);
  EXPECT_EQ(SumTreeCountsOf(5, 8).register_bits, 3 * 9 + 2 * 10 + 11);
  EXPECT_EQ(MaxTreeCountsOf(5, 8).operator_bits, 4 * 8);
  EXPECT_EQ(MaxTreeCountsOf(5, 8).register_bits, 6 * 8);
  EXPECT_EQ(SumTreeCountsOf(1, 8).register_bits, 0);
}

// Sums of 20 bits in one multiplier, of 30 bits in two.
TEST(DataflowModuleCounts, OfRequantisation) {
  EXPECT_EQ(ScaleCountsOf(20, 34, 8, 27).pairs, 20 * 17);
  EXPECT_EQ(ScaleCountsOf(20, 34, 8, 27).register_bits, 20 + 17 + 2 * 34 + 38 + 39 + 8);
  EXPECT_EQ(ScaleCountsOf(30, 46, 8, 27).register_bits, 30 + 17 + 2 * 46 + (36 + 31) + 49 + 8);
  EXPECT_EQ(ScaleCountsOf(26, 46, 8, 25).register_bits - ScaleCountsOf(26, 46, 8, 27).register_bits,
            36 - 17);
  // Two levels of 4 channels: the sum waits and is passed on with its place, then it waits; one bit
  // is found, then two.
  EXPECT_EQ(ThresholdCountsOf(16, 16, 2, 4).compared_bits, 32);
  EXPECT_EQ(ThresholdCountsOf(16, 16, 2, 4).register_bits, (16 + 2) * 2 + 1 + 16 + 1 + 2);
}

TEST(DataflowModuleCounts, SignedDigits) {
  const std::pair<int64_t, int64_t> cases[] = {{0, 0}, {1, 1},   {-1, 1}, {3, 2},  {7, 2},
                                               {5, 2}, {-11, 3}, {15, 2}, {64, 1}, {0x5555, 8}};
  for (const auto& [number, digits] : cases) EXPECT_EQ(SignedDigits(number), digits) << number;
}

}  // namespace
}  // namespace kiln::dataflow
