// Reference kernels of operators that move elements. They copy bytes and work for every element
// type.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "kiln/execute/reference_broadcast.h"
#include "kiln/execute/reference_kernels.h"
#include "kiln/execute/reference_strided.h"
#include "kiln/support/excerpt.h"

namespace kiln::reference {
namespace {

// Copies bytes; unlike memcpy, accepts null pointers if there is nothing to copy.
void CopyBytes(std::byte* to, const std::byte* from, int64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, static_cast<size_t>(bytes));
}

}  // namespace

// Implements reference_strided.h: copies the innermost axis in a loop of its own and advances the
// other axes like an odometer.
void GatherStrided(const Tensor& from, int64_t base, std::span<const int64_t> strides,
                   Tensor& out) {
  if (out.size() == 0) return;
  const int rank = out.shape().rank();
  const auto copy = [&](auto zero) {
    using T = decltype(zero);
    const T* source = Elements<T>(from);
    T* to = Elements<T>(out);
    const int64_t inner = rank > 0 ? out.shape()[rank - 1] : 1;
    const int64_t step = rank > 0 ? strides[static_cast<size_t>(rank - 1)] : 1;
    std::vector<int64_t> index(static_cast<size_t>(rank), 0);
    int64_t offset = base;
    for (int64_t done = 0; done < out.size(); done += inner) {
      if (step == 1) {
        std::memcpy(to, source + offset, static_cast<size_t>(inner) * sizeof(T));
      } else {
        for (int64_t i = 0; i < inner; ++i) to[i] = source[offset + i * step];
      }
      to += inner;
      for (int d = rank - 2; d >= 0; --d) {
        const size_t s = static_cast<size_t>(d);
        offset += strides[s];
        if (++index[s] < out.shape()[d]) break;
        offset -= strides[s] * out.shape()[d];
        index[s] = 0;
      }
    }
  };
  switch (SizeOf(from.type())) {
    case 1:
      return copy(uint8_t{});
    case 2:
      return copy(uint16_t{});
    case 4:
      return copy(uint32_t{});
    default:
      return copy(uint64_t{});
  }
}

// For each index of the outer axes, an operand contributes one contiguous piece.
KernelResult ConcatKernel(const KernelCall& call) {
  const Tensor& first = call.operand(0);
  const int rank = first.shape().rank();
  if (!call.attributes().Has("axis"))
    return call.Error("attribute 'axis' is absent", "Concat requires it");
  KILN_ASSIGN_OR_RETURN(const int axis, call.Axis(call.attributes().Int("axis", 0), rank));
  Shape shape = first.shape();
  for (int i = 1; i < call.num_operands(); ++i) {
    KILN_RETURN_IF_ERROR(call.RequireSameType(0, i));
    const Shape& other = call.operand(i).shape();
    bool fits = other.rank() == rank;
    for (int d = 0; fits && d < rank; ++d) fits = d == axis || other[d] == shape[d];
    if (!fits) {
      return call.Error(
          "operands " + first.shape().ToString() + " and " + other.ToString() + " do not join",
          fmt::format("they may differ along axis {} only", axis));
    }
    shape[axis] += other[axis];
  }
  KILN_ASSIGN_OR_RETURN(Tensor out, call.NewTensor(first.type(), shape));
  const int64_t element = SizeOf(first.type());
  // Bytes of one index of the joined axis.
  const int64_t inner = ProductOf(shape, axis + 1, rank) * element;
  const int64_t outer = ProductOf(shape, 0, axis);
  int64_t at = 0;
  for (int i = 0; i < call.num_operands(); ++i) {
    const Tensor& part = call.operand(i);
    const int64_t bytes = part.shape()[axis] * inner;
    for (int64_t o = 0; o < outer; ++o) {
      CopyBytes(out.mutable_bytes() + o * shape[axis] * inner + at, part.bytes() + o * bytes,
                bytes);
    }
    at += bytes;
  }
  return One(std::move(out));
}

