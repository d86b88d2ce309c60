// Shape rules of operators that make their result from shapes or numbers (ConstantOfShape, Shape,
// Size, Range), and of Resize.
#include <algorithm>
#include <cmath>

#include "kiln/ir/indexing.h"
#include "kiln/ir/shape_rules.h"
#include "kiln/support/excerpt.h"

namespace kiln::shape_rules {

// Result: the shape that operand 0 lists. The element type is that of the attribute `value`.
Status InferConstantOfShape(Context& c) {
  if (const Tensor* value = c.node().attributes().FindTensor("value")) {
    if (value->size() != 1)
      return c.Error("the value has shape " + value->shape().ToString(), "one element");
    c.SetElement(0, value->type());
  }
  KILN_ASSIGN_OR_RETURN(const std::optional<Ints> list, c.ListOf(0));
  if (list.has_value()) {
    for (int64_t d : *list) {
      if (d < 0)
        return c.Error(fmt::format("makes a tensor of shape [{}]", ListExcerpt(*list)),
                       "0 or more");
    }
    c.SetShape(0, Shape(*list));
  } else if (const int64_t length = c.LengthOf(0); length >= 0 && length <= 16) {
    c.SetShape(0, UnknownShape(static_cast<int>(length)));
  }
  return OkStatus();
}

// Result: a list with the operand's dimensions from `start` to `end`; only its length is inferred.
Status InferShape(Context& c) {
  const Shape* x = c.ShapeOf(0);
  if (x == nullptr) {
    c.SetShape(0, UnknownShape(1));
    return OkStatus();
  }
  const int64_t rank = x->rank();
  // As in Slice, numbers are clamped; unlike in Slice, a missing `end` means the end.
  const int64_t end = c.Int("end", rank);
  c.SetShape(0, Shape{ResolveSlice(rank, c.Int("start", 0), end, 1).count});
  return OkStatus();
}

// Result: a scalar.
Status InferSize(Context& c) {
  c.SetShape(0, Shape{});
  return OkStatus();
}

// Result: ceil((limit - start) / delta) numbers, at least 0; an unknown number if the operands are
// not constants.
Status InferRange(Context& c) {
  for (int i = 0; i < 3; ++i) {
    const Shape* x = c.ShapeOf(i);
    if (x != nullptr && x->IsKnown() && CheckedNumElements(*x) != 1) {
      return c.Error(fmt::format("operand {} has shape {}", i, x->ToString()), "scalars");
    }
  }
  c.SetShape(0, UnknownShape(1));
  const Tensor* start = c.ConstantOf(0);
  const Tensor* limit = c.ConstantOf(1);
  const Tensor* delta = c.ConstantOf(2);
  if (start == nullptr || limit == nullptr || delta == nullptr) return OkStatus();
  double count = 0;
  // Differences of int64 numbers need 65 bits. The quotient is rounded up by hand.
  if (IsInteger(start->type())) {
    const auto step = static_cast<__int128>(delta->IntAt(0));
    if (step == 0) return c.Error("the step is 0", "any other number");
    const __int128 span = static_cast<__int128>(limit->IntAt(0)) - start->IntAt(0);
    const __int128 steps = span / step + (span % step != 0 && (span < 0) == (step < 0) ? 1 : 0);
    count = steps > 0 ? static_cast<double>(steps) : 0;
  } else {
    count = std::ceil((limit->ValueAt(0) - start->ValueAt(0)) / delta->ValueAt(0));
    if (!std::isfinite(count))
      return c.Error("start, limit and step give no finite number of elements",
                     "a step that is not 0");
    count = std::max(count, 0.0);
  }
  if (count > static_cast<double>(kMaxElements)) {
    return c.Error(fmt::format("would make {} elements", count),
                   fmt::format("at most {}", kMaxElements));
  }
  c.SetShape(0, Shape{static_cast<int64_t>(count)});
  return OkStatus();
}

namespace {

// Returns whether an operand is present and not known to be empty; exporters write empty tensors
// for "none".
bool IsGiven(const Context& c, int i) {
  if (!c.Has(i)) return false;
  const Shape* shape = c.ShapeOf(i);
  return shape == nullptr || !shape->IsKnown() || CheckedNumElements(*shape) != 0;
}

// Returns a computed length as a dimension. Errors: negative, NaN, above kMaxElements.
StatusOr<int64_t> ToDimension(const Context& c, double size) {
  if (!(size >= 0) || size > static_cast<double>(kMaxElements)) {
    return c.Error(fmt::format("resizes an axis to {} elements", size),
                   fmt::format("0 to {}", kMaxElements));
  }
  return static_cast<int64_t>(size);
}

}  // namespace

// Result: operand 0 with the resized axes replaced, either scaled by operand 2 or set to operand 3.
// Operands: data, roi, scales, sizes; exactly one of scales and sizes must be given.
Status InferResize(Context& c) {
  const Shape* x = c.ShapeOf(0);
  const bool by_scales = IsGiven(c, 2);
  const bool by_sizes = IsGiven(c, 3);
  if (by_scales == by_sizes) {
    return c.Error(by_scales ? "has both scales and sizes" : "has neither scales nor sizes",
                   "one of them");
  }
  if (x == nullptr) return OkStatus();
  Ints axes = c.node().attributes().Ints("axes");
  if (!c.node().attributes().Has("axes")) {
    for (int i = 0; i < x->rank(); ++i) axes.push_back(i);
  }
  KILN_RETURN_IF_ERROR(c.Axes(axes, x->rank()).status());
  for (int64_t& axis : axes) axis = *NormaliseAxis(axis, x->rank());
  const int operand = by_scales ? 2 : 3;
  const int64_t length = c.LengthOf(operand);
  if (length >= 0 && length != static_cast<int64_t>(axes.size())) {
    return c.Error(
        fmt::format("has {} {} for {} axes", length, by_scales ? "scales" : "sizes", axes.size()),
        "one an axis");
  }
  Shape out = *x;
  const Tensor* numbers = c.ConstantOf(operand);
  if (numbers != nullptr && numbers->size() != static_cast<int64_t>(axes.size())) {
    return c.Error(fmt::format("operand {} has shape {}", operand, numbers->shape().ToString()),
                   "a list");
  }
  if (numbers == nullptr) {
    for (int64_t axis : axes) out[static_cast<int>(axis)] = kUnknownDim;
  } else if (by_scales) {
    const bool crops = c.String("coordinate_transformation_mode", "") == "tf_crop_and_resize";
    const Tensor* roi = c.ConstantOf(1);
    if (crops && IsGiven(c, 1) && roi != nullptr &&
        roi->size() != 2 * static_cast<int64_t>(axes.size())) {
      return c.Error(fmt::format("roi has shape {}", roi->shape().ToString()),
                     "two numbers an axis: starts, then ends");
    }
    if (crops && !IsGiven(c, 1)) return c.Error("crops without roi", "operand 1");
    for (size_t i = 0; i < axes.size(); ++i) {
      int64_t& dim = out[static_cast<int>(axes[i])];
      const auto at = static_cast<int64_t>(i);
      const auto scale = static_cast<float>(numbers->ValueAt(at));
      if (!(scale > 0))
        return c.Error(fmt::format("the scale of axis {} is {}", axes[i], scale), "above 0");
      if (dim < 0 || (crops && roi == nullptr)) {
        dim = kUnknownDim;
        continue;
      }
      // Single precision, as in runtimes: there 0.6 * 5 is 3.
      float size = static_cast<float>(dim);
      if (crops) {
        size *= static_cast<float>(roi->ValueAt(at + static_cast<int64_t>(axes.size())) -
                                   roi->ValueAt(at));
      }
      KILN_ASSIGN_OR_RETURN(dim, ToDimension(c, std::floor(size * scale)));
    }
  } else {
    const std::string policy = c.String("keep_aspect_ratio_policy", "stretch");
    const Ints sizes = numbers->ToInts();
    for (int64_t size : sizes) {
      if (size < 0)
        return c.Error(fmt::format("resizes to sizes [{}]", ListExcerpt(sizes)), "0 or more");
    }
    // The policies that keep the aspect ratio use one scale for all axes: the smallest quotient of
    // requested and present size (not_larger) or the largest (not_smaller).
    double scale = -1;
    bool known = true;
    for (size_t i = 0; policy != "stretch" && i < axes.size(); ++i) {
      const int64_t dim = (*x)[static_cast<int>(axes[i])];
      known = known && dim > 0;
      // The quotient is only used if all dimensions are known.
      const double s = static_cast<double>(sizes[i]) / static_cast<double>(dim);
      scale = scale < 0 ? s : policy == "not_larger" ? std::min(scale, s) : std::max(scale, s);
    }
    for (size_t i = 0; i < axes.size(); ++i) {
      int64_t& dim = out[static_cast<int>(axes[i])];
      if (policy == "stretch") {
        dim = sizes[i];
      } else if (!known) {
        dim = kUnknownDim;
      } else {
        KILN_ASSIGN_OR_RETURN(dim,
                              ToDimension(c, std::floor(scale * static_cast<double>(dim) + 0.5)));
      }
    }
  }
  c.SetShape(0, std::move(out));
  return OkStatus();
}

}  // namespace kiln::shape_rules
