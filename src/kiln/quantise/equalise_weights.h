// Cross-layer weight equalisation: balances the ranges of the channels between two layers before
// quantisation, so that one scale per tensor serves all channels well.
#ifndef KILN_QUANTISE_EQUALISE_WEIGHTS_H_
#define KILN_QUANTISE_EQUALISE_WEIGHTS_H_

#include <cstdint>

#include "kiln/ir/graph.h"

namespace kiln {

// Rescales the channels between pairs of layers. The weights and bias of the first layer's output
// channel c are divided by s[c], and the second layer's weights for that channel are multiplied by
// s[c]. With r1[c] and r2[c] the greatest magnitudes of the two layers' weights for the channel,
//
//   s[c] = 2^round(log2(r1[c] / r2[c]) / 2)
//
// This makes r1[c] and r2[c] equal up to a factor of 2, and so equalises the channels within each
// tensor. The s[c] are powers of two and change no rounding: the network computes the same fp32
// bits, unless a number leaves fp32's normal range. Pairs are processed in graph order, repeatedly
// until every s[c] is 1, at most 20 times.
//
// A pair is a Conv, MatMul or Gemm with constant weights, any number of Relu, LeakyRelu, PRelu,
// pools, Adds of a bias per channel, Dropouts or Identities, and a Conv (also depthwise), MatMul or
// Gemm that sums over the channel. Each value in between has one user and is not an output; each
// constant involved has one user, carries no annotation, and is fp32. Returns the number of pairs.
//   source  M. Nagel, M. van Baalen, T. Blankevoort, M. Welling, "Data-Free Quantization Through
//           Weight Equalization and Bias Correction", ICCV 2019 (arXiv 1906.04721), section 4.1
int64_t EqualiseWeights(Graph& graph);

}  // namespace kiln

#endif  // KILN_QUANTISE_EQUALISE_WEIGHTS_H_
