// Tests of dominance against the definition, for all widths.
#include "kiln/targets/dataflow/fold/dominance.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/support/random.h"

namespace kiln::dataflow {
namespace {

using testing::ElementsAre;

// The rows that no other row is at most; of equal rows the first.
std::vector<int> ByDefinition(const std::vector<int64_t>& rows, int columns, int count) {
  std::vector<int> kept;
  for (int i = 0; i < count; ++i) {
    bool dominated = false;
    for (int j = 0; j < count && !dominated; ++j) {
      bool at_most = i != j, equal = true;
      for (int c = 0; c < columns; ++c) {
        const int64_t a = rows[static_cast<size_t>(j * columns + c)];
        const int64_t b = rows[static_cast<size_t>(i * columns + c)];
        at_most = at_most && a <= b;
        equal = equal && a == b;
      }
      dominated = at_most && (!equal || j < i);
    }
    if (!dominated) kept.push_back(i);
  }
  return kept;
}

TEST(Undominated, AgreesWithTheDefinition) {
  Random random(1);
  for (int test = 0; test < 300; ++test) {
    const auto columns = static_cast<int>(random.Between(0, 9));
    const auto count = static_cast<int>(random.Between(0, 120));
    // Few values make ties frequent; negative and very large values occur.
    const int64_t most = random.Between(0, 3) == 0 ? int64_t{1} << 60 : random.Between(1, 12);
    std::vector<int64_t> rows;
    for (int i = 0; i < count * columns; ++i) rows.push_back(random.Between(-most, most));
    int64_t comparisons = 0;
    std::vector<int> kept = Undominated(rows, columns, count, &comparisons);
    std::sort(kept.begin(), kept.end());
    EXPECT_EQ(kept, ByDefinition(rows, columns, count)) << "test " << test;
  }
}

TEST(Undominated, ReturnsLexicographicOrder) {
  int64_t comparisons = 0;
  EXPECT_THAT(Undominated({3, 1, 1, 3, 2, 2, 2, 2}, 2, 4, &comparisons), ElementsAre(1, 2, 0));
}

TEST(Undominated, HandlesMoreValuesThanShortRanksHold) {
  // 40000 distinct values in each of four columns, all of them undominated.
  std::vector<int64_t> rows;
  constexpr int kCount = 40000;
  for (int i = 0; i < kCount; ++i) {
    for (const int64_t value : {i, kCount - i, i, kCount - i}) rows.push_back(value);
  }
  rows.insert(rows.end(), {7, kCount, 7, kCount});
  int64_t comparisons = 0;
  EXPECT_EQ(Undominated(rows, 4, kCount + 1, &comparisons).size(), static_cast<size_t>(kCount));
}

}  // namespace
}  // namespace kiln::dataflow
