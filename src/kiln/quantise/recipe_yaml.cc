// Reads and writes recipes as YAML files (recipe.h lists the keys).
#include <charconv>

#include <fmt/format.h>

#include "kiln/quantise/recipe.h"
#include "kiln/quantise/recipe_names.h"
#include "kiln/support/excerpt.h"
#include "kiln/support/nearest_name.h"
#include "kiln/support/yaml.h"

namespace kiln {
namespace {

constexpr int kMaxBlockSize = 65536;

// The Find... functions parse the text of one key; YamlMap adds file, line and key to their errors.
StatusOr<Op> FindOperator(std::string_view name) {
  if (const std::optional<Op> op = FindOpByOnnxName("", name)) return *op;
  std::vector<std::string> names;
  for (const OpInfo& op : AllOps()) names.emplace_back(op.onnx_name);
  const std::string nearest = NearestName(name, names);
  return ErrorAt("", "", fmt::format("unknown operator {}", QuotedExcerpt(name)),
                 nearest.empty() ? "an ONNX operator name, such as Conv or MatMul"
                                 : fmt::format("the nearest is {}", nearest));
}

StatusOr<Position> FindPosition(std::string_view text) {
  if (text == "first") return Position{0};
  if (text == "last") return Position{-1};
  int64_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error == std::errc() && end == text.data() + text.size() && index >= 0)
    return Position{index};
  return ErrorAt("", "", fmt::format("unknown position '{}'", text),
                 "first, last, or a number from 0");
}

// Finds a number format. Naming a type with blocks instead is a likely mistake, so the message
// suggests the key `type`.
StatusOr<Format> FindElementFormat(std::string_view name) {
  auto format = FindFormat(name);
  if (!format.ok() && FindQuantType(name).ok()) {
    return ErrorAt("", "", fmt::format("'{}' is a type with blocks, not a number format", name),
                   fmt::format("type: {}", name));
  }
  if (format.ok()) KILN_RETURN_IF_ERROR(CheckScalable(*format));
  return format;
}

StatusOr<Format> FindScaleFormat(std::string_view name) {
  if (name == "power_of_two") return FindFormat("e8m0");
  KILN_ASSIGN_OR_RETURN(Format format, FindFormat(name));
  if (format.kind == FormatKind::kFloat) return format;
  return ErrorAt("", "", fmt::format("scales cannot be {}", name),
                 "fp32, power_of_two, or a float format");
}

// Checks that block size and scale format are given exactly where the scheme uses them.
void CheckBlocks(const YamlMap& map, const QuantType& type) {
  const bool has_blocks = type.scheme == Scheme::kPerBlock;
  if (has_blocks && type.block_size == 0) {
    map.Fail(map.Has("scheme") ? "scheme" : "", "blocks without a size", "block_size: 32, say");
  } else if (!has_blocks && map.Has("block_size")) {
    map.Fail("block_size", fmt::format("has no meaning with scheme '{}'", NameOf(type.scheme)),
             "leave it out, or write scheme: per_block");
  }
  if (type.scheme == Scheme::kNone && map.Has("scale_format")) {
    map.Fail("scale_format", "has no meaning with scheme 'none'",
             "leave it out, or choose another scheme");
  }
}

// Checks that calibration and percentile are given only where they have an effect.
void CheckCalibration(const YamlMap& map, const TensorRecipe& recipe) {
  const Scheme scheme = recipe.type.scheme;
  if (map.Has("calibration") && (scheme == Scheme::kNone || scheme == Scheme::kPerBlock)) {
    map.Fail("calibration",
             fmt::format("there is nothing to choose under scheme '{}'", NameOf(scheme)),
             "leave it out");
  }
  const bool takes_percentile = recipe.calibration == Calibration::kPercentile ||
                                recipe.calibration == Calibration::kPercentilePerChannel;
  if (map.Has("percentile") && !takes_percentile) {
    map.Fail("percentile",
             fmt::format("has no meaning with calibration '{}'", NameOf(recipe.calibration)),
             "leave it out, or write calibration: percentile");
  }
}

// Reads `symmetric` and checks that the format and scheme allow a zero point if one is requested.
void ReadSymmetry(const YamlMap& map, bool is_weight, QuantType* type) {
  // A zero point inherited from the settings below is dropped if the format or scheme has none.
  if (!type->format.is_whole() || type->scheme == Scheme::kPerBlock ||
      type->scheme == Scheme::kNone) {
    type->symmetric = true;
  }
  const bool cannot = type->symmetric && !map.Has("symmetric");
  map.Bool("symmetric", &type->symmetric);
  if (cannot || type->symmetric) return;
  if (is_weight) {
    map.Fail(map.Has("symmetric") ? "symmetric" : "", "weights with a zero point are not supported",
             "symmetric: true");
  } else if (!type->format.is_whole()) {
    map.Fail("symmetric", fmt::format("{} takes no zero point", type->format.name),
             "symmetric: true, or a whole integer format such as int8");
  } else if (type->scheme != Scheme::kPerTensor) {
    map.Fail("symmetric", fmt::format("scheme '{}' takes no zero point", NameOf(type->scheme)),
             "symmetric: true");
  }
}

// Reads the settings of one kind of tensor. Keys that are not given keep their values in *recipe.
void ReadTensor(const YamlMap& map, bool is_weight, TensorRecipe* recipe) {
  QuantType& type = recipe->type;
  const bool was_symmetric = type.symmetric;
  map.Parsed("type", &type, is_weight ? FindWeightType : FindActivationType);
  // The name of a type says nothing about zero points.
  if (map.Has("type")) type.symmetric = was_symmetric;
  map.Parsed("format", &type.format, FindElementFormat);
  if (is_weight) {
    map.Choice<Scheme>("scheme", &type.scheme,
                       {{"none", Scheme::kNone},
                        {"per_tensor", Scheme::kPerTensor},
                        {"per_channel", Scheme::kPerChannel},
                        {"per_block", Scheme::kPerBlock}});
  } else {
    map.Choice<Scheme>("scheme", &type.scheme,
                       {{"none", Scheme::kNone},
                        {"per_tensor", Scheme::kPerTensor},
                        {"per_block", Scheme::kPerBlock}});
  }
  map.Int("block_size", &type.block_size, 1, kMaxBlockSize);
  map.Parsed("scale_format", &type.scale_format, FindScaleFormat);
  CheckBlocks(map, type);
  if (type.scheme != Scheme::kPerBlock) type.block_size = 0;
  if (type.scheme == Scheme::kNone) type.scale_format = QuantType().scale_format;
  ReadSymmetry(map, is_weight, &type);
  map.Parsed("calibration", &recipe->calibration, FindCalibration);
  map.Double("percentile", &recipe->percentile, 50, 100);
  CheckCalibration(map, *recipe);
  if (is_weight && recipe->calibration == Calibration::kPercentilePerChannel) {
    map.Fail("calibration", "percentile_per_channel is for activations",
             "scheme: per_channel, calibration: percentile");
  }
}

// Reads the settings under `key`, based on those of the whole network; nullopt without the key.
std::optional<TensorRecipe> ReadOverride(const YamlMap& map, std::string_view key,
                                         const TensorRecipe& base) {
  if (!map.Has(key)) return std::nullopt;
  TensorRecipe recipe = base;
  ReadTensor(map.Map(key), key == "weights", &recipe);
  return recipe;
}

// Reads one entry of `layers`.
LayerRecipe ReadLayer(const YamlMap& map, const Recipe& recipe) {
  LayerRecipe layer;
  layer.line = map.line();
  map.String("match", &layer.match);
  if (map.Has("operator")) map.Parsed("operator", &layer.op.emplace(), FindOperator);
  if (map.Has("position")) map.Parsed("position", &layer.position.emplace(), FindPosition);
  if (!map.Has("match") && !map.Has("operator") && !map.Has("position")) {
    map.FailForAbsentKeys("names no nodes", "give match, operator or position");
  }
  map.Bool("optional", &layer.optional);
  map.Choice<bool>("keep", &layer.keep_float, {{"float", true}});
  layer.activations = ReadOverride(map, "activations", recipe.activations);
  layer.inputs = ReadOverride(map, "inputs", recipe.activations);
  layer.weights = ReadOverride(map, "weights", recipe.weights);
  const bool has_settings = layer.activations || layer.inputs || layer.weights;
  if (map.Has("keep") && has_settings) {
    map.Fail("keep", "a layer that stays float has no other settings",
             "leave out activations, inputs and weights");
  } else if (!map.Has("keep") && !has_settings) {
    map.FailForAbsentKeys("changes nothing", "give keep, activations, inputs or weights");
  }
  return layer;
}

// Reads the format of biases. fp32 is represented as nullopt.
void ReadBiases(const YamlMap& root, std::optional<Format>* biases) {
  Format format = QuantType().scale_format;  // fp32
  root.Parsed("biases", &format, FindElementFormat);
  if (format.name != QuantType().scale_format.name) *biases = format;
}

StatusOr<Recipe> ReadRecipe(const YamlFile& file, std::string_view source) {
  Recipe recipe = Int8Recipe();
  recipe.source = std::string(source);
  const YamlMap root = file.root();
  ReadTensor(root.Map("activations"), false, &recipe.activations);
  ReadTensor(root.Map("weights"), true, &recipe.weights);
  ReadBiases(root, &recipe.biases);
  root.Choice<bool>("outputs", &recipe.quantise_outputs, {{"fp32", false}, {"quantised", true}});
  root.Choice<bool>("own_parameters", &recipe.replace_own, {{"keep", false}, {"replace", true}});
  root.Bool("equalise_weights", &recipe.equalise_weights);
  root.Bool("correct_biases", &recipe.correct_biases);
  root.Map("calibration").Int("images", &recipe.calibration_images, 1, 1'000'000);
  for (const YamlMap& map : root.Maps("layers")) recipe.layers.push_back(ReadLayer(map, recipe));
  KILN_RETURN_IF_ERROR(file.Finish());
  return recipe;
}

// Returns a quoted YAML string, because names of formats and nodes may hold any character.
std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < ' ') {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

// Returns the settings of one kind of tensor as a YAML flow map, without keys that have no effect.
std::string TensorText(const TensorRecipe& recipe, bool is_weight) {
  const QuantType& type = recipe.type;
  std::string out =
      fmt::format("{{format: {}, scheme: {}", Quoted(type.format.name), NameOf(type.scheme));
  if (type.scheme == Scheme::kPerBlock) out += fmt::format(", block_size: {}", type.block_size);
  if (type.scheme != Scheme::kNone)
    out += fmt::format(", scale_format: {}", Quoted(type.scale_format.name));
  if (!is_weight) out += fmt::format(", symmetric: {}", type.symmetric);
  if (type.scheme == Scheme::kPerTensor || type.scheme == Scheme::kPerChannel) {
    out += fmt::format(", calibration: {}", NameOf(recipe.calibration));
    if (recipe.calibration == Calibration::kPercentile ||
        recipe.calibration == Calibration::kPercentilePerChannel) {
      out += fmt::format(", percentile: {}", recipe.percentile);
    }
  }
  return out + "}";
}

std::string LayerText(const LayerRecipe& layer) {
  std::vector<std::string> parts;
  if (!layer.match.empty()) parts.push_back(fmt::format("match: {}", Quoted(layer.match)));
  if (layer.op) parts.push_back(fmt::format("operator: {}", InfoOf(*layer.op).onnx_name));
  if (layer.position) {
    parts.push_back(layer.position->index < 0 ? "position: last"
                                              : fmt::format("position: {}", layer.position->index));
  }
  if (layer.optional) parts.emplace_back("optional: true");
  if (layer.keep_float) parts.emplace_back("keep: float");
  if (layer.activations) parts.push_back("activations: " + TensorText(*layer.activations, false));
  if (layer.inputs) parts.push_back("inputs: " + TensorText(*layer.inputs, false));
  if (layer.weights) parts.push_back("weights: " + TensorText(*layer.weights, true));
  return fmt::format("  - {}\n", fmt::join(parts, "\n    "));
}

}  // namespace

