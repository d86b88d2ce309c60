// Float psums, written once as templates for every vector width; each mac_float*.cc instantiates
// them.
//
// A width `S` is a vector type of numerics/simd.h with these additional operations:
//   FmaOdd(a, b, c)     a * b + c rounded to odd: the exact sum, or the one of its two fp32
//                       neighbours whose last bit is 1
//   RoundIntegral(a)    rounds to the nearest integer, ties to even, in any rounding mode
//   RoundToBf16(a)      optional; a faster rounding than SumRounder's
#ifndef KILN_EXECUTE_MAC_FLOAT_BODY_H_
#define KILN_EXECUTE_MAC_FLOAT_BODY_H_

#include <cstdint>

#include "kiln/execute/mac_kernels.h"

namespace kiln::internal {

// Rounds fp32 sums to the nearest number of a format, ties to even.
template <typename S, SumRounding kRounding>
class SumRounder {
 public:
  using Float = typename S::Float;
  using Int = typename S::Int;

  explicit SumRounder(const SumFormat& format) {
    if constexpr (kRounding == SumRounding::kNarrow) {
      const NarrowFloat& f = format.narrow;
      dropped_ = f.dropped;
      half_less_one_ = S::SetInt(f.half_less_one);
      mask_ = S::SetInt(f.mask);
      normal_ = S::Set(f.normal);
      unit_ = S::Set(f.unit);
      inverse_unit_ = S::Set(f.inverse_unit);
      greatest_ = S::Set(f.greatest);
    }
  }

  // Returns `sum` rounded to the format; fp32 itself needs no rounding.
  Float operator()(Float sum) const {
    if constexpr (kRounding == SumRounding::kBf16) {
      if constexpr (requires { S::RoundToBf16(sum); }) return S::RoundToBf16(sum);
      return Top<16>(sum);
    }
    if constexpr (kRounding == SumRounding::kTf32) return Top<13>(sum);
    if constexpr (kRounding == SumRounding::kNarrow) return Narrow(sum);
    return sum;
  }

 private:
  // Rounds the kept upper bits to nearest even. Adding half a unit of the last kept bit, less one
  // if that bit is 0, carries exactly when the value must round up; the carry also updates the
  // exponent and turns an overflow into infinity.
  // Example for bf16 (16 bits dropped): 0x3f808000 is a tie with an even upper half; adding 0x7fff
  // does not carry, and 0x3f80 stays. 0x3f818000 is a tie with an odd one; adding 0x7fff + 1
  // carries to 0x3f82.
  template <int kDropped>
  static Float Top(Float sum) {
    const Int bits = S::AsInt(sum);
    const Int odd = S::And(S::template ShiftRight<kDropped>(bits), S::SetInt(1));
    const Int carried = S::AddInt(S::AddInt(bits, S::SetInt((1 << (kDropped - 1)) - 1)), odd);
    return S::AsFloat(S::And(carried, S::SetInt(static_cast<int32_t>(~0u << kDropped))));
  }

  // Rounds to a kNarrow format. Normal numbers round as in Top; below the least normal number,
  // values round to multiples of the least subnormal; above the greatest, they become infinity.
  Float Narrow(Float sum) const {
    const Int bits = S::AsInt(sum);
    const Int odd = S::And(S::ShiftRightBy(bits, dropped_), S::SetInt(1));
    const Float large = S::AsFloat(S::And(S::AddInt(S::AddInt(bits, half_less_one_), odd), mask_));
    const Float small = S::Multiply(S::RoundIntegral(S::Multiply(sum, inverse_unit_)), unit_);
    const Float rounded = S::Select(S::Less(Magnitude(sum), normal_), small, large);
    const Int infinity = S::Or(S::And(bits, S::SetInt(INT32_MIN)), S::SetInt(0x7f800000));
    return S::Select(S::Less(greatest_, Magnitude(rounded)), S::AsFloat(infinity), rounded);
  }
  static Float Magnitude(Float a) { return S::AsFloat(S::And(S::AsInt(a), S::SetInt(INT32_MAX))); }

