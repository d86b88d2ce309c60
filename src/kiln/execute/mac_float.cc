// Float psums: decides when fp32 arithmetic rounds exactly as the definition does, holds the
// portable kernels, and computes psums of small formats by table.
//
// Why a sum may be rounded twice. The definition rounds x + y once to a psum format of P
// significant bits, where y is the exact product. The kernels round to fp32 (24 bits) first.
// Rounding to nearest is monotone, and fp32 represents all midpoints between neighbours of the psum
// format; so the second rounding can go wrong only if the first one moves a sum s onto a midpoint m
// != s.
//
//   Claim: that never happens if y is a psum number as well and P <= 11.
//   Let e be the exponent of s. Since s is not an fp32 number, it has a bit below 2^(e-23). Let
//   `big` and `small` be x and y ordered by magnitude. |big| >= |s|/2 and big has at most P bits,
//   so its lowest bit is 2^(e-P) or higher; the bit below 2^(e-23) belongs to small, hence |small|
//   < 2^(e-23) * 2^(P-1) = 2^(e+P-24). Midpoints near s, and psum numbers such as big, are
//   multiples of 2^(e-P), and big is not a midpoint, so |big - m| >= 2^(e-P). But |big - m| <=
//   |small| + |s - m| < 2^(e+P-24) + 2^(e-23) <= 2^(e+P-23) <= 2^(e-P) for P <= 11: a
//   contradiction. (An overflow is a rounding to the number that would follow the greatest one.)
//
// Every product y is a psum number if products have at most P significant bits, none below the
// psum's least subnormal; a product that is too large overflows either way. e4m3 * e4m3 in bf16 is
// an example (8 bits and 8). posit8_1 * posit8_1 is not: y = 1.00000001b is a midpoint of bf16, and
// with x = 2^-24 the sum must round up, but fp32 loses x. In that case, and always for
// accumulations under scales, the first rounding is to odd: an inexact sum becomes the fp32
// neighbour whose last bit is 1. Every bf16 number and midpoint ends in 0 as an fp32 number, so
// rounding to odd never moves a sum across or onto one. This requires P <= 22, and midpoints of
// subnormals that are even in fp32.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kiln/execute/mac_float_body.h"
#include "kiln/numerics/codec.h"
#include "kiln/numerics/simd.h"
#include "kiln/support/check.h"

