// Exact sums (quires). Operands become integers times a power of two of their format. Products are
// exact in 64 or 128 bits, sums stay below 2^63 or 2^127 for the reduction at hand, and each result
// is rounded to fp32 once.
//
// NaN and infinity are not integers. The image represents them by numbers that no finite operand
// has; if an image or the weights contain any, the results that depend on them are recomputed by
// the definition.
// definition.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kiln/execute/mac_kernels.h"
#include "kiln/numerics/codec.h"
#include "kiln/numerics/quire.h"
#include "kiln/support/check.h"

namespace kiln::internal {
namespace {

constexpr int kQuireColumns = 16;
constexpr int kMostProductsLog2 = 28;  // log2 of the longest reduction; CheckPacking enforces it

// Computes one pixel with sums of any width.
template <typename Operand, typename Sum>
void ExactTile(const TileArguments& args) {
  Sum sums[kQuireColumns] =
      {};  // unsigned, because operands that stand for specials make them wrap
  const Operand* operands = static_cast<const Operand*>(args.image) + args.places[0];
  const auto* weights = static_cast<const Operand*>(args.weights);
  for (int64_t s = 0; s < args.steps; ++s, weights += kQuireColumns) {
    const auto x = static_cast<Sum>(operands[args.offsets[s]]);
    for (int n = 0; n < kQuireColumns; ++n) sums[n] += x * static_cast<Sum>(weights[n]);
  }
  using Signed = std::conditional_t<sizeof(Sum) == 8, int64_t, __int128>;
  for (int n = 0; n < kQuireColumns; ++n) {
    static_cast<float*>(args.psums)[n] =
        static_cast<float>(static_cast<Signed>(sums[n])) * args.unit;
  }
}

template <typename Operand, typename Sum>
constexpr TileKernel ExactKernel() {
  return {.lanes = kQuireColumns,
          .max_vectors = 1,
          .pixels = 1,
          .operands_per_step = 1,
          .weight_bytes = sizeof(Operand),
          .starting = false,
          .function = {ExactTile<Operand, Sum>}};
}
using Wide = unsigned __int128;

// Returns the 64-bit kernel of a processor level.
const TileKernel& Kernel64(CpuLevel level) {
#if defined(__x86_64__)
  if (level >= CpuLevel::kAvx512Vnni) return kAvx512QuireKernel;
  if (level == CpuLevel::kAvx2) return kAvx2QuireKernel;
#endif
  (void)level;
  return kPortableQuireKernel;
}

// Converts the codes of one format to integers of type Operand, in units of 2^lowest().
// Example: e4m3's least subnormal is 2^-9, so 1.5 is the operand 768 in units of 2^-9.
template <typename Operand>
class FixedPoint {
 public:
  explicit FixedPoint(const Format& format) : format_(format), extent_(ExtentOf(format)) {
    values_.reserve(size_t{1} << format.bits);
    for (uint32_t code = 0; code <= CodeMask(format); ++code)
      values_.push_back(ValueOf(Decode(format, code)));
  }
  int64_t lowest() const { return extent_.lowest; }
  bool specials() const { return extent_.specials; }
  // Converts `count` codes in memory to operands, by table.
  void Store(const void* codes, int64_t count, Operand* to) const {
    for (int64_t i = 0; i < count; ++i) to[i] = values_[LoadCode(format_, codes, i)];
  }
  // Returns true for the operands that represent NaN and infinity: the three least of the type.
  static bool IsSpecial(Operand operand) { return operand <= kInfinity[1]; }
  // Returns the value that an operand represents.
  Exact ExactOf(Operand operand) const {
    if (operand == kNan) return Exact::Nan();
    if (IsSpecial(operand)) return Exact::Infinity(operand == kInfinity[1]);
    return Exact::Of(operand < 0, static_cast<uint64_t>(operand < 0 ? -operand : operand),
                     extent_.lowest);
  }

 private:
  static constexpr Operand kNan = std::numeric_limits<Operand>::min();
  static constexpr Operand kInfinity[2] = {kNan + 1, kNan + 2};

  Operand ValueOf(const Exact& value) const {
    if (value.is_nan()) return kNan;
    if (value.is_infinite()) return kInfinity[value.negative ? 1 : 0];
    if (value.is_zero()) return 0;
    // `significand` is normalised to bit 63; the shift aligns its unit with 2^lowest. No set bit is
    // lost, because `lowest` is the lowest bit of any code.
    const auto magnitude =
        static_cast<Operand>(value.significand >> (63 - (value.exponent - extent_.lowest)));
    return value.negative ? static_cast<Operand>(-magnitude) : magnitude;
  }