// Splits along an axis into parts of given sizes, or into equal parts.
KernelResult SplitKernel(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  KILN_ASSIGN_OR_RETURN(const int axis,
                        call.Axis(call.attributes().Int("axis", 0), x.shape().rank()));
  const int64_t length = x.shape()[axis];
  std::vector<int64_t> sizes;
  if (call.Has(1)) {
    KILN_ASSIGN_OR_RETURN(sizes, call.Ints(1));
    int64_t sum = 0;
    for (int64_t s : sizes) {
      if (s < 0 || s > length - sum)
        return call.Error(fmt::format("a part of {} does not fit", s), "parts add up to the axis");
      sum += s;
    }
    if (sum != length) {
      return call.Error(fmt::format("the parts add up to {}, axis {} has {}", sum, axis, length),
                        "make them equal");
    }
  } else {
    // Splits into equal parts; the last part is smaller if they do not divide the axis.
    const int64_t count = call.attributes().Int("num_outputs", call.node.num_results());
    if (count < 1 || count > std::max<int64_t>(length, 1) || count != call.node.num_results()) {
      return call.Error(fmt::format("{} parts of an axis of {}", count, length),
                        "as many parts as results, none empty");
    }
    const int64_t part = (length + count - 1) / count;
    for (int64_t i = 0; i < count; ++i)
      sizes.push_back(std::clamp<int64_t>(length - i * part, 0, part));
  }
  const int64_t inner = ProductOf(x.shape(), axis + 1, x.shape().rank()) * SizeOf(x.type());
  const int64_t outer = ProductOf(x.shape(), 0, axis);
  std::vector<Tensor> parts;
  int64_t at = 0;
  for (int64_t size : sizes) {
    Shape shape = x.shape();
    shape[axis] = size;
    Tensor part(x.type(), shape);
    for (int64_t o = 0; o < outer; ++o) {
      CopyBytes(part.mutable_bytes() + o * size * inner, x.bytes() + (o * length + at) * inner,
                size * inner);
    }
    at += size;
    parts.push_back(std::move(part));
  }
  return parts;
}

// Slices are views with a base and strides; a negative step walks backwards.
// Example: start 5, end 1, step -2 of an axis of 6 selects the elements 5 and 3.
KernelResult SliceKernel(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  const int rank = x.shape().rank();
  KILN_ASSIGN_OR_RETURN(const std::vector<int64_t> starts, call.Ints(1));
  KILN_ASSIGN_OR_RETURN(const std::vector<int64_t> ends, call.Ints(2));
  std::vector<int64_t> axes(starts.size()), steps(starts.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (call.Has(3)) {
    KILN_ASSIGN_OR_RETURN(axes, call.Ints(3));
  }
  if (call.Has(4)) {
    KILN_ASSIGN_OR_RETURN(steps, call.Ints(4));
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    return call.Error("starts, ends, axes and steps differ in length",
                      "give one of each for every axis cut");
  }
  KILN_RETURN_IF_ERROR(call.Axes(axes, rank).status());
  Shape shape = x.shape();
  std::vector<int64_t> strides = RowMajorStrides(x.shape());
  int64_t base = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    KILN_ASSIGN_OR_RETURN(const int axis, call.Axis(axes[i], rank));
    const int64_t length = x.shape()[axis];
    const int64_t step = steps[i];
    if (step == 0 || step == INT64_MIN)
      return call.Error(fmt::format("the step along axis {} is {}", axis, step), "use another");
    // Clamps starts and ends to the positions at which a walk by `step` leaves the axis.
    const auto clamp = [&](int64_t position, int64_t low, int64_t high) {
      return std::clamp(position < 0 ? position + length : position, low, high);
    };
    const int64_t begin = step > 0 ? clamp(starts[i], 0, length)
                                   : clamp(starts[i], std::min<int64_t>(0, length - 1), length - 1);
    const int64_t end = step > 0 ? clamp(ends[i], 0, length) : clamp(ends[i], -1, length - 1);
    const int64_t span = step > 0 ? end - begin : begin - end;
    const int64_t stride = step > 0 ? step : -step;
    shape[axis] = span <= 0 ? 0 : (span - 1) / stride + 1;
    if (shape[axis] > 0) base += begin * strides[static_cast<size_t>(axis)];
    // A single element needs no stride; with a huge step the product could overflow.
    strides[static_cast<size_t>(axis)] *= shape[axis] > 1 ? step : 0;
  }
  Tensor out(x.type(), shape);
  GatherStrided(x, base, strides, out);
  return One(std::move(out));
}

