// Reference kernels of element-wise arithmetic with NumPy broadcasting.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kiln/execute/reference_binary_rows.h"
#include "kiln/numerics/elementary.h"

namespace kiln::reference {

StatusOr<Shape> BroadcastOf(const KernelCall& call, const Tensor& a, const Tensor& b) {
  const std::optional<Shape> shape = BroadcastShapes(a.shape(), b.shape());
  if (!shape.has_value()) {
    return call.Error(
        "operands " + a.shape().ToString() + " and " + b.shape().ToString() + " do not broadcast",
        "aligned at the right, dimensions must be equal or 1");
  }
  return *shape;
}

namespace {

// Applies f to floats directly, and to integers as uint64_t, whose overflow wraps at every width.
template <typename T, typename F>
T Wrapping(T a, T b, F f) {
  if constexpr (std::is_floating_point_v<T>) {
    return f(a, b);
  } else {
    return static_cast<T>(f(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  }
}

// The element functions of the arithmetic kernels. Integers wrap.
struct AddOp {
  template <typename T>
  T operator()(T a, T b) const {
    return Wrapping(a, b, std::plus<>());
  }
};
struct SubOp {
  template <typename T>
  T operator()(T a, T b) const {
    return Wrapping(a, b, std::minus<>());
  }
};
struct MulOp {
  template <typename T>
  T operator()(T a, T b) const {
    return Wrapping(a, b, std::multiplies<>());
  }
};
// Divides; integers round towards zero. The caller has checked integer divisors for 0. The least
// integer divided by -1 would overflow in hardware; it wraps instead.
struct DivOp {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
      if (b == T{-1}) return Wrapping(T{0}, a, std::minus<>());
    }
    return static_cast<T>(a / b);
  }
};
// Returns the remainder with the sign of the divisor (Python's %, ONNX Mod with fmod = 0).
struct ModOp {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_signed_v<T>) {
      if (b == T{-1}) return T{0};
      const T rest = static_cast<T>(a % b);
      return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
    } else {
      return static_cast<T>(a % b);
    }
  }
};
// Returns the remainder with the sign of the dividend (C's fmod, ONNX Mod with fmod = 1).
struct FmodOp {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fmod(a, b);
    } else {
      if constexpr (std::is_signed_v<T>) {
        if (b == T{-1}) return T{0};
      }
      return static_cast<T>(a % b);
    }
  }
};
// Return NaN if either operand is NaN.
struct MinOp {
  template <typename T>
  T operator()(T a, T b) const {
    return a < b || a != a ? a : b;
  }
};
struct MaxOp {
  template <typename T>
  T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};

// Evaluates f on two operands of the same numeric type.
template <typename F>
KernelResult Binary(const KernelCall& call, F f) {
  KILN_RETURN_IF_ERROR(call.RequireSameType(0, 1));
  return VisitNumber(call, 0, [&](auto zero) -> KernelResult {
    using T = decltype(zero);
    const Tensor& a = call.operand(0);
    KILN_ASSIGN_OR_RETURN(Tensor out, (BinaryMap<T, T, T>(call, a, call.operand(1), a.type(), f)));
    return One(std::move(out));
  });
}

// Returns an error if an integer divisor has a zero element; that division has no result.
Status CheckDivisors(const KernelCall& call) {
  const Tensor& b = call.operand(1);
  if (!IsInteger(b.type())) return OkStatus();
  for (int64_t i = 0; i < b.size(); ++i) {
    if (b.IntAt(i) == 0)
      return call.Error(fmt::format("element {} of the divisor is 0", i), "integers need another");
  }
  return OkStatus();
}

// Combines the operands from left to right, rounding after each one.
template <typename F>
StatusOr<Tensor> Fold(const KernelCall& call, F f) {
  Tensor sum = call.operand(0);
  for (int i = 1; i < call.num_operands(); ++i) {
    KILN_RETURN_IF_ERROR(call.RequireSameType(0, i));
    KernelResult step = VisitNumber(call, 0, [&](auto zero) -> KernelResult {
      using T = decltype(zero);
      KILN_ASSIGN_OR_RETURN(Tensor out,
                            (BinaryMap<T, T, T>(call, sum, call.operand(i), sum.type(), f)));
      return One(std::move(out));
    });
    KILN_RETURN_IF_ERROR(step.status());
    sum = std::move((*step)[0]);
  }
  return sum;
}

// Fold as an operator with one result.
template <typename F>
KernelResult FoldKernel(const KernelCall& call, F f) {
  KILN_ASSIGN_OR_RETURN(Tensor out, Fold(call, f));
  return One(std::move(out));
}

