#include "kiln/support/stable_sort.h"

#include <gtest/gtest.h>

#include <functional>

#include <string>
#include <utility>
#include <vector>

namespace kiln {
namespace {

TEST(StableSort, KeepsTheOrderOfEqualElements) {
  std::vector<std::pair<int, std::string>> values = {{2, "a"}, {1, "b"}, {2, "c"},
                                                     {0, "d"}, {1, "e"}, {2, "f"}};
  StableSort(&values, [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string order;
  for (const auto& value : values) order += value.second;
  EXPECT_EQ(order, "dbeacf");
}

TEST(StableSort, TakesEmptyVectors) {
  std::vector<int> values;
  StableSort(&values, std::less<>());
  EXPECT_TRUE(values.empty());
}

}  // namespace
}  // namespace kiln
