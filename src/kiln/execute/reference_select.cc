// Reference kernels of operators that select by comparison (TopK, NonMaxSuppression, NonZero), and
// CumSum.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kiln/execute/reference_kernels.h"
#include "kiln/support/excerpt.h"

namespace kiln::reference {
namespace {

// Orders numbers strictly, with NaN above all others.
template <typename T>
bool Above(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
  }
  return a > b;
}

}  // namespace

// Equal elements are returned in the order of their indices. Results are sorted for every value of
// the attribute `sorted`.
KernelResult TopKKernel(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  const int rank = x.shape().rank();
  KILN_ASSIGN_OR_RETURN(const int axis, call.Axis(call.attributes().Int("axis", -1), rank));
  KILN_ASSIGN_OR_RETURN(const std::vector<int64_t> ks, call.Ints(1));
  const int64_t length = x.shape()[axis];
  if (ks.size() != 1 || ks[0] < 0 || ks[0] > length) {
    return call.Error(
        fmt::format("k is [{}] along axis {} of {}", ListExcerpt(ks), axis, x.shape().ToString()),
        "one number, at most the length of the axis");
  }
  const int64_t k = ks[0];
  const bool largest = call.attributes().Int("largest", 1) != 0;
  Shape shape = x.shape();
  shape[axis] = k;
  int64_t inner = 1;
  for (int i = axis + 1; i < rank; ++i) inner *= shape[i];
  KILN_ASSIGN_OR_RETURN(Tensor indices, call.NewTensor(ElementType::kInt64, shape));
  return VisitNumber(call, 0, [&](auto zero) -> KernelResult {
    using T = decltype(zero);
    Tensor values(x.type(), shape);
    const int64_t lines = k == 0 ? 0 : values.size() / k;
    std::vector<int64_t> order(static_cast<size_t>(length));
    for (int64_t line = 0; line < lines; ++line) {
      const T* from = Elements<T>(x) + line / inner * length * inner + line % inner;
      std::iota(order.begin(), order.end(), 0);
      std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int64_t a, int64_t b) {
        const T x_a = from[a * inner], x_b = from[b * inner];
        if (largest ? Above(x_a, x_b) : Above(x_b, x_a)) return true;
        if (largest ? Above(x_b, x_a) : Above(x_a, x_b)) return false;
        return a < b;
      });
      const int64_t to = line / inner * k * inner + line % inner;
      for (int64_t i = 0; i < k; ++i) {
        Elements<T>(values)[to + i * inner] = from[order[static_cast<size_t>(i)] * inner];
        Elements<int64_t>(indices)[to + i * inner] = order[static_cast<size_t>(i)];
      }
    }
    std::vector<Tensor> results = One(std::move(values));
    results.push_back(std::move(indices));
    return results;
  });
}

// Computes prefix sums along an axis, in binary64 or modulo 2^64; each is rounded once.
KernelResult CumSumKernel(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  KILN_RETURN_IF_ERROR(call.Number(1).status());  // a single element
  const int rank = x.shape().rank();
  if (!IsInteger(call.operand(1).type())) return call.UnsupportedType(1);
  // The integer itself: one of 64 bits may be too large to come back from binary64.
  KILN_ASSIGN_OR_RETURN(const int axis, call.Axis(call.operand(1).IntAt(0), rank));
  const bool exclusive = call.attributes().Int("exclusive", 0) != 0;
  const bool reverse = call.attributes().Int("reverse", 0) != 0;
  const int64_t length = x.shape()[axis];
  int64_t inner = 1;
  for (int i = axis + 1; i < rank; ++i) inner *= x.shape()[i];
  return VisitNumber(call, 0, [&](auto zero) -> KernelResult {
    using T = decltype(zero);
    using Sum = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
    Tensor y(x.type(), x.shape());
    const int64_t lines = length == 0 ? 0 : x.size() / length;
    for (int64_t line = 0; line < lines; ++line) {
      const int64_t first = line / inner * length * inner + line % inner;
      Sum sum = 0;
      for (int64_t i = 0; i < length; ++i) {
        const int64_t at = first + (reverse ? length - 1 - i : i) * inner;
        if (exclusive) Elements<T>(y)[at] = static_cast<T>(sum);
        sum += static_cast<Sum>(Elements<T>(x)[at]);
        if (!exclusive) Elements<T>(y)[at] = static_cast<T>(sum);
      }
    }
    return One(std::move(y));
  });
}

