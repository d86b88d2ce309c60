// Recipes: what to quantise, in which formats, and how ranges are found.
//
//   activations:                  # results of operators and graph inputs
//     type: mxint8                #   a whole type by its name: format, scheme, block_size and scale_format in one word
//                                 #   (FindQuantType in numerics/format.h); or key by key:
//     format: int8                #   any format of numerics/format.h, codebooks in YAML files included
//     scheme: per_tensor          #   or none (codes are values), or per_block (microscaling; see block_axes.h)
//     block_size: 32              #   per_block only
//     scale_format: fp32          #   what scales are rounded to: fp32, power_of_two (e8m0), or any float format
//     symmetric: false            #   true fixes the zero point at 0; only whole integers have zero points
//     calibration: percentile     #   where ranges come from (range.h): min_max, percentile, mse, entropy or
//                                 #   percentile_per_channel; nothing to choose under none and per_block
//     percentile: 99.99
//   weights:                      # constants that convolutions and matrix products multiply by
//     format: int8
//     scheme: per_channel         #   or any of the above
//     symmetric: true
//     calibration: min_max
//   biases: fp32                  # or a format: constants that are added to such results hold values of that format,
//                                 #   whole integers in units of input scale times weight scale (biases.h)
//   outputs: fp32                 # or quantised: graph outputs are codes, too
//   own_parameters: keep          # what a network brings itself (QDQ, QONNX) stands; or replace
//   equalise_weights: true        # before calibration: channels with like ranges (equalise_weights.h)
//   correct_biases: true          # at the end: the mean error of each channel (correct_biases.h)
//   calibration:
//     images: 256                 # how many of the calibration images to use, from the first
//   layers:                       # later entries win; each names nodes by one or more of match, operator, position
//     - match: "conv1*"           #   node name, with * and ?
//       operator: Conv            #   ONNX name of the operator
//       position: first           #   first or last node that multiplies and accumulates, or a number in that order
//       keep: float               #   weights and results stay fp32; or, in place of that, other settings
//       activations: {calibration: mse}   # for the results,
//       inputs: {type: bf16}              # for what the node multiplies by its weights,
//       weights: {format: int4}           # and for the weights
//
// A value that one node's `activations` and another's `inputs` speak of obeys `inputs`; of several readers the last.
// Nodes are those of the graph after the standard passes: a node that stands for several has their names joined by '+',
// and a Gemm is a MatMul and an Add of its bias.
//
// Every key may be left out: it keeps the value of the built-in recipe `int8`, which is recipes/int8.yaml.
#ifndef KILN_QUANTISE_RECIPE_H_
#define KILN_QUANTISE_RECIPE_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/ir/op.h"
#include "kiln/numerics/format.h"
#include "kiln/support/status.h"

namespace kiln {

enum class Calibration { kMinMax, kPercentile, kPercentilePerChannel, kMse, kEntropy };
std::string_view NameOf(
    Calibration calibration);  // "min_max", "percentile", "percentile_per_channel", ...
StatusOr<Calibration> FindCalibration(std::string_view name);

// How one kind of tensor is quantised.
struct TensorRecipe {
  QuantType type;
  Calibration calibration = Calibration::kMinMax;
  double percentile = 99.99;  // kPercentile...: this share of values stays in range, in percent
  friend bool operator==(const TensorRecipe&, const TensorRecipe&) = default;
};

// A place in the order of multiply-accumulate nodes.
struct Position {
  int64_t index = 0;  // from the front; -1 is the last
  friend bool operator==(const Position&, const Position&) = default;
};

struct LayerRecipe {
  // Which nodes; those that are given must all hold.
  std::string match;  // glob over node names; empty: any
  std::optional<Op> op;
  std::optional<Position> position;
  // What changes.
  bool keep_float = false;
  std::optional<TensorRecipe> activations;
  std::optional<TensorRecipe> inputs;
  std::optional<TensorRecipe> weights;
  int line = 0;  // in the file, for messages

  // "layers[2] (match 'conv*')"
  std::string Describe(int index) const;
  friend bool operator==(const LayerRecipe&, const LayerRecipe&) = default;
};

struct Recipe {
  std::string source;  // the file, for messages; empty when built in
  TensorRecipe activations;
  TensorRecipe weights;
  std::optional<Format> biases;  // nullopt: fp32, as they are
  bool quantise_outputs = false;
  bool replace_own = false;  // also annotations that the graph carries already
  bool equalise_weights = false;
  bool correct_biases = false;
  int64_t calibration_images = 256;
  std::vector<LayerRecipe> layers;
};

// The built-in recipe: int8 weights per output channel, int8 activations per tensor with a zero point.
Recipe Int8Recipe();

// Whether some tensor's range is found by kPercentilePerChannel, for which calibration must count by channel.
bool NeedsChannels(const Recipe& recipe);

// Errors name file, line and key: unknown keys, wrong types, unknown names, and combinations without meaning.
StatusOr<Recipe> ParseRecipe(std::string_view yaml, std::string_view source);
// `source` is the path.
StatusOr<Recipe> LoadRecipe(const std::filesystem::path& path);
// The file that ParseRecipe reads as an equal recipe; a first comment of one line where `comment` is not empty.
std::string PrintRecipe(const Recipe& recipe, std::string_view comment = {});

// Whether `name` matches `glob`: * any characters, ? one character.
bool MatchesGlob(std::string_view glob, std::string_view name);

}  // namespace kiln

#endif  // KILN_QUANTISE_RECIPE_H_
