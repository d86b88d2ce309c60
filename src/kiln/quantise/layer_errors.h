// Measures which layers of a quantised network lose accuracy: the error of each value, and the
// error of the network's result if one layer alone is quantised.
//
// All figures come from simulated quantisation (simulate.h) on the same images. They contain the
// errors of rounding, but not those of a particular accelerator's sums. An error is a signal to
// quantisation noise ratio in dB, over all elements of a value on all images:
//
//   SQNR = 10 log10( sum of x^2 / sum of (x - y)^2 )
//
//   own      The error of this rounding alone: x is the value in the fp32 network, or the fp32
//            weights, and y is x rounded to the value's codes and back.
//   so far   The error of all roundings up to and including this one: x is the value in the fp32
//            network, y the value in the network that is quantised as a whole. Weights have none.
//   alone    The sensitivity of the result to a layer: x is an output of the fp32 network, y the
//            output of the network in which this layer is quantised and all others are fp32. Of
//            several outputs, the one with the least SQNR counts.
//
// The fp32 network rounds nothing: if a network brings its own quantisation, the fp32 network is
// the one without it.
//
// A layer is a kernel as families fuse it: a node with the element-wise nodes that follow it (bias,
// residual, activation; IsInsideKernel). A layer includes the annotated constants that these nodes
// read, its rounded result, and the changes of its biases (recipe keys `biases` and
// `correct_biases`). Each graph input that is rounded counts as a layer.
#ifndef KILN_QUANTISE_LAYER_ERRORS_H_
#define KILN_QUANTISE_LAYER_ERRORS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/ir/tensor.h"
#include "kiln/quantise/accuracy.h"
#include "kiln/quantise/scores.h"
#include "kiln/support/status.h"

namespace kiln {

// The errors of one value.
struct ValueError {
  std::string value;  // its name in the graph
  bool is_constant = false;
  std::string type;                  // "int8 per_tensor", "mxint8"
  NoisePower own;                    // of this rounding alone
  std::optional<NoisePower> so_far;  // of all roundings up to this one; nullopt for constants
};

// The quality of a network's outputs, compared with the fp32 network.
struct OutputQuality {
  std::vector<NoisePower> outputs;   // of the fp32 outputs, in order
  std::optional<ScoreCount> scores;  // with labels
  // Returns the least SQNR of all outputs in dB; nullopt if all are exact.
  std::optional<double> sqnr_db() const;
};

// The errors of one layer.
struct LayerError {
  std::string name;                // of its first node, or of the graph input
  std::string operation;           // ONNX name of that node's operator; "input" for a graph input
  std::vector<ValueError> values;  // constants, then results
  OutputQuality alone;             // of the network in which only this layer is quantised
};

// The errors of a network, in the order of its layers.
struct LayerErrors {
  int64_t images = 0;
  std::optional<ScoreCount> exact;  // of the fp32 network, with labels
  OutputQuality all;                // of the network that is quantised as a whole
  std::vector<LayerError> layers;

  // Returns the percentage points of correct labels (top 1) that a network loses against the fp32
  // network; nullopt without labels.
  std::optional<double> PointsLost(const OutputQuality& quality) const;
  // Returns the indices of at most `count` layers, the one with the least SQNR `alone` first. Exact
  // layers are left out.
  std::vector<size_t> MostSensitive(size_t count) const;
};

// Options of MeasureLayerErrors.
struct LayerErrorOptions {
  // The output that labels belong to, and its labels; without a layout no labels are counted.
  std::optional<ScoreLayout> layout;
  std::span<const int32_t> labels;
  // Receives the work done, in simulated images, and the total. May be empty.
  std::function<void(int64_t done, int64_t total)> progress;
};

// Measures the errors of `quantised`, which Quantise made from `exact`: same nodes in the same
// order, annotated values and possibly other constants.
//   inputs  images for each graph input, [images, ...]; all are used
//   time    4 runs of the network over the images, and one more per layer
//   errors  no image; those of the reference level and of CountScores
// If a value has another shape than in the fp32 network (data-dependent shapes) on an image, the
// value's `so_far` leaves this image out.
StatusOr<LayerErrors> MeasureLayerErrors(const Graph& exact, const Graph& quantised,
                                         std::span<const Tensor> inputs,
                                         const LayerErrorOptions& options);

}  // namespace kiln

#endif  // KILN_QUANTISE_LAYER_ERRORS_H_
