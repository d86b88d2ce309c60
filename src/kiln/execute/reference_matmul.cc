// Reference kernels of matrix products by their definition: MatMul, Gemm and their integer forms.
// reference_fast_product.cc has fast kernels for fp32.
#include <algorithm>
#include <optional>
#include <type_traits>

#include "kiln/execute/reference_broadcast.h"
#include "kiln/execute/reference_kernels.h"
#include "kiln/execute/reference_requantise.h"
#include "kiln/support/parallel.h"

namespace kiln::reference {
namespace {

// A matrix in memory: element (i, j) is data[i * row + j * column].
template <typename T>
struct Matrix {
  const T* data;
  int64_t row, column;
};

// Multiplies a [rows, depth] by b [depth, columns] and calls store(i, j, sum) for each element.
// Sums are of type A, in the order of depth. One parallel job is about 65536 multiplications.
template <typename T, typename A, typename Store>
void Multiply(const Matrix<T>& a, const Matrix<T>& b, int64_t rows, int64_t depth, int64_t columns,
              const Store& store) {
  ParallelFor(rows, std::max<int64_t>(1, 65536 / std::max<int64_t>(1, depth * columns)),
              [&](int64_t begin, int64_t end) {
                std::vector<A> sums(static_cast<size_t>(columns));
                for (int64_t i = begin; i < end; ++i) {
                  // If b's rows are contiguous, all columns of a row of the result are summed at
                  // once, which reads b in memory order. Each sum has the same order of additions
                  // either way.
                  if (b.column == 1) {
                    std::fill(sums.begin(), sums.end(), A{0});
                    for (int64_t k = 0; k < depth; ++k) {
                      const A factor = static_cast<A>(a.data[i * a.row + k * a.column]);
                      const T* from = b.data + k * b.row;
                      for (int64_t j = 0; j < columns; ++j)
                        sums[static_cast<size_t>(j)] += factor * static_cast<A>(from[j]);
                    }
                  } else {
                    for (int64_t j = 0; j < columns; ++j) {
                      A sum{0};
                      for (int64_t k = 0; k < depth; ++k) {
                        sum += static_cast<A>(a.data[i * a.row + k * a.column]) *
                               static_cast<A>(b.data[k * b.row + j * b.column]);
                      }
                      sums[static_cast<size_t>(j)] = sum;
                    }
                  }
                  for (int64_t j = 0; j < columns; ++j) store(i, j, sums[static_cast<size_t>(j)]);
                }
              });
}

// The type of a sum: double for floats; uint64_t for integers, which wrap.
template <typename T>
using SumOf = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;

// The shapes of a product by ONNX's (NumPy's) rules: operands of rank 1 gain an axis that the
// result loses again, axes before the last two broadcast.
// Example: [5, 1, 2, 3] * [4, 3, 7] multiplies 5 x 4 pairs of matrices and gives [5, 4, 2, 7].
struct ProductShape {
  Shape a_batch, b_batch, batch;
  int64_t rows = 1, depth = 1, columns = 1;
  Shape result;
};

// Returns the shapes of a * b, or an error that names both operands.
StatusOr<ProductShape> ResolveProduct(const KernelCall& call, const Shape& a, const Shape& b,
                                      bool transpose_b) {
  const auto misfit = [&] {
    return call.Error("shapes " + a.ToString() + " and " + b.ToString() + " cannot be multiplied",
                      transpose_b ? "the last axes must agree"
                                  : "columns of the first must be rows of the second");
  };
  if (a.rank() < 1 || b.rank() < 1) return misfit();
  ProductShape p;
  p.depth = a[a.rank() - 1];
  p.rows = a.rank() > 1 ? a[a.rank() - 2] : 1;
  int64_t b_depth = b[0];
  if (b.rank() > 1) {
    b_depth = b[b.rank() - (transpose_b ? 1 : 2)];
    p.columns = b[b.rank() - (transpose_b ? 2 : 1)];
  }
  if (b_depth != p.depth) return misfit();
  const auto batch_of = [](const Shape& s) {
    return Shape(std::vector<int64_t>(s.dims().begin(), s.dims().end() - std::min(2, s.rank())));
  };
  p.a_batch = batch_of(a);
  p.b_batch = batch_of(b);
  const std::optional<Shape> batch = BroadcastShapes(p.a_batch, p.b_batch);
  if (!batch.has_value()) return misfit();
  p.batch = *batch;
  std::vector<int64_t> dims = batch->dims();
  if (a.rank() > 1) dims.push_back(p.rows);
  if (b.rank() > 1) dims.push_back(p.columns);
  p.result = Shape(std::move(dims));
  return p;
}

// Multiplies each pair of matrices and calls store(element of the result, row, column, sum).
template <typename T, typename A, typename Store>
void MultiplyBatch(const ProductShape& p, const T* a, const T* b, bool transpose_b,
                   const Store& store) {
  const Shape batches[] = {p.a_batch, p.b_batch};
  const RowWalk walk(p.batch, batches);
  const int64_t matrix = p.rows * p.columns;
  walk.ForEachRow([&](int64_t first, const int64_t* offsets) {
    for (int64_t i = 0; i < walk.row_length(); ++i) {
      const Matrix<T> left{a + (offsets[0] + i * walk.row_stride(0)) * p.rows * p.depth, p.depth,
                           1};
      const T* right_data = b + (offsets[1] + i * walk.row_stride(1)) * p.depth * p.columns;
      const Matrix<T> right =
          transpose_b ? Matrix<T>{right_data, 1, p.depth} : Matrix<T>{right_data, p.columns, 1};
      const int64_t base = (first + i) * matrix;
      Multiply<T, A>(left, right, p.rows, p.depth, p.columns, [&](int64_t r, int64_t c, A sum) {
        store(base + r * p.columns + c, r, c, sum);
      });
    }
  });
}

}  // namespace

// alpha and transpose_b are Kiln's additions (operators.def). alpha scales the exact sum before the
// single rounding.
KernelResult MatMulKernel(const KernelCall& call) {
  KILN_RETURN_IF_ERROR(call.RequireSameType(0, 1));
  const Tensor& a = call.operand(0);
  const Tensor& b = call.operand(1);
  const bool transpose_b = call.attributes().Int("transpose_b", 0) != 0 && b.shape().rank() > 1;
  const float alpha = call.attributes().Float("alpha", 1.0f);
  KILN_ASSIGN_OR_RETURN(const ProductShape p,
                        ResolveProduct(call, a.shape(), b.shape(), transpose_b));
  KILN_ASSIGN_OR_RETURN(Tensor y, call.NewTensor(a.type(), p.result));
  return VisitNumber(call, 0, [&](auto zero) -> KernelResult {
    using T = decltype(zero);
    using A = SumOf<T>;
    T* to = Elements<T>(y);
    MultiplyBatch<T, A>(p, Elements<T>(a), Elements<T>(b), transpose_b,
                        [&](int64_t at, int64_t, int64_t, A sum) {
                          if constexpr (std::is_floating_point_v<T>) {
                            to[at] = static_cast<T>(sum * static_cast<double>(alpha));
                          } else {
                            to[at] = static_cast<T>(sum);
                          }
                        });
    return One(std::move(y));
  });
}

// Computes alpha * A' * B' + beta * C, where C broadcasts to the product.
KernelResult GemmKernel(const KernelCall& call) {
  KILN_RETURN_IF_ERROR(call.RequireSameType(0, 1));
  const Tensor& a = call.operand(0);
  const Tensor& b = call.operand(1);
  if (a.shape().rank() != 2 || b.shape().rank() != 2) {
    return call.Error("operands are " + a.shape().ToString() + " and " + b.shape().ToString(),
                      "both are matrices");
  }
  const bool trans_a = call.attributes().Int("transA", 0) != 0,
             trans_b = call.attributes().Int("transB", 0) != 0;
  const int64_t rows = a.shape()[trans_a ? 1 : 0], depth = a.shape()[trans_a ? 0 : 1];
  const int64_t columns = b.shape()[trans_b ? 0 : 1];
  if (b.shape()[trans_b ? 1 : 0] != depth) {
    return call.Error(fmt::format("depths are {} and {}", depth, b.shape()[trans_b ? 1 : 0]),
                      "they must be equal");
  }
  const Shape shape{rows, columns};
  int64_t c_row = 0, c_column = 0;
  if (call.Has(2)) {
    KILN_RETURN_IF_ERROR(call.RequireSameType(0, 2));
    const Shape& c = call.operand(2).shape();
    if (BroadcastShapes(shape, c) != shape) {
      return call.Error("C is " + c.ToString(), "it broadcasts to " + shape.ToString());
    }
    // Strides of C; 0 along an axis that broadcasts.
    const int64_t c_columns = c.rank() > 0 ? c[c.rank() - 1] : 1;
    c_column = c_columns == 1 ? 0 : 1;
    c_row = c.rank() < 2 || c[0] == 1 ? 0 : c_columns;
  }
  KILN_ASSIGN_OR_RETURN(Tensor y, call.NewTensor(a.type(), shape));
  const double alpha = call.attributes().Float("alpha", 1.0f),
               beta = call.attributes().Float("beta", 1.0f);
  return VisitNumber(call, 0, [&](auto zero) -> KernelResult {
    using T = decltype(zero);
    using A = SumOf<T>;
    T* to = Elements<T>(y);
    const T* c = call.Has(2) ? Elements<T>(call.operand(2)) : nullptr;
    const int64_t a_columns = a.shape()[1], b_columns = b.shape()[1];
    const Matrix<T> left =
        trans_a ? Matrix<T>{Elements<T>(a), 1, a_columns} : Matrix<T>{Elements<T>(a), a_columns, 1};
    const Matrix<T> right =
        trans_b ? Matrix<T>{Elements<T>(b), 1, b_columns} : Matrix<T>{Elements<T>(b), b_columns, 1};
    Multiply<T, A>(left, right, rows, depth, columns, [&](int64_t i, int64_t j, A sum) {
      const T addend = c != nullptr ? c[i * c_row + j * c_column] : T{0};
      // Integers stay exact unless alpha or beta scale them.
      if (!std::is_floating_point_v<T> && alpha == 1 && beta == 1) {
        to[i * columns + j] = static_cast<T>(sum + static_cast<A>(addend));
        return;
      }
      const double value =
          alpha * static_cast<double>(static_cast<T>(sum)) + beta * static_cast<double>(addend);
      if constexpr (std::is_floating_point_v<T>) {
        to[i * columns + j] = static_cast<T>(alpha * sum + beta * static_cast<double>(addend));
      } else {
        to[i * columns + j] = TruncateTo<T>(value);
      }
    });
    return One(std::move(y));
  });
}

namespace {

// Return the axis of a matrix operand along which its zero points may vary: rows of the first
// operand, columns of the second.
int RowAxis(const Tensor& t) { return t.shape().rank() >= 2 ? t.shape().rank() - 2 : -1; }
int ColumnAxis(const Tensor& t) { return t.shape().rank() >= 2 ? t.shape().rank() - 1 : -1; }

}  // namespace

// The exact sum of code products, wrapped to int32.
KernelResult MatMulIntegerKernel(const KernelCall& call) {
  const Tensor &a = call.operand(0), &b = call.operand(1);
  KILN_ASSIGN_OR_RETURN(const ProductShape p, ResolveProduct(call, a.shape(), b.shape(), false));
  KILN_ASSIGN_OR_RETURN(const Tensor left, CodesLessZeroPoint(call, 0, 2, RowAxis(a)));
  KILN_ASSIGN_OR_RETURN(const Tensor right, CodesLessZeroPoint(call, 1, 3, ColumnAxis(b)));
  KILN_ASSIGN_OR_RETURN(Tensor y, call.NewTensor(ElementType::kInt32, p.result));
  int32_t* to = Elements<int32_t>(y);
  MultiplyBatch<int32_t, int64_t>(
      p, Elements<int32_t>(left), Elements<int32_t>(right), false,
      [&](int64_t at, int64_t, int64_t, int64_t sum) { to[at] = static_cast<int32_t>(sum); });
  return One(std::move(y));
}

// Operands: a, its scale and zero point; b, its scale and zero point; the result's scale and zero
// point.
KernelResult QLinearMatMulKernel(const KernelCall& call) {
  const Tensor &a = call.operand(0), &b = call.operand(3);
  KILN_ASSIGN_OR_RETURN(const ProductShape p, ResolveProduct(call, a.shape(), b.shape(), false));
  KILN_ASSIGN_OR_RETURN(const Tensor left, CodesLessZeroPoint(call, 0, 2, RowAxis(a)));
  KILN_ASSIGN_OR_RETURN(const Tensor right, CodesLessZeroPoint(call, 3, 5, ColumnAxis(b)));
  KILN_ASSIGN_OR_RETURN(const std::vector<double> a_scale, ScalesOf(call, 1, p.rows));
  KILN_ASSIGN_OR_RETURN(const std::vector<double> b_scale, ScalesOf(call, 4, p.columns));
  KILN_ASSIGN_OR_RETURN(const Requantiser requantise, Requantiser::Of(call, 6, 7));
  KILN_ASSIGN_OR_RETURN(Tensor y, call.NewTensor(requantise.type(), p.result));
  MultiplyBatch<int32_t, int64_t>(p, Elements<int32_t>(left), Elements<int32_t>(right), false,
                                  [&](int64_t at, int64_t row, int64_t column, int64_t sum) {
                                    requantise.Store(y, at,
                                                     static_cast<double>(sum) *
                                                         a_scale[static_cast<size_t>(row)] *
                                                         b_scale[static_cast<size_t>(column)]);
                                  });
  return One(std::move(y));
}

}  // namespace kiln::reference