  const Format format_;
  const OperandExtent extent_;
  std::vector<Operand> values_;  // by code
};

// Weights that run a plain kernel and then correct the results that a NaN or an infinity reaches.
template <typename Operand>
class QuireWeights final : public MacWeights {
 public:
  QuireWeights(const MacRule& rule, std::shared_ptr<const FixedPoint<Operand>> input,
               const FixedPoint<Operand>& weight, std::unique_ptr<const MacWeights> plain,
               const MacOrder& order, const std::vector<Operand>& weights, const float* scales)
      : MacWeights(plain->columns(), plain->padded_columns()),
        rule_(rule),
        input_(std::move(input)),
        plain_(std::move(plain)),
        order_(order) {
    if (scales != nullptr)
      scales_.assign(scales, scales + std::ssize(order.tile_sizes) * columns());
    if (!input_->specials() && !weight.specials()) return;
    // Keeps the exact weights only if either format has specials; otherwise no result needs
    // correction.
    for (const Operand operand : weights) weights_.push_back(weight.ExactOf(operand));
    special_column_.resize(static_cast<size_t>(columns()), false);
    for (size_t i = 0; i < weights.size(); ++i) {
      if (FixedPoint<Operand>::IsSpecial(weights[i]))
        special_column_[i % special_column_.size()] = true;
    }
    any_special_column_ =
        std::find(special_column_.begin(), special_column_.end(), true) != special_column_.end();
    const auto [low, high] = std::minmax_element(order.offsets.begin(), order.offsets.end());
    lowest_offset_ = *low;
    highest_offset_ = *high;
  }

  void Multiply(const void* image, const float* scales, const Pixels& pixels, void* out,
                int64_t out_stride) const override {
    plain_->Multiply(image, scales, pixels, out, out_stride);
    if (weights_.empty() || pixels.count == 0) return;
    const auto* operands = static_cast<const Operand*>(image);
    // Searches the part of the image that these pixels can read for specials, which are rare.
    const auto [low, high] = std::minmax_element(pixels.places, pixels.places + pixels.count);
    const bool any =
        std::any_of(operands + *low + lowest_offset_, operands + *high + highest_offset_ + 1,
                    FixedPoint<Operand>::IsSpecial);
    if (!any && !any_special_column_) return;
    // Recomputes the results whose pixel or column has a special.
    for (int64_t p = 0; p < pixels.count; ++p) {
      const Operand* of_pixel = operands + pixels.places[p];
      const bool special =
          any && std::any_of(order_.offsets.begin(), order_.offsets.end(), [&](int64_t offset) {
            return FixedPoint<Operand>::IsSpecial(of_pixel[offset]);
          });
      for (int64_t n = 0; n < columns(); ++n) {
        if (!special && !special_column_[static_cast<size_t>(n)]) continue;
        const float* of_block = rule_.scaled ? scales + pixels.scale_places[p] : nullptr;
        static_cast<uint32_t*>(out)[p * out_stride + n] = Defined(of_pixel, of_block, n);
      }
    }
  }

 private:
  // Returns the bits of one result by the definition of numerics/mac.h.
  uint32_t Defined(const Operand* operands, const float* scales, int64_t column) const {
    uint32_t accumulation = MacZero(rule_.accumulation);
    Quire sum;
    size_t element = 0;
    for (size_t t = 0; t < order_.tile_sizes.size(); ++t) {
      const size_t end = element + static_cast<size_t>(order_.tile_sizes[t]);
      for (; element < end; ++element) {
        sum.AddProduct(
            input_->ExactOf(operands[order_.offsets[element]]),
            weights_[element * static_cast<size_t>(columns()) + static_cast<size_t>(column)]);
      }
      if (!rule_.rounds_tiles()) continue;
      const size_t weight_scale = t * static_cast<size_t>(columns()) + static_cast<size_t>(column);
      const float scale =
          rule_.scaled ? scales[order_.scale_offsets[t]] * scales_[weight_scale] : 1.0f;
      // At the end of a row tile the exact sum is rounded to fp32 and accumulated under the tile's
      // scales.
      accumulation =
          AccumulationStep(rule_, accumulation, Exact::FromFloat(ToFloat(sum.Value())), scale);
      sum = {};
    }
    if (rule_.rounds_tiles()) return MacResult(rule_, accumulation);
    const float result = ToFloat(sum.Value());
    return result == result ? std::bit_cast<uint32_t>(result) : kQuietNan;
  }