// Copies one contiguous block of inner axes per index.
KernelResult GatherKernel(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  const Tensor& indices = call.operand(1);
  const int rank = x.shape().rank();
  KILN_ASSIGN_OR_RETURN(const int axis, call.Axis(call.attributes().Int("axis", 0), rank));
  if (indices.type() != ElementType::kInt32 && indices.type() != ElementType::kInt64)
    return call.UnsupportedType(1);
  const int64_t length = x.shape()[axis];
  std::vector<int64_t> where = indices.ToInts();
  for (int64_t& index : where) {
    if (index < -length || index >= length) {
      return call.Error(
          fmt::format("index {} is outside axis {} of {}", index, axis, x.shape().ToString()),
          fmt::format("indices run from {} to {}", -length, length - 1));
    }
    if (index < 0) index += length;
  }
  // The indices' dimensions replace the axis.
  std::vector<int64_t> dims(x.shape().dims().begin(), x.shape().dims().begin() + axis);
  dims.insert(dims.end(), indices.shape().dims().begin(), indices.shape().dims().end());
  dims.insert(dims.end(), x.shape().dims().begin() + axis + 1, x.shape().dims().end());
  KILN_ASSIGN_OR_RETURN(Tensor out, call.NewTensor(x.type(), Shape(std::move(dims))));
  if (out.size() == 0) return One(std::move(out));
  const int64_t inner = ProductOf(x.shape(), axis + 1, rank) * SizeOf(x.type());
  const int64_t outer = ProductOf(x.shape(), 0, axis);
  std::byte* to = out.mutable_bytes();
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t index : where) {
      CopyBytes(to, x.bytes() + (o * length + index) * inner, inner);
      to += inner;
    }
  }
  return One(std::move(out));
}

// Without `perm`, the axes are reversed.
KernelResult TransposeKernel(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  const int rank = x.shape().rank();
  std::vector<int64_t> perm(static_cast<size_t>(rank));
  for (int i = 0; i < rank; ++i) perm[static_cast<size_t>(i)] = rank - 1 - i;
  perm = call.attributes().Ints("perm", perm);
  if (static_cast<int>(perm.size()) != rank) {
    return call.Error(fmt::format("perm has {} entries for a tensor of rank {}", perm.size(), rank),
                      "one for each axis");
  }
  KILN_RETURN_IF_ERROR(call.Axes(perm, rank).status());
  const std::vector<int64_t> from = RowMajorStrides(x.shape());
  Shape shape = x.shape();
  std::vector<int64_t> strides(perm.size());
  for (int i = 0; i < rank; ++i) {
    KILN_ASSIGN_OR_RETURN(const int axis, call.Axis(perm[static_cast<size_t>(i)], rank));
    shape[i] = x.shape()[axis];
    strides[static_cast<size_t>(i)] = from[static_cast<size_t>(axis)];
  }
  Tensor out(x.type(), shape);
  GatherStrided(x, 0, strides, out);
  return One(std::move(out));
}

// Broadcasts by stride 0. Dimensions of 1 in the target keep the operand's length.
KernelResult ExpandKernel(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  KILN_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, call.Ints(1));
  for (int64_t d : dims) {
    if (d < 0) return call.Error(fmt::format("a dimension is {}", d), "dimensions are 0 or more");
  }
  const std::optional<Shape> shape = BroadcastShapes(x.shape(), Shape(dims));
  if (!shape.has_value()) {
    return call.Error(x.shape().ToString() + " does not broadcast to " + Shape(dims).ToString(),
                      "aligned at the right, dimensions must be equal or 1");
  }
  KILN_ASSIGN_OR_RETURN(Tensor out, call.NewTensor(x.type(), *shape));
  std::vector<int64_t> strides(static_cast<size_t>(shape->rank()), 0);
  const std::vector<int64_t> from = RowMajorStrides(x.shape());
  const int lead = shape->rank() - x.shape().rank();
  for (int d = 0; d < x.shape().rank(); ++d) {
    if (x.shape()[d] != 1) strides[static_cast<size_t>(lead + d)] = from[static_cast<size_t>(d)];
  }
  GatherStrided(x, 0, strides, out);
  return One(std::move(out));
}