StatusOr<Recipe> ParseRecipe(std::string_view yaml, std::string_view source) {
  KILN_ASSIGN_OR_RETURN(const YamlFile file, YamlFile::Parse(yaml, source));
  return ReadRecipe(file, source);
}

StatusOr<Recipe> LoadRecipe(const std::filesystem::path& path) {
  KILN_ASSIGN_OR_RETURN(const YamlFile file, YamlFile::Load(path.string()));
  return ReadRecipe(file, path.string());
}

std::string PrintRecipe(const Recipe& recipe, std::string_view comment) {
  std::string out;
  if (!comment.empty()) out += fmt::format("# {}\n", comment);
  out += fmt::format("activations: {}\n", TensorText(recipe.activations, false));
  out += fmt::format("weights: {}\n", TensorText(recipe.weights, true));
  out += fmt::format("biases: {}\n", recipe.biases ? Quoted(recipe.biases->name) : "fp32");
  out += fmt::format("outputs: {}\n", recipe.quantise_outputs ? "quantised" : "fp32");
  out += fmt::format("own_parameters: {}\n", recipe.replace_own ? "replace" : "keep");
  out += fmt::format("equalise_weights: {}\n", recipe.equalise_weights);
  out += fmt::format("correct_biases: {}\n", recipe.correct_biases);
  out += fmt::format("calibration: {{images: {}}}\n", recipe.calibration_images);
  if (!recipe.layers.empty()) out += "layers:\n";
  for (const LayerRecipe& layer : recipe.layers) out += LayerText(layer);
  return out;
}

}  // namespace kiln