  const MacRule rule_;
  const std::shared_ptr<const FixedPoint<Operand>> input_;
  const std::unique_ptr<const MacWeights> plain_;
  const MacOrder order_;
  std::vector<float> scales_;   // [tile][column]
  std::vector<Exact> weights_;  // [element][column]; empty if neither format has specials
  std::vector<bool> special_column_;
  bool any_special_column_ = false;
  int64_t lowest_offset_ = 0, highest_offset_ = 0;
};

// The quire kernel. Weights and operands are int32 or int64 integers.
template <typename Operand>
class QuireKernel final : public MacKernel {
 public:
  QuireKernel(const MacRule& rule, CpuLevel level, TilePlan plan)
      : MacKernel(rule),
        level_(level),
        plan_(std::move(plan)),
        input_(std::make_shared<const FixedPoint<Operand>>(rule.input)),
        weight_(rule.weight) {}
  std::string_view name() const override { return "quire"; }
  int operand_bytes() const override { return sizeof(Operand); }
  void StoreOperands(const void* codes, int64_t count, void* operands) const override {
    input_->Store(codes, count, static_cast<Operand*>(operands));
  }
  std::unique_ptr<const MacWeights> Pack(const MacOrder& order, int64_t columns, const void* codes,
                                         const float* scales) const override {
    CheckPacking(rule(), order, columns, scales);
    std::vector<Operand> weights(order.offsets.size() * static_cast<size_t>(columns));
    weight_.Store(codes, std::ssize(weights), weights.data());
    TilePlan plan = plan_;
    plan.tile = TileFor(std::ssize(order.offsets));
    auto plain = PackTiles(plan, rule().rounds_tiles() ? order : OneTile(order), columns,
                           weights.data(), scales);
    return std::make_unique<QuireWeights<Operand>>(rule(), input_, weight_, std::move(plain), order,
                                                   weights, scales);
  }

 private:
  // Returns a kernel with 64-bit sums if `count` products of the greatest magnitude stay below
  // 2^62, otherwise one with 128-bit sums.
  TileKernel TileFor(int64_t count) const {
    if constexpr (sizeof(Operand) == 4) {
      const OperandExtent input = ExtentOf(rule().input), weight = ExtentOf(rule().weight);
      const double greatest =
          std::ldexp(GreatestMagnitude(rule().input) * GreatestMagnitude(rule().weight),
                     static_cast<int>(-input.lowest - weight.lowest));
      if (greatest * static_cast<double>(count) < 0x1p62) return Kernel64(level_);
    }
    return ExactKernel<Operand, Wide>();
  }
  // Returns the greatest finite magnitude of a format's codes.
  static double GreatestMagnitude(const Format& format) {
    double greatest = 0;
    for (uint32_t code = 0; code <= CodeMask(format); ++code) {
      const Exact value = Decode(format, code);
      if (value.is_finite()) greatest = std::max(greatest, std::fabs(ToDouble(value)));
    }
    return greatest;
  }

  const CpuLevel level_;
  const TilePlan plan_;
  const std::shared_ptr<const FixedPoint<Operand>> input_;
  const FixedPoint<Operand> weight_;
};

}  // namespace

const TileKernel kPortableQuireKernel = ExactKernel<int32_t, uint64_t>();

std::unique_ptr<const MacKernel> MakeQuireKernel(CpuLevel level, const MacRule& rule) {
  if (!rule.quire || rule.input.bits > 16 || rule.weight.bits > 16) return nullptr;
  const OperandExtent input = ExtentOf(rule.input), weight = ExtentOf(rule.weight);
  // Bits of an operand without its sign, and bound of a product's bits.
  const int64_t bits = std::max(input.highest - input.lowest, weight.highest - weight.lowest) + 1;
  const int64_t product_bits = input.highest - input.lowest + weight.highest - weight.lowest + 2;
  // Serves the rule only if sums of 2^kMostProductsLog2 products fit 128 bits and both the unit and
  // the greatest sum are normal in fp32.
  if (bits > 62 || product_bits + kMostProductsLog2 > 126 || input.lowest + weight.lowest < -126 ||
      input.highest + weight.highest + 2 + kMostProductsLog2 > 126) {
    return nullptr;
  }
  TilePlan plan;
  plan.unit = std::ldexp(1.0f, static_cast<int>(input.lowest + weight.lowest));
  plan.accumulation = SumFormatOf(rule.accumulation);
  plan.accumulate =
      rule.rounds_tiles() ? FloatAccumulation(level, plan.accumulation.rounding) : CopyPsums;
  if (plan.accumulate == nullptr) return nullptr;
  if (bits <= 30) return std::make_unique<QuireKernel<int32_t>>(rule, level, std::move(plan));
  return std::make_unique<QuireKernel<int64_t>>(rule, level, std::move(plan));
}

}  // namespace kiln::internal