namespace kiln::internal {
namespace {

// Returns a * b + c of fp32 numbers, rounded to odd in fp32. The product is exact in binary64; the
// sum is rounded to odd in binary64 by means of its error (Knuth's two-sum), then to odd in fp32.
// Rounding to odd twice equals rounding to odd once.
float FmaOddFp32(float a, float b, float c) {
  const double product = double{a} * double{b}, term = c;
  double sum = product + term;
  if (!std::isfinite(sum)) return static_cast<float>(sum);
  const double part = sum - product;
  const double error = (product - (sum - part)) + (term - part);
  if (error != 0 && (std::bit_cast<uint64_t>(sum) & 1) == 0) {
    sum = std::bit_cast<double>(std::bit_cast<uint64_t>(sum) +
                                ((error > 0) == (sum > 0) ? 1u : ~uint64_t{0}));
  }
  auto rounded = static_cast<float>(sum);
  // Rounding to odd never yields infinity; the largest finite number is odd.
  if (std::isinf(rounded)) return std::copysign(std::numeric_limits<float>::max(), rounded);
  if (double{rounded} == sum || (std::bit_cast<uint32_t>(rounded) & 1) != 0) return rounded;
  const bool away = std::fabs(double{rounded}) < std::fabs(sum);
  return std::bit_cast<float>(std::bit_cast<uint32_t>(rounded) + (away ? 1u : ~0u));
}

// The portable width: one lane, with the operations that mac_float_body.h asks for.
struct Width : simd::Scalar {
  static float FmaOdd(float a, float b, float c) { return FmaOddFp32(a, b, c); }
  static float RoundIntegral(float a) { return std::nearbyint(a); }
};

// The portable kernels: tiles of 2 pixels by up to 4 columns.
struct Level {
  // Two pixels share each weight; up to four columns are independent sums.
  template <SumRounding kRounding, bool kOdd, bool kProductRounded>
  static TileKernel Tile() {
    return {.lanes = 1,
            .max_vectors = 4,
            .pixels = 2,
            .function = {FloatTile<Width, kRounding, kOdd, kProductRounded, 2, 1>,
                         FloatTile<Width, kRounding, kOdd, kProductRounded, 2, 2>,
                         FloatTile<Width, kRounding, kOdd, kProductRounded, 2, 3>,
                         FloatTile<Width, kRounding, kOdd, kProductRounded, 2, 4>}};
  }
  template <SumRounding kRounding>
  static void Accumulate(const AccumulationArguments& args) {
    TileScales scales;
    PrepareTile<Width>(args, scales);
    AddTile<Width, kRounding>(args, scales);
  }
};

// Computes psums of any small format by table. The sum rounded to odd has the same code as the
// exact sum, because codes change only at numbers of at most 17 significant bits.
constexpr int kTableColumns = 16;
template <bool kProductRounded>
void TableTile(const TileArguments& args) {
  constexpr int kPixels = 2, kColumns = kTableColumns;
  const FormatTable& table = *args.psum->table;
  for (int p = 0; p < kPixels; ++p) {
    float sums[kColumns] = {};
    const float* operands = static_cast<const float*>(args.image) + args.places[p];
    const auto* weights = static_cast<const float*>(args.weights);
    for (int64_t s = 0; s < args.steps; ++s, weights += kColumns) {
      const float x = operands[args.offsets[s]];
      // A separate rounding of the product is a fused multiply-add with -0, which keeps the sign of
      // a zero product.
      for (int n = 0; n < kColumns; ++n) {
        if constexpr (kProductRounded) {
          sums[n] =
              table.Round(FmaOddFp32(table.Round(FmaOddFp32(x, weights[n], -0.0f)), 1.0f, sums[n]));
        } else {
          sums[n] = table.Round(FmaOddFp32(x, weights[n], sums[n]));
        }
      }
    }
    std::copy_n(sums, kColumns, static_cast<float*>(args.psums) + p * kColumns);
  }
}

// Adds the psums of a tile to results whose format is rounded by table.
void TableAccumulate(const AccumulationArguments& args) {
  TileScales scales;
  PrepareTile<Width>(args, scales);
  for (int64_t p = 0; p < args.pixels; ++p) {
    const float* psums = static_cast<const float*>(args.psums) + p * args.columns;
    float* results = static_cast<float*>(args.results) + p * args.stride;
    for (int64_t n = 0; n < args.columns; ++n) {
      results[n] = args.accumulation->table->Round(
          FmaOddFp32(psums[n], scales.of[p * args.columns + n], results[n]));
    }
  }
}

// Returns the float kernels of a processor level.
const FloatKernelSet& FloatKernelsOf(CpuLevel level) {
#if defined(__x86_64__)
  if (level == CpuLevel::kAvx512Bf16) return kAvx512Bf16FloatKernels;
  if (level == CpuLevel::kAvx512Vnni) return kAvx512FloatKernels;
  if (level == CpuLevel::kAvx2) return kAvx2FloatKernels;
#endif
  (void)level;
  return kPortableFloatKernels;
}

// Returns what a kernel must do for a rule's psums: whether rounding twice is safe (the claim
// above) or the first rounding must be to odd, and whether all numbers stay normal in fp32.
FloatPsum FloatPsumOf(const MacRule& rule, SumRounding rounding) {
  const OperandExtent input = ExtentOf(rule.input), weight = ExtentOf(rule.weight);
  const int64_t lowest =
      input.lowest + weight.lowest;  // log2 of the unit in which sums are counted, rounded or not
  const int significant = rule.psum.fraction_bits + 1;
  const bool products_are_psums = significant <= 11 &&
                                  input.significant + weight.significant <= significant &&
                                  lowest >= 1 - rule.psum.bias - rule.psum.fraction_bits;
  return {.rounding = rounding,
          .odd = rounding != SumRounding::kFp32 && !products_are_psums,  // the claim above
          .product_rounded = rule.product_rounded,
          .normal = lowest >= -126};
}

// A kernel whose operands, psums and accumulations are fp32 values.
class FloatKernel final : public MacKernel {
 public:
  FloatKernel(const MacRule& rule, TilePlan plan, std::string_view name)
      : MacKernel(rule), plan_(std::move(plan)), name_(name), input_(FormatTable::Of(rule.input)) {}
  std::string_view name() const override { return name_; }
  int operand_bytes() const override { return 4; }
  void StoreOperands(const void* codes, int64_t count, void* operands) const override {
    input_->DecodeCodes(codes, count, static_cast<float*>(operands));
  }
  std::unique_ptr<const MacWeights> Pack(const MacOrder& order, int64_t columns, const void* codes,
                                         const float* scales) const override {
    CheckPacking(rule(), order, columns, scales);
    std::vector<float> weights(order.offsets.size() * static_cast<size_t>(columns));
    DecodeCodes(rule().weight, codes, std::ssize(weights), weights.data());
    return PackTiles(plan_, order, columns, weights.data(), scales);
  }

