// Shape rules of operators that keep the elements and change the axes: Reshape, Flatten, Transpose,
// Squeeze, Unsqueeze, DepthToSpace, SpaceToDepth.
#include <algorithm>

#include "kiln/ir/checked_math.h"
#include "kiln/ir/indexing.h"
#include "kiln/ir/shape_rules.h"
#include "kiln/support/excerpt.h"

namespace kiln::shape_rules {
namespace {

// Computes the dimension `inferred` of `out` (the -1 of the request; negative: none) from the
// number of elements, if the other dimensions are known. Without such a dimension checks that both
// shapes have equally many elements. Unknown dimensions that are copied from the input cancel:
// ?x64x1x1 reshaped to [0,-1] is ?x64.
Status FillInferred(Context& c, const Shape& x, const std::vector<bool>& copied, int inferred,
                    Shape& out) {
  int64_t have = 1;
  int64_t asked = 1;
  bool have_known = true;
  bool asked_known = true;
  for (int i = 0; i < x.rank(); ++i) {
    if (i < out.rank() && copied[static_cast<size_t>(i)] && x[i] < 0) continue;
    have_known = have_known && x[i] >= 0;
    have = SaturatingMul(have, std::max<int64_t>(x[i], 1) * (x[i] == 0 ? 0 : 1));
  }
  for (int i = 0; i < out.rank(); ++i) {
    if (i == inferred || (copied[static_cast<size_t>(i)] && out[i] < 0)) continue;
    asked_known = asked_known && out[i] >= 0;
    asked = SaturatingMul(asked, out[i] < 0 ? 1 : out[i]);
  }
  if (!have_known || !asked_known) return OkStatus();
  // Without a -1 both products must be equal.
  if (inferred < 0) {
    if (have != asked) {
      return c.Error(fmt::format("reshapes {} to {}", x.ToString(), out.ToString()),
                     "as many elements in both");
    }
    return OkStatus();
  }
  if (asked == 0 || have % asked != 0) {
    return c.Error(fmt::format("reshapes {} to {}, where no dimension in place of ? fits",
                               x.ToString(), out.ToString()),
                   "a product that divides the number of elements");
  }
  out[inferred] = have / asked;
  return OkStatus();
}

}  // namespace

// Result: the shape that operand 1 lists. -1 stands for the remaining elements, and 0 for a copy of
// the input's dimension (unless allowzero).
Status InferReshape(Context& c) {
  const Shape* x = c.ShapeOf(0);
  KILN_ASSIGN_OR_RETURN(const std::optional<Ints> list, c.ListOf(1));
  if (!list.has_value()) {
    const int64_t length = c.LengthOf(1);
    if (length >= 0 && length <= 16) c.SetShape(0, UnknownShape(static_cast<int>(length)));
    return OkStatus();
  }
  const bool allow_zero = c.Flag("allowzero", false);
  Shape out(*list);
  std::vector<bool> copied(list->size(), false);
  int inferred = -1;
  for (int i = 0; i < out.rank(); ++i) {
    if (out[i] < -1)
      return c.Error(fmt::format("reshapes to [{}]", ListExcerpt(*list)), "-1, 0 or more");
    if (out[i] == -1) {
      if (inferred >= 0) {
        return c.Error(fmt::format("reshapes to [{}]", ListExcerpt(*list)), "-1 at most once");
      }
      inferred = i;
    }
    if (out[i] == 0 && !allow_zero) {
      if (x == nullptr) {
        out[i] = kUnknownDim;
        continue;
      }
      if (i >= x->rank()) {
        return c.Error(fmt::format("copies dimension {} of a tensor {}", i, x->ToString()),
                       "0 only where the input has an axis");
      }
      out[i] = (*x)[i];
      copied[static_cast<size_t>(i)] = true;
    }
  }
  // With allowzero a 0 is a length, and 0 times any length is 0: -1 would be ambiguous.
  if (allow_zero && inferred >= 0 && std::find(list->begin(), list->end(), 0) != list->end()) {
    return c.Error(fmt::format("reshapes to [{}] with allowzero", ListExcerpt(*list)),
                   "0 or -1, not both");
  }
  if (x != nullptr) KILN_RETURN_IF_ERROR(FillInferred(c, *x, copied, inferred, out));
  c.SetShape(0, std::move(out));
  return OkStatus();
}

// Result: two axes, the products of the dimensions before `axis` and from `axis` on.
Status InferFlatten(Context& c) {
  const Shape* x = c.ShapeOf(0);
  if (x == nullptr) {
    c.SetShape(0, UnknownShape(2));
    return OkStatus();
  }
  int64_t axis = c.Int("axis", 1);
  if (axis < -x->rank() || axis > x->rank()) {
    return c.Error(fmt::format("axis {} is outside a tensor of {} axes", axis, x->rank()),
                   fmt::format("{} to {}", -x->rank(), x->rank()));
  }
  if (axis < 0) axis += x->rank();
  const int cut = static_cast<int>(axis);
  c.SetShape(0, Shape{ProductOf(*x, 0, cut), ProductOf(*x, cut, x->rank())});
  return OkStatus();
}

// Result: axis i has the length of the input's axis perm[i]; without perm the axes are reversed.
Status InferTranspose(Context& c) {
  const Shape* x = c.ShapeOf(0);
  const bool has_perm = c.node().attributes().Has("perm");
  Ints perm = c.node().attributes().Ints("perm");
  if (x == nullptr) {
    if (has_perm && perm.size() <= 16) c.SetShape(0, UnknownShape(static_cast<int>(perm.size())));
    return OkStatus();
  }
  if (!has_perm) {
    for (int i = x->rank() - 1; i >= 0; --i) perm.push_back(i);
  }
  Ints sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  bool valid = static_cast<int>(perm.size()) == x->rank();
  for (int i = 0; valid && i < x->rank(); ++i) valid = sorted[static_cast<size_t>(i)] == i;
  if (!valid) {
    return c.Error(
        fmt::format("perm [{}] does not permute the axes of {}", ListExcerpt(perm), x->ToString()),
        fmt::format("each of 0 to {} once", x->rank() - 1));
  }
  Shape out = *x;
  for (int i = 0; i < x->rank(); ++i) out[i] = (*x)[static_cast<int>(perm[static_cast<size_t>(i)])];
  c.SetShape(0, std::move(out));
  return OkStatus();
}

// Result: operand 0 without the axes in operand 1, or without all axes of length 1.
Status InferSqueeze(Context& c) {
  const Shape* x = c.ShapeOf(0);
  if (x == nullptr) return OkStatus();
  KILN_ASSIGN_OR_RETURN(const std::optional<Ints> list, c.ListOf(1));
  std::vector<int> axes;
  if (list.has_value()) {
    KILN_ASSIGN_OR_RETURN(axes, c.Axes(*list, x->rank()));
    for (int axis : axes) {
      if ((*x)[axis] != 1 && (*x)[axis] >= 0) {
        return c.Error(
            fmt::format("drops axis {} of {}, which is {} long", axis, x->ToString(), (*x)[axis]),
            "axes of length 1");
      }
    }
  } else if (c.Has(1)) {
    const int64_t count = c.LengthOf(1);
    if (count >= 0 && count <= x->rank())
      c.SetShape(0, UnknownShape(x->rank() - static_cast<int>(count)));
    return OkStatus();
  } else {
    if (!x->IsKnown()) return OkStatus();  // an unknown dimension may be 1
    for (int i = 0; i < x->rank(); ++i) {
      if ((*x)[i] == 1) axes.push_back(i);
    }
  }
  Ints out;
  for (int i = 0; i < x->rank(); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), i)) out.push_back((*x)[i]);
  }
  c.SetShape(0, Shape(std::move(out)));
  return OkStatus();
}

