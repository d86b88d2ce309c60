// Post-training quantisation in one call, with the transformations that a recipe asks for before and after.
#ifndef KILN_QUANTISE_POST_TRAINING_H_
#define KILN_QUANTISE_POST_TRAINING_H_

#include <cstdint>
#include <span>

#include "kiln/ir/graph.h"
#include "kiln/ir/tensor.h"
#include "kiln/quantise/recipe.h"
#include "kiln/support/status.h"

namespace kiln {

// EqualiseWeights (where the recipe says so), Calibrate, Quantise, CorrectBiases (where it says so). `graph` stays as
// it is.
//   inputs  one tensor for each graph input, [images, ...]
//   images  at most this many of them are used
//   errors  those of the steps
StatusOr<Graph> QuantiseOnImages(const Graph& graph, const Recipe& recipe, std::span<const Tensor> inputs,
                                 int64_t images);

}  // namespace kiln

#endif  // KILN_QUANTISE_POST_TRAINING_H_
