// Recipes: which values to quantise, in which formats, and how to find their ranges. A recipe is a
// YAML file or is made from the name of a number type (recipe_names.h).
//
//   activations:                  # results of operators, and graph inputs
//     type: mxint8                #   a complete type by its name: sets format, scheme, block_size
//                                 #   and scale_format (FindActivationType and FindWeightType in
//                                 #   recipe_names.h). Otherwise key by key:
//     format: int8                #   any format of numerics/format.h, also codebooks in YAML files
//     scheme: per_tensor          #   or none (codes are values), or per_block (microscaling; see
//                                 #   block_axes.h)
//     block_size: 32              #   per_block only
//     scale_format: fp32          #   format of the scales: fp32, power_of_two (e8m0), or any float
//                                 #   format
//     symmetric: false            #   true fixes the zero point at 0; only whole integers have zero
//                                 #   points
//     calibration: percentile     #   how ranges are found (range.h): min_max, percentile,
//                                 #   percentile_per_channel, mse or entropy; not allowed under the
//                                 #   schemes none and per_block
//     percentile: 99.99
//   weights:                      # constants that convolutions and matrix products multiply by
//     format: int8
//     scheme: per_channel         #   or any of the above
//     symmetric: true
//     calibration: min_max
//   biases: fp32                  # or a format: constants added to the results of convolutions and
//                                 #   matrix products are rounded to it; whole integers in units of
//                                 #   input scale times weight scale (biases.h)
//   outputs: fp32                 # or quantised: graph outputs are codes, too
//   own_parameters: keep          # annotations that the network brings (QDQ, QONNX); or replace
//   equalise_weights: true        # before calibration: balance channel ranges (equalise_weights.h)
//   correct_biases: true          # at the end: cancel each channel's mean error
//                                 #   (correct_biases.h)
//   calibration:
//     images: 256                 # the greatest number of calibration images to use
//   layers:                       # overrides, later entries win; an entry selects nodes by one or
//                                 #   more of match, operator and position
//     - match: "conv1*"           #   node name, with * and ?
//       operator: Conv            #   ONNX name of the operator, in the file or after the passes
//       position: first           #   first, last, or an index, among the nodes that multiply and
//                                 #   accumulate
//       optional: true            #   the entry may match nothing; otherwise that is an error
//       keep: float               #   weights and results stay fp32; or, instead, settings:
//       activations: {calibration: mse}   # for the results,
//       inputs: {type: bf16}              # for the values that the node multiplies by its weights,
//       weights: {format: int4}           # and for the weights
//
// If `activations` of one node and `inputs` of another apply to a value, `inputs` wins; among
// several readers, the last. Nodes are those of the graph after the standard passes. They are
// matched by the names and operators of the nodes of the ONNX file that they are made from: a node
// "conv+bn" by "conv", and the MatMul and the Add of the bias that a Gemm becomes by Gemm.
//
// Every key is optional; its default is that of the built-in recipe `int8` (recipes/int8.yaml).
// recipe_keys.h has the keys as a table.
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

// The methods of finding a range; range.h defines them.
enum class Calibration { kMinMax, kPercentile, kPercentilePerChannel, kMse, kEntropy };
// Returns the name used in recipes, such as "min_max" or "percentile_per_channel".
std::string_view NameOf(Calibration calibration);
// Finds a method by its name.
//   errors  an unknown name; the message lists all names
StatusOr<Calibration> FindCalibration(std::string_view name);

// How one kind of tensor (activations, inputs or weights) is quantised.
struct TensorRecipe {
  QuantType type;
  Calibration calibration = Calibration::kMinMax;
  double percentile = 99.99;  // kPercentile...: the per cent of values that stay in range
  friend bool operator==(const TensorRecipe&, const TensorRecipe&) = default;
};

// An index in the order of multiply-accumulate nodes.
struct Position {
  int64_t index = 0;  // counted from the first node; -1 is the last node
  friend bool operator==(const Position&, const Position&) = default;
};

// One entry of `layers`: which nodes it selects, and what it changes for them.
struct LayerRecipe {
  // The selection. All conditions that are given must hold.
  std::string match;  // a glob over node names; empty matches all
  std::optional<Op> op;
  std::optional<Position> position;
  bool optional = false;  // the entry may match nothing
  // The changes.
  bool keep_float = false;
  std::optional<TensorRecipe> activations;
  std::optional<TensorRecipe> inputs;
  std::optional<TensorRecipe> weights;
  int line = 0;  // in the recipe's file, for error messages

  // Describes the entry for messages: "layers[2] (match 'conv*')".
  std::string Describe(int index) const;
  friend bool operator==(const LayerRecipe&, const LayerRecipe&) = default;
};

// A complete recipe; the fields correspond to the keys above.
struct Recipe {
  std::string source;  // path of the file, for messages; empty if built in
  TensorRecipe activations;
  TensorRecipe weights;
  std::optional<Format> biases;  // nullopt: biases stay fp32
  bool quantise_outputs = false;
  bool replace_own = false;  // replace annotations that the graph already carries
  bool equalise_weights = false;
  bool correct_biases = false;
  int64_t calibration_images = 256;
  std::vector<LayerRecipe> layers;
};

// Returns the built-in recipe `int8`: int8 weights per output channel and int8 activations per
// tensor with a zero point.
Recipe Int8Recipe();

// Returns whether a tensor of the recipe uses kPercentilePerChannel, which requires calibration by
// channel.
bool NeedsChannels(const Recipe& recipe);
// Returns whether images can change the result: ranges of activations to be found from them, or
// biases to be corrected. Weights alone need none.
bool NeedsData(const Recipe& recipe);

// Parses a recipe. `source` names it in messages.
//   errors  unknown keys, wrong types, unknown names, and combinations without meaning; messages
//           name file, line and key, and for an unknown operator the nearest one
StatusOr<Recipe> ParseRecipe(std::string_view yaml, std::string_view source);
// Loads a recipe from a file; the path is its `source`.
StatusOr<Recipe> LoadRecipe(const std::filesystem::path& path);
// Returns YAML text that ParseRecipe reads back as an equal recipe. A `comment` that is not empty
// becomes the first line.
std::string PrintRecipe(const Recipe& recipe, std::string_view comment = {});

// Returns whether `name` matches `glob`: * stands for any characters, ? for one character.
bool MatchesGlob(std::string_view glob, std::string_view name);

}  // namespace kiln

#endif  // KILN_QUANTISE_RECIPE_H_
