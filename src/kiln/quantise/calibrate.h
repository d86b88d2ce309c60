// Calibration: records the distribution of every value of a network on sample images.
//
// The reference executor runs the fp32 graph; the result (CalibrationData) is what range.h turns
// into scales. This is the first step of post-training quantisation (post_training.h).
#ifndef KILN_QUANTISE_CALIBRATE_H_
#define KILN_QUANTISE_CALIBRATE_H_

#include <cstdint>
#include <span>

#include "kiln/ir/graph.h"
#include "kiln/ir/tensor.h"
#include "kiln/quantise/calibration_data.h"
#include "kiln/support/status.h"

namespace kiln {

// Options of Calibrate.
struct CalibrateOptions {
  // Records one histogram per channel as well, for values with a known channel axis
  // (channel_axes.h). percentile_per_channel needs them. They have 2^9 bins on each side of zero,
  // so that the ends of a range are exact to 0.4 per cent.
  bool by_channel = false;
};

// Runs the graph at the reference level on at most `images` images and collects histograms of the
// inputs and results of all nodes. The result is the same for any number of threads.
//
// In values that only soft-maxes read, elements more than 16 below the greatest of their row count
// as 16 below it. Otherwise the masks of attention (-10000 and the like) would stretch the range so
// far that no codes are left for the other elements.
//   inputs   one tensor per graph input, [images, ...]; the graph's own batch dimension is 1
//   images   the greatest number of images to use, from the first
//   errors   no images; errors of the reference level; a value with NaN or infinite elements (names
//            the first such value)
StatusOr<CalibrationData> Calibrate(const Graph& graph, std::span<const Tensor> inputs,
                                    int64_t images, const CalibrateOptions& options = {});

}  // namespace kiln

#endif  // KILN_QUANTISE_CALIBRATE_H_
