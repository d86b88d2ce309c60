// Shape rules of matrix products: MatMul, Gemm and their integer variants.
#include <utility>

#include "kiln/ir/shape_rules.h"

namespace kiln::shape_rules {
namespace {

// Infers the product of a and b under the rules of numpy.matmul. Scalars are not allowed. A vector
// counts as a row (a) or column (b), and that axis is removed from the result. Leading axes
// broadcast.
Status InferProduct(Context& c, const Shape* a, const Shape* b, bool transpose_b) {
  if (a == nullptr || b == nullptr) return OkStatus();
  if (a->rank() == 0 || b->rank() == 0 || (transpose_b && b->rank() < 2)) {
    return c.Error(fmt::format("multiplies {} by {}", a->ToString(), b->ToString()),
                   transpose_b ? "a matrix for b under transpose_b"
                               : "vectors, matrices or stacks of matrices");
  }
  Ints x = a->dims();
  Ints y = b->dims();
  if (transpose_b) std::swap(y[y.size() - 1], y[y.size() - 2]);
  const bool row = x.size() == 1;
  const bool column = y.size() == 1;
  if (row) x.insert(x.begin(), 1);
  if (column) y.push_back(1);
  const int64_t inner_a = x[x.size() - 1];
  const int64_t inner_b = y[y.size() - 2];
  if (inner_a >= 0 && inner_b >= 0 && inner_a != inner_b) {
    return c.Error(
        fmt::format("multiplies {} by {}{}: inner dimensions {} and {} differ", a->ToString(),
                    b->ToString(), transpose_b ? " transposed" : "", inner_a, inner_b),
        "");
  }
  const auto batch =
      BroadcastShapes(Shape(Ints(x.begin(), x.end() - 2)), Shape(Ints(y.begin(), y.end() - 2)));
  if (!batch.has_value()) {
    return c.Error(
        fmt::format("the leading axes of {} and {} do not broadcast", a->ToString(), b->ToString()),
        "");
  }
  Ints out = batch->dims();
  if (!row) out.push_back(x[x.size() - 2]);
  if (!column) out.push_back(y[y.size() - 1]);
  c.SetShape(0, Shape(std::move(out)));
  return OkStatus();
}

}  // namespace

Status InferMatMul(Context& c) {
  return InferProduct(c, c.ShapeOf(0), c.ShapeOf(1), c.Flag("transpose_b", false));
}
Status InferMatMulInteger(Context& c) { return InferProduct(c, c.ShapeOf(0), c.ShapeOf(1), false); }
Status InferQLinearMatMul(Context& c) { return InferProduct(c, c.ShapeOf(0), c.ShapeOf(3), false); }

// Result: [m, n] from a [m, k] and b [k, n], either of them possibly transposed; c broadcasts to
// it.
Status InferGemm(Context& c) {
  const Shape* a = c.ShapeOf(0);
  const Shape* b = c.ShapeOf(1);
  for (const Shape* shape : {a, b}) {
    if (shape != nullptr && shape->rank() != 2) {
      return c.Error("an operand has shape " + shape->ToString(),
                     "matrices; put a Flatten or Reshape before it");
    }
  }
  const int trans_a = c.Flag("transA", false) ? 1 : 0;
  const int trans_b = c.Flag("transB", false) ? 1 : 0;
  const int64_t m = a != nullptr ? (*a)[trans_a] : kUnknownDim;
  const int64_t n = b != nullptr ? (*b)[1 - trans_b] : kUnknownDim;
  if (a != nullptr && b != nullptr) {
    const int64_t inner_a = (*a)[1 - trans_a];
    const int64_t inner_b = (*b)[trans_b];
    if (inner_a >= 0 && inner_b >= 0 && inner_a != inner_b) {
      return c.Error(fmt::format("multiplies {}{} by {}{}: inner dimensions {} and {} differ",
                                 a->ToString(), trans_a != 0 ? " transposed" : "", b->ToString(),
                                 trans_b != 0 ? " transposed" : "", inner_a, inner_b),
                     "");
    }
  }
  const Shape out{m, n};
  const Shape* bias = c.ShapeOf(2);
  if (bias != nullptr && !BroadcastsTo(*bias, out)) {
    return c.Error(
        fmt::format("c {} does not broadcast to the product {}", bias->ToString(), out.ToString()),
        "");
  }
  c.SetShape(0, out);
  return OkStatus();
}

}  // namespace kiln::shape_rules
