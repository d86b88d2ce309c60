// Reference kernels of the activation functions. Elementary functions are computed in binary64 and
// rounded once to the element type (MapReals); piecewise linear ones in the element type itself.
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>

#include "kiln/execute/reference_broadcast.h"
#include "kiln/execute/reference_unary_rows.h"
#include "kiln/numerics/elementary.h"
#include "kiln/support/excerpt.h"

namespace kiln::reference {

// A NaN passes through: `x < 0` is false for it.
KernelResult ReluKernel(const KernelCall& call) {
  return MapNumbers(call, [](auto x) { return x < decltype(x){0} ? decltype(x){0} : x; });
}

// Computes x, or alpha * x below 0.
KernelResult LeakyReluKernel(const KernelCall& call) {
  const float alpha = call.attributes().Float("alpha", 0.01f);
  return MapFloats(call, [=](auto x) { return x < 0 ? static_cast<decltype(x)>(alpha) * x : x; });
}

// The slope broadcasts to the input in one direction only; the result has the input's shape.
KernelResult PReluKernel(const KernelCall& call) {
  KILN_RETURN_IF_ERROR(call.RequireSameType(0, 1));
  const Tensor& x = call.operand(0);
  const Tensor& slope = call.operand(1);
  if (BroadcastShapes(x.shape(), slope.shape()) != x.shape()) {
    return call.Error(
        "slope " + slope.shape().ToString() + " does not broadcast to " + x.shape().ToString(),
        "its axes are 1 or those of the input, aligned at the right");
  }
  return VisitNumber(call, 0, [&](auto zero) -> KernelResult {
    using T = decltype(zero);
    Tensor y(x.type(), x.shape());
    const Shape shapes[] = {x.shape(), slope.shape()};
    const RowWalk walk(x.shape(), shapes);
    walk.ForEachRow([&](int64_t first, const int64_t* offsets) {
      const T* a = Elements<T>(x) + offsets[0];
      const T* s = Elements<T>(slope) + offsets[1];
      T* out = Elements<T>(y) + first;
      for (int64_t i = 0; i < walk.row_length(); ++i) {
        const T factor = s[i * walk.row_stride(1)];
        if constexpr (std::is_floating_point_v<T>) {
          out[i] = a[i] < 0 ? a[i] * factor : a[i];
        } else {
          // Multiplies as unsigned, so that integer overflow wraps.
          out[i] = a[i] < T{0}
                       ? static_cast<T>(static_cast<uint64_t>(a[i]) * static_cast<uint64_t>(factor))
                       : a[i];
        }
      }
    });
    return One(std::move(y));
  });
}

// Computes x, or alpha * (exp(x) - 1) below 0; expm1 keeps the precision near 0.
KernelResult EluKernel(const KernelCall& call) {
  const float alpha = call.attributes().Float("alpha", 1.0f);
  return MapReals(call, [=](double x) {
    return x < 0 ? static_cast<double>(alpha) * elementary::Expm1(x) : x;
  });
}

// Bounds x by operands 1 and 2, which may be absent.
KernelResult ClipKernel(const KernelCall& call) {
  return VisitNumber(call, 0, [&](auto zero) -> KernelResult {
    using T = decltype(zero);
    // An absent bound does not clip.
    T bound[2] = {std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max()};
    if constexpr (std::is_floating_point_v<T>) {
      bound[0] = -std::numeric_limits<T>::infinity();
      bound[1] = std::numeric_limits<T>::infinity();
    }
    for (int i = 1; i <= 2; ++i) {
      if (!call.Has(i)) continue;
      KILN_RETURN_IF_ERROR(call.RequireSameType(0, i));
      KILN_RETURN_IF_ERROR(call.Number(i).status());
      bound[i - 1] = *Elements<T>(call.operand(i));
    }
    // ONNX defines Clip as min(max, max(x, min)): if the bounds cross, the upper one wins.
    return MapElements<T>(call, [low = bound[0], high = bound[1]](T x) {
      const T raised = x < low ? low : x;
      return raised > high ? high : raised;
    });
  });
}

// Computes 1 / (1 + exp(-x)); for large negative x the exponential is infinite and the result 0.
KernelResult SigmoidKernel(const KernelCall& call) {
  return MapReals(call, [](double x) { return 1 / (1 + elementary::Exp(-x)); });
}

KernelResult HardSigmoidKernel(const KernelCall& call) {
  const float alpha = call.attributes().Float("alpha", 0.2f);
  const float beta = call.attributes().Float("beta", 0.5f);
  // fmin returns its other operand for a NaN, so a NaN becomes 1.
  return MapFloats(call, [=](auto x) {
    using T = decltype(x);
    return std::fmax(T{0}, std::fmin(T{1}, static_cast<T>(alpha) * x + static_cast<T>(beta)));
  });
}

// Computes x * clamp(x / 6 + 1/2, 0, 1).
KernelResult HardSwishKernel(const KernelCall& call) {
  return MapFloats(call, [](auto x) {
    using T = decltype(x);
    return x * std::fmax(T{0}, std::fmin(T{1}, x / T{6} + T{0.5}));
  });
}

KernelResult TanhKernel(const KernelCall& call) { return MapReals(call, elementary::Tanh); }

KernelResult ErfKernel(const KernelCall& call) { return MapReals(call, elementary::Erf); }

// GELU, exact (approximate = "none") or by the tanh formula of the ONNX definition.
KernelResult GeluKernel(const KernelCall& call) {
  const std::string approximate = call.attributes().String("approximate", "none");
  if (approximate == "none") {
    return MapReals(call, [](double x) {
      return 0.5 * x * (1 + elementary::Erf(x * (std::numbers::sqrt2 / 2)));
    });
  }
  if (approximate != "tanh")
    return call.Error("approximate is " + QuotedExcerpt(approximate), "use 'none' or 'tanh'");
  const double root = std::sqrt(2 * std::numbers::inv_pi);
  return MapReals(call, [root](double x) {
    return 0.5 * x * (1 + elementary::Tanh(root * (x + 0.044715 * x * x * x)));
  });
}

// Computes ln(1 + e^x) in a form that neither overflows for large x nor cancels for small.
KernelResult SoftplusKernel(const KernelCall& call) {
  return MapReals(call, [](double x) {
    return (x > 0 ? x : 0) + elementary::Log1p(elementary::Exp(-std::abs(x)));
  });
}

}  // namespace kiln::reference
