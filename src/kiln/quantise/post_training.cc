// Runs the steps of post-training quantisation and caches the steps that recipes share.
#include "kiln/quantise/post_training.h"

#include <utility>

#include "kiln/quantise/biases.h"
#include "kiln/quantise/calibrate.h"
#include "kiln/quantise/correct_biases.h"
#include "kiln/quantise/equalise_weights.h"
#include "kiln/quantise/quantise.h"
#include "kiln/support/check.h"

namespace kiln {

StatusOr<const PostTraining::Prepared*> PostTraining::Prepare(const Recipe& recipe,
                                                              int64_t images) {
  const Preparation preparation{.equalise_weights = recipe.equalise_weights,
                                .by_channel = NeedsChannels(recipe),
                                .images = images};
  if (const auto found = prepared_.find(preparation); found != prepared_.end())
    return &found->second;
  Prepared prepared{.graph = graph_.Clone(), .data = {}};
  if (preparation.equalise_weights) EqualiseWeights(prepared.graph);
  KILN_ASSIGN_OR_RETURN(prepared.data, Calibrate(prepared.graph, inputs_, preparation.images,
                                                 {.by_channel = preparation.by_channel}));
  return &prepared_.emplace(preparation, std::move(prepared)).first->second;
}

StatusOr<Graph> PostTraining::Quantise(const Recipe& recipe, int64_t images) {
  KILN_ASSIGN_OR_RETURN(const Prepared* prepared, Prepare(recipe, images));
  KILN_ASSIGN_OR_RETURN(Graph quantised, kiln::Quantise(prepared->graph, recipe, prepared->data));
  if (recipe.correct_biases) {
    KILN_RETURN_IF_ERROR(CorrectBiases(prepared->graph, inputs_, images, &quantised));
    // Correction shifts biases off the grid that Quantise rounded them to.
    if (recipe.biases) RoundBiases(quantised, *recipe.biases);
  }
  return quantised;
}

StatusOr<const Graph*> PostTraining::Exact(const Recipe& recipe, int64_t images) {
  KILN_ASSIGN_OR_RETURN(const Prepared* prepared, Prepare(recipe, images));
  return &prepared->graph;
}

StatusOr<Graph> QuantiseOnImages(const Graph& graph, const Recipe& recipe,
                                 std::span<const Tensor> inputs, int64_t images) {
  return PostTraining(graph, inputs).Quantise(recipe, images);
}

StatusOr<Graph> QuantiseWithoutImages(const Graph& graph, const Recipe& recipe) {
  KILN_CHECK(!NeedsData(recipe));
  Graph prepared = graph.Clone();
  if (recipe.equalise_weights) EqualiseWeights(prepared);
  return Quantise(prepared, recipe, CalibrationData::Assumed());
}

}  // namespace kiln
