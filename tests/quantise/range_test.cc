// Tests of the calibration methods against their definitions and against brute force.
#include "kiln/quantise/range.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "kiln/numerics/quantise.h"
#include "kiln/support/random.h"

namespace kiln {
namespace {

TensorRecipe RecipeOf(Calibration calibration, bool symmetric, std::string_view format = "int8") {
  return {.type = {.format = *FindFormat(format), .symmetric = symmetric},
          .calibration = calibration};
}

// Sums of uniform draws: bell-shaped, with a few far outliers.
std::vector<float> BellWithOutliers(uint64_t seed, size_t count, bool positive_only) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& x : values) {
    double sum = 0;
    for (int i = 0; i < 8; ++i) sum += random.Uniform(-1, 1);
    if (random.Below(500) == 0) sum *= 6;
    x = static_cast<float>(positive_only ? std::max(sum, 0.0) : sum);
  }
  return values;
}

Histogram HistogramOf(const std::vector<float>& values) {
  Histogram h;
  h.Add(values);
  return h;
}

double TrueError(const std::vector<float>& values, const ValueRange& range, const QuantType& type) {
  const ScaleZeroPoint q = ChooseScale(range.low, range.high, type.format, type.symmetric);
  const CodeRange codes = CodesOf(type.format, type.symmetric);
  double error = 0;
  for (float x : values) {
    const float back = DequantiseCode(QuantiseToCode(x, InverseScale(q.scale), q.zero_point, codes),
                                      q.scale, q.zero_point);
    error += (x - back) * static_cast<double>(x - back);
  }
  return error / static_cast<double>(values.size());
}

TEST(ChooseRange, MinMaxIsExactAndHoldsZero) {
  EXPECT_EQ(ChooseRange(HistogramOf({-1.25f, 7.5f, 3}), RecipeOf(Calibration::kMinMax, false)),
            (ValueRange{-1.25, 7.5}));
  EXPECT_EQ(ChooseRange(HistogramOf({2, 3}), RecipeOf(Calibration::kMinMax, false)),
            (ValueRange{0, 3}));
  EXPECT_EQ(ChooseRange(HistogramOf({-2, -3}), RecipeOf(Calibration::kMinMax, true)),
            (ValueRange{-3, 0}));
}

TEST(ChooseRange, EmptyAndZeroDataGiveAnEmptyRange) {
  for (Calibration c :
       {Calibration::kMinMax, Calibration::kPercentile, Calibration::kMse, Calibration::kEntropy}) {
    for (bool symmetric : {false, true}) {
      EXPECT_EQ(ChooseRange(Histogram(), RecipeOf(c, symmetric)), ValueRange()) << NameOf(c);
      EXPECT_EQ(ChooseRange(HistogramOf({0, 0}), RecipeOf(c, symmetric)), ValueRange())
          << NameOf(c);
      const ValueRange constant = ChooseRange(HistogramOf({2.5, 2.5}), RecipeOf(c, symmetric));
      EXPECT_EQ(constant, (ValueRange{0, 2.5})) << NameOf(c);
    }
  }
}

TEST(ChooseRange, PercentileAgainstSorting) {
  for (double percentile : {99.0, 99.9, 90.0, 100.0}) {
    for (bool positive_only : {false, true}) {
      const std::vector<float> values = BellWithOutliers(5, 4000, positive_only);
      const Histogram h = HistogramOf(values);
      const auto allowed = static_cast<size_t>(std::floor(4000 * (100 - percentile) / 100 + 1e-9));

      TensorRecipe recipe = RecipeOf(Calibration::kPercentile, false);
      recipe.percentile = percentile;
      std::vector<float> sorted = values;
      std::sort(sorted.begin(), sorted.end());
      const ValueRange range = ChooseRange(h, recipe);
      // The least end with at most `allowed` values beyond it is an order statistic; bins round it
      // outwards.
      EXPECT_GE(range.high, sorted[sorted.size() - 1 - allowed]);
      EXPECT_LE(range.high, sorted[sorted.size() - 1 - allowed] + h.bin_width());
      EXPECT_LE(range.low, std::min(0.0f, sorted[allowed]));
      EXPECT_GE(range.low, std::min(0.0f, sorted[allowed]) - h.bin_width());

      recipe.type.symmetric = true;
      std::vector<float> magnitudes;
      for (float x : values) magnitudes.push_back(std::abs(x));
      std::sort(magnitudes.begin(), magnitudes.end());
      const ValueRange both = ChooseRange(h, recipe);
      const double clip = std::max(-both.low, both.high);
      EXPECT_GE(clip, magnitudes[magnitudes.size() - 1 - allowed]);
      EXPECT_LE(clip, magnitudes[magnitudes.size() - 1 - allowed] + h.bin_width());
    }
  }
}

