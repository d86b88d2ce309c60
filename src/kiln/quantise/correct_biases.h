// Bias correction: takes the mean error that quantisation causes in each channel off the bias.
#ifndef KILN_QUANTISE_CORRECT_BIASES_H_
#define KILN_QUANTISE_CORRECT_BIASES_H_

#include <cstdint>
#include <span>

#include "kiln/ir/graph.h"
#include "kiln/ir/tensor.h"
#include "kiln/support/status.h"

namespace kiln {

inline constexpr int64_t kMaxCorrectionImages = 64;

// Layer after layer in graph order: the mean of each output channel over images and places is measured in the fp32
// network and in the quantised one as it is simulated (simulate.h) with the layers before it corrected, and the
// difference goes into the bias. So what rounding of weights and clipping of activations shift on average is put right
// where it arises. A convolution without bias gets one; a matrix product needs an Add of one number per channel behind
// it.
//   graph      the fp32 network that `quantised` was made from
//   inputs     one tensor for each graph input, [images, ...]
//   images     at most this many, and at most kMaxCorrectionImages, are used: means settle early, and each layer
//              takes a run of all before it
//   source     M. Nagel et al., arXiv 1906.04721, section 4.2 (with measured means)
Status CorrectBiases(const Graph& graph, std::span<const Tensor> inputs, int64_t images,
                     Graph* quantised);

}  // namespace kiln

#endif  // KILN_QUANTISE_CORRECT_BIASES_H_
