#include "kiln/quantise/range.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kiln/numerics/quantise.h"

namespace kiln {
namespace {

ValueRange FullRange(const Histogram& h) { return {std::min<double>(h.min(), 0), std::max<double>(h.max(), 0)}; }

ValueRange ClipTo(const Histogram& h, double low, double high) {
  const ValueRange full = FullRange(h);
  return {std::max(low, full.low), std::min(high, full.high)};
}

// Upper edge of the first bin at which no more than `allowed` counts lie further out; 0 when that holds at zero.
double CutTail(std::span<const int64_t> bins, double width, int64_t allowed) {
  int64_t beyond = 0;
  for (size_t i = bins.size(); i > 0; --i) {
    beyond += bins[i - 1];
    if (beyond > allowed) return static_cast<double>(i) * width;
  }
  return 0;
}

// Counts by magnitude, both signs together.
std::vector<int64_t> Magnitudes(const Histogram& h) {
  std::vector<int64_t> bins(Histogram::kBins, 0);
  for (std::span<const int64_t> side : {h.positive(), h.negative()}) {
    for (size_t i = 0; i < side.size(); ++i) bins[i] += side[i];
  }
  return bins;
}

ValueRange Percentile(const Histogram& h, double percentile, bool symmetric) {
  const auto allowed =
      static_cast<int64_t>(std::floor(static_cast<double>(h.count()) * (100 - percentile) / 100 + 1e-9));
  const double width = h.bin_width();
  if (symmetric) {
    const double clip = CutTail(Magnitudes(h), width, allowed);
    return ClipTo(h, -clip, clip);
  }
  return ClipTo(h, -CutTail(h.negative(), width, allowed), CutTail(h.positive(), width, allowed));
}

// The bins that hold anything, as (middle, count), so that repeated passes skip the empty ones.
struct Point {
  double value;
  double count;
};

std::vector<Point> PointsOf(const Histogram& h) {
  std::vector<Point> points;
  const double width = h.bin_width();
  const auto add = [&](std::span<const int64_t> side, double sign) {
    for (size_t i = 0; i < side.size(); ++i) {
      if (side[i] == 0) continue;
      const double middle = sign * (static_cast<double>(i) + 0.5) * width;
      points.push_back({std::clamp<double>(middle, h.min(), h.max()), static_cast<double>(side[i])});
    }
  };
  add(h.negative(), -1);
  add(h.positive(), 1);
  return points;
}

// Sum over points of count * (x - Dequantise(Quantise(x)))^2; zeros are always exact.
double SquaredError(const std::vector<Point>& points, const ValueRange& range, const QuantType& type) {
  const ScaleZeroPoint q = ChooseScale(range.low, range.high, type.format, type.symmetric);
  const CodeRange codes = CodesOf(type.format, type.symmetric);
  const double scale = q.scale, inverse = 1 / scale;
  const double low = static_cast<double>(codes.low - q.zero_point),
               high = static_cast<double>(codes.high - q.zero_point);
  double error = 0;
  for (const Point& p : points) {
    // Adding and taking away 1.5 * 2^52 rounds to the nearest integer, ties to even, for |x| < 2^51.
    constexpr double kRound = 0x1.8p52;
    const double code = (std::clamp(p.value * inverse, low, high) + kRound) - kRound;
    const double difference = p.value - code * scale;
    error += p.count * difference * difference;
  }
  return error;
}

constexpr int kSearchSteps = 100;

ValueRange LeastSquaredError(const Histogram& h, const QuantType& type) {
  const std::vector<Point> points = PointsOf(h);
  const ValueRange full = FullRange(h);
  ValueRange best = full;
  double least = SquaredError(points, full, type);
  const auto consider = [&](const ValueRange& range) {
    if (range.low == 0 && range.high == 0) return;
    const double error = SquaredError(points, range, type);
    // Ties go to the earlier candidate, the wider one.
    if (error < least) {
      least = error;
      best = range;
    }
  };
  const auto share = [](int k) { return static_cast<double>(k) / kSearchSteps; };
  if (type.symmetric) {
    const double limit = std::max(-full.low, full.high);
    for (int k = kSearchSteps - 1; k > 0; --k) {
      consider({std::max(full.low, -limit * share(k)), std::min(full.high, limit * share(k))});
    }
    return best;
  }
  // Both ends together first, then each end with the other held, twice.
  for (int k = kSearchSteps - 1; k > 0; --k) consider({full.low * share(k), full.high * share(k)});
  if (full.low == 0 || full.high == 0) return best;
  for (int round = 0; round < 2; ++round) {
    const double low = best.low;
    for (int k = kSearchSteps; k > 0; --k) consider({low, full.high * share(k)});
    const double high = best.high;
    for (int k = kSearchSteps; k > 0; --k) consider({full.low * share(k), high});
  }
  return best;
}

// Kullback-Leibler divergence between the first `kept` bins, all counts beyond added to the last of them, and the same
// bins drawn with `levels` equal steps: each step spreads its count evenly over those of its bins that hold anything.
// Where that leaves a bin empty that is not empty in the first (only the last can be), one count stands in for it, or
// no clip could fall into a gap before far outliers.
double DivergenceAt(const std::vector<int64_t>& bins, size_t kept, size_t levels, int64_t total, int64_t beyond) {
  const int64_t drawn_total = total - beyond;
  if (drawn_total == 0) return std::numeric_limits<double>::infinity();
  double divergence = 0;
  for (size_t level = 0; level < levels; ++level) {
    const size_t begin = level * kept / levels, end = (level + 1) * kept / levels;
    int64_t sum = 0, occupied = 0;
    for (size_t i = begin; i < end; ++i) {
      sum += bins[i];
      occupied += bins[i] != 0;
    }
    const double drawn =
        occupied == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(occupied) / static_cast<double>(drawn_total);
    for (size_t i = begin; i < end; ++i) {
      const int64_t count = bins[i] + (i + 1 == kept ? beyond : 0);
      if (count == 0) continue;
      const double share = static_cast<double>(count) / static_cast<double>(total);
      divergence += share * std::log(share / (bins[i] == 0 ? 1 / static_cast<double>(drawn_total) : drawn));
    }
  }
  return divergence;
}

ValueRange LeastDivergence(const Histogram& h, const QuantType& type) {
  // Half the bins suffice for choosing a clip and take a quarter of the time.
  const std::vector<int64_t> fine = Magnitudes(h);
  std::vector<int64_t> bins(fine.size() / 2);
  for (size_t i = 0; i < fine.size(); ++i) bins[i / 2] += fine[i];
  const double width = 2 * h.bin_width();
  size_t used = bins.size();
  while (used > 0 && bins[used - 1] == 0) --used;
  // Codes that fall to one magnitude: all of them for one-sided values with a zero point, half of them otherwise.
  const bool one_sided = !type.symmetric && (h.min() >= 0 || h.max() <= 0);
  const CodeRange codes = CodesOf(type.format, type.symmetric);
  const auto levels = static_cast<size_t>(one_sided || !type.format.is_signed ? codes.high - codes.low : codes.high) +
                      (one_sided ? 1 : 0);
  // Zeros are exact whatever the clip, so they take no part.
  int64_t total = 0;
  for (int64_t count : bins) total += count;
  size_t best = used;
  double least = std::numeric_limits<double>::infinity();
  int64_t beyond = 0;
  for (size_t kept = used; kept > levels; --kept) {
    const double divergence = DivergenceAt(bins, kept, levels, total, beyond);
    if (divergence < least) {
      least = divergence;
      best = kept;
    }
    beyond += bins[kept - 1];
  }
  const double clip = static_cast<double>(best) * width;
  return ClipTo(h, -clip, clip);
}

}  // namespace

ValueRange ChooseRange(const Histogram& histogram, const TensorRecipe& recipe) {
  if (histogram.count() == 0) return {};
  switch (recipe.calibration) {
    case Calibration::kMinMax:
      return FullRange(histogram);
    case Calibration::kPercentile:
      return Percentile(histogram, recipe.percentile, recipe.type.symmetric);
    case Calibration::kMse:
      return LeastSquaredError(histogram, recipe.type);
    case Calibration::kEntropy:
      return LeastDivergence(histogram, recipe.type);
  }
  return {};
}

double MeanSquaredError(const Histogram& histogram, const ValueRange& range, const QuantType& type) {
  if (histogram.count() == 0) return 0;
  return SquaredError(PointsOf(histogram), range, type) / static_cast<double>(histogram.count());
}

}  // namespace kiln
