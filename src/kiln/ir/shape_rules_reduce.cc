// Shape rules of reductions over axes: Reduce* and ArgMax.
#include <algorithm>

#include "kiln/ir/shape_rules.h"

namespace kiln::shape_rules {
namespace {

// Returns x without the given axes (ascending), or with length 1 on them (keepdims).
Shape Reduce(const Shape& x, const std::vector<int>& axes, bool keepdims) {
  Ints out;
  for (int i = 0; i < x.rank(); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), i)) {
      out.push_back(x[i]);
    } else if (keepdims) {
      out.push_back(1);
    }
  }
  return Shape(std::move(out));
}

// Result: operand 0 reduced over the axes in operand 1. Without axes all are reduced, or none under
// noop_with_empty_axes.
Status InferReduction(Context& c) {
  const Shape* x = c.ShapeOf(0);
  if (x == nullptr) return OkStatus();
  const bool keepdims = c.Flag("keepdims", true);
  KILN_ASSIGN_OR_RETURN(const std::optional<Ints> list, c.ListOf(1));
  if (c.Has(1) && !list.has_value()) {
    // The reduced axes are unknown; with keepdims the rank is known nevertheless.
    if (keepdims) c.SetShape(0, UnknownShape(x->rank()));
    return OkStatus();
  }
  std::vector<int> axes;
  if (list.has_value() && !list->empty()) {
    KILN_ASSIGN_OR_RETURN(axes, c.Axes(*list, x->rank()));
  } else if (!c.Flag("noop_with_empty_axes", false)) {
    for (int i = 0; i < x->rank(); ++i) axes.push_back(i);
  }
  c.SetShape(0, Reduce(*x, axes, keepdims));
  return OkStatus();
}

}  // namespace

Status InferReduceMean(Context& c) { return InferReduction(c); }
Status InferReduceSum(Context& c) { return InferReduction(c); }
Status InferReduceMax(Context& c) { return InferReduction(c); }
Status InferReduceMin(Context& c) { return InferReduction(c); }
Status InferReduceProd(Context& c) { return InferReduction(c); }

Status InferArgMax(Context& c) {
  const Shape* x = c.ShapeOf(0);
  if (x == nullptr) return OkStatus();
  KILN_ASSIGN_OR_RETURN(const int axis, c.Axis(c.Int("axis", 0), x->rank()));
  if ((*x)[axis] == 0) return c.Error("looks for the greatest of no elements", "a non-empty axis");
  c.SetShape(0, Reduce(*x, {axis}, c.Flag("keepdims", true)));
  return OkStatus();
}

}  // namespace kiln::shape_rules
