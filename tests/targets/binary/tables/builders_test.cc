// Codes and tables of groups against signed sums in plain loops, and additions against the figures
// of the reference (spec.md, 2.1: "Better table builds": chain 2^s - 2, tree 2, 6, 12, 24, Gray
// 2^(s-1) + s - 2).
#include "kiln/targets/binary/tables/builders.h"

#include <algorithm>
#include <set>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/support/random.h"

namespace kiln::binary {
namespace {

int32_t SignedSum(const std::vector<int32_t>& inputs, uint32_t weights) {
  int32_t sum = 0;
  for (size_t j = 0; j < inputs.size(); ++j)
    sum += (weights >> j & 1) != 0 ? inputs[j] : -inputs[j];
  return sum;
}

TEST(GroupCode, SelectsTheSumOfTheWeights) {
  Random random(3);
  for (int size = 1; size <= kMaxGroup; ++size) {
    std::vector<int32_t> inputs;
    for (int j = 0; j < size; ++j) inputs.push_back(static_cast<int32_t>(random.Between(-99, 99)));
    for (Builder builder : kBuilders) {
      const TableBuild build = BuildTable(builder, inputs);
      ASSERT_EQ(build.entries.size(), size_t{1} << (size - 1));
      for (uint32_t weights = 0; weights < 1u << size; ++weights) {
        const GroupCode code = CodeOf(weights, size);
        ASSERT_LT(code.select, build.entries.size());
        const int32_t entry = build.entries[code.select];
        EXPECT_EQ(code.negative ? -entry : entry, SignedSum(inputs, weights))
            << NameOf(builder) << " " << size << " " << weights;
        EXPECT_EQ(WeightsOf(code, size), weights);
      }
    }
  }
}

TEST(GroupCode, SignIsThatOfTheFirstWeight) {
  EXPECT_FALSE(CodeOf(0b111, 3).negative);
  EXPECT_EQ(CodeOf(0b111, 3).select, 0u);
  EXPECT_FALSE(CodeOf(0b101, 3).negative);
  EXPECT_EQ(CodeOf(0b101, 3).select, 0b01u);  // the second weight differs from the first
  EXPECT_TRUE(CodeOf(0b010, 3).negative);
  EXPECT_EQ(CodeOf(0b010, 3).select, 0b01u);
}

TEST(Builders, CountTheAdditionsOfTheReference) {
  const std::vector<std::pair<Builder, std::vector<int64_t>>> expected = {
      {Builder::kChain, {0, 2, 6, 14, 30, 62}},
      {Builder::kTree, {0, 2, 6, 12, 24, 44}},  // 44 = two tables of three, 6 each, and 32 sums
      {Builder::kGray, {0, 2, 5, 10, 19, 36}}};
  for (const auto& [builder, additions] : expected) {
    for (int size = 1; size <= kMaxGroup; ++size) {
      const std::vector<int32_t> inputs(static_cast<size_t>(size), 7);
      const int64_t count = additions[static_cast<size_t>(size - 1)];
      EXPECT_EQ(BuildTable(builder, inputs).additions, count) << NameOf(builder) << " " << size;
      EXPECT_EQ(BuildAdditions(builder, size), count) << NameOf(builder) << " " << size;
    }
  }
}

TEST(Builders, DepthSaysWhatIsSerial) {
  const std::vector<int32_t> inputs(6, 1);
  EXPECT_EQ(BuildTable(Builder::kChain, inputs).depth, 5);
  EXPECT_EQ(BuildTable(Builder::kTree, inputs).depth, 3);   // 6 = 3 + 3, 3 = 2 + 1
  EXPECT_EQ(BuildTable(Builder::kGray, inputs).depth, 36);  // all of its additions
  EXPECT_EQ(BuildTable(Builder::kGray, inputs).shifts, 5);
  EXPECT_EQ(BuildTable(Builder::kTree, inputs).shifts, 0);
}

TEST(Builders, BitsHoldTheExtremesOfAllInputs) {
  EXPECT_EQ(LookUpBits(3, 0, 15), 7);  // table5_architecture.csv: lut_entry_bits, -45 .. 45
  for (const auto& [lowest, highest] :
       std::vector<std::pair<int32_t, int32_t>>{{0, 15}, {-8, 7}, {0, 1}, {-1, 0}, {0, 255}}) {
    for (int size = 1; size <= 4; ++size) {
      int32_t least = 0, most = 0;
      for (uint32_t corner = 0; corner < 1u << size; ++corner) {
        std::vector<int32_t> inputs;
        for (int j = 0; j < size; ++j) inputs.push_back((corner >> j & 1) != 0 ? highest : lowest);
        for (uint32_t weights = 1; weights < 1u << size; weights += 2) {
          least = std::min(least, SignedSum(inputs, weights));
          most = std::max(most, SignedSum(inputs, weights));
        }
      }
      const auto holds = [](int bits, int32_t low, int32_t high) {
        return low >= -(1 << (bits - 1)) && high < 1 << (bits - 1);
      };
      const int entry = EntryBits(size, lowest, highest);
      EXPECT_TRUE(holds(entry, least, most)) << size << " " << lowest;
      EXPECT_FALSE(holds(entry - 1, least, most)) << size << " " << lowest;
      const int32_t either = std::max(most, -least);
      const int look_up = LookUpBits(size, lowest, highest);
      EXPECT_TRUE(holds(look_up, -either, either)) << size << " " << lowest;
      EXPECT_FALSE(holds(look_up - 1, -either, either)) << size << " " << lowest;
    }
  }
}

}  // namespace
}  // namespace kiln::binary
