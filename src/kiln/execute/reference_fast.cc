// Implements reference_fast.h: decides which nodes can run on the fast kernels and describes each
// as a convolution or a matrix product.
#include "kiln/execute/reference_fast.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kiln/execute/reference_fast_nodes.h"
#include "kiln/ir/window.h"
#include "kiln/support/buffer.h"

namespace kiln::reference {
namespace {

// Returns true if all dimensions are known and none is 0.
bool HasElements(const Shape& shape) {
  return shape.IsKnown() &&
         std::find(shape.dims().begin(), shape.dims().end(), 0) == shape.dims().end();
}

// Returns true if all operands and the result are non-empty fp32 tensors of known shape.
bool AreDense(const NodeShapes& shapes) {
  const auto fits = [](const TensorType& t) {
    return t.element == ElementType::kFloat32 && t.shape.has_value() && HasElements(*t.shape);
  };
  return fits(shapes.result) &&
         std::all_of(shapes.operands.begin(), shapes.operands.end(),
                     [&](const auto& t) { return !t.has_value() || fits(*t); });
}

const Shape& OperandShape(const NodeShapes& shapes, size_t i) { return *shapes.operands[i]->shape; }
// Returns true if operand i is present.
bool Present(const NodeShapes& shapes, size_t i) {
  return i < shapes.operands.size() && shapes.operands[i].has_value();
}

// Returns the geometry of a convolution that the fast kernels support: at most three spatial axes
// and a padded input within budget.
std::optional<ConvGeometry> FindConvolution(const Node& node, const NodeShapes& shapes) {
  StatusOr<ConvGeometry> geometry =
      ResolveConv(node, OperandShape(shapes, 0), OperandShape(shapes, 1));
  if (!geometry.ok() || geometry->rank() > 3 || geometry->OutputShape() != *shapes.result.shape)
    return std::nullopt;
  if (Present(shapes, 2) && OperandShape(shapes, 2) != Shape{geometry->out_channels})
    return std::nullopt;
  if (!IsWithinBudget(*geometry)) return std::nullopt;
  return *std::move(geometry);
}

// Returns a Gemm as a product. A bias must be one row, and then alpha and beta must be 1.
std::optional<FastProduct> FindGemm(const Node& node, const NodeShapes& shapes) {
  const Shape &a = OperandShape(shapes, 0), &b = OperandShape(shapes, 1), &y = *shapes.result.shape;
  if (a.rank() != 2 || b.rank() != 2 || y.rank() != 2) return std::nullopt;
  const bool transpose_a = node.attributes().Int("transA", 0) != 0,
             transpose_b = node.attributes().Int("transB", 0) != 0;
  FastProduct p;
  p.rows = y[0];
  p.columns = y[1];
  p.depth = a[transpose_a ? 0 : 1];
  if (a.NumElements() != p.rows * p.depth || b.NumElements() != p.depth * p.columns)
    return std::nullopt;
  // A transposed operand only exchanges its strides.
  p.a_row = transpose_a ? 1 : p.depth;
  p.a_depth = transpose_a ? p.rows : 1;
  p.b_depth = transpose_b ? 1 : p.columns;
  p.b_column = transpose_b ? p.depth : 1;
  p.alpha = node.attributes().Float("alpha", 1.0f);
  p.matrices = {{0, 0}};
  if (Present(shapes, 2)) {
    const Shape& c = OperandShape(shapes, 2);
    if (c.rank() == 0 || c.NumElements() != p.columns || c[c.rank() - 1] != p.columns)
      return std::nullopt;
    if (p.alpha != 1 || node.attributes().Float("beta", 1.0f) != 1) return std::nullopt;
    p.has_bias = true;
  }
  return p;
}

// Returns the offsets of the first elements of the left and right matrices of each product. The
// leading axes broadcast to y's.
std::vector<std::pair<int64_t, int64_t>> MatricesOf(const Shape& a, const Shape& b,
                                                    const Shape& y) {
  const int leading = y.rank() - 2;
  int64_t count = 1;
  for (int d = 0; d < leading; ++d) count *= y[d];
  const auto first_of = [&](const Shape& operand, int64_t index) {
    int64_t matrix = 0, stride = 1;
    for (int d = leading - 1; d >= 0; --d) {
      const int64_t here = index % y[d];
      index /= y[d];
      const int axis = d - leading + operand.rank() - 2;
      if (axis < 0) continue;
      if (operand[axis] != 1) matrix += here * stride;
      stride *= operand[axis];
    }
    return matrix * operand[operand.rank() - 2] * operand[operand.rank() - 1];
  };
  std::vector<std::pair<int64_t, int64_t>> matrices;
  for (int64_t i = 0; i < count; ++i) matrices.emplace_back(first_of(a, i), first_of(b, i));
  return matrices;
}

// Returns a MatMul as one product or several.
std::optional<FastProduct> FindMatMul(const Node& node, const NodeShapes& shapes) {
  Shape a = OperandShape(shapes, 0), y = *shapes.result.shape;
  const Shape& b = OperandShape(shapes, 1);
  if (a.rank() < 2 || b.rank() < 2) return std::nullopt;
  if (b.rank() == 2 && a.rank() > 2) {
    // A right operand without leading axes multiplies one tall matrix instead of many small ones.
    const int64_t depth = a[a.rank() - 1], columns = y[y.rank() - 1];
    a = Shape{a.NumElements() / depth, depth};
    y = Shape{y.NumElements() / columns, columns};
  }
  const bool transpose_b = node.attributes().Int("transpose_b", 0) != 0;
  FastProduct p;
  p.rows = a[a.rank() - 2];
  p.depth = a[a.rank() - 1];
  p.columns = y[y.rank() - 1];
  if (b[b.rank() - (transpose_b ? 1 : 2)] != p.depth ||
      b[b.rank() - (transpose_b ? 2 : 1)] != p.columns) {
    return std::nullopt;
  }
  p.a_row = p.depth;
  p.a_depth = 1;
  p.b_depth = transpose_b ? 1 : p.columns;
  p.b_column = transpose_b ? p.depth : 1;
  p.alpha = node.attributes().Float("alpha", 1.0f);
  p.matrices = MatricesOf(a, b, y);
  return p;
}

}  // namespace

StatusOr<std::shared_ptr<void>> AllocateBuffer(size_t bytes) {
  std::shared_ptr<void> storage = AllocateUninitialised(bytes);
  if (storage == nullptr) {
    return absl::ResourceExhaustedError(
        fmt::format("out of memory: {} bytes are needed at once", bytes));
  }
  return storage;
}

// Clip's bounds must be constants, because a plan fixes them; an absent bound is infinite.
std::optional<PostOperations> FindActivation(const Node& node) {
  using internal::Fp32Activation;
  PostOperations post;
  switch (node.op()) {
    case Op::kRelu:
      post.activation = Fp32Activation::kRelu;
      return post;
    case Op::kLeakyRelu:
      post.activation = Fp32Activation::kLeakyRelu;
      post.low = node.attributes().Float("alpha", 0.01f);
      return post;
    case Op::kClip: {
      post.activation = Fp32Activation::kClip;
      post.low = -std::numeric_limits<float>::infinity();
      post.high = std::numeric_limits<float>::infinity();
      for (int i = 1; i <= 2; ++i) {
        const Value* bound = node.operand(i);
        if (bound == nullptr) continue;
        if (!bound->is_constant() || bound->constant().type() != ElementType::kFloat32 ||
            bound->constant().size() != 1) {
          return std::nullopt;
        }
        (i == 1 ? post.low : post.high) = static_cast<float>(bound->constant().ValueAt(0));
      }
      return post;
    }
    default:
      return std::nullopt;
  }
}

std::shared_ptr<const float> WeightCache::Get(const Value& constant,
                                              const std::vector<int64_t>& use, size_t elements,
                                              const std::function<void(float* to)>& pack) {
  auto& entries = entries_[&constant];
  // A node uses a constant in few ways, so a linear search is enough.
  for (const auto& [known, panels] : entries) {
    if (known == use) return panels;
  }
  const StatusOr<std::shared_ptr<void>> bytes = AllocateBuffer(elements * sizeof(float));
  if (!bytes.ok()) return nullptr;
  auto* to = static_cast<float*>(bytes->get());
  pack(to);
  entries.emplace_back(use, std::shared_ptr<const float>(*bytes, to));
  return entries.back().second;
}

// The caller adds counts, sums, biases and destinations.
internal::Fp32Finish FinishOf(const PostOperations& post, float alpha) {
  internal::Fp32Finish finish;
  finish.alpha = alpha;
  finish.activation = post.activation;
  finish.low = post.low;
  finish.high = post.high;
  return finish;
}

bool IsFast(const Node& node, const NodeShapes& shapes) {
  if (!AreDense(shapes)) return false;
  switch (node.op()) {
    case Op::kConv:
      return FindConvolution(node, shapes).has_value();
    case Op::kGemm:
      return FindGemm(node, shapes).has_value();
    case Op::kMatMul:
      return FindMatMul(node, shapes).has_value();
    default:
      return false;
  }
}

// IsFast has checked that the geometry exists.
std::unique_ptr<FastNode> MakeFast(const Node& node, const NodeShapes& shapes,
                                   const PostOperations& post, WeightCache& weights) {
  if (node.op() == Op::kConv)
    return MakeFastConvolution(node, *FindConvolution(node, shapes), post, weights);
  return MakeFastProduct(
      node, *(node.op() == Op::kGemm ? FindGemm(node, shapes) : FindMatMul(node, shapes)), post,
      weights);
}

}  // namespace kiln::reference