// Repeats the tensor along each axis.
KernelResult TileKernel(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  const int rank = x.shape().rank();
  KILN_ASSIGN_OR_RETURN(const std::vector<int64_t> repeats, call.Ints(1));
  if (static_cast<int>(repeats.size()) != rank) {
    return call.Error(fmt::format("{} repeats for a tensor of rank {}", repeats.size(), rank),
                      "one for each axis");
  }
  // Views the result as [r0, d0, r1, d1, ...]; along the axes of repeats the stride is 0.
  std::vector<int64_t> wide, strides;
  Shape shape = x.shape();
  const std::vector<int64_t> from = RowMajorStrides(x.shape());
  for (int d = 0; d < rank; ++d) {
    const int64_t r = repeats[static_cast<size_t>(d)];
    if (r < 0 || r > kMaxElements)
      return call.Error(fmt::format("axis {} is repeated {} times", d, r), "0 or more");
    wide.insert(wide.end(), {r, x.shape()[d]});
    strides.insert(strides.end(), {0, from[static_cast<size_t>(d)]});
  }
  KILN_RETURN_IF_ERROR(call.CheckSize(x.type(), Shape(wide)));
  for (int d = 0; d < rank; ++d) shape[d] *= repeats[static_cast<size_t>(d)];
  Tensor out(x.type(), Shape(wide));
  GatherStrided(x, 0, strides, out);
  return One(out.Reshaped(shape));
}

namespace {

// Transposes a tensor seen as `seen` (six axes) by `perm` and returns it as `shape`. DepthToSpace
// and SpaceToDepth are such transpositions.
KernelResult Permuted(const KernelCall& call, const Shape& seen, const std::vector<int>& perm,
                      const Shape& shape) {
  const Tensor& x = call.operand(0);
  const std::vector<int64_t> from = RowMajorStrides(seen);
  Shape wide = seen;
  std::vector<int64_t> strides(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) {
    wide[static_cast<int>(i)] = seen[perm[i]];
    strides[i] = from[static_cast<size_t>(perm[i])];
  }
  Tensor out(x.type(), wide);
  GatherStrided(x, 0, strides, out);
  return One(out.Reshaped(shape));
}

// Returns the attribute blocksize of an NCHW operand, 1 to 32768.
StatusOr<int64_t> BlockSize(const KernelCall& call) {
  const int64_t block = call.attributes().Int("blocksize", 0);
  if (block < 1 || block > 1 << 15)
    return call.Error(fmt::format("blocksize is {}", block), "it is 1 or more");
  if (call.operand(0).shape().rank() != 4) {
    return call.Error("the input is " + call.operand(0).shape().ToString(), "it has the axes NCHW");
  }
  return block;
}

}  // namespace

// DCR reads the channels as [block, block, channel], CRD as [channel, block, block].
KernelResult DepthToSpaceKernel(const KernelCall& call) {
  KILN_ASSIGN_OR_RETURN(const int64_t b, BlockSize(call));
  const Shape& s = call.operand(0).shape();
  const std::string mode = call.attributes().String("mode", "DCR");
  if (mode != "DCR" && mode != "CRD")
    return call.Error("mode is " + QuotedExcerpt(mode), "use 'DCR' or 'CRD'");
  if (s[1] % (b * b) != 0) {
    return call.Error(fmt::format("{} channels do not divide by blocksize squared {}", s[1], b * b),
                      "make them");
  }
  const int64_t c = s[1] / (b * b);
  const Shape shape{s[0], c, s[2] * b, s[3] * b};
  if (mode == "DCR") return Permuted(call, {s[0], b, b, c, s[2], s[3]}, {0, 3, 4, 1, 5, 2}, shape);
  return Permuted(call, {s[0], c, b, b, s[2], s[3]}, {0, 1, 4, 2, 5, 3}, shape);
}

// The inverse of DepthToSpace in mode DCR.
KernelResult SpaceToDepthKernel(const KernelCall& call) {
  KILN_ASSIGN_OR_RETURN(const int64_t b, BlockSize(call));
  const Shape& s = call.operand(0).shape();
  if (s[2] % b != 0 || s[3] % b != 0) {
    return call.Error(fmt::format("{}x{} does not divide by blocksize {}", s[2], s[3], b),
                      "make it");
  }
  return Permuted(call, {s[0], s[1], s[2] / b, b, s[3] / b, b}, {0, 3, 5, 1, 2, 4},
                  {s[0], s[1] * b * b, s[2] / b, s[3] / b});
}

}  // namespace kiln::reference
