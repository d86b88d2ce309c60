// The arithmetic of single numbers in the systolic machine, as isa.h defines it. The functional
// level and the cycle level share these definitions, and the fast kernels are tested against them.
#ifndef KILN_TARGETS_SYSTOLIC_SIMULATE_ARITHMETIC_H_
#define KILN_TARGETS_SYSTOLIC_SIMULATE_ARITHMETIC_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kiln/numerics/codec.h"
#include "kiln/numerics/nonlinear.h"
#include "kiln/targets/systolic/isa/isa.h"
#include "kiln/targets/systolic/simulate/numbers.h"

namespace kiln::systolic {

// Returns the code of an integer element, sign- or zero-extended.
inline int32_t LoadCode(Element element, const uint8_t* p) {
  switch (element) {
    case Element::kInt8:
      return static_cast<int8_t>(*p);
    case Element::kUint8:
      return *p;
    case Element::kInt16: {
      int16_t v;
      std::memcpy(&v, p, sizeof v);
      return v;
    }
    default: {
      int32_t v;
      std::memcpy(&v, p, sizeof v);
      return v;
    }
  }
}

// Return a - b and a + b, wrapping at 32 bits.
inline int32_t WrappingSubtract(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b));
}
inline int32_t WrappingAdd(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}

// Returns fp32(code - zero_point) as a factor (Numbers::RoundFactor), times scale: the difference
// wraps, and the product is not yet rounded to the vector format.
inline float Dequantise(const Numbers& numbers, int32_t code, int32_t zero_point, float scale) {
  return numbers.RoundFactor(static_cast<float>(WrappingSubtract(code, zero_point))) * scale;
}

// Returns an element of a memory operand as the vector unit sees it. `factor` is the stream's scale
// or, with block scales, the BlockFactor of the element's block.
inline float LoadValue(const Numbers& numbers, const Stream& stream, float factor,
                       const uint8_t* p) {
  if (IsInteger(stream.element)) {
    return numbers.Round(
        Dequantise(numbers, LoadCode(stream.element, p), stream.zero_point, factor));
  }
  const Format& format = FormatOf(stream.element, numbers.config());
  const float value = DecodeFloat(format, LoadBits(p, format.bytes()));
  return numbers.Round(IsCode(stream.element) ? numbers.RoundFactor(value) * factor : value);
}
inline float LoadValue(const Numbers& numbers, const Stream& stream, const uint8_t* p) {
  return LoadValue(numbers, stream, stream.scale, p);
}
// Returns the factor of a block's elements, given the code of the block's scale: the product in
// fp32, rounded by Numbers::RoundFactor.
inline float BlockFactor(const Numbers& numbers, const Stream& stream, const uint8_t* scale) {
  const Format& format = numbers.config().scale_format;
  return numbers.RoundFactor(stream.scale * DecodeFloat(format, LoadBits(scale, format.bytes())));
}

// Wraps a sum to two's complement of `bits` bits and sign-extends it. 1 <= bits <= 32.
inline int32_t WrapAccumulator(int32_t sum, int bits) {
  const int unused = 32 - bits;
  return static_cast<int32_t>(static_cast<uint32_t>(sum) << unused) >> unused;
}

// Returns the vector unit's fma(v, a, b).
inline float MultiplyAdd(const Numbers& numbers, float v, float a, float b) {
  return numbers.narrow() ? numbers.Round(numbers.Round(v * a) + b) : std::fma(v, a, b);
}

// Returns the value of Source::kAccumulator for an integer accumulation buffer. `accumulator` is
// already wrapped; accumulator + offset wraps at 32 bits.
inline float AccumulatorToValue(const Numbers& numbers, int32_t accumulator, int32_t offset,
                                float scale, float bias) {
  return MultiplyAdd(numbers, numbers.Round(static_cast<float>(WrappingAdd(accumulator, offset))),
                     numbers.Round(scale), numbers.Round(bias));
}
// Returns the same for a float accumulation buffer.
inline float AccumulatorToValue(const Numbers& numbers, float accumulator, float scale,
                                float bias) {
  return MultiplyAdd(numbers, numbers.Round(accumulator), numbers.Round(scale),
                     numbers.Round(bias));
}

inline float MaxOf(float a, float b) { return a > b ? a : b; }
inline float MinOf(float a, float b) { return a < b ? a : b; }

