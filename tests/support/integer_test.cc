#include "kiln/support/integer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace kiln {
namespace {

TEST(Integer, LogarithmsAreRoundedUp) {
  for (const auto& [value, log] : {std::pair<int64_t, int>{0, 0},
                                   {1, 0},
                                   {2, 1},
                                   {3, 2},
                                   {4, 2},
                                   {5, 3},
                                   {1024, 10},
                                   {1025, 11},
                                   {int64_t{1} << 40, 40},
                                   {(int64_t{1} << 40) + 1, 41},
                                   {INT64_MAX, 63}}) {
    EXPECT_EQ(CeilLog2(value), log) << value;
  }
}

TEST(Integer, AnIndexHasABitAtLeast) {
  for (const auto& [count, bits] :
       {std::pair<int64_t, int>{0, 1}, {1, 1}, {2, 1}, {3, 2}, {256, 8}, {257, 9}}) {
    EXPECT_EQ(IndexBits(count), bits) << count;
  }
}

TEST(Integer, SignedBitsHoldBothBounds) {
  for (const auto& [low, high, bits] : {std::tuple<int64_t, int64_t, int>{0, 0, 1},
                                        {-1, 0, 1},
                                        {-1, 1, 2},
                                        {-128, 127, 8},
                                        {-129, 0, 9},
                                        {0, 128, 9},
                                        {3, 4, 4},
                                        {-9, -8, 5},
                                        {INT64_MIN, 0, 64},
                                        {0, INT64_MAX, 64}}) {
    EXPECT_EQ(SignedBits(low, high), bits) << low << " to " << high;
  }
}

TEST(Integer, BitsOfASetAscend) {
  EXPECT_TRUE(SetBits(0).empty());
  EXPECT_EQ(SetBits(0b1011), (std::vector<int64_t>{0, 1, 3}));
  EXPECT_EQ(SetBits(uint32_t{1} << 31), std::vector<int64_t>{31});
}

}  // namespace
}  // namespace kiln