  int dropped_ = 0;
  Int half_less_one_{}, mask_{};
  Float normal_{}, unit_{}, inverse_unit_{}, greatest_{};
};

// Computes the psums of kPixels pixels by kVectors vectors of columns, all in registers. Every step
// adds one product and rounds as the rule says.
template <typename S, SumRounding kRounding, bool kOdd, bool kProductRounded, int kPixels,
          int kVectors>
void FloatTile(const TileArguments& args) {
  using Float = typename S::Float;
  const SumRounder<S, kRounding> round(*args.psum);
  const auto step = [&](Float sum, Float x, Float w) {
    if constexpr (kProductRounded) {
      if constexpr (kOdd)
        return round(S::FmaOdd(round(S::FmaOdd(x, w, S::Set(-0.0f))), S::Set(1.0f), sum));
      return round(S::Add(round(S::Multiply(x, w)), sum));
    }
    if constexpr (kOdd) return round(S::FmaOdd(x, w, sum));
    return round(S::Fma(x, w, sum));
  };
  Float sums[kPixels][kVectors];
  const float* operands[kPixels];
  for (int p = 0; p < kPixels; ++p) {
    operands[p] = static_cast<const float*>(args.image) + args.places[p];
    for (int v = 0; v < kVectors; ++v) sums[p][v] = S::Set(0.0f);
  }
  const auto* weights = static_cast<const float*>(args.weights);
  for (int64_t s = 0; s < args.steps; ++s) {
    const int64_t offset = args.offsets[s];
    Float w[kVectors];
    for (int v = 0; v < kVectors; ++v) w[v] = S::Load(weights + v * S::kLanes);
    weights += kVectors * S::kLanes;
    for (int p = 0; p < kPixels; ++p) {
      const Float x = S::Set(operands[p][offset]);
      for (int v = 0; v < kVectors; ++v) sums[p][v] = step(sums[p][v], x, w[v]);
    }
  }
  for (int p = 0; p < kPixels; ++p) {
    for (int v = 0; v < kVectors; ++v) {
      S::Store(static_cast<float*>(args.psums) + (p * kVectors + v) * S::kLanes, sums[p][v]);
    }
  }
}

// The factor s of each psum of a tile, [pixel][column]: fp32(input scale * weight scale), or 1.
struct TileScales {
  static constexpr int kMost = 16 * 64;
  float of[kMost];
};
// Fills `scales` and converts integer psums to fp32 values in place, sign-extending them from
// args.psum_bits bits first.
template <typename S>
void PrepareTile(const AccumulationArguments& args, TileScales& scales) {
  for (int64_t p = 0; p < args.pixels; ++p) {
    float* psums = static_cast<float*>(args.psums) + p * args.columns;
    for (int64_t n = 0; n < args.columns; n += S::kLanes) {
      S::Store(scales.of + p * args.columns + n,
               args.input_scales == nullptr
                   ? S::Set(1.0f)
                   : S::Multiply(S::Set(args.input_scales[p]), S::Load(args.weight_scales + n)));
      if (args.psum_bits == 0) continue;
      const int above = 32 - args.psum_bits;
      const auto psum = S::ShiftRightBy(S::ShiftLeftBy(S::LoadInt32(psums + n), above), above);
      S::Store(psums + n, S::ToFloat(psum));
    }
  }
}

// Accumulates integer psums of 32 bits: accumulation = fma(fp32(psum), s, accumulation).
template <typename S>
void AddConvertedTile(const AccumulationArguments& args) {
  for (int64_t p = 0; p < args.pixels; ++p) {
    const float* psums = static_cast<const float*>(args.psums) + p * args.columns;
    float* results = static_cast<float*>(args.results) + p * args.stride;
    for (int64_t n = 0; n < args.columns; n += S::kLanes) {
      const auto scale =
          args.input_scales == nullptr
              ? S::Set(1.0f)
              : S::Multiply(S::Set(args.input_scales[p]), S::Load(args.weight_scales + n));
      S::Store(results + n,
               S::Fma(S::ToFloat(S::LoadInt32(psums + n)), scale, S::Load(results + n)));
    }
  }
}

// Accumulates fp32 psums: accumulation = round(psum * s + accumulation), rounded once for fp32, and
// to odd before the format's own rounding otherwise.
template <typename S, SumRounding kRounding>
void AddTile(const AccumulationArguments& args, const TileScales& scales) {
  using Float = typename S::Float;
  const SumRounder<S, kRounding> round(*args.accumulation);
  for (int64_t p = 0; p < args.pixels; ++p) {
    const float* psums = static_cast<const float*>(args.psums) + p * args.columns;
    float* results = static_cast<float*>(args.results) + p * args.stride;
    for (int64_t n = 0; n < args.columns; n += S::kLanes) {
      const Float psum = S::Load(psums + n), scale = S::Load(scales.of + p * args.columns + n);
      const Float sum = S::Load(results + n);
      if constexpr (kRounding == SumRounding::kFp32) {
        S::Store(results + n, S::Fma(psum, scale, sum));
      } else {
        S::Store(results + n, round(S::FmaOdd(psum, scale, sum)));
      }
    }
  }
}

// Chooses a level's kernel for a rounding. The level provides Level::Tile<rounding, odd,
// product_rounded>() and Level::Accumulate<rounding>.
template <typename Level, SumRounding kRounding>
TileKernel ChooseTileOf(bool odd, bool product_rounded) {
  if constexpr (kRounding != SumRounding::kFp32) {
    if (odd && product_rounded) return Level::template Tile<kRounding, true, true>();
    if (odd) return Level::template Tile<kRounding, true, false>();
  }
  if (product_rounded) return Level::template Tile<kRounding, false, true>();
  return Level::template Tile<kRounding, false, false>();
}

template <typename Level>
TileKernel ChooseTile(const FloatPsum& psum) {
  switch (psum.rounding) {
    case SumRounding::kFp32:
      return ChooseTileOf<Level, SumRounding::kFp32>(psum.odd, psum.product_rounded);
    case SumRounding::kBf16:
      return ChooseTileOf<Level, SumRounding::kBf16>(psum.odd, psum.product_rounded);
    case SumRounding::kTf32:
      return ChooseTileOf<Level, SumRounding::kTf32>(psum.odd, psum.product_rounded);
    case SumRounding::kNarrow:
      return ChooseTileOf<Level, SumRounding::kNarrow>(psum.odd, psum.product_rounded);
    default:
      return {};
  }
}

template <typename Level>
AccumulationFunction ChooseAccumulation(SumRounding accumulation) {
  switch (accumulation) {
    case SumRounding::kFp32:
      return Level::template Accumulate<SumRounding::kFp32>;
    case SumRounding::kBf16:
      return Level::template Accumulate<SumRounding::kBf16>;
    case SumRounding::kTf32:
      return Level::template Accumulate<SumRounding::kTf32>;
    case SumRounding::kNarrow:
      return Level::template Accumulate<SumRounding::kNarrow>;
    default:
      return nullptr;
  }
}

}  // namespace kiln::internal

#endif  // KILN_EXECUTE_MAC_FLOAT_BODY_H_
