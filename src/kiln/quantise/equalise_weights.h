// Cross-layer weight equalisation: channels between two layers take like ranges before quantisation.
#ifndef KILN_QUANTISE_EQUALISE_WEIGHTS_H_
#define KILN_QUANTISE_EQUALISE_WEIGHTS_H_

#include <cstdint>

#include "kiln/ir/graph.h"

namespace kiln {

// Rescales the channels between pairs of layers: channel c of the first layer's result is divided by s[c] (its weights
// and bias are), and the second layer's weights for it are multiplied by s[c]. With r1[c] and r2[c] the greatest
// magnitudes of the two layers' weights for the channel,
//
//   s[c] = 2^round(log2(r1[c] / r2[c]) / 2)
//
// which makes both sides of each channel alike, to a factor of 2 between them, and with it the channels of one tensor.
// Being powers of two, the s[c] change no rounding: the network computes the same fp32 bits, but for numbers that leave
// fp32's normal range. Pairs are taken in graph order, again and again until no s differs from 1, or 20 times.
//
// A pair is Conv or MatMul or Gemm with constant weights, then any number of Relu, LeakyRelu, PRelu, pools, Add of a
// bias per channel, Dropout or Identity, then Conv (depthwise too), MatMul or Gemm over that channel. Each value
// between is used once and is no output; no constant involved is used by others, carries an annotation, or is not fp32.
//   source  M. Nagel, M. van Baalen, T. Blankevoort, M. Welling, "Data-Free Quantization Through Weight
//           Equalization and Bias Correction", ICCV 2019 (arXiv 1906.04721), section 4.1
// Returns how many pairs there are.
int64_t EqualiseWeights(Graph& graph);

}  // namespace kiln

#endif  // KILN_QUANTISE_EQUALISE_WEIGHTS_H_
