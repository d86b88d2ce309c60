// Post-training quantisation as a whole: calibration and annotation, with the transformations that
// a recipe asks for before and after them. The command line quantises networks through this class.
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

// Quantises one graph on one set of images by any number of recipes. Each recipe runs
// EqualiseWeights (if requested), Calibrate, Quantise and CorrectBiases (if requested). Recipes
// with the same preparation share it, because calibration takes most of the time.
class PostTraining {
 public:
  //   graph   the fp32 network; it is not changed
  //   inputs  one tensor per graph input, [images, ...]
  // Both must outlive this object.
  PostTraining(const Graph& graph, std::span<const Tensor> inputs)
      : graph_(graph), inputs_(inputs) {}

  // Returns the annotated graph. The result does not depend on the order of calls.
  //   images  the greatest number of images to use, from the first
  //   errors  those of the steps
  StatusOr<Graph> Quantise(const Recipe& recipe, int64_t images);
  // Returns the fp32 graph that Quantise annotates for these arguments: the network, with equalised
  // weights if the recipe asks for them. Valid as long as this object.
  StatusOr<const Graph*> Exact(const Recipe& recipe, int64_t images);

  int64_t calibrations() const { return std::ssize(prepared_); }  // number of calibrations run

 private:
  // The settings that determine the graph before quantisation and its calibration data.
  struct Preparation {
    bool equalise_weights, by_channel;
    int64_t images;
    auto operator<=>(const Preparation&) const = default;
  };
  // A graph ready for Quantise, and its calibration data.
  struct Prepared {
    Graph graph;
    CalibrationData data;
  };
  // Returns the prepared graph, computing it on the first request.
  StatusOr<const Prepared*> Prepare(const Recipe& recipe, int64_t images);

  const Graph& graph_;
  const std::span<const Tensor> inputs_;
  std::map<Preparation, Prepared> prepared_;
};

// Does the same for a single recipe.
StatusOr<Graph> QuantiseOnImages(const Graph& graph, const Recipe& recipe,
                                 std::span<const Tensor> inputs, int64_t images);
// Does the same without images for a recipe that does not need any (NeedsData).
StatusOr<Graph> QuantiseWithoutImages(const Graph& graph, const Recipe& recipe);

}  // namespace kiln

#endif  // KILN_QUANTISE_POST_TRAINING_H_
