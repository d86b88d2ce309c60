// Shape rules of operators that gather and scatter elements by index, and of selections with a
// length that depends on the data.
#include <algorithm>

#include "kiln/ir/shape_rules.h"
#include "kiln/support/excerpt.h"

namespace kiln::shape_rules {
namespace {

// Checks that `indices` is nowhere longer than x, except along `axis` (-1: along no axis).
Status CheckWithin(const Context& c, const Shape& x, const Shape& indices, int axis) {
  if (indices.rank() != x.rank()) {
    return c.Error(fmt::format("indices {} for a tensor {}", indices.ToString(), x.ToString()),
                   "as many axes in both");
  }
  for (int i = 0; i < x.rank(); ++i) {
    if (i == axis || x[i] < 0 || indices[i] <= x[i]) continue;
    return c.Error(fmt::format("indices {} for a tensor {}", indices.ToString(), x.ToString()),
                   fmt::format("at most {} along axis {}", x[i], i));
  }
  return OkStatus();
}

}  // namespace

// Result: the shape of the indices.
Status InferGatherElements(Context& c) {
  const Shape* x = c.ShapeOf(0);
  const Shape* indices = c.ShapeOf(1);
  if (x != nullptr && indices != nullptr) {
    KILN_ASSIGN_OR_RETURN(const int axis, c.Axis(c.Int("axis", 0), x->rank()));
    KILN_RETURN_IF_ERROR(CheckWithin(c, *x, *indices, axis));
  }
  c.SetShape(0, indices);
  return OkStatus();
}

// Result: the shape of the data; updates must have the shape of the indices.
Status InferScatterElements(Context& c) {
  const Shape* x = c.ShapeOf(0);
  const Shape* indices = c.ShapeOf(1);
  const Shape* updates = c.ShapeOf(2);
  if (x != nullptr && indices != nullptr) {
    KILN_ASSIGN_OR_RETURN(const int axis, c.Axis(c.Int("axis", 0), x->rank()));
    KILN_RETURN_IF_ERROR(CheckWithin(c, *x, *indices, axis));
  }
  if (indices != nullptr && updates != nullptr && indices->IsKnown() && updates->IsKnown() &&
      *indices != *updates) {
    return c.Error(
        fmt::format("indices {} and updates {}", indices->ToString(), updates->ToString()),
        "the same shape");
  }
  return SameShape(c);
}

// Result: [indices without the last axis, data after batch_dims + depth axes], where depth is the
// length of the last axis of indices.
Status InferGatherND(Context& c) {
  const Shape* x = c.ShapeOf(0);
  const Shape* indices = c.ShapeOf(1);
  if (x == nullptr || indices == nullptr) return OkStatus();
  const int64_t batch = c.Int("batch_dims", 0);
  if (batch < 0 || batch >= std::min(x->rank(), indices->rank())) {
    return c.Error(fmt::format("batch_dims is {}", batch), "below the ranks of data and indices");
  }
  for (int i = 0; i < static_cast<int>(batch); ++i) {
    if ((*x)[i] >= 0 && (*indices)[i] >= 0 && (*x)[i] != (*indices)[i]) {
      return c.Error(fmt::format("data {} and indices {}", x->ToString(), indices->ToString()),
                     fmt::format("the same first {} dimensions", batch));
    }
  }
  const int64_t depth = (*indices)[indices->rank() - 1];
  if (depth < 0) return OkStatus();
  if (depth < 1 || depth > x->rank() - batch) {
    return c.Error(fmt::format("indices of {} numbers for a tensor {}", depth, x->ToString()),
                   fmt::format("1 to {}", x->rank() - batch));
  }
  Ints out(indices->dims().begin(), indices->dims().end() - 1);
  out.insert(out.end(), x->dims().begin() + static_cast<std::ptrdiff_t>(batch + depth),
             x->dims().end());
  c.SetShape(0, Shape(std::move(out)));
  return OkStatus();
}

// Result: the shape of the data. Updates must have the shape [indices without the last axis, data
// after depth axes].
Status InferScatterND(Context& c) {
  const Shape* x = c.ShapeOf(0);
  const Shape* indices = c.ShapeOf(1);
  const Shape* updates = c.ShapeOf(2);
  if (x == nullptr || indices == nullptr) return SameShape(c);
  if (x->rank() == 0 || indices->rank() == 0) {
    return c.Error(fmt::format("data {} and indices {}", x->ToString(), indices->ToString()),
                   "at least one axis each");
  }
  const int64_t depth = (*indices)[indices->rank() - 1];
  if (depth > x->rank() || depth == 0) {
    return c.Error(fmt::format("indices of {} numbers for a tensor {}", depth, x->ToString()),
                   fmt::format("1 to {}", x->rank()));
  }
  if (depth > 0 && updates != nullptr) {
    Ints wanted(indices->dims().begin(), indices->dims().end() - 1);
    wanted.insert(wanted.end(), x->dims().begin() + static_cast<std::ptrdiff_t>(depth),
                  x->dims().end());
    const Shape shape(std::move(wanted));
    if (!Compatible({ElementType::kFloat32, shape}, {ElementType::kFloat32, *updates})) {
      return c.Error(fmt::format("updates are {}", updates->ToString()), shape.ToString());
    }
  }
  return SameShape(c);
}

// Results (values, indices): the operand with `axis` of length k.
Status InferTopK(Context& c) {
  const Shape* x = c.ShapeOf(0);
  if (x == nullptr) return OkStatus();
  KILN_ASSIGN_OR_RETURN(const int axis, c.Axis(c.Int("axis", -1), x->rank()));
  KILN_ASSIGN_OR_RETURN(const std::optional<Ints> k, c.ListOf(1, 1));
  Shape out = *x;
  out[axis] = kUnknownDim;
  if (k.has_value()) {
    if (k->size() != 1 || k->front() < 0 || ((*x)[axis] >= 0 && k->front() > (*x)[axis])) {
      return c.Error(
          fmt::format("k is [{}] along axis {} of {}", ListExcerpt(*k), axis, x->ToString()),
          "one number, at most the length of the axis");
    }
    out[axis] = k->front();
  }
  c.SetShape(0, out);
  c.SetShape(1, std::move(out));
  return OkStatus();
}

// Result: the shape of operand 0; operand 1 is the axis.
Status InferCumSum(Context& c) {
  const Shape* x = c.ShapeOf(0);
  KILN_ASSIGN_OR_RETURN(const std::optional<Ints> axis, c.ListOf(1, 1));
  if (x != nullptr && axis.has_value()) {
    if (axis->size() != 1) return c.Error("the axis is an empty list", "one number");
    KILN_RETURN_IF_ERROR(c.Axis(axis->front(), x->rank()).status());
  }
  return SameShape(c);
}

// Result: one row [batch, class, box] per selected box; the number of rows is unknown.
Status InferNonMaxSuppression(Context& c) {
  const Shape* boxes = c.ShapeOf(0);
  const Shape* scores = c.ShapeOf(1);
  if (boxes != nullptr && (boxes->rank() != 3 || ((*boxes)[2] >= 0 && (*boxes)[2] != 4))) {
    return c.Error(fmt::format("boxes are {}", boxes->ToString()), "batches, boxes, 4");
  }
  if (scores != nullptr && scores->rank() != 3) {
    return c.Error(fmt::format("scores are {}", scores->ToString()), "batches, classes, boxes");
  }
  if (boxes != nullptr && scores != nullptr &&
      (!Compatible({ElementType::kFloat32, Shape{(*boxes)[0], (*boxes)[1]}},
                   {ElementType::kFloat32, Shape{(*scores)[0], (*scores)[2]}}))) {
    return c.Error(fmt::format("boxes are {}, scores {}", boxes->ToString(), scores->ToString()),
                   "as many batches and boxes in both");
  }
  c.SetShape(0, Shape{kUnknownDim, 3});
  return OkStatus();
}

// Result: [rank, number of nonzero elements]; the latter is unknown.
Status InferNonZero(Context& c) {
  const Shape* x = c.ShapeOf(0);
  c.SetShape(0, Shape{x == nullptr ? kUnknownDim : x->rank(), kUnknownDim});
  return OkStatus();
}

}  // namespace kiln::shape_rules
