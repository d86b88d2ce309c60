#include "kiln/quantise/energy.h"

#include <algorithm>
#include <cmath>

#include "kiln/ir/work.h"

namespace kiln {
namespace {

constexpr double kPerPairOfBits = 0.0031, kPerFloatBit = 0.05;
constexpr int kMostCodebookBits = 11;

// Bits of the significand that stands for x exactly, at most kMostCodebookBits.
int SignificandBits(float x) {
  int exponent = 0;
  const double fraction = std::abs(std::frexp(static_cast<double>(x), &exponent));
  for (int bits = 0; bits < kMostCodebookBits; ++bits) {
    const double scaled = std::ldexp(fraction, bits);
    if (scaled == std::floor(scaled)) return bits;
  }
  return kMostCodebookBits;
}

int MultiplierBits(const Format& format) {
  switch (format.kind) {
    case FormatKind::kInteger:
      return format.bits;
    case FormatKind::kFloat:
      return format.fraction_bits + 1;
    case FormatKind::kPosit:
      return std::max(format.bits - format.exponent_bits - 2, 1);  // sign, two bits of regime, exponent; hidden one
    case FormatKind::kCodebook: {
      int bits = 1;
      for (const float value : format.codebook->values) bits = std::max(bits, SignificandBits(value));
      return bits;
    }
  }
  return format.bits;
}

bool HasExponent(const Format& format) {
  return format.kind == FormatKind::kFloat || format.kind == FormatKind::kPosit;
}

}  // namespace

double MultiplyEnergy(const Format& a, const Format& b) {
  const double product = kPerPairOfBits * MultiplierBits(a) * MultiplierBits(b);
  const int float_bits = std::max(HasExponent(a) ? a.bits : 0, HasExponent(b) ? b.bits : 0);
  return product + kPerFloatBit * float_bits;
}

double BitsOf(const QuantType& type) {
  const double scale =
      type.scheme == Scheme::kPerBlock ? static_cast<double>(type.scale_format.bits) / type.block_size : 0;
  return type.format.bits + scale;
}

MultiplyCost MultiplyCostOf(const Graph& graph) {
  struct Sum {
    double bits = 0, elements = 0;
    double mean() const { return elements > 0 ? bits / elements : 0; }
  } activations, weights;
  const auto type_of = [](const Value& value) {
    return value.quantisation() ? value.quantisation()->type : QuantType{.format = *FindFormat("fp32")};
  };
  MultiplyCost cost;
  for (const auto& node : graph.nodes()) {
    if (!node->info().Has(kMacs)) continue;
    for (int i = 0; i < 2; ++i) {
      const Value& operand = *node->operand(i);
      if (!operand.has_shape()) continue;
      double elements = 1;
      for (const int64_t dim : operand.shape().dims()) elements *= static_cast<double>(dim < 1 ? 1 : dim);
      Sum& sum = operand.is_constant() ? weights : activations;
      sum.bits += elements * BitsOf(type_of(operand));
      sum.elements += elements;
    }
    const Format a = type_of(*node->operand(0)).format, b = type_of(*node->operand(1)).format;
    cost.picojoules += static_cast<double>(MacsOf(*node)) * MultiplyEnergy(a, b);
  }
  cost.activation_bits = activations.mean();
  cost.weight_bits = weights.mean();
  return cost;
}

}  // namespace kiln