// Applies one stage on one lane, before its result is rounded. `a` and `b` are the values of its
// arguments.
inline float ApplyUnrounded(const Numbers& numbers, const Stage& stage, float v, float a, float b) {
  switch (stage.op) {
    case StageOp::kAdd:
      return v + a;
    case StageOp::kSubtract:
      return v - a;
    case StageOp::kReverseSubtract:
      return a - v;
    case StageOp::kMultiply:
      return v * a;
    case StageOp::kFma:
      return MultiplyAdd(numbers, v, a, b);
    case StageOp::kMax:
      return MaxOf(v, a);
    case StageOp::kMin:
      return MinOf(v, a);
    case StageOp::kAbsolute:
      return std::bit_cast<float>(std::bit_cast<uint32_t>(v) & 0x7fffffffu);
    case StageOp::kSquare:
      return v * v;
    case StageOp::kSave0:
    case StageOp::kSave1:
      return v;
    case StageOp::kFunction:
      return numbers.Apply(stage.function, v);
    case StageOp::kReciprocal:
      return numbers.Apply(NonlinearFunction::kReciprocal, v);
    case StageOp::kReciprocalSquareRoot:
      return numbers.Apply(NonlinearFunction::kReciprocalSquareRoot, v);
    case StageOp::kSelectNegative:
      return v < 0 ? v * a : v;
    case StageOp::kDivide:
      return v / a;
  }
  return v;
}
// Applies one stage on one lane. Immediates are passed as the instruction holds them. kSave0 and
// kSave1 return v; the caller saves it.
inline float ApplyStage(const Numbers& numbers, const Stage& stage, float v, float a, float b) {
  return numbers.Round(ApplyUnrounded(numbers, stage, v, numbers.Round(a), numbers.Round(b)));
}

// Return the initial value of a lane, and the combination of two values, in Reduce and in Combine.
inline float NeutralOf(const Numbers& numbers, Reduce reduce) {
  return reduce == Reduce::kMax ? numbers.Round(-std::numeric_limits<float>::infinity()) : 0.0f;
}
inline float Join(const Numbers& numbers, Reduce reduce, float partial, float v) {
  return reduce == Reduce::kMax ? MaxOf(partial, v) : numbers.Round(partial + v);
}
inline float NeutralOf(const Numbers& numbers, Combine combine) {
  return combine == Combine::kMax ? numbers.Round(-std::numeric_limits<float>::infinity()) : 0.0f;
}
inline float Join(const Numbers& numbers, Combine combine, float partial, float v) {
  return combine == Combine::kMax ? MaxOf(partial, v) : numbers.Round(partial + v);
}

// Returns the factor 1 / n of an average window with `places` positions inside the image. With
// divide_by_valid, n is that number, at least 1, as a factor (Numbers::RoundFactor); else n is the
// number of all positions.
inline float AverageFactor(const Numbers& numbers, const Window& window, int32_t places) {
  const float n = window.divide_by_valid
                      ? numbers.RoundFactor(static_cast<float>(places < 1 ? 1 : places))
                      : static_cast<float>(window.window_y * window.window_x);
  return numbers.Round(1.0f / n);
}

// Returns the integer code of a value that is written to memory.
inline int32_t QuantiseToCode(const QuantiseOut& quantise, float v) {
  float scaled = v * quantise.inverse_scale;
  if (scaled != scaled) scaled = 0;
  scaled = MaxOf(MinOf(scaled, 0x1p33f), -0x1p33f);  // far outside the codes, within int64
  int64_t code = static_cast<int64_t>(std::nearbyint(scaled)) + quantise.zero_point;
  if (code > quantise.high) code = quantise.high;
  if (code < quantise.low) code = quantise.low;
  return static_cast<int32_t>(code);
}

// Stores v at p as the output stream requires, except with block scales. Codes are cut to the
// element's width. A NaN is stored as 0x7fc00000, or as the NaN that Encode gives.
inline void StoreValue(const Numbers& numbers, Element element, const QuantiseOut& quantise,
                       float v, uint8_t* p) {
  uint32_t bits;
  if (element == Element::kFloat32) {
    bits = v == v ? std::bit_cast<uint32_t>(v) : 0x7fc00000u;
  } else if (IsInteger(element)) {
    bits = static_cast<uint32_t>(QuantiseToCode(quantise, v));
  } else {
    bits = StoredBits(FormatOf(element, numbers.config()),
                      EncodeFloat(FormatOf(element, numbers.config()),
                                  IsCode(element) ? v * quantise.inverse_scale : v));
  }
  StoreBits(bits, BytesOf(element, numbers.config()), p);
}

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_SIMULATE_ARITHMETIC_H_
