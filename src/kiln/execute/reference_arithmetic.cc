// Arithmetic with broadcasting.
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

// Integers go through uint64_t, where wrap-around is defined for every width.
template <typename T, typename F>
T Wrapping(T a, T b, F f) {
  if constexpr (std::is_floating_point_v<T>) {
    return f(a, b);
  } else {
    return static_cast<T>(f(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  }
}

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
// Towards zero for integers, whose divisors are checked beforehand; the least integer over -1 wraps.
struct DivOp {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
      if (b == T{-1}) return Wrapping(T{0}, a, std::minus<>());
    }
    return static_cast<T>(a / b);
  }
};
// Remainder with the sign of the divisor.
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
// Remainder with the sign of the dividend.
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
// NaN in either operand gives NaN.
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

// Integer division and remainder by zero have no result.
Status CheckDivisors(const KernelCall& call) {
  const Tensor& b = call.operand(1);
  if (!IsInteger(b.type())) return OkStatus();
  for (int64_t i = 0; i < b.size(); ++i) {
    if (b.IntAt(i) == 0)
      return call.Error(fmt::format("element {} of the divisor is 0", i), "integers need another");
  }
  return OkStatus();
}

// Operands one after the other from the left.
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

template <typename F>
KernelResult FoldKernel(const KernelCall& call, F f) {
  KILN_ASSIGN_OR_RETURN(Tensor out, Fold(call, f));
  return One(std::move(out));
}

template <typename T>
T IntegerPower(T base, uint64_t exponent) {
  uint64_t result = 1;
  for (uint64_t square = static_cast<uint64_t>(base); exponent != 0;
       exponent >>= 1, square *= square) {
    if ((exponent & 1) != 0) result *= square;
  }
  return static_cast<T>(result);
}

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

KernelResult DivKernel(const KernelCall& call) {
  KILN_RETURN_IF_ERROR(CheckDivisors(call));
  return Binary(call, DivOp());
}

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

// The exponent may have another type than the base, which gives the result its type. Narrow exponents are widened to
// int64 or, where they exceed the integer base's needs, taken as they are.
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
