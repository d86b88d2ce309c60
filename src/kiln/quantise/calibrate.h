// Calibration: what values a network takes on sample images.
#ifndef KILN_QUANTISE_CALIBRATE_H_
#define KILN_QUANTISE_CALIBRATE_H_

#include <cstdint>
#include <span>

#include "kiln/ir/graph.h"
#include "kiln/ir/tensor.h"
#include "kiln/quantise/calibration_data.h"
#include "kiln/support/status.h"

namespace kiln {

struct CalibrateOptions {
  // Also one histogram for each channel of each value whose channels are known (channel_axes.h), for
  // percentile_per_channel: 2^9 bins a side, so that their ends are exact to 0.4 per cent.
  bool by_channel = false;
};

// Runs the graph at the reference level on the first `images` images and collects inputs and results of all nodes. Of
// values that only go to soft-maxes, what lies more than 16 below the greatest of its row counts as 16 below: the masks
// of attention, -10000 and the like, would leave no codes for the others.
//   inputs   one tensor for each graph input, [images, ...]; the graph's own batch dimension is 1
//   images   at most this many are used
// The result is the same for any number of threads.
//   errors   no images; whatever the reference level reports; a value that becomes NaN or infinite (names the first)
StatusOr<CalibrationData> Calibrate(const Graph& graph, std::span<const Tensor> inputs,
                                    int64_t images, const CalibrateOptions& options = {});

}  // namespace kiln

#endif  // KILN_QUANTISE_CALIBRATE_H_
