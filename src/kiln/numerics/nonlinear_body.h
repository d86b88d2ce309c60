// The evaluation of the functions of nonlinear.h, written once over the lanes of simd.h.
// nonlinear.cc and its AVX2 and AVX-512 variants instantiate it.
#ifndef KILN_NUMERICS_NONLINEAR_BODY_H_
#define KILN_NUMERICS_NONLINEAR_BODY_H_

#include <cstdint>

#include "kiln/numerics/nonlinear.h"
#include "kiln/numerics/simd.h"

namespace kiln {

inline constexpr int32_t kNanBits = 0x7fc00000;
inline constexpr int32_t kInfinityBits = 0x7f800000;

// The functions over the lanes of V. Branches are selections, so that every lane executes the same
// operations at every width.
template <class V>
struct NonlinearBody {
  using Float = typename V::Float;
  using Int = typename V::Int;
  using Mask = typename V::Mask;

  const SplineTables& tables;

  static Float Infinity() { return V::AsFloat(V::SetInt(kInfinityBits)); }
  static Float Nan() { return V::AsFloat(V::SetInt(kNanBits)); }
  static Float Absolute(Float x) { return V::AsFloat(V::And(V::AsInt(x), V::SetInt(0x7fffffff))); }
  // Return the sign bit of x, and a magnitude with a given sign bit.
  static Int SignOf(Float x) { return V::And(V::AsInt(x), V::SetInt(INT32_MIN)); }
  static Float WithSign(Float magnitude, Int sign) {
    return V::AsFloat(V::Or(V::AsInt(magnitude), sign));
  }

  // Returns the spline at t. The comparison with every inner knot finds the segment; NaN selects
  // segment 0.
  Float Evaluate(SplineId id, Float t) const {
    const Spline& s = tables[id];
    Int index = V::SetInt(0);
    for (int i = 1; i < tables.segments; ++i) {
      index = V::SelectInt(V::GreaterEqual(t, V::Set(s.knots[i])), V::SetInt(i), index);
    }
    return V::Fma(V::Fma(V::Lookup(s.c2, index), t, V::Lookup(s.c1, index)), t,
                  V::Lookup(s.c0, index));
  }
  // Returns the spline inside its domain and `limit` beyond it; t >= 0 or NaN.
  Float EvaluateUpTo(SplineId id, Float t, float limit) const {
    const float end = tables[id].knots[tables.segments];
    return V::Select(V::Less(t, V::Set(end)), Evaluate(id, t), V::Set(limit));
  }

  // Returns p * 2^n, rounded once, for p in [1/4, 4) and |n| <= 250. Two factors, because 2^n
  // itself may be outside the range of fp32.
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
  // Splits a positive finite number. Zero gives mantissa 1 and exponent -151, infinity 1 and 128;
  // callers overwrite the results of both.
  static Parts Split(Float x) {
    // Subnormal numbers are scaled by 2^24 to have a hidden bit.
    const Mask subnormal = V::Less(x, V::Set(0x1p-126f));
    const Int bits = V::AsInt(V::Select(subnormal, V::Multiply(x, V::Set(0x1p24f)), x));
    const Int bias = V::SelectInt(subnormal, V::SetInt(127 + 24), V::SetInt(127));
    return {V::AsFloat(V::Or(V::And(bits, V::SetInt(0x007fffff)), V::SetInt(0x3f800000))),
            V::SubtractInt(V::template ShiftRight<23>(bits), bias)};
  }

  // exp(x) = 2^n E(f) with x log2(e) = n + f: the spline covers one octave.
  Float Exp(Float x) const {
    const Float log2e = V::Set(0x1.715476p+0f);
    // Beyond these bounds the result is 0 or infinity. NaN becomes the lower bound; Apply restores
    // it.
    const Float y = V::Min(V::Max(x, V::Set(-105.0f)), V::Set(90.0f));
    const Float n = V::Floor(V::Multiply(y, log2e));
    const Float f = V::Fma(y, log2e, V::Subtract(V::Set(0.0f), n));
    return Scale(Evaluate(SplineId::kExp2, f), V::ToInt(n));
  }

  // log(x) = e ln 2 + t L(t) with x = 2^e (1 + t): the factor t makes log(1) exactly 0.
  Float Log(Float x) const {
    const Parts parts = Split(x);
    // Mantissas in [1.5, 2) are halved, so that t = m - 1 is in [-1/4, 1/2) and log(m) near zero.
    const Mask upper = V::GreaterEqual(parts.mantissa, V::Set(1.5f));
    const Float m = V::Select(upper, V::Multiply(parts.mantissa, V::Set(0.5f)), parts.mantissa);
    const Int e = V::SelectInt(upper, V::AddInt(parts.exponent, V::SetInt(1)), parts.exponent);
    const Float t = V::Subtract(m, V::Set(1.0f));
    Float r =
        V::Fma(V::ToFloat(e), V::Set(0x1.62e430p-1f), V::Multiply(t, Evaluate(SplineId::kLog, t)));
    // The special values: log(infinity), log(0) and negative arguments.
    r = V::Select(V::Equal(x, Infinity()), x, r);
    r = V::Select(V::Equal(x, V::Set(0.0f)), V::Subtract(V::Set(0.0f), Infinity()), r);
    return V::Select(V::Less(x, V::Set(0.0f)), Nan(), r);
  }

