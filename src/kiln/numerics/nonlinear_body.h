// The evaluation that nonlinear.h states, once, over the lanes of simd.h.
#ifndef KILN_NUMERICS_NONLINEAR_BODY_H_
#define KILN_NUMERICS_NONLINEAR_BODY_H_

#include <cstdint>

#include "kiln/numerics/nonlinear.h"
#include "kiln/numerics/simd.h"

namespace kiln {

inline constexpr int32_t kNanBits = 0x7fc00000;
inline constexpr int32_t kInfinityBits = 0x7f800000;

template <class V>
struct NonlinearBody {
  using Float = typename V::Float;
  using Int = typename V::Int;
  using Mask = typename V::Mask;

  const SplineTables& tables;

  static Float Infinity() { return V::AsFloat(V::SetInt(kInfinityBits)); }
  static Float Nan() { return V::AsFloat(V::SetInt(kNanBits)); }
  static Float Absolute(Float x) { return V::AsFloat(V::And(V::AsInt(x), V::SetInt(0x7fffffff))); }
  static Int SignOf(Float x) { return V::And(V::AsInt(x), V::SetInt(INT32_MIN)); }
  static Float WithSign(Float magnitude, Int sign) {
    return V::AsFloat(V::Or(V::AsInt(magnitude), sign));
  }

  Float Evaluate(SplineId id, Float t) const {
    const Spline& s = tables[id];
    Int index = V::SetInt(0);
    for (int i = 1; i < tables.segments; ++i) {
      index = V::SelectInt(V::GreaterEqual(t, V::Set(s.knots[i])), V::SetInt(i), index);
    }
    return V::Fma(V::Fma(V::Lookup(s.c2, index), t, V::Lookup(s.c1, index)), t,
                  V::Lookup(s.c0, index));
  }
  // The spline inside its domain, `limit` beyond it; t >= 0 or NaN.
  Float EvaluateUpTo(SplineId id, Float t, float limit) const {
    const float end = tables[id].knots[tables.segments];
    return V::Select(V::Less(t, V::Set(end)), Evaluate(id, t), V::Set(limit));
  }

  // p * 2^n rounded once, for p in [1/4, 4) and |n| <= 250.
  static Float Scale(Float p, Int n) {
    const Int half = V::template ShiftRight<1>(n);
    const auto power = [](Int k) {
      return V::AsFloat(V::template ShiftLeft<23>(V::AddInt(k, V::SetInt(127))));
    };
    return V::Multiply(V::Multiply(p, power(half)), power(V::SubtractInt(n, half)));
  }

  struct Parts {
    Float mantissa;  // [1, 2)
    Int exponent;
  };
  // Of a positive finite number. Zero gives 1 and -151, infinity 1 and 128.
  static Parts Split(Float x) {
    const Mask subnormal = V::Less(x, V::Set(0x1p-126f));
    const Int bits = V::AsInt(V::Select(subnormal, V::Multiply(x, V::Set(0x1p24f)), x));
    const Int bias = V::SelectInt(subnormal, V::SetInt(127 + 24), V::SetInt(127));
    return {V::AsFloat(V::Or(V::And(bits, V::SetInt(0x007fffff)), V::SetInt(0x3f800000))),
            V::SubtractInt(V::template ShiftRight<23>(bits), bias)};
  }

  Float Exp(Float x) const {
    const Float log2e = V::Set(0x1.715476p+0f);
    // Beyond these bounds the result has long been 0 or infinity. NaN becomes the lower one.
    const Float y = V::Min(V::Max(x, V::Set(-105.0f)), V::Set(90.0f));
    const Float n = V::Floor(V::Multiply(y, log2e));
    const Float f = V::Fma(y, log2e, V::Subtract(V::Set(0.0f), n));
    return Scale(Evaluate(SplineId::kExp2, f), V::ToInt(n));
  }

  Float Log(Float x) const {
    const Parts parts = Split(x);
    const Mask upper = V::GreaterEqual(parts.mantissa, V::Set(1.5f));
    const Float m = V::Select(upper, V::Multiply(parts.mantissa, V::Set(0.5f)), parts.mantissa);
    const Int e = V::SelectInt(upper, V::AddInt(parts.exponent, V::SetInt(1)), parts.exponent);
    const Float t = V::Subtract(m, V::Set(1.0f));
    Float r =
        V::Fma(V::ToFloat(e), V::Set(0x1.62e430p-1f), V::Multiply(t, Evaluate(SplineId::kLog, t)));
    r = V::Select(V::Equal(x, Infinity()), x, r);
    r = V::Select(V::Equal(x, V::Set(0.0f)), V::Subtract(V::Set(0.0f), Infinity()), r);
    return V::Select(V::Less(x, V::Set(0.0f)), Nan(), r);
  }

  Float Reciprocal(Float x) const {
    const Float a = Absolute(x);
    const Parts parts = Split(a);
    const Float m = parts.mantissa;
    Float r = Evaluate(SplineId::kReciprocal, m);
    const Float minus_m = V::Subtract(V::Set(0.0f), m);
    r = V::Fma(r, V::Fma(minus_m, r, V::Set(1.0f)), r);
    r = Scale(r, V::SubtractInt(V::SetInt(0), parts.exponent));
    r = V::Select(V::Equal(a, Infinity()), V::Set(0.0f), r);
    return WithSign(r, SignOf(x));
  }

