#include "kiln/quantise/recipe_names.h"

#include "kiln/numerics/mac.h"

namespace kiln {
namespace {

// From this width on, the steps of an integer format are fine enough that clipping outliers gains nothing.
constexpr int kBitsThatNeedNoClip = 7;
// Formats up to this width get scales; a wider one has the range to do without.
constexpr int kBitsThatNeedScales = 8;

bool WantsScales(const QuantType& type) {
  return type.scheme != Scheme::kPerBlock && type.format.bits <= kBitsThatNeedScales;
}

QuantType AsActivations(QuantType type) {
  if (WantsScales(type)) type.scheme = Scheme::kPerTensor;
  type.symmetric = type.scheme != Scheme::kPerTensor || !type.format.is_whole();
  return type;
}

QuantType AsWeights(QuantType type) {
  if (WantsScales(type) || type.scheme == Scheme::kPerTensor) type.scheme = Scheme::kPerChannel;
  type.symmetric = true;
  return type;
}

// What stands beside formats that are made for weights; empty for the rest.
std::string_view ActivationsBeside(std::string_view weights) {
  if (weights == "nf4") return "bf16";
  if (weights == "binary" || weights == "ternary") return "int8";
  return {};
}

}  // namespace

Recipe RecipeFor(const QuantType& activations, const QuantType& weights) {
  Recipe recipe = Int8Recipe();
  recipe.activations = {.type = activations, .calibration = Calibration::kMse};
  const bool fine = weights.format.is_whole() && weights.format.bits >= kBitsThatNeedNoClip;
  recipe.weights = {.type = weights,
                    .calibration = fine ? Calibration::kMinMax : Calibration::kMse};
  return recipe;
}

Recipe RecipeWithScales(const QuantType& activations, const QuantType& weights) {
  QuantType beside = AsActivations(activations);
  // The correction for a zero point is a sum of weights, which only integer sums hold exactly.
  if (!IsIntegerOperand(weights.format)) beside.symmetric = true;
  return RecipeFor(beside, AsWeights(weights));
}

std::string NameOfType(const QuantType& type) {
  if (type.scheme != Scheme::kPerBlock) return type.format.name;
  for (const char* name :
       {"mxint8", "mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4"}) {
    const StatusOr<QuantType> standard = FindQuantType(name);
    if (standard.ok() && *standard == type) return name;
  }
  return "";
}

StatusOr<Recipe> RecipeByName(std::string_view name) {
  const size_t slash = name.find('/');
  std::string_view activations = name, weights = name;
  if (slash != std::string_view::npos) {
    activations = name.substr(0, slash);
    weights = name.substr(slash + 1);
  } else if (!ActivationsBeside(name).empty()) {
    activations = ActivationsBeside(name);
  }
  KILN_ASSIGN_OR_RETURN(const QuantType activation_type, FindQuantType(activations));
  KILN_ASSIGN_OR_RETURN(const QuantType weight_type, FindQuantType(weights));
  return RecipeWithScales(activation_type, weight_type);
}

}  // namespace kiln