TEST(ChooseRange, MeanSquaredErrorEstimateIsClose) {
  const std::vector<float> values = BellWithOutliers(6, 20000, false);
  const Histogram h = HistogramOf(values);
  for (bool symmetric : {false, true}) {
    const QuantType type{.format = *FindFormat("int8"), .symmetric = symmetric};
    for (double clip : {1.0, 3.0, 10.0, 30.0}) {
      const double truth = TrueError(values, {-clip, clip}, type);
      EXPECT_NEAR(MeanSquaredError(h, {-clip, clip}, type), truth, 0.05 * truth) << clip;
    }
  }
}

// An outlier on one side must cost that side alone.
TEST(ChooseRange, MseMovesTheEndsOfAsymmetricRangesOneByOne) {
  for (const float sign : {-1.0f, 1.0f}) {
    std::vector<float> values(4000);
    Random random(9);
    for (float& x : values) x = static_cast<float>(random.Uniform(-1, 1));
    values[0] = sign * 8;
    const TensorRecipe recipe = RecipeOf(Calibration::kMse, false, "int4");
    const ValueRange range = ChooseRange(HistogramOf(values), recipe);
    EXPECT_LT(sign > 0 ? range.high : -range.low, 4) << sign;
    EXPECT_GT(sign > 0 ? -range.low : range.high, 0.8) << sign;
  }
}

TEST(ChooseRange, MseFindsNoWorseThanBruteForceOverClips) {
  for (std::string_view format : {"int8", "int4", "uint8"}) {
    for (bool positive_only : {false, true}) {
      for (bool symmetric : {false, true}) {
        const std::vector<float> values = BellWithOutliers(8, 4000, positive_only);
        const TensorRecipe recipe = RecipeOf(Calibration::kMse, symmetric, format);
        const ValueRange range = ChooseRange(HistogramOf(values), recipe);
        const double found = TrueError(values, range, recipe.type);
        const float low = *std::min_element(values.begin(), values.end());
        const float high = *std::max_element(values.begin(), values.end());
        double best = TrueError(values, {std::min(low, 0.0f), high}, recipe.type);
        const double full = best;
        for (int i = 1; i <= 40; ++i) {
          for (int j = 1; j <= 40; ++j) {
            best = std::min(
                best,
                TrueError(values, {std::min(low, 0.0f) * i / 40.0, high * j / 40.0}, recipe.type));
          }
        }
        EXPECT_LE(found, 1.05 * best) << format << ' ' << positive_only << ' ' << symmetric;
        EXPECT_LE(found, full * 1.0001);
      }
    }
  }
}

// Kullback-Leibler divergence straight from the definition, over every clip, on the same bins.
double BruteForceEntropyClip(const std::vector<float>& values, double width, size_t num_bins,
                             size_t levels) {
  std::vector<double> bins(num_bins, 0);
  for (float x : values) {
    if (x != 0) bins[static_cast<size_t>(std::abs(x) / width)] += 1;
  }
  size_t used = num_bins;
  while (bins[used - 1] == 0) --used;
  double least = std::numeric_limits<double>::infinity();
  size_t best = used;
  for (size_t kept = used; kept > levels; --kept) {
    std::vector<double> reference(bins.begin(), bins.begin() + static_cast<std::ptrdiff_t>(kept));
    std::vector<double> drawn(kept, 0);
    for (size_t level = 0; level < levels; ++level) {
      const size_t begin = level * kept / levels, end = (level + 1) * kept / levels;
      double sum = 0, occupied = 0;
      for (size_t i = begin; i < end; ++i) sum += bins[i], occupied += bins[i] > 0 ? 1 : 0;
      for (size_t i = begin; i < end; ++i) drawn[i] = bins[i] > 0 ? sum / occupied : 0;
    }
    for (size_t i = kept; i < num_bins; ++i) reference[kept - 1] += bins[i];
    double reference_sum = 0, drawn_sum = 0;
    for (size_t i = 0; i < kept; ++i) reference_sum += reference[i], drawn_sum += drawn[i];
    double divergence = 0;
    for (size_t i = 0; i < kept; ++i) {
      if (reference[i] == 0) continue;
      const double count = drawn[i] == 0 ? 1 : drawn[i];
      divergence += reference[i] / reference_sum *
                    std::log(reference[i] / reference_sum / (count / drawn_sum));
    }
    if (divergence < least - 1e-12) {
      least = divergence;
      best = kept;
    }
  }
  return static_cast<double>(best) * width;
}

