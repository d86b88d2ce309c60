// The calibration methods: percentiles on bin counts, searches for the least squared error, and the
// entropy method.
#include "kiln/quantise/range.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kiln/numerics/elementary.h"
#include "kiln/numerics/quantise.h"
#include "kiln/numerics/tables.h"

namespace kiln {
namespace {

// Returns [min, max] widened to hold zero.
ValueRange FullRange(const Histogram& h) {
  return {std::min<double>(h.min(), 0), std::max<double>(h.max(), 0)};
}

ValueRange ClipTo(const Histogram& h, double low, double high) {
  const ValueRange full = FullRange(h);
  return {std::max(low, full.low), std::min(high, full.high)};
}

// Returns the upper edge of the outermost bins to keep, so that at most `allowed` counts are beyond
// it; 0 if all counts may be cut off.
double CutTail(std::span<const int64_t> bins, double width, int64_t allowed) {
  int64_t beyond = 0;
  for (size_t i = bins.size(); i > 0; --i) {
    beyond += bins[i - 1];
    if (beyond > allowed) return static_cast<double>(i) * width;
  }
  return 0;
}

// Returns counts by magnitude, with both signs added up.
std::vector<int64_t> Magnitudes(const Histogram& h) {
  std::vector<int64_t> bins(static_cast<size_t>(h.bins()), 0);
  for (std::span<const int64_t> side : {h.positive(), h.negative()}) {
    for (size_t i = 0; i < side.size(); ++i) bins[i] += side[i];
  }
  return bins;
}

// The method `percentile`, on one histogram.
ValueRange Percentile(const Histogram& h, double percentile, bool symmetric) {
  const auto allowed = static_cast<int64_t>(
      // 1e-9 makes the share of e.g. 99.99 per cent of 10000 values come out as exactly one value.
      std::floor(static_cast<double>(h.count()) * (100 - percentile) / 100 + 1e-9));
  const double width = h.bin_width();
  if (symmetric) {
    const double clip = CutTail(Magnitudes(h), width, allowed);
    return ClipTo(h, -clip, clip);
  }
  return ClipTo(h, -CutTail(h.negative(), width, allowed), CutTail(h.positive(), width, allowed));
}

// The method `percentile_per_channel`: the union of the channels' ranges.
ValueRange PercentileOfChannels(std::span<const Histogram> channels, double percentile,
                                bool symmetric) {
  ValueRange range;
  for (const Histogram& channel : channels) {
    const ValueRange own = Percentile(channel, percentile, symmetric);
    range = {std::min(range.low, own.low), std::max(range.high, own.high)};
  }
  return range;
}

// The counted values as points, each at the middle of its bin. Empty bins are left out, so that
// repeated evaluations skip them.
struct Points {
  std::vector<float> values;
  std::vector<double> counts;
};

Points PointsOf(const Histogram& h) {
  Points points;
  const double width = h.bin_width();
  const auto add = [&](std::span<const int64_t> side, double sign) {
    for (size_t i = 0; i < side.size(); ++i) {
      if (side[i] == 0) continue;
      const double middle = sign * (static_cast<double>(i) + 0.5) * width;
      points.values.push_back(static_cast<float>(std::clamp<double>(middle, h.min(), h.max())));
      points.counts.push_back(static_cast<double>(side[i]));
    }
  };
  add(h.negative(), -1);
  add(h.positive(), 1);
  if (h.zeros() > 0) {
    points.values.push_back(0);  // not exact in every format
    points.counts.push_back(static_cast<double>(h.zeros()));
  }
  return points;
}

// Returns the sum over all points of count * (x - Dequantise(Quantise(x)))^2, for a whole integer
// format that rounds to nearest even and saturates.
double SquaredErrorOfIntegers(const Points& points, const ScaleZeroPoint& q,
                              const QuantType& type) {
  const CodeRange codes = CodesOf(type.format, type.symmetric);
  const double scale = q.scale, inverse = 1 / scale;
  const double low = static_cast<double>(codes.low - q.zero_point),
               high = static_cast<double>(codes.high - q.zero_point);
  double error = 0;
  for (size_t i = 0; i < points.values.size(); ++i) {
    // Adding and subtracting 1.5 * 2^52 rounds to the nearest integer, ties to even, for |x| <
    // 2^51.
    constexpr double kRound = 0x1.8p52;
    const double value = points.values[i];
    const double code = (std::clamp(value * inverse, low, high) + kRound) - kRound;
    const double difference = value - code * scale;
    error += points.counts[i] * difference * difference;
  }
  return error;
}

// Returns value / scale of each point, rounded to the format.
std::vector<float> RoundedPoints(const Points& points, float scale, const Format& format) {
  std::vector<float> scaled(points.values.size());
  const float inverse = InverseScale(scale);
  for (size_t i = 0; i < scaled.size(); ++i) scaled[i] = points.values[i] * inverse;
  FormatTable::Of(format)->RoundValues(scaled.data(), std::ssize(scaled));
  return scaled;
}

// Returns the sum of squared errors over all points for any format with a scale.
double SquaredErrorAt(const Points& points, float scale, const Format& format) {
  const std::vector<float> rounded = RoundedPoints(points, scale, format);
  double error = 0;
  for (size_t i = 0; i < rounded.size(); ++i) {
    const double difference = points.values[i] - static_cast<double>(rounded[i]) * scale;
    error += points.counts[i] * difference * difference;
  }
  return error;
}

// Returns whether the fast path SquaredErrorOfIntegers applies to the format.
bool IsPlainInteger(const Format& format) {
  return format.is_whole() && format.rounding == Rounding::kNearestEven &&
         format.overflow == Overflow::kSaturate;
}

// Returns the sum of squared errors over all points if `range` is quantised with `type`.
double SquaredError(const Points& points, const ValueRange& range, const QuantType& type) {
  const ScaleZeroPoint q = ChooseScale(range.low, range.high, type);
  if (IsPlainInteger(type.format)) return SquaredErrorOfIntegers(points, q, type);
  return SquaredErrorAt(points, q.scale, type.format);
}

// Ranges that the search for the least squared error tries per end.
constexpr int kSearchSteps = 100;

// Returns the best scale for the codes that `scale` selects: sum(x * v) / sum(v^2), with v the
// codes' values. This is the least-squares solution.
double BestScaleForCodes(const Points& points, float scale, const Format& format) {
  const std::vector<float> rounded = RoundedPoints(points, scale, format);
  double products = 0, squares = 0;
  for (size_t i = 0; i < rounded.size(); ++i) {
    products += points.counts[i] * points.values[i] * rounded[i];
    squares += points.counts[i] * static_cast<double>(rounded[i]) * rounded[i];
  }
  return squares > 0 ? products / squares : 0;
}

// Keeps the range of least squared error among those considered, starting with the full range. The
// earlier range wins ties.
class LeastError {
 public:
  LeastError(const Points& points, const ValueRange& full, const QuantType& type)
      : points_(points), type_(type), best_(full), least_(SquaredError(points, full, type)) {}
  void Consider(const ValueRange& range) {
    if (range.low == 0 && range.high == 0) return;
    const double error = SquaredError(points_, range, type_);
    if (error < least_) {
      least_ = error;
      best_ = range;
    }
  }
  const ValueRange& best() const { return best_; }

