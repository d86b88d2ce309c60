// The cost model against the paper's printed figures: derived_checks.csv, table1_lut_group_size.csv
// and table2_alexnet_ops.csv of the reference tables, whose values are written out here.
#include "kiln/targets/binary/tables/cost_model.h"

#include <cmath>
#include <limits>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kiln::binary {
namespace {

std::string Percent(double share) { return fmt::format("{:.2f}", 100 * share); }

std::string Print(const std::vector<SwitchPoint>& points) {
  std::string text;
  for (const SwitchPoint& point : points) text += fmt::format("{}@{} ", point.size, point.outputs);
  return text;
}

// table1_lut_group_size.csv: reduction_pct_low and reduction_pct_high.
TEST(CostModel, ReductionsOfTable1) {
  EXPECT_EQ(Percent(Reduction(2, 3)), "16.67");
  EXPECT_EQ(Percent(Reduction(2, 8)), "37.50");
  EXPECT_EQ(Percent(Reduction(3, 9)), "44.44");
  EXPECT_EQ(Percent(Reduction(3, 90)), "64.44");
  EXPECT_EQ(Percent(Reduction(4, 91)), "71.15");
  EXPECT_EQ(Percent(Reduction(4, std::numeric_limits<double>::infinity())), "75.00");
}

// table1_lut_group_size.csv: output_channels_from 3, 9, 91; and never groups of five.
TEST(CostModel, GroupSizesOfTable1) {
  EXPECT_EQ(Print(SwitchPoints(kMultiplexerCost, 100000)), "1@1 2@3 3@9 4@91 ");
  for (double k : {0.0889, 0.0890, 0.0891}) {
    EXPECT_EQ(Print(SwitchPoints(k, 1000)), "1@1 2@3 3@9 4@91 ") << k;
  }
  for (double k : {0.0885, 0.0895}) {
    EXPECT_NE(Print(SwitchPoints(k, 1000)), "1@1 2@3 3@9 4@91 ") << k;
  }
}

// spec.md, 2.1: "additions alone would switch at N = 3, 7, 19, 51".
TEST(CostModel, AdditionsAlone) {
  EXPECT_EQ(Print(SwitchPoints(0, 100)), "1@1 2@3 3@7 4@19 5@51 ");
}

// The cost in additions by the text of spec.md, [2^s - 2 + N (1 + k (2^(s-1) - 1))]/s, at one
// point: s = 3, N = 10, k = 0.1 gives (6 + 10 * 1.3) / 3.
TEST(CostModel, PartsOfACost) {
  const GroupCost cost = CostOfGroup(3, 10, 0.1);
  EXPECT_DOUBLE_EQ(cost.table, 2);
  EXPECT_DOUBLE_EQ(cost.partial, 10.0 / 3);
  EXPECT_DOUBLE_EQ(cost.multiplexer, 1);
  EXPECT_DOUBLE_EQ(cost.total(), 19.0 / 3);
  EXPECT_DOUBLE_EQ(CostOfGroup(3, 10, 0.1, Builder::kGray).table, 5.0 / 3);
}

// Every best group is the one with the least cost among all.
TEST(CostModel, BestGroupHasTheLeastCost) {
  for (double k : {0.0, 0.05, 0.089, 0.5}) {
    for (int64_t outputs : {1, 2, 5, 17, 64, 91, 500, 10000}) {
      for (Builder builder : kBuilders) {
        const double best =
            CostOfGroup(BestGroup(outputs, k, builder), outputs, k, builder).total();
        for (int size = 1; size <= kMaxGroup; ++size) {
          EXPECT_LE(best, CostOfGroup(size, outputs, k, builder).total() + 1e-9);
        }
      }
    }
  }
  EXPECT_EQ(BestGroup(10000, 0, Builder::kChain, 4), 4);
}

// table2_alexnet_ops.csv: output_channels, zero_after_activation_pct, reduction_pct.
TEST(CostModel, ReductionsOfTable2) {
  EXPECT_EQ(Percent(ReductionWithPrediction(4, 96, 0.3870)), "76.90");
  EXPECT_EQ(Percent(ReductionWithPrediction(4, 256, 0.7250)), "83.19");
  EXPECT_EQ(Percent(ReductionWithPrediction(4, 384, 0.7930)), "84.36");
  EXPECT_EQ(Percent(ReductionWithPrediction(4, 384, 0.7760)), "84.14");
  EXPECT_EQ(Percent(ReductionWithPrediction(4, 256, 0.8077)), "84.28");
}

// spec.md, 2.1: "With Gray and s = 4: AlexNet Conv1 72.40 % instead of 71.35 % before prediction".
TEST(CostModel, GrayWalkSavesMore) {
  EXPECT_EQ(Percent(Reduction(4, 96)), "71.35");
  EXPECT_EQ(Percent(Reduction(4, 96, Builder::kGray)), "72.40");
}

}  // namespace
}  // namespace kiln::binary