// Result: operand 0 with axes of length 1 inserted; the axes in operand 1 count in the result.
Status InferUnsqueeze(Context& c) {
  const Shape* x = c.ShapeOf(0);
  if (x == nullptr) return OkStatus();
  KILN_ASSIGN_OR_RETURN(const std::optional<Ints> list, c.ListOf(1));
  if (!list.has_value()) {
    const int64_t count = c.LengthOf(1);
    if (count >= 0 && count <= 16) c.SetShape(0, UnknownShape(x->rank() + static_cast<int>(count)));
    return OkStatus();
  }
  const int rank = x->rank() + static_cast<int>(list->size());
  KILN_ASSIGN_OR_RETURN(const std::vector<int> axes, c.Axes(*list, rank));
  Ints out;
  int next = 0;
  for (int i = 0; i < rank; ++i)
    out.push_back(std::binary_search(axes.begin(), axes.end(), i) ? 1 : (*x)[next++]);
  c.SetShape(0, Shape(std::move(out)));
  return OkStatus();
}

namespace {

// Returns the attribute blocksize. Errors: out of range, operand 0 is not NCHW.
StatusOr<int64_t> BlockSize(const Context& c) {
  const int64_t block = c.Int("blocksize", 0);
  if (block < 1 || block > (int64_t{1} << 15))
    return c.Error(fmt::format("blocksize is {}", block), "1 to 32768");
  const Shape* x = c.ShapeOf(0);
  if (x != nullptr && x->rank() != 4)
    return c.Error("the input has shape " + x->ToString(), "batch, channels, height, width");
  return block;
}

}  // namespace

// Result: [batch, channels / block^2, height * block, width * block].
Status InferDepthToSpace(Context& c) {
  KILN_ASSIGN_OR_RETURN(const int64_t block, BlockSize(c));
  const Shape* x = c.ShapeOf(0);
  if (x == nullptr) {
    c.SetShape(0, UnknownShape(4));
    return OkStatus();
  }
  Shape out = *x;
  if (out[1] >= 0) {
    if (out[1] % (block * block) != 0) {
      return c.Error(
          fmt::format("{} channels do not split into blocks of {}x{}", out[1], block, block), "");
    }
    out[1] /= block * block;
  }
  for (int i = 2; i < 4; ++i) {
    if (out[i] >= 0) out[i] = SaturatingMul(out[i], block);
  }
  c.SetShape(0, std::move(out));
  return OkStatus();
}

// Result: [batch, channels * block^2, height / block, width / block].
Status InferSpaceToDepth(Context& c) {
  KILN_ASSIGN_OR_RETURN(const int64_t block, BlockSize(c));
  const Shape* x = c.ShapeOf(0);
  if (x == nullptr) {
    c.SetShape(0, UnknownShape(4));
    return OkStatus();
  }
  Shape out = *x;
  if (out[1] >= 0) out[1] = SaturatingMul(out[1], block * block);
  for (int i = 2; i < 4; ++i) {
    if (out[i] < 0) continue;
    if (out[i] % block != 0)
      return c.Error(
          fmt::format("axis {} of {} does not split into blocks of {}", i, x->ToString(), block),
          "");
    out[i] /= block;
  }
  c.SetShape(0, std::move(out));
  return OkStatus();
}

}  // namespace kiln::shape_rules
