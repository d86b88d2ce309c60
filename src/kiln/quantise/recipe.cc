#include "kiln/quantise/recipe.h"

#include <charconv>

#include <fmt/format.h>

#include "kiln/support/yaml.h"

namespace kiln {
namespace {

constexpr std::string_view kAnyCalibration = "min_max, percentile, mse, entropy";

StatusOr<Op> FindOperator(std::string_view name) {
  if (const std::optional<Op> op = FindOpByOnnxName("", name)) return *op;
  return ErrorAt("", "", fmt::format("unknown operator '{}'", name), "an ONNX operator name, such as Conv or MatMul");
}

StatusOr<Position> FindPosition(std::string_view text) {
  if (text == "first") return Position{0};
  if (text == "last") return Position{-1};
  int64_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error == std::errc() && end == text.data() + text.size() && index >= 0) return Position{index};
  return ErrorAt("", "", fmt::format("unknown position '{}'", text), "first, last, or a number from 0");
}

StatusOr<Format> FindIntegerFormat(std::string_view name) {
  KILN_ASSIGN_OR_RETURN(const Format format, FindFormat(name));
  if (!format.is_integer() || format.bits > 16) {
    return ErrorAt("", "", fmt::format("format '{}' cannot be calibrated", name),
                   "an integer format of at most 16 bits, such as int8; `keep: float` leaves a layer in fp32");
  }
  return format;
}

// Reads the settings of one kind of tensor over those that stand in *recipe.
void ReadTensor(const YamlMap& map, bool is_weight, TensorRecipe* recipe) {
  map.Parsed("format", &recipe->type.format, FindIntegerFormat);
  if (is_weight) {
    map.Choice<Scheme>("scheme", &recipe->type.scheme,
                       {{"per_tensor", Scheme::kPerTensor}, {"per_channel", Scheme::kPerChannel}});
  } else {
    map.Choice<Scheme>("scheme", &recipe->type.scheme, {{"per_tensor", Scheme::kPerTensor}});
  }
  map.Bool("symmetric", &recipe->type.symmetric);
  map.Parsed("calibration", &recipe->calibration, FindCalibration);
  map.Double("percentile", &recipe->percentile, 50, 100);
  if (map.Has("percentile") && recipe->calibration != Calibration::kPercentile) {
    map.Fail("percentile", fmt::format("has no meaning with calibration '{}'", NameOf(recipe->calibration)),
             "leave it out, or write calibration: percentile");
  }
  if (is_weight && !recipe->type.symmetric) {
    map.Fail(map.Has("symmetric") ? "symmetric" : "", "weights with a zero point are not supported", "symmetric: true");
  }
}

LayerRecipe ReadLayer(const YamlMap& map, const Recipe& recipe) {
  LayerRecipe layer;
  layer.line = map.line();
  map.String("match", &layer.match);
  if (map.Has("operator")) map.Parsed("operator", &layer.op.emplace(), FindOperator);
  if (map.Has("position")) map.Parsed("position", &layer.position.emplace(), FindPosition);
  if (!map.Has("match") && !map.Has("operator") && !map.Has("position")) {
    map.Fail("", "names no nodes", "give match, operator or position");
  }
  map.Choice<bool>("keep", &layer.keep_float, {{"float", true}});
  if (map.Has("activations")) {
    ReadTensor(map.Map("activations"), false, &layer.activations.emplace(recipe.activations));
  }
  if (map.Has("weights")) ReadTensor(map.Map("weights"), true, &layer.weights.emplace(recipe.weights));
  const bool has_settings = map.Has("activations") || map.Has("weights");
  if (map.Has("keep") && has_settings) {
    map.Fail("keep", "a layer that stays float has no other settings", "leave out activations and weights");
  } else if (!map.Has("keep") && !has_settings) {
    map.Fail("", "changes nothing", "give keep, activations or weights");
  }
  return layer;
}

StatusOr<Recipe> ReadRecipe(const YamlFile& file, std::string_view source) {
  Recipe recipe = Int8Recipe();
  recipe.source = std::string(source);
  const YamlMap root = file.root();
  ReadTensor(root.Map("activations"), false, &recipe.activations);
  ReadTensor(root.Map("weights"), true, &recipe.weights);
  root.Choice<bool>("outputs", &recipe.quantise_outputs, {{"fp32", false}, {"quantised", true}});
  root.Choice<bool>("own_parameters", &recipe.replace_own, {{"keep", false}, {"replace", true}});
  root.Map("calibration").Int("images", &recipe.calibration_images, 1, 1'000'000);
  for (const YamlMap& map : root.Maps("layers")) recipe.layers.push_back(ReadLayer(map, recipe));
  KILN_RETURN_IF_ERROR(file.Finish());
  return recipe;
}

}  // namespace

std::string_view NameOf(Calibration calibration) {
  switch (calibration) {
    case Calibration::kMinMax:
      return "min_max";
    case Calibration::kPercentile:
      return "percentile";
    case Calibration::kMse:
      return "mse";
    case Calibration::kEntropy:
      return "entropy";
  }
  return "?";
}

StatusOr<Calibration> FindCalibration(std::string_view name) {
  for (Calibration c : {Calibration::kMinMax, Calibration::kPercentile, Calibration::kMse, Calibration::kEntropy}) {
    if (NameOf(c) == name) return c;
  }
  return ErrorAt("", "", fmt::format("unknown calibration '{}'", name), fmt::format("one of: {}", kAnyCalibration));
}

std::string LayerRecipe::Describe(int index) const {
  std::string what;
  const auto add = [&](const std::string& part) { what += (what.empty() ? "" : ", ") + part; };
  if (!match.empty()) add(fmt::format("match '{}'", match));
  if (op) add(fmt::format("operator {}", InfoOf(*op).onnx_name));
  if (position) add(position->index < 0 ? "position last" : fmt::format("position {}", position->index));
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

StatusOr<Recipe> ParseRecipe(std::string_view yaml, std::string_view source) {
  KILN_ASSIGN_OR_RETURN(const YamlFile file, YamlFile::Parse(yaml, source));
  return ReadRecipe(file, source);
}

StatusOr<Recipe> LoadRecipe(const std::filesystem::path& path) {
  std::error_code error;
  if (path == "int8" && !std::filesystem::exists(path, error)) return Int8Recipe();
  KILN_ASSIGN_OR_RETURN(const YamlFile file, YamlFile::Load(path.string()));
  return ReadRecipe(file, path.string());
}

bool MatchesGlob(std::string_view glob, std::string_view name) {
  // On a mismatch the last star takes one character more; earlier stars never need to.
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
