#include "kiln/quantise/post_training.h"

#include "kiln/quantise/biases.h"
#include "kiln/quantise/calibrate.h"
#include "kiln/quantise/correct_biases.h"
#include "kiln/quantise/equalise_weights.h"
#include "kiln/quantise/quantise.h"

namespace kiln {

StatusOr<Graph> QuantiseOnImages(const Graph& graph, const Recipe& recipe, std::span<const Tensor> inputs,
                                 int64_t images) {
  Graph prepared = graph.Clone();
  if (recipe.equalise_weights) EqualiseWeights(prepared);
  KILN_ASSIGN_OR_RETURN(const CalibrationData data,
                        Calibrate(prepared, inputs, images, {.by_channel = NeedsChannels(recipe)}));
  KILN_ASSIGN_OR_RETURN(Graph quantised, Quantise(prepared, recipe, data));
  if (recipe.correct_biases) {
    KILN_RETURN_IF_ERROR(CorrectBiases(prepared, inputs, images, &quantised));
    if (recipe.biases) RoundBiases(quantised, *recipe.biases);
  }
  return quantised;
}

}  // namespace kiln
