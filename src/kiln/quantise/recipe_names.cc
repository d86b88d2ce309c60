// Chooses schemes, zero points and calibration methods for pairs of number types.
#include "kiln/quantise/recipe_names.h"

#include <utility>

#include "kiln/numerics/mac.h"

namespace kiln {
namespace {

// From this width on, quantisation steps of an integer format are so fine that clipping outliers
// gains nothing.
constexpr int kBitsThatNeedNoClip = 7;
// Formats up to this width are given scales; wider formats have enough range without.
constexpr int kBitsThatNeedScales = 8;

// Returns whether the type is given scales.
bool WantsScales(const QuantType& type) {
  return type.scheme != Scheme::kPerBlock && type.format.bits <= kBitsThatNeedScales;
}

// Returns the type as used for activations: a scale per tensor, with a zero point if possible.
QuantType AsActivations(QuantType type) {
  if (WantsScales(type)) type.scheme = Scheme::kPerTensor;
  type.symmetric = type.scheme != Scheme::kPerTensor || !type.format.is_whole();
  return type;
}

// Returns the type as used for weights: a scale per output channel, without zero point.
QuantType AsWeights(QuantType type) {
  if (WantsScales(type) || type.scheme == Scheme::kPerTensor) type.scheme = Scheme::kPerChannel;
  type.symmetric = true;
  return type;
}

// Returns the activations that a weights-only format implies; empty for all other formats.
std::string_view ActivationsBeside(std::string_view weights) {
  if (weights == "nf4") return "bf16";
  if (weights == "binary" || weights == "ternary") return "int8";
  return {};
}

}  // namespace

Status CheckScalable(const Format& format) {
  if (!format.is_whole() || !format.is_signed || format.bits > 1) return OkStatus();
  return ErrorAt("", "", fmt::format("'{}' has no code above 0", format.name),
                 "binary for weights of one bit, or an integer of two bits or more");
}

StatusOr<QuantType> FindActivationType(std::string_view name) {
  KILN_ASSIGN_OR_RETURN(QuantType type, FindQuantType(name));
  KILN_RETURN_IF_ERROR(CheckScalable(type.format));
  return AsActivations(std::move(type));
}

StatusOr<QuantType> FindWeightType(std::string_view name) {
  KILN_ASSIGN_OR_RETURN(QuantType type, FindQuantType(name));
  KILN_RETURN_IF_ERROR(CheckScalable(type.format));
  return AsWeights(std::move(type));
}

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
  // A zero point of activations is corrected by a sum of weights, which only integer sums hold
  // exactly.
  if (!IsIntegerOperand(weights.format)) beside.symmetric = true;
  return RecipeFor(beside, AsWeights(weights));
}

std::string NameOfType(const QuantType& type) {
  if (type.scheme != Scheme::kPerBlock) return type.format.name;
  for (const std::string_view name : MicroscalingTypes()) {
    const StatusOr<QuantType> standard = FindQuantType(name);
    if (standard.ok() && *standard == type) return std::string(name);
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
  for (const QuantType* type : {&activation_type, &weight_type})
    KILN_RETURN_IF_ERROR(CheckScalable(type->format));
  return RecipeWithScales(activation_type, weight_type);
}

}  // namespace kiln
