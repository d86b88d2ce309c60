// Kernels that apply one function to every element.
#ifndef KILN_EXECUTE_REFERENCE_UNARY_ROWS_H_
#define KILN_EXECUTE_REFERENCE_UNARY_ROWS_H_

#include "kiln/execute/reference_kernels.h"

namespace kiln::reference {

// result[i] = f(operand0[i]), of the same type.
template <typename T, typename F>
KernelResult MapElements(const KernelCall& call, F f) {
  const Tensor& x = call.operand(0);
  Tensor y(x.type(), x.shape());
  const T* from = Elements<T>(x);
  T* to = Elements<T>(y);
  for (int64_t i = 0; i < x.size(); ++i) to[i] = f(from[i]);
  return One(std::move(y));
}

// The same for float and double, `f` a generic lambda.
template <typename F>
KernelResult MapFloats(const KernelCall& call, F f) {
  return VisitFloat(call, 0, [&](auto zero) { return MapElements<decltype(zero)>(call, f); });
}

// The same for a function of binary64, whose results are rounded once: numerics/elementary.h gives the same bits on
// every processor, which the C library's functions do not.
template <typename F>
KernelResult MapReals(const KernelCall& call, F f) {
  return MapFloats(call,
                   [f](auto x) { return static_cast<decltype(x)>(f(static_cast<double>(x))); });
}

template <typename F>
KernelResult MapNumbers(const KernelCall& call, F f) {
  return VisitNumber(call, 0, [&](auto zero) { return MapElements<decltype(zero)>(call, f); });
}

}  // namespace kiln::reference

#endif  // KILN_EXECUTE_REFERENCE_UNARY_ROWS_H_
