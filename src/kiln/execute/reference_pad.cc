// The reference kernel of Pad in the modes constant, reflect, edge and wrap, for every element
// type.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "kiln/execute/reference_kernels.h"
#include "kiln/support/excerpt.h"

namespace kiln::reference {
namespace {

// The modes of ONNX Pad.
enum class PadMode { kConstant, kReflect, kEdge, kWrap };

// Returns the input position that a padded axis shows at position p, or -1 for the constant. `p`
// counts from the first element of the input and may be negative.
// Example: positions -2 .. 5 of an axis of length 4 show
//   reflect  2 1 | 0 1 2 3 | 2 1
//   edge     0 0 | 0 1 2 3 | 3 3
//   wrap     2 3 | 0 1 2 3 | 0 1
int64_t Source(PadMode mode, int64_t p, int64_t length) {
  if (p >= 0 && p < length) return p;
  switch (mode) {
    case PadMode::kConstant:
      return -1;
    case PadMode::kEdge:
      return std::clamp<int64_t>(p, 0, length - 1);
    case PadMode::kWrap:
      return ((p % length) + length) % length;
    case PadMode::kReflect: {
      // Reflection does not repeat the edge elements, so a period is 2 * (length - 1).
      if (length == 1) return 0;
      const int64_t period = 2 * (length - 1);
      const int64_t q = ((p % period) + period) % period;
      return q < length ? q : period - q;
    }
  }
  return -1;
}

}  // namespace

// Pads with the operand constant_value, or with elements of the input. Negative pads remove
// elements.
KernelResult PadKernel(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  const int rank = x.shape().rank();
  KILN_ASSIGN_OR_RETURN(const std::vector<int64_t> pads, call.Ints(1));
  std::vector<int64_t> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (call.Has(3)) {
    KILN_ASSIGN_OR_RETURN(axes, call.Ints(3));
  }
  if (pads.size() != 2 * axes.size()) {
    return call.Error(fmt::format("{} pads for {} axes", pads.size(), axes.size()),
                      "two for each axis: begins, then ends");
  }
  KILN_RETURN_IF_ERROR(call.Axes(axes, rank).status());
  const std::string name = call.attributes().String("mode", "constant");
  PadMode mode = PadMode::kConstant;
  if (name == "reflect") {
    mode = PadMode::kReflect;
  } else if (name == "edge") {
    mode = PadMode::kEdge;
  } else if (name == "wrap") {
    mode = PadMode::kWrap;
  } else if (name != "constant") {
    return call.Error("mode is " + QuotedExcerpt(name), "use constant, reflect, edge or wrap");
  }

  Shape shape = x.shape();
  std::vector<int64_t> begins(static_cast<size_t>(rank), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    KILN_ASSIGN_OR_RETURN(const int axis, call.Axis(axes[i], rank));
    const int64_t begin = pads[i], end = pads[i + axes.size()];
    const auto in_range = [](int64_t pad) { return pad >= -kMaxElements && pad <= kMaxElements; };
    if (!in_range(begin) || !in_range(end) || shape[axis] + begin + end < 0) {
      return call.Error(
          fmt::format("pads {} and {} on axis {} of {}", begin, end, axis, x.shape().ToString()),
          "what remains must be 0 elements or more");
    }
    shape[axis] += begin + end;
    begins[static_cast<size_t>(axis)] = begin;
    if (mode != PadMode::kConstant && x.shape()[axis] == 0 && shape[axis] > 0) {
      return call.Error(fmt::format("axis {} is empty", axis),
                        "only mode constant pads an empty axis");
    }
  }
  KILN_ASSIGN_OR_RETURN(Tensor out, call.NewTensor(x.type(), shape));
  if (call.Has(2)) {
    KILN_RETURN_IF_ERROR(call.RequireSameType(0, 2));
    if (call.operand(2).size() != 1)
      return call.Error("constant_value is not a single value", "make it a scalar");
  }
  if (out.size() == 0) return One(std::move(out));
  return VisitBytes(call, 0, [&](auto zero) -> KernelResult {
    using T = decltype(zero);
    T* to = Elements<T>(out);
    const T fill = mode == PadMode::kConstant && call.Has(2) ? *Elements<T>(call.operand(2)) : T{0};
    if (rank == 0) {
      *to = *Elements<T>(x);
      return One(std::move(out));
    }
    // For each axis and each position of the result: the offset it contributes in the input, or -1
    // if the position shows the constant.
    const std::vector<int64_t> strides = RowMajorStrides(x.shape());
    std::vector<std::vector<int64_t>> source(static_cast<size_t>(rank));
    for (int d = 0; d < rank; ++d) {
      const size_t s = static_cast<size_t>(d);
      for (int64_t o = 0; o < shape[d]; ++o) {
        const int64_t position = Source(mode, o - begins[s], x.shape()[d]);
        source[s].push_back(position < 0 ? -1 : position * strides[s]);
      }
    }
    const int64_t inner = shape[rank - 1];
    const std::vector<int64_t>& last = source[static_cast<size_t>(rank - 1)];
    std::vector<int64_t> index(static_cast<size_t>(rank), 0);
    for (int64_t done = 0; done < out.size(); done += inner, to += inner) {
      // A row whose outer position is padding shows the constant in all columns.
      int64_t base = 0;
      for (int d = 0; d + 1 < rank && base >= 0; ++d) {
        const int64_t part =
            source[static_cast<size_t>(d)][static_cast<size_t>(index[static_cast<size_t>(d)])];
        base = part < 0 ? -1 : base + part;
      }
      for (int64_t i = 0; i < inner; ++i) {
        const int64_t part = last[static_cast<size_t>(i)];
        to[i] = base < 0 || part < 0 ? fill : Elements<T>(x)[base + part];
      }
      for (int d = rank - 2; d >= 0; --d) {
        if (++index[static_cast<size_t>(d)] < shape[d]) break;
        index[static_cast<size_t>(d)] = 0;
      }
    }
    return One(std::move(out));
  });
}

}  // namespace kiln::reference