 private:
  const Points& points_;
  const QuantType& type_;
  ValueRange best_;
  double least_;
};

// The method `mse` for formats other than whole integers. They have no zero point, so the scale is
// the only degree of freedom.
ValueRange LeastSquaredErrorOfScale(const Histogram& h, const QuantType& type) {
  const Points points = PointsOf(h);
  const ValueRange full = FullRange(h);
  const ValueLimits limits = LimitsOf(type.format);
  // Returns the range that `factor` times the full range's scale covers.
  const auto scaled = [&](double factor) {
    return ValueRange{full.low * factor, full.high * factor};
  };
  LeastError search(points, full, type);
  constexpr int kStepsPerOctave = 4, kOctavesDown = 5;
  // Go up until the ends of the full range map to magnitude 1: formats of varying precision are
  // finest there.
  const double octaves_up = elementary::Log2(std::max({limits.high, -limits.low, 1.0}));
  const int up = static_cast<int>(std::ceil(std::min(octaves_up, 32.0) * kStepsPerOctave));
  for (int k = -kOctavesDown * kStepsPerOctave; k <= up; ++k) {
    if (k != 0) search.Consider(scaled(elementary::Exp2(static_cast<double>(k) / kStepsPerOctave)));
  }
  // Alternate as in Lloyd's algorithm: the best codes for the scale, the best scale for the codes.
  for (int round = 0; round < 3; ++round) {
    const float scale = ChooseScale(search.best().low, search.best().high, type).scale;
    const double better = BestScaleForCodes(points, scale, type.format);
    if (better <= 0) break;
    search.Consider(
        {full.low < 0 ? limits.low * better : 0, full.high > 0 ? limits.high * better : 0});
  }
  return search.best();
}

// The method `mse`. For whole integers, tries 1/100, 2/100, ... of the full range.
ValueRange LeastSquaredError(const Histogram& h, const QuantType& type) {
  if (!type.format.is_whole()) return LeastSquaredErrorOfScale(h, type);
  const Points points = PointsOf(h);
  const ValueRange full = FullRange(h);
  LeastError search(points, full, type);  // the wider ranges come first
  const auto share = [](int k) { return static_cast<double>(k) / kSearchSteps; };
  if (type.symmetric) {
    const double limit = std::max(-full.low, full.high);
    for (int k = kSearchSteps - 1; k > 0; --k) {
      search.Consider(
          {std::max(full.low, -limit * share(k)), std::min(full.high, limit * share(k))});
    }
    return search.best();
  }
  // First scale both ends together, then each end with the other fixed, twice.
  for (int k = kSearchSteps - 1; k > 0; --k)
    search.Consider({full.low * share(k), full.high * share(k)});
  if (full.low == 0 || full.high == 0) return search.best();
  for (int round = 0; round < 2; ++round) {
    const double low = search.best().low;
    for (int k = kSearchSteps; k > 0; --k) search.Consider({low, full.high * share(k)});
    const double high = search.best().high;
    for (int k = kSearchSteps; k > 0; --k) search.Consider({full.low * share(k), high});
  }
  return search.best();
}

// Returns the Kullback-Leibler divergence between two distributions over the first `kept` bins. The
// first holds the bin counts, with all counts beyond added to the last bin. The second is reduced
// to quantisation steps that end at `edges` (shares of the clip; the last is 1): each step spreads
// its count evenly over its occupied bins. If a bin is empty in the second distribution but not in
// the first (only the last bin can be), one count is substituted. Otherwise the clip could never be
// in a gap before far outliers.
double DivergenceAt(const std::vector<int64_t>& bins, size_t kept, std::span<const double> edges,
                    int64_t total, int64_t beyond) {
  const int64_t drawn_total = total - beyond;
  if (drawn_total == 0) return std::numeric_limits<double>::infinity();
  double divergence = 0;
  size_t begin = 0;
  for (const double edge : edges) {
    const auto end = static_cast<size_t>(edge * static_cast<double>(kept) + 1e-9);
    int64_t sum = 0, occupied = 0;
    for (size_t i = begin; i < end; ++i) {
      sum += bins[i];
      occupied += bins[i] != 0;
    }
    const double drawn = occupied == 0 ? 0
                                       : static_cast<double>(sum) / static_cast<double>(occupied) /
                                             static_cast<double>(drawn_total);
    for (size_t i = begin; i < end; ++i) {
      const int64_t count = bins[i] + (i + 1 == kept ? beyond : 0);
      if (count == 0) continue;
      const double share = static_cast<double>(count) / static_cast<double>(total);
      divergence +=
          share *
          elementary::Log(share / (bins[i] == 0 ? 1 / static_cast<double>(drawn_total) : drawn));
    }
    begin = end;
  }
  return divergence;
}

// Returns the ends of the quantisation steps for one sign's magnitudes, as shares of the greatest.
std::vector<double> StepEdges(const Histogram& h, const QuantType& type) {
  std::vector<double> edges;
  if (type.format.is_whole()) {
    // All codes serve one-sided values if there is a zero point; otherwise half of them do.
    const bool one_sided = !type.symmetric && (h.min() >= 0 || h.max() <= 0);
    const CodeRange codes = CodesOf(type.format, type.symmetric);
    const int64_t steps =
        (one_sided || !type.format.is_signed ? codes.high - codes.low : codes.high) +
        (one_sided ? 1 : 0);
    for (int64_t i = 1; i <= steps; ++i)
      edges.push_back(static_cast<double>(i) / static_cast<double>(steps));
    return edges;
  }
  const std::vector<double> magnitudes = MagnitudesOf(type.format);
  for (size_t i = 0; i + 1 < magnitudes.size(); ++i) {
    edges.push_back((magnitudes[i] + magnitudes[i + 1]) / 2 / magnitudes.back());
  }
  edges.push_back(1);
  return edges;
}

// The method `entropy`: tries every number of bins to keep.
ValueRange LeastDivergence(const Histogram& h, const QuantType& type) {
  constexpr int kFinerThanBins = 10;
  if (type.format.bits > kFinerThanBins) return FullRange(h);
  // Half the bins suffice for choosing a clip and take a quarter of the time.
  const std::vector<int64_t> fine = Magnitudes(h);
  std::vector<int64_t> bins(fine.size() / 2);
  for (size_t i = 0; i < fine.size(); ++i) bins[i / 2] += fine[i];
  const double width = 2 * h.bin_width();
  size_t used = bins.size();
  while (used > 0 && bins[used - 1] == 0) --used;
  const std::vector<double> edges = StepEdges(h, type);
  // Zeros are exact whatever the clip, so they do not count.
  int64_t total = 0;
  for (int64_t count : bins) total += count;
  size_t best = used;
  double least = std::numeric_limits<double>::infinity();
  int64_t beyond = 0;
  for (size_t kept = used; kept > edges.size(); --kept) {
    const double divergence = DivergenceAt(bins, kept, edges, total, beyond);
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

ValueRange ChooseRange(const Histogram& histogram, const TensorRecipe& recipe,
                       std::span<const Histogram> channels) {
  if (histogram.count() == 0) return {};
  switch (recipe.calibration) {
    case Calibration::kMinMax:
      return FullRange(histogram);
    case Calibration::kPercentile:
      return Percentile(histogram, recipe.percentile, recipe.type.symmetric);
    case Calibration::kPercentilePerChannel:
      if (channels.empty()) return Percentile(histogram, recipe.percentile, recipe.type.symmetric);
      return PercentileOfChannels(channels, recipe.percentile, recipe.type.symmetric);
    case Calibration::kMse:
      return LeastSquaredError(histogram, recipe.type);
    case Calibration::kEntropy:
      return LeastDivergence(histogram, recipe.type);
  }
  return {};
}

double MeanSquaredError(const Histogram& histogram, const ValueRange& range,
                        const QuantType& type) {
  if (histogram.count() == 0) return 0;
  return SquaredError(PointsOf(histogram), range, type) / static_cast<double>(histogram.count());
}

}  // namespace kiln
