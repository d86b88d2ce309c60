// Bias correction: subtracts the mean error that quantisation causes in each channel from the bias.
//
// It is the last step of post-training quantisation (post_training.h), after ranges and annotations
// are chosen.
#ifndef KILN_QUANTISE_CORRECT_BIASES_H_
#define KILN_QUANTISE_CORRECT_BIASES_H_

#include <cstdint>
#include <span>

#include "kiln/ir/graph.h"
#include "kiln/ir/tensor.h"
#include "kiln/support/status.h"

namespace kiln {

// Means settle early, and each layer costs one run of all layers before it.
inline constexpr int64_t kMaxCorrectionImages = 64;

// Corrects the biases of `quantised` layer by layer, in graph order. For each output channel it
// measures the mean over all images and positions, once in the fp32 network and once in the
// simulated quantised network (simulate.h) with all earlier layers corrected, and adds the
// difference to the bias. This corrects the mean shift caused by weight rounding and activation
// clipping in the layer where it arises. A convolution without a bias is given one; a matrix
// product is corrected only if an Add of one number per channel follows it.
//   graph      the fp32 network that `quantised` was made from
//   inputs     one tensor per graph input, [images, ...]
//   images     the greatest number of images to use, at most kMaxCorrectionImages
//   source     M. Nagel et al., arXiv 1906.04721, section 4.2 (with measured means)
Status CorrectBiases(const Graph& graph, std::span<const Tensor> inputs, int64_t images,
                     Graph* quantised);

}  // namespace kiln

#endif  // KILN_QUANTISE_CORRECT_BIASES_H_
