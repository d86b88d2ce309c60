// Post-training quantisation as a whole, with the transformations that a recipe asks for before and after.
#ifndef KILN_QUANTISE_POST_TRAINING_H_
#define KILN_QUANTISE_POST_TRAINING_H_

#include <compare>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>

#include "kiln/ir/graph.h"
#include "kiln/ir/tensor.h"
#include "kiln/quantise/calibration_data.h"
#include "kiln/quantise/recipe.h"
#include "kiln/support/status.h"

namespace kiln {

// EqualiseWeights (where the recipe says so), Calibrate, Quantise, CorrectBiases (where it says so), of one graph on
// one set of images by any number of recipes, one after the other: those that ask for the same preparation share it.
class PostTraining {
 public:
  //   graph   stays as it is
  //   inputs  one tensor for each graph input, [images, ...]
  // Both must outlive it.
  PostTraining(const Graph& graph, std::span<const Tensor> inputs)
      : graph_(graph), inputs_(inputs) {}

  // The same result in whichever order recipes come.
  //   images  at most this many are used, from the first
  //   errors  those of the steps
  StatusOr<Graph> Quantise(const Recipe& recipe, int64_t images);

  int64_t calibrations() const { return std::ssize(prepared_); }  // how many have been run

 private:
  // What the graph before quantisation and its calibration depend on.
  struct Preparation {
    bool equalise_weights, by_channel;
    int64_t images;
    auto operator<=>(const Preparation&) const = default;
  };
  struct Prepared {
    Graph graph;
    CalibrationData data;
  };
  StatusOr<const Prepared*> Prepare(const Preparation& preparation);

  const Graph& graph_;
  const std::span<const Tensor> inputs_;
  std::map<Preparation, Prepared> prepared_;
};

// The same for one recipe.
StatusOr<Graph> QuantiseOnImages(const Graph& graph, const Recipe& recipe,
                                 std::span<const Tensor> inputs, int64_t images);

}  // namespace kiln

#endif  // KILN_QUANTISE_POST_TRAINING_H_