  Float ReciprocalSquareRoot(Float x) const {
    const Parts parts = Split(x);
    const Mask odd = V::EqualInt(V::And(parts.exponent, V::SetInt(1)), V::SetInt(1));
    const Float m = V::Select(odd, V::Add(parts.mantissa, parts.mantissa), parts.mantissa);
    Float r = Evaluate(SplineId::kReciprocalSquareRoot, m);
    const Float minus_mr = V::Multiply(V::Subtract(V::Set(0.0f), m), r);
    r = V::Fma(V::Multiply(V::Set(0.5f), r), V::Fma(minus_mr, r, V::Set(1.0f)), r);
    r = Scale(r, V::SubtractInt(V::SetInt(0), V::template ShiftRight<1>(parts.exponent)));
    r = V::Select(V::Equal(x, Infinity()), V::Set(0.0f), r);
    r = V::Select(V::Equal(x, V::Set(0.0f)), Infinity(), r);
    return V::Select(V::Less(x, V::Set(0.0f)), Nan(), r);
  }

  Float SquareRoot(Float x) const {
    const Float r = V::Multiply(x, ReciprocalSquareRoot(x));
    return V::Select(V::Equal(x, V::Set(0.0f)), x, V::Select(V::Equal(x, Infinity()), x, r));
  }

  Float Odd(SplineId id, Float x) const {
    return WithSign(V::Min(EvaluateUpTo(id, Absolute(x), 1.0f), V::Set(1.0f)), SignOf(x));
  }
  Float Rectified(SplineId id, Float x) const {
    return V::Add(V::Max(x, V::Set(0.0f)), EvaluateUpTo(id, Absolute(x), 0.0f));
  }
  Float Sigmoid(Float x) const {
    const Float tail = V::Max(EvaluateUpTo(SplineId::kSigmoid, Absolute(x), 0.0f), V::Set(0.0f));
    return V::Select(V::Less(x, V::Set(0.0f)), tail, V::Subtract(V::Set(1.0f), tail));
  }
  static Float HardSigmoid(Float x) {
    const Float line = V::Fma(x, V::Set(0x1.555556p-3f), V::Set(0.5f));
    return V::Max(V::Min(line, V::Set(1.0f)), V::Set(0.0f));
  }

  template <NonlinearFunction kFunction>
  Float Apply(Float x) const {
    using F = NonlinearFunction;
    Float r;
    if constexpr (kFunction == F::kExp) r = Exp(x);
    if constexpr (kFunction == F::kSigmoid) r = Sigmoid(x);
    if constexpr (kFunction == F::kTanh) r = Odd(SplineId::kTanh, x);
    if constexpr (kFunction == F::kGelu) r = Rectified(SplineId::kGelu, x);
    if constexpr (kFunction == F::kGeluTanh) r = Rectified(SplineId::kGeluTanh, x);
    if constexpr (kFunction == F::kErf) r = Odd(SplineId::kErf, x);
    if constexpr (kFunction == F::kSoftplus) r = Rectified(SplineId::kSoftplus, x);
    if constexpr (kFunction == F::kSilu) r = Rectified(SplineId::kSilu, x);
    if constexpr (kFunction == F::kHardSigmoid) r = HardSigmoid(x);
    if constexpr (kFunction == F::kHardSwish) {
      // At minus infinity the factor is 0, and so is the limit.
      r = V::Select(V::Less(x, V::Set(-3.0f)), V::Set(0.0f), V::Multiply(x, HardSigmoid(x)));
    }
    if constexpr (kFunction == F::kLog) r = Log(x);
    if constexpr (kFunction == F::kSqrt) r = SquareRoot(x);
    if constexpr (kFunction == F::kElu) {
      r = V::Select(V::Less(V::Set(0.0f), x), x, V::Subtract(Exp(x), V::Set(1.0f)));
    }
    if constexpr (kFunction == F::kReciprocal) r = Reciprocal(x);
    if constexpr (kFunction == F::kReciprocalSquareRoot) r = ReciprocalSquareRoot(x);
    return V::Select(V::Equal(x, x), r, Nan());
  }

  template <NonlinearFunction kFunction>
  void Loop(float* values, int64_t count) const {
    int64_t i = 0;
    for (; i + V::kLanes <= count; i += V::kLanes)
      V::Store(values + i, Apply<kFunction>(V::Load(values + i)));
    if (i < count) {
      float rest[V::kLanes] = {};
      for (int64_t j = i; j < count; ++j) rest[j - i] = values[j];
      V::Store(rest, Apply<kFunction>(V::Load(rest)));
      for (int64_t j = i; j < count; ++j) values[j] = rest[j - i];
    }
  }

  void Run(NonlinearFunction function, float* values, int64_t count) const {
    switch (function) {
#define KILN_CASE(name)         \
  case NonlinearFunction::name: \
    return Loop<NonlinearFunction::name>(values, count)
      KILN_CASE(kExp);
      KILN_CASE(kSigmoid);
      KILN_CASE(kTanh);
      KILN_CASE(kGelu);
      KILN_CASE(kGeluTanh);
      KILN_CASE(kErf);
      KILN_CASE(kSoftplus);
      KILN_CASE(kSilu);
      KILN_CASE(kHardSigmoid);
      KILN_CASE(kHardSwish);
      KILN_CASE(kLog);
      KILN_CASE(kSqrt);
      KILN_CASE(kElu);
      KILN_CASE(kReciprocal);
      KILN_CASE(kReciprocalSquareRoot);
#undef KILN_CASE
    }
  }
};

// The same function compiled for each instruction set; only for processors that have it.
namespace internal {
void ApproximateAvx2(const SplineTables& tables, NonlinearFunction function, float* values,
                     int64_t count);
void ApproximateAvx512(const SplineTables& tables, NonlinearFunction function, float* values,
                       int64_t count);
}  // namespace internal

}  // namespace kiln

#endif  // KILN_NUMERICS_NONLINEAR_BODY_H_