// Returns base^exponent modulo 2^bits by repeated squaring.
template <typename T>
T IntegerPower(T base, uint64_t exponent) {
  uint64_t result = 1;
  for (uint64_t square = static_cast<uint64_t>(base); exponent != 0;
       exponent >>= 1, square *= square) {
    if ((exponent & 1) != 0) result *= square;
  }
  return static_cast<T>(result);
}

// Returns base^exponent in the base's type. A square is base * base in the base's type; other
// powers of floats are computed in binary64 and rounded once. Integers with a negative or
// fractional exponent truncate towards zero.
template <typename T, typename E>
T Power(T base, E exponent) {
  if constexpr (std::is_floating_point_v<T>) {
    if (exponent == E{2}) return base * base;
    return static_cast<T>(
        elementary::Pow(static_cast<double>(base), static_cast<double>(exponent)));
  } else if constexpr (std::is_integral_v<E>) {
    if (exponent >= E{0}) return IntegerPower(base, static_cast<uint64_t>(exponent));
    return TruncateTo<T>(elementary::Pow(static_cast<double>(base), static_cast<double>(exponent)));
  } else {
    return TruncateTo<T>(elementary::Pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
}

}  // namespace

KernelResult AddKernel(const KernelCall& call) { return Binary(call, AddOp()); }
KernelResult SubKernel(const KernelCall& call) { return Binary(call, SubOp()); }
KernelResult MulKernel(const KernelCall& call) { return Binary(call, MulOp()); }

// Integer division truncates and floats divide in their own type.
KernelResult DivKernel(const KernelCall& call) {
  KILN_RETURN_IF_ERROR(CheckDivisors(call));
  return Binary(call, DivOp());
}

// ONNX defines fmod = 0 for integers only.
KernelResult ModKernel(const KernelCall& call) {
  KILN_RETURN_IF_ERROR(call.RequireSameType(0, 1));
  KILN_RETURN_IF_ERROR(CheckDivisors(call));
  if (call.attributes().Int("fmod", 0) != 0) return Binary(call, FmodOp());
  if (IsFloat(call.operand(0).type())) return call.Error("fmod is 0 on floats", "set fmod to 1");
  return VisitInteger(call, 0, [&](auto zero) -> KernelResult {
    using T = decltype(zero);
    const Tensor& a = call.operand(0);
    KILN_ASSIGN_OR_RETURN(Tensor out,
                          (BinaryMap<T, T, T>(call, a, call.operand(1), a.type(), ModOp())));
    return One(std::move(out));
  });
}

// The result has the type of the base. The exponent's type may differ: integers are widened to
// int64; floats of another type than the base to binary64.
KernelResult PowKernel(const KernelCall& call) {
  const Tensor& base = call.operand(0);
  Tensor exponent = call.operand(1);
  if (exponent.type() == ElementType::kString || exponent.type() == ElementType::kBool)
    return call.UnsupportedType(1);
  const bool is_integer = IsInteger(exponent.type());
  if (is_integer) {
    exponent = CastTensor(exponent, ElementType::kInt64);
  } else if (exponent.type() != base.type()) {
    exponent = CastTensor(exponent, ElementType::kFloat64);
  }
  return VisitNumber(call, 0, [&](auto zero) -> KernelResult {
    using T = decltype(zero);
    const auto map = [&](auto e) -> KernelResult {
      using E = decltype(e);
      KILN_ASSIGN_OR_RETURN(Tensor out, (BinaryMap<T, T, E>(call, base, exponent, base.type(),
                                                            [](T b, E x) { return Power(b, x); })));
      return One(std::move(out));
    };
    if (is_integer) return map(int64_t{});
    if constexpr (std::is_same_v<T, float>) {
      if (exponent.type() == ElementType::kFloat32) return map(float{});
    }
    return map(double{});
  });
}

KernelResult MinKernel(const KernelCall& call) { return FoldKernel(call, MinOp()); }
KernelResult MaxKernel(const KernelCall& call) { return FoldKernel(call, MaxOp()); }
KernelResult SumKernel(const KernelCall& call) { return FoldKernel(call, AddOp()); }

// Sums in the element type, from the left, then divides once.
KernelResult MeanKernel(const KernelCall& call) {
  KILN_ASSIGN_OR_RETURN(const Tensor sum, Fold(call, AddOp()));
  return VisitFloat(call, 0, [&](auto zero) -> KernelResult {
    using T = decltype(zero);
    Tensor mean(sum.type(), sum.shape());
    const T count = static_cast<T>(call.num_operands());
    for (int64_t i = 0; i < sum.size(); ++i) Elements<T>(mean)[i] = Elements<T>(sum)[i] / count;
    return One(std::move(mean));
  });
}

}  // namespace kiln::reference
