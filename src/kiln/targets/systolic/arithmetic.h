// Scalar arithmetic of the systolic machine, as isa.h states it; the functional level and the cycle level share these
// definitions, and the fast kernels are tested against them.
#ifndef KILN_TARGETS_SYSTOLIC_ARITHMETIC_H_
#define KILN_TARGETS_SYSTOLIC_ARITHMETIC_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

#include "kiln/numerics/nonlinear.h"
#include "kiln/targets/systolic/isa.h"

namespace kiln::systolic {

// Codes of integer elements, sign- or zero-extended. Not for kFloat32.
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
    case Element::kInt32:
    case Element::kFloat32: {
      int32_t v;
      std::memcpy(&v, p, sizeof v);
      return v;
    }
  }
  return 0;
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

// An element of a memory operand as the vector unit sees it.
inline float LoadValue(const Stream& stream, const uint8_t* p) {
  const int32_t bits = LoadCode(stream.element, p);
  if (stream.element == Element::kFloat32) return std::bit_cast<float>(bits);
  return Dequantise(bits, stream.zero_point, stream.scale);
}

// Two's complement of `bits` bits, sign-extended. 1 <= bits <= 32.
inline int32_t WrapAccumulator(int32_t sum, int bits) {
  const int unused = 32 - bits;
  return static_cast<int32_t>(static_cast<uint32_t>(sum) << unused) >> unused;
}

// Source::kAccumulator. `accumulator` is wrapped already; accumulator + offset wraps at 32 bits.
inline float AccumulatorToValue(int32_t accumulator, int32_t offset, float scale, float bias) {
  return std::fma(static_cast<float>(WrappingAdd(accumulator, offset)), scale, bias);
}

static_assert(static_cast<int>(NonlinearFunction::kElu) == static_cast<int>(Function::kElu) &&
              static_cast<int>(NonlinearFunction::kSqrt) == static_cast<int>(Function::kSqrt) &&
              static_cast<int>(NonlinearFunction::kHardSwish) == static_cast<int>(Function::kHardSwish));
inline NonlinearFunction ToNonlinear(Function function) {
  return static_cast<NonlinearFunction>(static_cast<uint8_t>(function));
}

inline float MaxOf(float a, float b) { return a > b ? a : b; }
inline float MinOf(float a, float b) { return a < b ? a : b; }

// One stage on one lane. `a` and `b` are the values of its arguments; kSave0 and kSave1 pass v on (the caller keeps
// it).
inline float ApplyStage(const Stage& stage, float v, float a, float b) {
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
      return std::fma(v, a, b);
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
      return Approximate(DefaultSplineTables(), ToNonlinear(stage.function), v);
    case StageOp::kReciprocal:
      return Approximate(DefaultSplineTables(), NonlinearFunction::kReciprocal, v);
    case StageOp::kReciprocalSquareRoot:
      return Approximate(DefaultSplineTables(), NonlinearFunction::kReciprocalSquareRoot, v);
    case StageOp::kSelectNegative:
      return v < 0 ? v * a : v;
    case StageOp::kDivide:
      return v / a;
  }
  return v;
}

// What a lane starts from, and how values join, in Reduce and (first two) in Combine.
inline float NeutralOf(Reduce reduce) {
  return reduce == Reduce::kMax ? -std::numeric_limits<float>::infinity() : 0.0f;
}
inline float Join(Reduce reduce, float partial, float v) {
  return reduce == Reduce::kMax ? MaxOf(partial, v) : partial + v;
}
inline float NeutralOf(Combine combine) {
  return combine == Combine::kMax ? -std::numeric_limits<float>::infinity() : 0.0f;
}
inline float Join(Combine combine, float partial, float v) {
  return combine == Combine::kMax ? MaxOf(partial, v) : partial + v;
}

// Combines the lane partials as a tree, in place; `lanes` has the length of lanes rounded up to a power of two, missing
// lanes neutral. An empty span gives the neutral element.
inline float ReduceTree(Reduce reduce, std::span<float> lanes) {
  if (lanes.empty()) return NeutralOf(reduce);
  for (size_t half = lanes.size() / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) lanes[i] = Join(reduce, lanes[i], lanes[i + half]);
  }
  return lanes[0];
}

// 1 / n as the average window multiplies it; n of at least 1 (a window wholly outside the image counts as 1).
inline float AverageFactor(int32_t places) { return 1.0f / static_cast<float>(places < 1 ? 1 : places); }

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

// Stores v at p as the output stream says. Codes are cut to the element's width; a NaN leaves as 0x7fc00000.
inline void StoreValue(Element element, const QuantiseOut& quantise, float v, uint8_t* p) {
  uint32_t bits;
  if (element == Element::kFloat32) {
    bits = v == v ? std::bit_cast<uint32_t>(v) : 0x7fc00000u;
  } else {
    bits = static_cast<uint32_t>(QuantiseToCode(quantise, v));
  }
  switch (element) {
    case Element::kInt8:
    case Element::kUint8:
      *p = static_cast<uint8_t>(bits);
      break;
    case Element::kInt16: {
      const uint16_t half = static_cast<uint16_t>(bits);
      std::memcpy(p, &half, sizeof half);
      break;
    }
    case Element::kInt32:
    case Element::kFloat32:
      std::memcpy(p, &bits, sizeof bits);
      break;
  }
}

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_ARITHMETIC_H_
