// Shape rules of operators that split, join, index, repeat and pad tensors.
#include <algorithm>

#include "kiln/ir/checked_math.h"
#include "kiln/ir/indexing.h"
#include "kiln/ir/shape_rules.h"
#include "kiln/support/excerpt.h"

namespace kiln::shape_rules {

// Result: the operands joined along `axis`. Unknown dimensions are filled in from other operands.
Status InferConcat(Context& c) {
  std::optional<Shape> out;
  bool all_known = true;
  int64_t sum = 0;
  int axis = 0;
  for (int i = 0; i < c.node().num_operands(); ++i) {
    const Shape* shape = c.ShapeOf(i);
    if (shape == nullptr) {
      all_known = false;
      continue;
    }
    KILN_ASSIGN_OR_RETURN(axis, c.Axis(c.Int("axis", 0), shape->rank()));
    if (!out.has_value()) {
      out = *shape;
    } else if (out->rank() != shape->rank()) {
      return c.Error(fmt::format("joins {} and {}", out->ToString(), shape->ToString()),
                     "as many axes in all");
    }
    // All axes but `axis` must agree; the known one of two lengths is kept.
    for (int d = 0; d < shape->rank(); ++d) {
      if (d == axis) continue;
      const int64_t other = (*shape)[d];
      if ((*out)[d] < 0) (*out)[d] = other;
      if (other >= 0 && other != (*out)[d]) {
        return c.Error(
            fmt::format("joins operands of {} and {} along axis {}", (*out)[d], other, axis) +
                fmt::format(", which differ on axis {}", d),
            "equal dimensions on all other axes");
      }
    }
    const int64_t length = (*shape)[axis];
    sum = sum < 0 || length < 0 ? kUnknownDim : SaturatingAdd(sum, length);
  }
  if (!out.has_value()) return OkStatus();
  (*out)[axis] = all_known ? sum : kUnknownDim;
  c.SetShape(0, std::move(out));
  return OkStatus();
}

// Results: pieces of operand 0 along `axis`, with the lengths in operand 1 or in num_outputs equal
// pieces, of which the last may be shorter.
Status InferSplit(Context& c) {
  const int count = c.node().num_results();
  const bool has_number = c.node().attributes().Has("num_outputs");
  if (has_number && c.Has(1))
    return c.Error("has both num_outputs and a list of lengths", "one of them");
  if (has_number && c.Int("num_outputs", 0) != count) {
    return c.Error(
        fmt::format("num_outputs is {}, but it has {} results", c.Int("num_outputs", 0), count),
        "");
  }
  KILN_ASSIGN_OR_RETURN(const std::optional<Ints> list, c.ListOf(1, 1 << 16));
  if (list.has_value() && static_cast<int>(list->size()) != count) {
    return c.Error(fmt::format("has {} lengths for {} results", list->size(), count),
                   "one a result");
  }
  const Shape* x = c.ShapeOf(0);
  if (x == nullptr) return OkStatus();
  KILN_ASSIGN_OR_RETURN(const int axis, c.Axis(c.Int("axis", 0), x->rank()));
  const int64_t length = (*x)[axis];
  Ints lengths(static_cast<size_t>(count), kUnknownDim);
  if (list.has_value()) {
    lengths = *list;
    int64_t sum = 0;
    for (int64_t l : lengths) {
      if (l < 0) return c.Error(fmt::format("cuts a piece of length {}", l), "0 or more");
      sum = SaturatingAdd(sum, l);
    }
    if (length >= 0 && sum != length) {
      return c.Error(fmt::format("lengths [{}] add up to {}, axis {} has {}", ListExcerpt(lengths),
                                 sum, axis, length),
                     "");
    }
    // Without a list the axis is divided evenly; only num_outputs allows a shorter last piece.
  } else if (!c.Has(1) && length >= 0) {
    const int64_t chunk = CeilDiv(length, count);
    const int64_t last = length - chunk * (count - 1);
    if (last < 0 || (!has_number && last != chunk)) {
      return c.Error(fmt::format("cannot cut {} elements into {} pieces", length, count),
                     has_number ? "fewer pieces" : "num_outputs or a list of lengths");
    }
    std::fill(lengths.begin(), lengths.end(), chunk);
    lengths.back() = last;
  }
  for (int i = 0; i < count; ++i) {
    Shape piece = *x;
    piece[axis] = lengths[static_cast<size_t>(i)];
    c.SetShape(i, std::move(piece));
  }
  return OkStatus();
}

// Result: operand 0 with every sliced axis reduced to its selected elements. Operands: data,
// starts, ends, axes, steps. A sliced axis is unknown unless all its numbers are constants.
Status InferSlice(Context& c) {
  const Shape* x = c.ShapeOf(0);
  KILN_ASSIGN_OR_RETURN(const std::optional<Ints> starts, c.ListOf(1));
  KILN_ASSIGN_OR_RETURN(const std::optional<Ints> ends, c.ListOf(2));
  KILN_ASSIGN_OR_RETURN(std::optional<Ints> axes, c.ListOf(3));
  KILN_ASSIGN_OR_RETURN(std::optional<Ints> steps, c.ListOf(4));
  // The number of sliced axes, from any list with a known length.
  int64_t count = kUnknownDim;
  for (int i = 1; i < 5; ++i) {
    const int64_t length = c.LengthOf(i);
    if (length < 0) continue;
    if (count >= 0 && count != length) {
      return c.Error(fmt::format("has lists of {} and {} numbers", count, length),
                     "starts, ends, axes, steps alike");
    }
    count = length;
  }
  if (x == nullptr) return OkStatus();
  if (!axes.has_value() && !c.Has(3) && count >= 0 && count <= x->rank()) {
    axes.emplace();
    for (int64_t i = 0; i < count; ++i) axes->push_back(i);
  }
  if (!c.Has(4) && count >= 0 && count <= x->rank()) steps = Ints(static_cast<size_t>(count), 1);
  if (count > x->rank())
    return c.Error(fmt::format("cuts {} axes of a tensor {}", count, x->ToString()), "");
  if (!axes.has_value()) {
    c.SetShape(0, UnknownShape(x->rank()));
    return OkStatus();
  }
  KILN_RETURN_IF_ERROR(c.Axes(*axes, x->rank()).status());  // no axis twice
  Shape out = *x;
  for (size_t i = 0; i < axes->size(); ++i) {
    const int axis = *NormaliseAxis((*axes)[i], x->rank());
    const int64_t step = steps.has_value() ? (*steps)[i] : 1;
    if (step == 0)
      return c.Error(fmt::format("the step on axis {} is 0", axis), "any other number");
    const bool known =
        starts.has_value() && ends.has_value() && steps.has_value() && (*x)[axis] >= 0;
    out[axis] =
        known ? ResolveSlice((*x)[axis], (*starts)[i], (*ends)[i], step).count : kUnknownDim;
  }
  c.SetShape(0, std::move(out));
  return OkStatus();
}

// Result: data with `axis` replaced by the shape of the indices. Constant indices are checked.
Status InferGather(Context& c) {
  const Shape* x = c.ShapeOf(0);
  const Shape* indices = c.ShapeOf(1);
  if (x == nullptr) return OkStatus();
  KILN_ASSIGN_OR_RETURN(const int axis, c.Axis(c.Int("axis", 0), x->rank()));
  if (const Tensor* constant = c.ConstantOf(1); constant != nullptr && (*x)[axis] >= 0) {
    for (int64_t i = 0; i < constant->size(); ++i) {
      const int64_t index = constant->IntAt(i);
      if (index < -(*x)[axis] || index >= (*x)[axis]) {
        return c.Error(
            fmt::format("index {} is outside axis {} of length {}", index, axis, (*x)[axis]), "");
      }
    }
  }
  if (indices == nullptr) return OkStatus();
  // The axes before `axis`, those of the indices, the axes after it.
  Ints out(x->dims().begin(), x->dims().begin() + axis);
  out.insert(out.end(), indices->dims().begin(), indices->dims().end());
  out.insert(out.end(), x->dims().begin() + axis + 1, x->dims().end());
  c.SetShape(0, Shape(std::move(out)));
  return OkStatus();
}

// Result: operand 0 broadcast with the shape that operand 1 lists.
Status InferExpand(Context& c) {
  const Shape* x = c.ShapeOf(0);
  KILN_ASSIGN_OR_RETURN(const std::optional<Ints> list, c.ListOf(1));
  if (!list.has_value()) {
    const int64_t length = c.LengthOf(1);
    if (x != nullptr && length >= 0 && length <= 16)
      c.SetShape(0, UnknownShape(std::max(x->rank(), static_cast<int>(length))));
    return OkStatus();
  }
  for (int64_t d : *list) {
    if (d < 0)
      return c.Error(fmt::format("expands to [{}]", ListExcerpt(*list)), "dimensions of 0 or more");
  }
  if (x == nullptr) return OkStatus();
  std::optional<Shape> out = BroadcastShapes(*x, Shape(*list));
  if (!out.has_value()) {
    return c.Error(fmt::format("{} does not expand to [{}]", x->ToString(), ListExcerpt(*list)),
                   "equal dimensions, or 1, counted from the last axis");
  }
  c.SetShape(0, std::move(out));
  return OkStatus();
}

// Result: every dimension of operand 0 times its repeat count.
Status InferTile(Context& c) {
  const Shape* x = c.ShapeOf(0);
  if (x == nullptr) return OkStatus();
  KILN_ASSIGN_OR_RETURN(const std::optional<Ints> repeats, c.ListOf(1));
  const int64_t length = c.LengthOf(1);
  if (length >= 0 && length != x->rank()) {
    return c.Error(fmt::format("has {} repeats for a tensor {}", length, x->ToString()),
                   "one an axis");
  }
  Shape out = UnknownShape(x->rank());
  for (int i = 0; repeats.has_value() && i < x->rank(); ++i) {
    const int64_t repeat = (*repeats)[static_cast<size_t>(i)];
    if (repeat < 0) return c.Error(fmt::format("repeats axis {} {} times", i, repeat), "0 or more");
    if ((*x)[i] >= 0) out[i] = SaturatingMul((*x)[i], repeat);
  }
  c.SetShape(0, std::move(out));
  return OkStatus();
}

// Result: operand 0 with the padded axes extended. Operands: data, pads (begins, then ends;
// negative ones crop), value, axes.
Status InferPad(Context& c) {
  const Shape* x = c.ShapeOf(0);
  if (x == nullptr) return OkStatus();
  KILN_ASSIGN_OR_RETURN(const std::optional<Ints> pads, c.ListOf(1, 2 * 16));
  KILN_ASSIGN_OR_RETURN(std::optional<Ints> axes, c.ListOf(3));
  if (!c.Has(3)) {
    axes.emplace();
    for (int i = 0; i < x->rank(); ++i) axes->push_back(i);
  }
  if (!pads.has_value() || !axes.has_value()) {
    c.SetShape(0, UnknownShape(x->rank()));
    return OkStatus();
  }
  if (pads->size() != 2 * axes->size()) {
    return c.Error(fmt::format("has {} pads for {} axes", pads->size(), axes->size()),
                   "two an axis: begins, then ends");
  }
  KILN_RETURN_IF_ERROR(c.Axes(*axes, x->rank()).status());
  Shape out = *x;
  for (size_t i = 0; i < axes->size(); ++i) {
    const int axis = *NormaliseAxis((*axes)[i], x->rank());
    const int64_t begin = (*pads)[i];
    const int64_t end = (*pads)[axes->size() + i];
    if ((*x)[axis] < 0) continue;
    // Saturation keeps absurd pads from wrapping; IsAcceptable rejects the result later.
    out[axis] = SaturatingAdd(SaturatingAdd((*x)[axis], begin), end);
    if (out[axis] < 0) {
      return c.Error(
          fmt::format("crops {} and {} elements off axis {} of length {}", SaturatingMul(begin, -1),
                      SaturatingMul(end, -1), axis, (*x)[axis]),
          "");
    }
    if ((*x)[axis] == 0 && out[axis] > 0 && c.String("mode", "constant") != "constant") {
      return c.Error(fmt::format("pads the empty axis {} with elements of itself", axis),
                     "mode constant");
    }
  }
  c.SetShape(0, std::move(out));
  return OkStatus();
}

}  // namespace kiln::shape_rules
