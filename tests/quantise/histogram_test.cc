// Tests of histograms: counts against brute force, and merging in any order.
#include "kiln/quantise/histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "kiln/support/random.h"

namespace kiln {
namespace {

std::vector<float> RandomValues(uint64_t seed, size_t count) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& x : values) {
    const double magnitude = std::exp2(random.Uniform(-12, 12));
    x = random.Below(10) == 0 ? 0.0f : static_cast<float>(random.Uniform(-magnitude, magnitude));
  }
  return values;
}

TEST(Histogram, CountsAgainstBruteForce) {
  const std::vector<float> values = RandomValues(1, 5000);
  Histogram h;
  h.Add(values);
  EXPECT_EQ(h.count(), 5000);
  EXPECT_EQ(h.min(), *std::min_element(values.begin(), values.end()));
  EXPECT_EQ(h.max(), *std::max_element(values.begin(), values.end()));
  EXPECT_EQ(h.zeros(), std::count(values.begin(), values.end(), 0.0f));
  const double width = h.bin_width();
  const std::vector<int64_t> above = h.positive(), below = h.negative();
  for (int bin = 0; bin < Histogram::kBins; ++bin) {
    const double low = bin * width, high = (bin + 1) * width;
    const auto positive = std::count_if(values.begin(), values.end(),
                                        [&](float x) { return x > 0 && x >= low && x < high; });
    const auto negative = std::count_if(values.begin(), values.end(),
                                        [&](float x) { return x < 0 && -x >= low && -x < high; });
    ASSERT_EQ(above[static_cast<size_t>(bin)], positive) << bin;
    ASSERT_EQ(below[static_cast<size_t>(bin)], negative) << bin;
  }
}

// The spans are shorter than a vector register, as long, and longer. Some values are not finite.
TEST(Histogram, ExtremesOfEveryLength) {
  Random random(7);
  for (size_t length = 1; length < 70; ++length) {
    std::vector<float> values = RandomValues(length, length);
    for (float& x : values) {
      if (random.Below(4) == 0)
        x = std::vector<float>{std::nanf(""), std::numeric_limits<float>::infinity(),
                               -std::numeric_limits<float>::infinity()}[random.Below(3)];
    }
    Histogram h;
    h.Add(values);
    std::erase_if(values, [](float x) { return !std::isfinite(x); });
    ASSERT_EQ(h.count(), std::ssize(values));
    if (values.empty()) continue;
    ASSERT_EQ(h.min(), *std::min_element(values.begin(), values.end()));
    ASSERT_EQ(h.max(), *std::max_element(values.begin(), values.end()));
    ASSERT_EQ(h.zeros(), std::count(values.begin(), values.end(), 0.0f));
    const std::vector<int64_t> above = h.positive(), below = h.negative();
    const int64_t all = std::accumulate(above.begin(), above.end(), int64_t{0}) +
                        std::accumulate(below.begin(), below.end(), int64_t{0});
    ASSERT_EQ(all + h.zeros(), h.count());
  }
}

TEST(Histogram, MergingInAnyOrderEqualsOneHistogram) {
  const std::vector<float> values = RandomValues(2, 3000);
  Histogram whole;
  whole.Add(values);
  Random random(3);
  for (int trial = 0; trial < 20; ++trial) {
    std::vector<Histogram> pieces;
    for (size_t at = 0; at < values.size();) {
      const size_t length = std::min<size_t>(values.size() - at, 1 + random.Below(700));
      pieces.emplace_back().Add(std::span(values).subspan(at, length));
      at += length;
    }
    while (pieces.size() > 1) {
      const size_t i = random.Below(pieces.size()), j = random.Below(pieces.size());
      if (i == j) continue;
      pieces[i].Merge(pieces[j]);
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(j));
    }
    ASSERT_EQ(pieces[0], whole);
  }
  // One value at a time, too.
  Histogram single;
  for (float x : values) single.Add(std::span(&x, 1));
  EXPECT_EQ(single, whole);
}

TEST(Histogram, ExtremesOfFp32) {
  Histogram h;
  const float values[] = {std::numeric_limits<float>::max(), -std::numeric_limits<float>::max(),
                          std::numeric_limits<float>::denorm_min(), 0, -0.0f};
  h.Add(values);
  EXPECT_EQ(h.count(), 5);
  EXPECT_EQ(h.zeros(), 2);
  EXPECT_EQ(h.positive()[0], 1);
  const std::vector<int64_t> positive = h.positive();
  EXPECT_EQ(std::accumulate(positive.begin(), positive.end(), int64_t{0}), 2);
  EXPECT_EQ(h.negative().back(), 1);
}

TEST(Histogram, NonFiniteValuesAreNotedOnly) {
  Histogram h;
  const float values[] = {1, std::nanf(""), std::numeric_limits<float>::infinity()};
  h.Add(values);
  EXPECT_EQ(h.count(), 1);
  EXPECT_EQ(h.non_finite(), 2);
  EXPECT_EQ(h.max(), 1);
}

// A network of many small values needs few bytes for each; bins without values take none, and large
// counts few.
TEST(Histogram, TakesAFewBytesPerBinWithValues) {
  Histogram few;
  few.Add(RandomValues(4, 8));
  EXPECT_LE(few.bytes(), 8 * 3);
  EXPECT_GE(few.bytes(), 2);
  Histogram spread;
  std::vector<float> values(2 * Histogram::kBins);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = (static_cast<float>(i) + 0.5f) / Histogram::kBins - 1;
  for (int times = 0; times < 100; ++times) spread.Add(values);
  EXPECT_EQ(spread.count(), 200 * Histogram::kBins);
  EXPECT_EQ(spread.positive()[7], 100);
  EXPECT_LE(spread.bytes(), values.size() * 2);
}

// Counts of every length are kept exactly.
TEST(Histogram, KeepsLargeCounts) {
  const float values[] = {0.5f, -0.25f, 0.75f};
  Histogram h;
  h.Add(values);
  for (int doubling = 1; doubling <= 60; ++doubling) {
    h.Merge(Histogram(h));
    ASSERT_EQ(h.count(), int64_t{3} << doubling);
    ASSERT_EQ(h.positive()[Histogram::kBins / 2], int64_t{1} << doubling);
    ASSERT_EQ(h.negative()[Histogram::kBins / 4], int64_t{1} << doubling);
    ASSERT_EQ(h.positive()[Histogram::kBins / 4 * 3], int64_t{1} << doubling);
  }
}

// The ends of values of one sign are theirs, and not zero.
TEST(Histogram, EndsOfOneSign) {
  const float positive[] = {3, 2, 5}, negative[] = {-4, -1, -2};
  Histogram above, below;
  above.Add(positive);
  below.Add(negative);
  EXPECT_EQ(above.min(), 2);
  EXPECT_EQ(above.max(), 5);
  EXPECT_EQ(below.min(), -4);
  EXPECT_EQ(below.max(), -1);
  Histogram empty, merged;
  merged.Merge(empty);
  merged.Merge(above);
  EXPECT_EQ(merged.min(), 2);
  EXPECT_EQ(merged.max(), 5);
  merged.Merge(below);
  EXPECT_EQ(merged.min(), -4);
  EXPECT_EQ(merged.max(), 5);
  EXPECT_EQ(merged.count(), 6);
}

}  // namespace
}  // namespace kiln
