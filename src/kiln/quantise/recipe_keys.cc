// The table of recipe keys and its documentation page.
#include "kiln/quantise/recipe_keys.h"

#include <fmt/format.h>

#include "kiln/support/markdown.h"

namespace kiln {
namespace {

// Appends the keys that `activations` and `weights` have in common.
void AddTensorKeys(bool is_weight, std::vector<RecipeKey>* keys) {
  const auto add = [&](std::string_view name, std::string_view type, std::string_view values,
                       std::string_view by_default, std::string_view help) {
    keys->push_back({fmt::format("{}.{}", is_weight ? "weights" : "activations", name),
                     std::string(type), std::string(values), std::string(by_default),
                     std::string(help)});
  };
  const std::string_view scheme = is_weight ? "per_channel" : "per_tensor";  // by default
  add("type", "type", "a number type, such as mxint8, nf4 or bf16", "none",
      fmt::format("sets `format`, `scheme`, `block_size` and `scale_format` at once, as "
                  "`--quantise` does with the name: a type of blocks has its blocks, any other of "
                  "up to 8 bits and whole integers have scheme {}, wider floats have scheme none; "
                  "the keys beside it change parts of it{}",
                  scheme,
                  is_weight ? ". It leaves `calibration` alone, which the name takes as mse for "
                              "scales of all but integers of 7 bits and more"
                            : ""));
  add("format", "format", "a number format, or the file of a codebook", "int8",
      is_weight ? "codes of the constants that convolutions and matrix products multiply by"
                : "codes of graph inputs and of the results of operators");
  add("scheme", "choice",
      is_weight ? "none, per_tensor, per_channel, per_block" : "none, per_tensor, per_block",
      scheme,
      is_weight ? "scales: none (codes are values), one, one per output channel, or one per block"
                : "scales: none (codes are values), one, or one per block");
  add("block_size", "integer", "1 to 65536; required with scheme per_block, else not allowed",
      "none", "elements that share a scale");
  add("scale_format", "format", "fp32, power_of_two (e8m0), or another float", "fp32",
      "format of the scales; not allowed with scheme none");
  if (is_weight) {
    add("symmetric", "boolean", "true", "true", "weights have no zero point");
  } else {
    add("symmetric", "boolean", "true, false; false only for whole integers with scheme per_tensor",
        "false; true if `format` or `scheme` takes no zero point",
        "whether the zero point is fixed at 0");
  }
  add("calibration", "choice",
      is_weight ? "min_max, percentile, mse, entropy"
                : "min_max, percentile, percentile_per_channel, mse, entropy",
      is_weight ? "min_max" : "mse",
      "how the range is found; not allowed with the schemes none and per_block");
  add("percentile", "number", "50 to 100", "99.99",
      is_weight ? "with calibration percentile: the per cent of values that stay in range"
                : "with calibration percentile and percentile_per_channel: the per cent of values "
                  "that stay in range");
}

}  // namespace

std::vector<RecipeKey> AllRecipeKeys() {
  std::vector<RecipeKey> keys;
  AddTensorKeys(false, &keys);
  AddTensorKeys(true, &keys);
  const std::vector<RecipeKey> others = {
      {"biases", "format", "fp32 or another number format", "fp32",
       "constants that are added to the results of convolutions and matrix products are rounded to "
       "it; whole integers count in units of input scale times weight scale"},
      {"outputs", "choice", "fp32, quantised", "fp32", "whether graph outputs are codes, too"},
      {"own_parameters", "choice", "keep, replace", "keep",
       "whether quantisation parameters that the network brings stay (QDQ, QONNX)"},
      {"equalise_weights", "boolean", "true, false", "false",
       "whether channel ranges are balanced before calibration"},
      {"correct_biases", "boolean", "true, false", "false",
       "whether the mean error of each channel is subtracted at the end"},
      {"calibration.images", "integer", "1 to 1000000", "256",
       "the greatest number of calibration images to use"},
      {"layers", "list", "entries with the keys below", "none",
       "settings of some nodes; later entries win"},
      {"layers[].match", "text", "a node name, with * and ?", "none",
       "selects nodes by name: that of the network's file, or of the graph after the standard "
       "passes"},
      {"layers[].operator", "text", "an ONNX operator, such as Conv or Gemm", "none",
       "selects nodes by operator: that of the network's file, or of the graph after the standard "
       "passes"},
      {"layers[].position", "text", "first, last, or a number from 0", "none",
       "selects a node by its place among the nodes that multiply and accumulate"},
      {"layers[].optional", "boolean", "true, false", "false",
       "whether the entry may select no node; otherwise that is an error"},
      {"layers[].keep", "choice", "float", "none",
       "weights and results of the nodes stay fp32; excludes the keys below"},
      {"layers[].activations", "settings", "the keys of `activations`", "those of the recipe",
       "for the results of the nodes"},
      {"layers[].inputs", "settings", "the keys of `activations`", "those of the recipe",
       "for the values that the nodes multiply by their weights; wins over `activations` of the "
       "node that computes the value"},
      {"layers[].weights", "settings", "the keys of `weights`", "those of the recipe",
       "for the weights of the nodes"},
  };
  keys.insert(keys.end(), others.begin(), others.end());
  return keys;
}

std::string RecipeKeysPage() {
  std::string out =
      "# Keys of recipes\n\n"
      "A recipe is a YAML file with the keys below, each at most once and in any order;\n"
      "`recipes/*.yaml` are examples. A name with a dot is a key inside another one: the value "
      "int4\n"
      "of `weights.format` is written `weights: {format: int4}`. `layers` is a list. Each entry\n"
      "selects nodes by `match`, `operator` or `position`; if it has several of these, a node "
      "must\n"
      "fit them all. An absent key has its default, which is that of `recipes/int8.yaml`. An "
      "unknown\n"
      "key, a wrong value and an entry that selects no node are errors that name the line.\n\n"
      "[quantisation.md](quantisation.md) describes schemes, calibration and\n"
      "[layers of their own](quantisation.md#layers-of-their-own), [formats.md](formats.md) "
      "number\n"
      "formats and types.\n\n"
      "This page is generated: `kiln list recipe-keys --markdown` prints it. The type of a key, "
      "its\n"
      "values and its default are in brackets.\n\n";
  for (const RecipeKey& key : AllRecipeKeys()) {
    out += MarkdownItem(fmt::format("**`{}`** ({}: {}; default {}): {}.", key.name, key.type,
                                    key.values, key.by_default, key.help));
  }
  return out;
}

}  // namespace kiln
