// Applies a function to two operands that broadcast against each other. The kernels of arithmetic
// and logic use it.
#ifndef KILN_EXECUTE_REFERENCE_BINARY_ROWS_H_
#define KILN_EXECUTE_REFERENCE_BINARY_ROWS_H_

#include <optional>

#include "kiln/execute/reference_broadcast.h"
#include "kiln/execute/reference_kernels.h"

namespace kiln::reference {

// Computes one row. An operand whose stride is 0 has a loop of its own, so that compilers vectorise
// it.
template <typename R, typename A, typename B, typename F>
void BinaryRow(R* out, const A* a, int64_t a_stride, const B* b, int64_t b_stride, int64_t length,
               F f) {
  if (a_stride == 1 && b_stride == 1) {
    for (int64_t i = 0; i < length; ++i) out[i] = f(a[i], b[i]);
  } else if (b_stride == 0) {
    const B scalar = *b;
    for (int64_t i = 0; i < length; ++i) out[i] = f(a[i * a_stride], scalar);
  } else {
    const A scalar = *a;
    for (int64_t i = 0; i < length; ++i) out[i] = f(scalar, b[i]);
  }
}

// Returns the broadcast shape of two operands, or an error that names both shapes.
StatusOr<Shape> BroadcastOf(const KernelCall& call, const Tensor& a, const Tensor& b);

// Returns f(a, b) for each pair of elements of two broadcast tensors. The result has element type
// `type`, stored as R; errors: shapes that do not broadcast, results above 4 GiB.
template <typename R, typename A, typename B, typename F>
StatusOr<Tensor> BinaryMap(const KernelCall& call, const Tensor& a, const Tensor& b,
                           ElementType type, F f) {
  KILN_ASSIGN_OR_RETURN(const Shape shape, BroadcastOf(call, a, b));
  KILN_ASSIGN_OR_RETURN(Tensor out, call.NewTensor(type, shape));
  const Shape shapes[] = {a.shape(), b.shape()};
  const RowWalk walk(shape, shapes);
  walk.ForEachRow([&](int64_t first, const int64_t* offsets) {
    BinaryRow(Elements<R>(out) + first, Elements<A>(a) + offsets[0], walk.row_stride(0),
              Elements<B>(b) + offsets[1], walk.row_stride(1), walk.row_length(), f);
  });
  return out;
}

}  // namespace kiln::reference

#endif  // KILN_EXECUTE_REFERENCE_BINARY_ROWS_H_
