// Chooses the range that codes cover from a histogram of values. The calibration methods here serve
// every number format.
//
// ChooseScale (numerics/quantise.h) turns a range into a scale: the ends of the range become the
// ends of the format.
//
//   min_max      The range of all values seen.
//   percentile   Symmetric types: the least t such that `percentile` per cent of the values have
//                |x| <= t. Otherwise each end is cut separately, so that at most
//                (100 - percentile) per cent of the values are beyond it.
//   percentile_per_channel
//                The least range that covers the percentile range of each channel. Unlike
//                percentile, it does not cut off a whole channel of large values, yet it cuts
//                outliers within a channel. Without counts by channel: percentile.
//   mse          The range of least mean squared difference between values and their codes' values.
//                Whole integers: searched over ranges within [min, max]. Other formats: searched
//                over powers of 2^(1/4), also beyond [min, max], because formats such as posits are
//                finest far below their greatest value; then the scale that is best for the codes
//                chosen, in closed form (for binary weights, the mean magnitude).
//   entropy      The clip of least Kullback-Leibler divergence between the clipped distribution and
//                the same distribution reduced to one quantisation step per code, each as wide as
//                the format's grid is there. After S. Migacz, "8-bit inference with TensorRT", GTC
//                2017. Formats above 10 bits are finer than the bins and are not clipped.
//
// All methods but min_max work on bins: the ends of a range are exact to a bin (1/2048 of the
// largest magnitude or less; 1/256 for counts by channel).
#ifndef KILN_QUANTISE_RANGE_H_
#define KILN_QUANTISE_RANGE_H_

#include "kiln/quantise/histogram.h"
#include "kiln/quantise/recipe.h"

namespace kiln {

// A closed interval of values.
struct ValueRange {
  double low = 0;
  double high = 0;
  friend bool operator==(const ValueRange&, const ValueRange&) = default;
};

// Returns the range for values distributed as `histogram` and quantised as `recipe` says. The range
// holds zero; it is [0, 0] if nothing was counted. The ranges of min_max, percentile and entropy
// are within [min, max] widened to hold zero.
//   channels  one histogram per channel, for percentile_per_channel
ValueRange ChooseRange(const Histogram& histogram, const TensorRecipe& recipe,
                       std::span<const Histogram> channels = {});

// Returns the mean squared error that quantisation over `range` causes. Each value is taken to be
// at the middle of its bin.
double MeanSquaredError(const Histogram& histogram, const ValueRange& range, const QuantType& type);

}  // namespace kiln

#endif  // KILN_QUANTISE_RANGE_H_