  // 1/x from the spline over one octave and one Newton-Raphson iteration; the sign is applied last.
  Float Reciprocal(Float x) const {
    const Float a = Absolute(x);
    const Parts parts = Split(a);
    const Float m = parts.mantissa;
    Float r = Evaluate(SplineId::kReciprocal, m);
    const Float minus_m = V::Subtract(V::Set(0.0f), m);
    // One Newton-Raphson iteration: r (2 - m r) = r + r (1 - m r).
    r = V::Fma(r, V::Fma(minus_m, r, V::Set(1.0f)), r);
    r = Scale(r, V::SubtractInt(V::SetInt(0), parts.exponent));
    // The inverse of infinity; that of zero is infinity by the exponent.
    r = V::Select(V::Equal(a, Infinity()), V::Set(0.0f), r);
    return WithSign(r, SignOf(x));
  }

  // 1/sqrt(x) from the spline over two octaves and one Newton-Raphson iteration.
  Float ReciprocalSquareRoot(Float x) const {
    const Parts parts = Split(x);
    // x = 4^k m with m in [1, 4): an odd exponent moves one factor of 2 into the mantissa.
    const Mask odd = V::EqualInt(V::And(parts.exponent, V::SetInt(1)), V::SetInt(1));
    const Float m = V::Select(odd, V::Add(parts.mantissa, parts.mantissa), parts.mantissa);
    Float r = Evaluate(SplineId::kReciprocalSquareRoot, m);
    // One Newton-Raphson iteration: r + r/2 (1 - m r^2).
    const Float minus_mr = V::Multiply(V::Subtract(V::Set(0.0f), m), r);
    r = V::Fma(V::Multiply(V::Set(0.5f), r), V::Fma(minus_mr, r, V::Set(1.0f)), r);
    r = Scale(r, V::SubtractInt(V::SetInt(0), V::template ShiftRight<1>(parts.exponent)));
    r = V::Select(V::Equal(x, Infinity()), V::Set(0.0f), r);
    r = V::Select(V::Equal(x, V::Set(0.0f)), Infinity(), r);
    return V::Select(V::Less(x, V::Set(0.0f)), Nan(), r);
  }

  // sqrt(x) = x / sqrt(x), which reuses the reciprocal square root.
  Float SquareRoot(Float x) const {
    const Float r = V::Multiply(x, ReciprocalSquareRoot(x));
    // 0 * infinity would be NaN: the special values of x are their own roots.
    return V::Select(V::Equal(x, V::Set(0.0f)), x, V::Select(V::Equal(x, Infinity()), x, r));
  }

  // tanh and erf: odd functions that reach +-1.
  Float Odd(SplineId id, Float x) const {
    return WithSign(V::Min(EvaluateUpTo(id, Absolute(x), 1.0f), V::Set(1.0f)), SignOf(x));
  }
  // gelu, silu and softplus: the rectifier max(x, 0) plus an even correction that vanishes far from
  // zero.
  Float Rectified(SplineId id, Float x) const {
    return V::Add(V::Max(x, V::Set(0.0f)), EvaluateUpTo(id, Absolute(x), 0.0f));
  }
  // The spline is the tail below 1/2, which symmetry extends: sigmoid(x) = 1 - sigmoid(-x).
  Float Sigmoid(Float x) const {
    const Float tail = V::Max(EvaluateUpTo(SplineId::kSigmoid, Absolute(x), 0.0f), V::Set(0.0f));
    return V::Select(V::Less(x, V::Set(0.0f)), tail, V::Subtract(V::Set(1.0f), tail));
  }
  // The line x/6 + 1/2, clamped to [0, 1].
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
      // At minus infinity the product would be NaN; the limit is 0.
      r = V::Select(V::Less(x, V::Set(-3.0f)), V::Set(0.0f), V::Multiply(x, HardSigmoid(x)));
    }
    if constexpr (kFunction == F::kLog) r = Log(x);
    if constexpr (kFunction == F::kSqrt) r = SquareRoot(x);
    if constexpr (kFunction == F::kElu) {
      r = V::Select(V::Less(V::Set(0.0f), x), x, V::Subtract(Exp(x), V::Set(1.0f)));
    }
    if constexpr (kFunction == F::kReciprocal) r = Reciprocal(x);
    if constexpr (kFunction == F::kReciprocalSquareRoot) r = ReciprocalSquareRoot(x);
    // NaN arguments give the canonical NaN.
    return V::Select(V::Equal(x, x), r, Nan());
  }

  // Applies a function to an array. The last elements are padded with zeros to a full vector.
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

  // Applies the function that is chosen at run time.
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

// Apply a function to an array with the instructions of one set; the processor must support it.
namespace internal {
void ApproximateAvx2(const SplineTables& tables, NonlinearFunction function, float* values,
                     int64_t count);
void ApproximateAvx512(const SplineTables& tables, NonlinearFunction function, float* values,
                       int64_t count);
}  // namespace internal

}  // namespace kiln

#endif  // KILN_NUMERICS_NONLINEAR_BODY_H_
