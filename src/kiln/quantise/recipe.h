// Recipes: what to quantise, in which formats, and how ranges are found.
//
//   activations:                  # results of operators and graph inputs
//     format: int8                #   any integer format of numerics/formats.def
//     scheme: per_tensor
//     symmetric: false            #   true fixes the zero point at 0
//     calibration: percentile     #   min_max, percentile, mse or entropy (quantise/range.h)
//     percentile: 99.99
//   weights:                      # constants that convolutions and matrix products multiply by
//     format: int8
//     scheme: per_channel         #   or per_tensor
//     symmetric: true
//     calibration: min_max
//   outputs: fp32                 # or quantised: graph outputs are codes, too
//   own_parameters: keep          # what a network brings itself (QDQ, QONNX) stands; or replace: the recipe decides all
//   calibration:
//     images: 256                 # how many of the calibration images to use, from the first
//   layers:                       # later entries win; each names nodes by one or more of match, operator, position
//     - match: "conv1*"           #   node name, with * and ?
//       operator: Conv            #   ONNX name of the operator
//       position: first           #   first or last node that multiplies and accumulates, or a number in that order
//       keep: float               #   weights and results stay fp32; or, in place of that,
//       activations: {calibration: mse}   # other settings for the results
//       weights: {format: int4}           # and for the weights
//
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

enum class Calibration { kMinMax, kPercentile, kMse, kEntropy };
std::string_view NameOf(Calibration calibration);  // "min_max", "percentile", "mse", "entropy"
StatusOr<Calibration> FindCalibration(std::string_view name);

// How one kind of tensor is quantised.
struct TensorRecipe {
  QuantType type;
  Calibration calibration = Calibration::kMinMax;
  double percentile = 99.99;  // kPercentile: this share of values stays in range, in percent
  friend bool operator==(const TensorRecipe& a, const TensorRecipe& b) {
    return a.type.format == b.type.format && a.type.scheme == b.type.scheme && a.type.symmetric == b.type.symmetric &&
           a.type.block_size == b.type.block_size && a.calibration == b.calibration && a.percentile == b.percentile;
  }
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
  std::optional<TensorRecipe> weights;
  int line = 0;  // in the file, for messages

  // "layers[2] (match 'conv*')"
  std::string Describe(int index) const;
};

struct Recipe {
  std::string source;  // the file, for messages; empty when built in
  TensorRecipe activations;
  TensorRecipe weights;
  bool quantise_outputs = false;
  bool replace_own = false;  // also annotations that the graph carries already
  int64_t calibration_images = 256;
  std::vector<LayerRecipe> layers;
};

// The built-in recipe: int8 weights per output channel, int8 activations per tensor with a zero point.
Recipe Int8Recipe();

// Errors name file, line and key: unknown keys, wrong types, unknown names, and combinations without meaning.
StatusOr<Recipe> ParseRecipe(std::string_view yaml, std::string_view source);
// `source` is the path; the name "int8" alone, where no such file stands, is the built-in recipe.
StatusOr<Recipe> LoadRecipe(const std::filesystem::path& path);

// Whether `name` matches `glob`: * any characters, ? one character.
bool MatchesGlob(std::string_view glob, std::string_view name);

}  // namespace kiln

#endif  // KILN_QUANTISE_RECIPE_H_
