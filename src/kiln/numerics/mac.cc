// The scalar definition of the multiply-accumulate rules, and the check of rules for faults.

#include "kiln/numerics/mac.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "fmt/format.h"
#include "kiln/numerics/codec.h"
#include "kiln/numerics/quire.h"
#include "kiln/numerics/tables.h"
#include "kiln/support/check.h"

namespace kiln {
namespace {

// Returns why a format cannot hold a psum or an accumulation. Both start at zero and take both
// signs, and the simulators and the RTL must round them alike every time.
std::optional<MacFault> FindSumFault(std::string key, const Format& format) {
  if (format.rounding == Rounding::kStochastic) {
    return MacFault{std::move(key), fmt::format("{} rounds stochastically", format.name),
                    "a deterministic rounding"};
  }
  if (format.kind == FormatKind::kCodebook || !format.is_signed || !HasZero(format)) {
    return MacFault{std::move(key), fmt::format("{} cannot hold sums", format.name),
                    "a signed integer, float or posit format with a zero"};
  }
  return std::nullopt;
}

// Returns the lowest `bits` bits of a number, sign-extended to 32 bits.
uint32_t Wrap(int64_t value, int bits) {
  const auto low = static_cast<uint32_t>(value);
  return bits == 32
             ? low
             : static_cast<uint32_t>(static_cast<int32_t>(low << (32 - bits)) >> (32 - bits));
}

// Returns the bits of an fp32 number, with every NaN as kQuietNan.
uint32_t FloatBits(float value) {
  return value == value ? std::bit_cast<uint32_t>(value) : kQuietNan;
}

}  // namespace

bool IsIntegerOperand(const Format& format) {
  if (format.is_integer()) return true;
  return format.kind == FormatKind::kCodebook &&
         // Codebooks of whole numbers of at most 16 bits serve as integers, too.
         std::all_of(format.codebook->values.begin(), format.codebook->values.end(),
                     [](float value) {
                       return value == std::nearbyint(value) && std::fabs(value) <= 32767;
                     });
}

int64_t IntegerOperand(const Format& format, uint32_t code) {
  if (format.is_integer()) return SignedCode(format, code);
  return static_cast<int64_t>(DecodeFloat(format, code));
}

// Float psums first; the remaining checks concern integer psums only.
std::optional<MacFault> FindMacFault(const MacRule& rule) {
  if (auto fault = FindSumFault("psum_format", rule.psum)) return fault;
  if (auto fault = FindSumFault("accumulation_format", rule.accumulation)) return fault;
  if (!rule.integer_psum()) {
    if (rule.accumulation.is_integer()) {
      return MacFault{
          "accumulation_format",
          fmt::format("{} cannot take psums in {}", rule.accumulation.name, rule.psum.name),
          "a float or posit format"};
    }
    if (rule.quire && !Quire::Fits(rule.input, rule.weight)) {
      return MacFault{"quire",
                      fmt::format("products of {} and {} reach beyond its bits", rule.input.name,
                                  rule.weight.name),
                      "formats of less range"};
    }
    return std::nullopt;
  }
  for (const Format* operand : {&rule.input, &rule.weight}) {
    if (!IsIntegerOperand(*operand)) {
      return MacFault{"psum_format",
                      fmt::format("{} cannot hold products of {}", rule.psum.name, operand->name),
                      "a float or posit format"};
    }
  }
  if (rule.quire) {
    return MacFault{"quire", fmt::format("{} sums are exact without one", rule.psum.name),
                    "a float or posit 'psum_format', or no quire"};
  }
  if (rule.scaled && rule.accumulation.is_integer()) {
    return MacFault{"accumulation_format",
                    fmt::format("{} cannot take psums under block scales", rule.accumulation.name),
                    "a float format"};
  }
  return std::nullopt;
}

uint32_t MacZero(const Format& format) { return ZeroCode(format); }

// Integer psums ignore product_rounded: the product is exact and only the sum wraps.
uint32_t PsumStep(const MacRule& rule, uint32_t psum, uint32_t input, uint32_t weight) {
  if (rule.integer_psum()) {
    // Unsigned arithmetic: products and sums wrap instead of overflowing.
    const auto x = static_cast<uint64_t>(IntegerOperand(rule.input, input));
    const auto w = static_cast<uint64_t>(IntegerOperand(rule.weight, weight));
    return Wrap(static_cast<int64_t>(uint64_t{psum} + x * w), rule.psum.bits);
  }
  if (!rule.product_rounded)
    return MultiplyAdd(rule.input, input, rule.weight, weight, rule.psum, psum);
  const uint32_t product = MultiplyCodes(rule.input, input, rule.weight, weight, rule.psum);
  return AddCodes(rule.psum, psum, rule.psum, product, rule.psum);
}

uint32_t AccumulationStep(const MacRule& rule, uint32_t accumulation, uint32_t psum, float scale) {
  const auto integer = static_cast<int32_t>(psum);
  if (rule.integer_result()) {
    return Wrap(int64_t{static_cast<int32_t>(accumulation)} + integer, rule.accumulation.bits);
  }
  return AccumulationStep(
      rule, accumulation,
      rule.integer_psum() ? Exact::FromFloat(static_cast<float>(integer)) : Decode(rule.psum, psum),
      scale);
}

uint32_t AccumulationStep(const MacRule& rule, uint32_t accumulation, const Exact& psum,
                          float scale) {
  return Encode(rule.accumulation, Add(Decode(rule.accumulation, accumulation),
                                       Multiply(psum, Exact::FromFloat(scale))));
}

uint32_t MacResult(const MacRule& rule, uint32_t accumulation) {
  return rule.integer_result() ? accumulation
                               : FloatBits(DecodeFloat(rule.accumulation, accumulation));
}

namespace {

// MultiplyAccumulate with a quire.
uint32_t MultiplyAccumulateInQuire(const MacRule& rule, std::span<const MacTile> tiles) {
  uint32_t accumulation = MacZero(rule.accumulation);
  Quire sum;
  for (const MacTile& tile : tiles) {
    for (size_t r = 0; r < tile.inputs.size(); ++r) {
      sum.AddProduct(Decode(rule.input, tile.inputs[r]), Decode(rule.weight, tile.weights[r]));
    }
    if (!rule.rounds_tiles()) continue;
    accumulation =
        AccumulationStep(rule, accumulation, Exact::FromFloat(ToFloat(sum.Value())), tile.scale);
    sum = {};
  }
  return rule.rounds_tiles() ? MacResult(rule, accumulation) : FloatBits(ToFloat(sum.Value()));
}

}  // namespace

uint32_t MultiplyAccumulate(const MacRule& rule, std::span<const MacTile> tiles) {
  for (const MacTile& tile : tiles) KILN_CHECK(tile.inputs.size() == tile.weights.size());
  if (rule.quire) return MultiplyAccumulateInQuire(rule, tiles);
  uint32_t accumulation = MacZero(rule.accumulation);
  for (const MacTile& tile : tiles) {
    uint32_t psum = MacZero(rule.psum);
    for (size_t r = 0; r < tile.inputs.size(); ++r)
      psum = PsumStep(rule, psum, tile.inputs[r], tile.weights[r]);
    accumulation = AccumulationStep(rule, accumulation, psum, tile.scale);
  }
  return MacResult(rule, accumulation);
}

}  // namespace kiln
