// Arithmetic of single numbers of the systolic machine, as isa.h states it; the functional level and the cycle level
// share these definitions, and the fast kernels are tested against them.
#ifndef KILN_TARGETS_SYSTOLIC_ARITHMETIC_H_
#define KILN_TARGETS_SYSTOLIC_ARITHMETIC_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kiln/numerics/codec.h"
#include "kiln/numerics/nonlinear.h"
#include "kiln/targets/systolic/isa.h"
#include "kiln/targets/systolic/numbers.h"

namespace kiln::systolic {

// Codes of integer elements, sign- or zero-extended.
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

// a - b and a + b, wrapping.
inline int32_t WrappingSubtract(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b));
}
inline int32_t WrappingAdd(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}

// fp32(code - zero_point) * scale: the difference wraps, the conversion and the product round once each.
inline float Dequantise(int32_t code, int32_t zero_point, float scale) {
  return static_cast<float>(WrappingSubtract(code, zero_point)) * scale;
}

// An element of a memory operand as the vector unit sees it. `factor` is the stream's scale, or with block scales
// BlockFactor of its block.
inline float LoadValue(const Numbers& numbers, const Stream& stream, float factor,
                       const uint8_t* p) {
  if (IsInteger(stream.element)) {
    return numbers.Round(Dequantise(LoadCode(stream.element, p), stream.zero_point, factor));
  }
  const Format& format = FormatOf(stream.element, numbers.config());
  const float value = DecodeFloat(format, LoadBits(p, format.bytes()));
  return numbers.Round(IsCode(stream.element) ? value * factor : value);
}
inline float LoadValue(const Numbers& numbers, const Stream& stream, const uint8_t* p) {
  return LoadValue(numbers, stream, stream.scale, p);
}
// What elements of a block are multiplied by, from the code of its scale.
inline float BlockFactor(const Numbers& numbers, const Stream& stream, const uint8_t* scale) {
  const Format& format = numbers.config().scale_format;
  return stream.scale * DecodeFloat(format, LoadBits(scale, format.bytes()));
}

// Two's complement of `bits` bits, sign-extended. 1 <= bits <= 32.
inline int32_t WrapAccumulator(int32_t sum, int bits) {
  const int unused = 32 - bits;
  return static_cast<int32_t>(static_cast<uint32_t>(sum) << unused) >> unused;
}

// fma(v, a, b) of the vector unit.
inline float MultiplyAdd(const Numbers& numbers, float v, float a, float b) {
  return numbers.narrow() ? numbers.Round(numbers.Round(v * a) + b) : std::fma(v, a, b);
}

// Source::kAccumulator of an integer accumulation buffer. `accumulator` is wrapped already; accumulator + offset wraps
// at 32 bits.
inline float AccumulatorToValue(const Numbers& numbers, int32_t accumulator, int32_t offset,
                                float scale, float bias) {
  return MultiplyAdd(numbers, numbers.Round(static_cast<float>(WrappingAdd(accumulator, offset))),
                     numbers.Round(scale), numbers.Round(bias));
}
// The same of a float one.
inline float AccumulatorToValue(const Numbers& numbers, float accumulator, float scale,
                                float bias) {
  return MultiplyAdd(numbers, numbers.Round(accumulator), numbers.Round(scale),
                     numbers.Round(bias));
}

inline float MaxOf(float a, float b) { return a > b ? a : b; }
inline float MinOf(float a, float b) { return a < b ? a : b; }

// One stage on one lane, before its result is rounded. `a` and `b` are the values of its arguments.
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
// One stage on one lane; immediates come as the instruction holds them. kSave0 and kSave1 pass v on (the caller keeps
// it).
inline float ApplyStage(const Numbers& numbers, const Stage& stage, float v, float a, float b) {
  return numbers.Round(ApplyUnrounded(numbers, stage, v, numbers.Round(a), numbers.Round(b)));
}

// What a lane starts from, and how values join, in Reduce and (first two) in Combine.
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

// 1 / n as the average window multiplies it; n of at least 1 (a window wholly outside the image counts as 1).
inline float AverageFactor(const Numbers& numbers, int32_t places) {
  return numbers.Round(1.0f / static_cast<float>(places < 1 ? 1 : places));
}

// A value on its way to memory as an integer code.
inline int32_t QuantiseToCode(const QuantiseOut& quantise, float v) {
  float scaled = v * quantise.inverse_scale;
  if (scaled != scaled) scaled = 0;
  scaled = MaxOf(MinOf(scaled, 0x1p33f), -0x1p33f);  // far outside the codes, inside int64
  int64_t code = static_cast<int64_t>(std::nearbyint(scaled)) + quantise.zero_point;
  if (code > quantise.high) code = quantise.high;
  if (code < quantise.low) code = quantise.low;
  return static_cast<int32_t>(code);
}

// Stores v at p as the output stream says, block scales excepted. Codes are cut to the element's width; a NaN leaves as
// 0x7fc00000, or the NaN that Encode gives.
inline void StoreValue(const Numbers& numbers, Element element, const QuantiseOut& quantise,
                       float v, uint8_t* p) {
  uint32_t bits;
  if (element == Element::kFloat32) {
    bits = v == v ? std::bit_cast<uint32_t>(v) : 0x7fc00000u;
  } else if (IsInteger(element)) {
    bits = static_cast<uint32_t>(QuantiseToCode(quantise, v));
  } else {
    bits = MemoryBits(FormatOf(element, numbers.config()),
                      EncodeFloat(FormatOf(element, numbers.config()),
                                  IsCode(element) ? v * quantise.inverse_scale : v));
  }
  StoreBits(bits, BytesOf(element, numbers.config()), p);
}

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_ARITHMETIC_H_
