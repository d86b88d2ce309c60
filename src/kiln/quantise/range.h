// From a histogram to the range that codes shall cover: the calibration methods, the same for every number format.
//
// A range becomes a scale by ChooseScale (numerics/quantise.h): its ends meet the ends of the format.
//
//   min_max      everything that was seen
//   percentile   symmetric: the least t such that `percentile` per cent of the values have |x| <= t; else each end is
//                cut so that (100 - percentile) per cent of the values lie beyond it, at most
//   percentile_per_channel
//                percentile taken for each channel by itself, then the least range that covers all of them: a channel
//                of large values is not cut off for being one among many, as percentile would do, while outliers
//                within a channel are. Without counts by channel: percentile.
//   mse          the range under which the mean squared difference between a value and its code's value is least.
//                Whole integers: over ranges within [min, max]. Other formats: over powers of 2^(1/4), also beyond
//                [min, max], since formats like posits are finest far below their greatest value; then the scale that
//                is best for the codes chosen, in closed form (for binary weights: the mean magnitude)
//   entropy      the clip at which the clipped distribution loses least when it is drawn with as many steps as there
//                are codes, each as wide as the format's grid has it there, by Kullback-Leibler divergence; after S.
//                Migacz, "8-bit inference with TensorRT", GTC 2017. Formats above 10 bits are finer than the bins and
//                clip nothing.
//
// All but min_max work on bins, so that an end of the range is exact to a bin (1/2048 of the largest magnitude or less;
// 1/256 for counts by channel).
#ifndef KILN_QUANTISE_RANGE_H_
#define KILN_QUANTISE_RANGE_H_

#include "kiln/quantise/histogram.h"
#include "kiln/quantise/recipe.h"

namespace kiln {

struct ValueRange {
  double low = 0;
  double high = 0;
  friend bool operator==(const ValueRange&, const ValueRange&) = default;
};

// Ranges of min_max, percentile and entropy lie within [min, max] widened to hold zero.
//
// The range for values distributed as `histogram`, which shall be quantised as `recipe` says. [0, 0] when nothing was
// counted. Ranges hold zero.
//   channels  counts of each channel, for percentile_per_channel
ValueRange ChooseRange(const Histogram& histogram, const TensorRecipe& recipe,
                       std::span<const Histogram> channels = {});

// Mean squared error that quantisation over `range` causes, every value taken to stand in the middle of its bin.
double MeanSquaredError(const Histogram& histogram, const ValueRange& range, const QuantType& type);

}  // namespace kiln

#endif  // KILN_QUANTISE_RANGE_H_
