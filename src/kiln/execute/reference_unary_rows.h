// Applies one function to every element of operand 0. The kernels of unary operators and
// activations use it.
#ifndef KILN_EXECUTE_REFERENCE_UNARY_ROWS_H_
#define KILN_EXECUTE_REFERENCE_UNARY_ROWS_H_

#include "kiln/execute/reference_kernels.h"

namespace kiln::reference {

// Returns f(x) for each element x of operand 0, in the same type.
template <typename T, typename F>
KernelResult MapElements(const KernelCall& call, F f) {
  const Tensor& x = call.operand(0);
  Tensor y(x.type(), x.shape());
  const T* from = Elements<T>(x);
  T* to = Elements<T>(y);
  for (int64_t i = 0; i < x.size(); ++i) to[i] = f(from[i]);
  return One(std::move(y));
}

// The same for float and double; `f` is a generic lambda.
template <typename F>
KernelResult MapFloats(const KernelCall& call, F f) {
  return VisitFloat(call, 0, [&](auto zero) { return MapElements<decltype(zero)>(call, f); });
}

// The same for a function on binary64 whose result is rounded once. Use numerics/elementary.h for
// elementary functions: it gives the same bits on every processor, which the C library does not.
template <typename F>
KernelResult MapReals(const KernelCall& call, F f) {
  return MapFloats(call,
                   [f](auto x) { return static_cast<decltype(x)>(f(static_cast<double>(x))); });
}

// The same for all numeric types.
template <typename F>
KernelResult MapNumbers(const KernelCall& call, F f) {
  return VisitNumber(call, 0, [&](auto zero) { return MapElements<decltype(zero)>(call, f); });
}

}  // namespace kiln::reference

#endif  // KILN_EXECUTE_REFERENCE_UNARY_ROWS_H_