TEST(ChooseRange, EntropyAgainstTheDefinition) {
  for (uint64_t seed : {11, 12}) {
    for (bool positive_only : {false, true}) {
      const std::vector<float> values = BellWithOutliers(seed, 3000, positive_only);
      const Histogram h = HistogramOf(values);
      for (bool symmetric : {false, true}) {
        const size_t levels = positive_only && !symmetric ? 256 : 127;
        const double clip =
            BruteForceEntropyClip(values, 2 * h.bin_width(), Histogram::kBins / 2, levels);
        const ValueRange range = ChooseRange(h, RecipeOf(Calibration::kEntropy, symmetric));
        EXPECT_DOUBLE_EQ(range.high, std::min<double>(clip, h.max()));
        EXPECT_DOUBLE_EQ(range.low, std::max<double>(-clip, std::min(0.0f, h.min())));
      }
    }
  }
}

TEST(ChooseRange, EntropyClipsFarOutliers) {
  std::vector<float> values = BellWithOutliers(13, 50000, true);
  values.push_back(1000);
  const ValueRange range = ChooseRange(HistogramOf(values), RecipeOf(Calibration::kEntropy, false));
  EXPECT_LT(range.high, 500);
  EXPECT_GT(range.high, 3);
}

// One channel in sixteen is a hundred times as large as the rest, and each has an outlier of its
// own: per tensor the large channel is cut off whole, per channel only the outliers are.
TEST(ChooseRange, PercentilePerChannelKeepsLargeChannels) {
  std::vector<Histogram> channels;
  Histogram all;
  for (int c = 0; c < 16; ++c) {
    const float size = c == 0 ? 100 : 1;
    std::vector<float> values;
    for (int i = 0; i < 1000; ++i) values.push_back(size * static_cast<float>(i) / 1000);
    values.push_back(size * 10);
    channels.emplace_back(9).Add(values);
    all.Add(values);
  }
  TensorRecipe recipe = TensorRecipe{.type = *FindQuantType("int8"),
                                     .calibration = Calibration::kPercentilePerChannel};
  recipe.percentile = 93;
  const ValueRange covered = ChooseRange(all, recipe, channels);
  EXPECT_NEAR(covered.high, 93, 4);  // bins of 2
  recipe.calibration = Calibration::kPercentile;
  EXPECT_LT(ChooseRange(all, recipe).high, 20);
  // Without counts by channel it is the percentile.
  recipe.calibration = Calibration::kPercentilePerChannel;
  EXPECT_EQ(
      ChooseRange(all, recipe).high,
      ChooseRange(all,
                  {.type = recipe.type, .calibration = Calibration::kPercentile, .percentile = 93})
          .high);
}

// Rounding on the format's own grid: no scale of a fine search does much better than the one found.
TEST(ChooseRange, LeastSquaresHoldForEveryFormat) {
  Random random(5);
  std::vector<float> values;
  for (int i = 0; i < 4000; ++i)
    values.push_back(static_cast<float>(std::pow(random.Uniform(-1, 1), 5)));
  Histogram h;
  h.Add(values);
  for (std::string_view name :
       {"e4m3", "e2m1", "posit8_1", "posit6_1", "nf4", "binary", "fixed8_4"}) {
    TensorRecipe recipe;
    recipe.type = *FindQuantType(name);
    recipe.type.scheme = Scheme::kPerTensor;
    recipe.calibration = Calibration::kMse;
    const ValueRange found = ChooseRange(h, recipe);
    const double error = MeanSquaredError(h, found, recipe.type);
    for (double factor = 1.0 / 64; factor < 8192; factor *= 1.05) {
      EXPECT_LT(error, 1.1 * MeanSquaredError(h, {-factor, factor}, recipe.type))
          << name << " " << factor;
    }
  }
}

}  // namespace
}  // namespace kiln
