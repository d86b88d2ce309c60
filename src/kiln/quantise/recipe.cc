// Recipes as data: names of calibration methods, the built-in recipe, and globs. recipe_yaml.cc
// reads and writes recipes as YAML.
#include "kiln/quantise/recipe.h"

#include <algorithm>

#include <fmt/format.h>

#include "kiln/support/excerpt.h"

namespace kiln {
namespace {

constexpr Calibration kCalibrations[] = {Calibration::kMinMax, Calibration::kPercentile,
                                         Calibration::kPercentilePerChannel, Calibration::kMse,
                                         Calibration::kEntropy};

// Returns whether the range of a tensor is chosen from counts by channel.
bool CountsByChannel(const TensorRecipe& tensor) {
  return tensor.calibration == Calibration::kPercentilePerChannel &&
         (tensor.type.scheme == Scheme::kPerTensor || tensor.type.scheme == Scheme::kPerChannel);
}

}  // namespace

std::string_view NameOf(Calibration calibration) {
  switch (calibration) {
    case Calibration::kMinMax:
      return "min_max";
    case Calibration::kPercentile:
      return "percentile";
    case Calibration::kPercentilePerChannel:
      return "percentile_per_channel";
    case Calibration::kMse:
      return "mse";
    case Calibration::kEntropy:
      return "entropy";
  }
  return "?";
}

StatusOr<Calibration> FindCalibration(std::string_view name) {
  std::string names;
  for (Calibration calibration : kCalibrations) {
    if (NameOf(calibration) == name) return calibration;
    names += (names.empty() ? "" : ", ") + std::string(NameOf(calibration));
  }
  return ErrorAt("", "", fmt::format("unknown calibration '{}'", name),
                 fmt::format("one of: {}", names));
}

std::string LayerRecipe::Describe(int index) const {
  std::string what;
  const auto add = [&](const std::string& part) { what += (what.empty() ? "" : ", ") + part; };
  if (!match.empty()) add(fmt::format("match {}", QuotedExcerpt(match)));
  if (op) add(fmt::format("operator {}", InfoOf(*op).onnx_name));
  if (position)
    add(position->index < 0 ? "position last" : fmt::format("position {}", position->index));
  return fmt::format("layers[{}] ({})", index, what);
}

Recipe Int8Recipe() {
  const StatusOr<Format> int8 = FindFormat("int8");
  KILN_CHECK(int8.ok());
  Recipe recipe;
  recipe.activations = {.type = {.format = *int8, .scheme = Scheme::kPerTensor, .symmetric = false},
                        .calibration = Calibration::kMse};
  recipe.weights = {.type = {.format = *int8, .scheme = Scheme::kPerChannel, .symmetric = true},
                    .calibration = Calibration::kMinMax};
  return recipe;
}

bool NeedsChannels(const Recipe& recipe) {
  return CountsByChannel(recipe.activations) ||
         std::any_of(recipe.layers.begin(), recipe.layers.end(), [](const LayerRecipe& layer) {
           return (layer.activations && CountsByChannel(*layer.activations)) ||
                  (layer.inputs && CountsByChannel(*layer.inputs));
         });
}

bool NeedsData(const Recipe& recipe) {
  const auto needs = [](const TensorRecipe& tensor) { return tensor.type.scheme != Scheme::kNone; };
  return recipe.correct_biases || needs(recipe.activations) ||
         std::any_of(recipe.layers.begin(), recipe.layers.end(), [&](const LayerRecipe& layer) {
           return (layer.activations && needs(*layer.activations)) ||
                  (layer.inputs && needs(*layer.inputs));
         });
}

bool MatchesGlob(std::string_view glob, std::string_view name) {
  // On a mismatch, let the last star take one more character. Earlier stars never need to grow:
  // whatever follows them has matched already.
  size_t g = 0, n = 0, star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      resume = n;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == name[n])) {
      ++g;
      ++n;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

}  // namespace kiln
