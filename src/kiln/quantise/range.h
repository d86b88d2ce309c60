// From a histogram to the range that codes shall cover: the four calibration methods.
//
//   min_max      everything that was seen
//   percentile   symmetric: the least t such that `percentile` per cent of the values have |x| <= t; else each end is
//                cut so that (100 - percentile) per cent of the values lie beyond it, at most
//   mse          the range under which the mean squared difference between a value and its code's value is least
//   entropy      the clip at which the clipped distribution loses least when it is drawn with as many steps as there
//                are codes, by Kullback-Leibler divergence; after S. Migacz, "8-bit inference with TensorRT", GTC 2017
//
// All but min_max work on bins, so that an end of the range is exact to a bin (1/2048 of the largest magnitude or less)
// and lies within [min, max].
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

// The range for values distributed as `histogram`, which shall be quantised as `recipe` says. [0, 0] when nothing was
// counted. Ranges hold zero.
ValueRange ChooseRange(const Histogram& histogram, const TensorRecipe& recipe);

// Mean squared error that quantisation over `range` causes, every value taken to stand in the middle of its bin.
double MeanSquaredError(const Histogram& histogram, const ValueRange& range, const QuantType& type);

}  // namespace kiln

#endif  // KILN_QUANTISE_RANGE_H_
