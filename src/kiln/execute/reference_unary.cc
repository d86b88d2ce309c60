// Reference kernels of functions of one operand, applied to each element.
#include <cmath>
#include <type_traits>

#include "kiln/execute/reference_unary_rows.h"
#include "kiln/numerics/elementary.h"

namespace kiln::reference {
namespace {

// Returns -x; the least integer wraps to itself.
template <typename T>
T Negate(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return -x;
  } else {
    return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(x));
  }
}

}  // namespace

// IEEE operations run in the element type, elementary functions in binary64 (MapReals).
KernelResult SqrtKernel(const KernelCall& call) {
  return MapFloats(call, [](auto x) { return std::sqrt(x); });
}
KernelResult ReciprocalKernel(const KernelCall& call) {
  return MapFloats(call, [](auto x) { return 1 / x; });
}
KernelResult NegKernel(const KernelCall& call) {
  return MapNumbers(call, [](auto x) { return Negate(x); });
}
KernelResult AbsKernel(const KernelCall& call) {
  return MapNumbers(call, [](auto x) {
    using T = decltype(x);
    if constexpr (std::is_floating_point_v<T>) return std::abs(x);
    return x < T{0} ? Negate(x) : x;
  });
}
KernelResult ExpKernel(const KernelCall& call) { return MapReals(call, elementary::Exp); }
KernelResult LogKernel(const KernelCall& call) { return MapReals(call, elementary::Log); }
KernelResult SinKernel(const KernelCall& call) { return MapReals(call, elementary::Sin); }
KernelResult CosKernel(const KernelCall& call) { return MapReals(call, elementary::Cos); }
KernelResult FloorKernel(const KernelCall& call) {
  return MapFloats(call, [](auto x) { return std::floor(x); });
}
KernelResult CeilKernel(const KernelCall& call) {
  return MapFloats(call, [](auto x) { return std::ceil(x); });
}
// Rounds halves to the even neighbour.
KernelResult RoundKernel(const KernelCall& call) {
  return MapFloats(call, [](auto x) { return std::nearbyint(x); });
}
KernelResult SignKernel(const KernelCall& call) {
  return MapNumbers(call, [](auto x) {
    using T = decltype(x);
    return x > T{0} ? T{1} : x < T{0} ? Negate(T{1}) : x;  // zeros and NaN stay
  });
}
// A boolean is false if its byte is 0.
KernelResult NotKernel(const KernelCall& call) {
  if (call.operand(0).type() != ElementType::kBool) return call.UnsupportedType(0);
  return MapElements<uint8_t>(call, [](uint8_t x) { return static_cast<uint8_t>(x == 0); });
}

}  // namespace kiln::reference