// Returns the indices of non-zero elements, [rank, count], in row-major order.
KernelResult NonZeroKernel(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  const int rank = x.shape().rank();
  std::vector<int64_t> found;
  const auto collect = [&](auto zero) -> KernelResult {
    using T = decltype(zero);
    for (int64_t i = 0; i < x.size(); ++i) {
      if (Elements<T>(x)[i] != T{0}) found.push_back(i);
    }
    // The result's shape depends on the data.
    const auto count = static_cast<int64_t>(found.size());
    KILN_ASSIGN_OR_RETURN(Tensor out, call.NewTensor(ElementType::kInt64, {rank, count}));
    for (int64_t n = 0; n < count; ++n) {
      int64_t left = found[static_cast<size_t>(n)];
      for (int axis = rank - 1; axis >= 0; --axis) {
        Elements<int64_t>(out)[axis * count + n] = left % x.shape()[axis];
        left /= x.shape()[axis];
      }
    }
    return One(std::move(out));
  };
  if (x.type() == ElementType::kBool) return collect(uint8_t{});
  return VisitNumber(call, 0, collect);
}

namespace {

// A box by its edges.
struct Box {
  float left, bottom, right, top;
  float area() const { return (right - left) * (top - bottom); }
};

// Returns the box of four numbers: two opposite corners (y, x, y, x) in either order, or centre x
// and y, width and height.
// The first form sorts the corners, as ONNX allows them in any order.
Box BoxOf(const float* b, bool centre) {
  if (centre) return {b[0] - b[2] / 2, b[1] - b[3] / 2, b[0] + b[2] / 2, b[1] + b[3] / 2};
  return {std::min(b[1], b[3]), std::min(b[0], b[2]), std::max(b[1], b[3]), std::max(b[0], b[2])};
}

// Returns intersection over union; 0 if a box has no area.
float Overlap(const Box& a, const Box& b) {
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const float height = std::min(a.top, b.top) - std::max(a.bottom, b.bottom);
  if (!(width > 0) || !(height > 0) || !(a.area() > 0) || !(b.area() > 0)) return 0;
  const float both = width * height;
  return both / (a.area() + b.area() - both);
}

}  // namespace

// Returns rows [batch, class, box index], sorted by batch, class and descending score, then by
// index. The number of rows depends on the data.
KernelResult NonMaxSuppressionKernel(const KernelCall& call) {
  const Tensor& boxes = call.operand(0);
  const Tensor& scores = call.operand(1);
  const Shape &b = boxes.shape(), &s = scores.shape();
  if (boxes.type() != ElementType::kFloat32) return call.UnsupportedType(0);
  if (scores.type() != ElementType::kFloat32) return call.UnsupportedType(1);
  if (b.rank() != 3 || s.rank() != 3 || b[2] != 4 || b[0] != s[0] || b[1] != s[2]) {
    return call.Error("boxes are " + b.ToString() + ", scores " + s.ToString(),
                      "[batches, boxes, 4] and [batches, classes, boxes]");
  }
  const auto number = [&](int i, double fallback) -> StatusOr<double> {
    if (!call.Has(i)) return fallback;
    return call.Number(i);
  };
  KILN_ASSIGN_OR_RETURN(const double most, number(2, 0));
  KILN_ASSIGN_OR_RETURN(const double most_overlap, number(3, 0));
  KILN_ASSIGN_OR_RETURN(const double least_score,
                        number(4, -std::numeric_limits<double>::infinity()));
  if (!(most_overlap >= 0 && most_overlap <= 1)) {
    return call.Error(fmt::format("iou_threshold is {}", most_overlap), "0 to 1");
  }
  const bool centre = call.attributes().Int("center_point_box", 0) != 0;
  std::vector<int64_t> rows;
  std::vector<int64_t> order;
  std::vector<Box> kept;
  for (int64_t image = 0; image < s[0]; ++image) {
    for (int64_t c = 0; c < s[1]; ++c) {
      const float* score = Elements<float>(scores) + (image * s[1] + c) * s[2];
      order.clear();
      for (int64_t i = 0; i < s[2]; ++i) {
        if (!call.Has(4) || static_cast<double>(score[i]) > least_score) order.push_back(i);
      }
      // Greedy suppression: a box is kept unless it overlaps a kept box of higher score too much.
      std::sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
        return Above(score[i], score[j]) || (!Above(score[j], score[i]) && i < j);
      });
      kept.clear();
      for (int64_t i : order) {
        // max_output_boxes_per_class; its default 0 keeps no box.
        if (static_cast<double>(kept.size()) >= most) break;
        const Box box = BoxOf(Elements<float>(boxes) + (image * b[1] + i) * 4, centre);
        const bool suppressed = std::any_of(kept.begin(), kept.end(), [&](const Box& other) {
          return Overlap(box, other) > static_cast<float>(most_overlap);
        });
        if (suppressed) continue;
        kept.push_back(box);
        rows.insert(rows.end(), {image, c, i});
      }
    }
  }
  const Shape shape{static_cast<int64_t>(rows.size()) / 3, 3};
  return One(Tensor::Of<int64_t>(shape, rows));
}

}  // namespace kiln::reference