 private:
  const TilePlan plan_;
  const std::string_view name_;
  const std::shared_ptr<const FormatTable> input_;
};

}  // namespace

const FloatKernelSet kPortableFloatKernels = {ChooseTile<Level>, ChooseAccumulation<Level>,
                                              nullptr};

OperandExtent ExtentOf(const Format& format) {
  // Formats of more than 16 bits are not enumerated; assume the extent of fp32 itself.
  if (format.bits > 16) return {24, -149, 127, true};
  OperandExtent extent;
  for (uint32_t code = 0; code <= CodeMask(format); ++code) {
    const Exact value = Decode(format, code);
    extent.specials |= !value.is_finite();
    if (!value.is_finite() || value.is_zero()) continue;
    const int significant = 64 - std::countr_zero(value.significand);
    extent.significant = std::max(extent.significant, significant);
    extent.lowest = std::min(extent.lowest, value.exponent - significant + 1);
    extent.highest = std::max(extent.highest, value.exponent);
  }
  return extent;
}

SumRounding SumRoundingOf(const Format& format) {
  const int significant = format.fraction_bits + 1;
  // kBf16, kTf32 and kNarrow apply to formats with IEEE semantics: subnormals, infinity on overflow
  // and ties to even. kNarrow's exponent range must lie within fp32's normal numbers.
  const bool ieee =
      format.kind == FormatKind::kFloat && format.is_signed && format.specials == Specials::kIeee &&
      format.low_exponent == LowExponent::kSubnormal && format.rounding == Rounding::kNearestEven &&
      format.overflow == Overflow::kInfinity;
  if (ieee && format.exponent_bits == 8 && format.bias == 127) {
    if (significant == 24) return SumRounding::kFp32;
    if (significant == 8) return SumRounding::kBf16;
    if (significant == 11) return SumRounding::kTf32;
  }
  if (ieee && significant >= 2 && significant <= 22 && format.exponent_bits >= 2 &&
      format.exponent_bits <= 7 && format.bias == (1 << (format.exponent_bits - 1)) - 1) {
    return SumRounding::kNarrow;
  }
  if (format.bits <= 16 &&
      (format.kind == FormatKind::kFloat || format.kind == FormatKind::kPosit) &&
      format.rounding != Rounding::kStochastic && format.overflow != Overflow::kWrap &&
      FitsFp32(format)) {
    return SumRounding::kTable;
  }
  return SumRounding::kOther;
}

NarrowFloat NarrowFloatOf(const Format& format) {
  NarrowFloat narrow;
  narrow.dropped = 23 - format.fraction_bits;
  narrow.half_less_one = (1 << (narrow.dropped - 1)) - 1;
  narrow.mask = static_cast<int32_t>(~0u << narrow.dropped);
  narrow.normal = std::ldexp(1.0f, 1 - format.bias);
  // Below `normal` the format is fixed point: multiples of its least subnormal.
  narrow.unit = std::ldexp(1.0f, 1 - format.bias - format.fraction_bits);
  narrow.inverse_unit = 1 / narrow.unit;
  narrow.greatest = ToFloat(GreatestValue(format));
  return narrow;
}

// Only the member that the rounding uses is set.
SumFormat SumFormatOf(const Format& format) {
  SumFormat sum;
  sum.rounding = SumRoundingOf(format);
  if (sum.rounding == SumRounding::kNarrow) sum.narrow = NarrowFloatOf(format);
  if (sum.rounding == SumRounding::kTable) sum.table = FormatTable::Of(format);
  return sum;
}

AccumulationFunction FloatAccumulation(CpuLevel level, SumRounding rounding) {
  if (rounding == SumRounding::kTable) return TableAccumulate;
  return FloatKernelsOf(level).accumulation(rounding);
}

// Tries the vector kernels first and tables second; returns null for formats that neither rounds
// exactly, or for integer psums and quires.
std::unique_ptr<const MacKernel> MakeFloatKernel(CpuLevel level, const MacRule& rule) {
  if (rule.integer_psum() || rule.quire || !FitsFp32(rule.input) || !FitsFp32(rule.weight))
    return nullptr;
  TilePlan plan;
  plan.psum = SumFormatOf(rule.psum);
  plan.accumulation = SumFormatOf(rule.accumulation);
  plan.accumulate = FloatAccumulation(level, plan.accumulation.rounding);
  const bool by_table = plan.psum.rounding == SumRounding::kTable;
  if (by_table) {
    plan.tile = {.lanes = kTableColumns,
                 .max_vectors = 1,
                 .pixels = 2,
                 .function = {rule.product_rounded ? TableTile<true> : TableTile<false>}};
  } else if (plan.psum.rounding != SumRounding::kOther) {
    const FloatKernelSet& kernels = FloatKernelsOf(level);
    const FloatPsum psum = FloatPsumOf(rule, plan.psum.rounding);
    plan.tile = kernels.tile(psum);
    if (!rule.scaled && kernels.chunk != nullptr)
      plan.chunk = kernels.chunk(psum, plan.accumulation.rounding);
  }
  if (plan.tile.function[0] == nullptr || plan.accumulate == nullptr) return nullptr;
  return std::make_unique<FloatKernel>(rule, std::move(plan), by_table ? "table" : "float");
}

}  // namespace kiln::internal
