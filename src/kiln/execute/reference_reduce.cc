// Reference kernels of reductions along axes, and ArgMax.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kiln/execute/reference_broadcast.h"
#include "kiln/execute/reference_kernels.h"

namespace kiln::reference {
namespace {

// The axes that a node reduces, and the shapes that result.
struct Reduction {
  std::vector<bool> reduced;  // per axis
  Shape kept;                 // reduced axes as 1
  Shape result;               // with the reduced axes as 1 (keepdims) or without them
  int64_t count = 1;          // elements per result
};

// Reads the operand `axes` and the attributes. Without axes, all axes are reduced, or none if
// noop_with_empty_axes is set.
StatusOr<Reduction> Resolve(const KernelCall& call) {
  const Shape& shape = call.operand(0).shape();
  Reduction r;
  std::vector<int64_t> axes;
  if (call.Has(1)) {
    KILN_ASSIGN_OR_RETURN(axes, call.Ints(1));
  }
  const bool all = axes.empty() && call.attributes().Int("noop_with_empty_axes", 0) == 0;
  r.reduced.assign(static_cast<size_t>(shape.rank()), all);
  KILN_ASSIGN_OR_RETURN(const std::vector<int> chosen, call.Axes(axes, shape.rank()));
  for (int axis : chosen) r.reduced[static_cast<size_t>(axis)] = true;
  const bool keep = call.attributes().Int("keepdims", 1) != 0;
  std::vector<int64_t> kept, result;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool reduced = r.reduced[static_cast<size_t>(axis)];
    kept.push_back(reduced ? 1 : shape[axis]);
    if (!reduced || keep) result.push_back(kept.back());
    if (reduced) r.count *= shape[axis];
  }
  r.kept = Shape(std::move(kept));
  r.result = Shape(std::move(result));
  return r;
}

// Reduces with an accumulator of type A: starts from `initial`, updates it by step(accumulator,
// element) in row-major order, and converts it by finish(accumulator, count).
template <typename T, typename A, typename Step, typename Finish>
KernelResult Reduce(const KernelCall& call, A initial, Step step, Finish finish) {
  const Tensor& x = call.operand(0);
  KILN_ASSIGN_OR_RETURN(const Reduction r, Resolve(call));
  KILN_ASSIGN_OR_RETURN(Tensor out, call.NewTensor(x.type(), r.result));
  // One accumulator per result; the walk visits x in memory order.
  std::vector<A> accumulators(static_cast<size_t>(out.size()), initial);
  const Shape shapes[] = {r.kept};
  const RowWalk walk(x.shape(), shapes);
  walk.ForEachRow([&](int64_t first, const int64_t* offsets) {
    const T* row = Elements<T>(x) + first;
    A* into = accumulators.data() + offsets[0];
    if (walk.row_stride(0) == 0) {
      // The whole row belongs to one result.
      A accumulator = *into;
      for (int64_t i = 0; i < walk.row_length(); ++i) accumulator = step(accumulator, row[i]);
      *into = accumulator;
    } else {
      for (int64_t i = 0; i < walk.row_length(); ++i) into[i] = step(into[i], row[i]);
    }
  });
  for (int64_t i = 0; i < out.size(); ++i)
    Elements<T>(out)[i] = finish(accumulators[static_cast<size_t>(i)], r.count);
  return One(std::move(out));
}

// The type of a sum: double for floats; uint64_t for integers, which wrap.
template <typename T>
using SumOf = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;

// Finds the extreme element. A NaN replaces the accumulator and stays, since no comparison is true.
template <typename T, typename Better>
KernelResult Extreme(const KernelCall& call, T initial, Better better) {
  return Reduce<T, T>(
      call, initial, [better](T a, T x) { return better(x, a) || x != x ? x : a; },
      [](T a, int64_t) { return a; });
}

// The neutral elements of maximum and minimum.
template <typename T>
T LeastOf() {
  return std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                     : std::numeric_limits<T>::lowest();
}
template <typename T>
T GreatestOf() {
  return std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity()
                                     : std::numeric_limits<T>::max();
}

}  // namespace

// Floats are summed in binary64 and rounded once; integers wrap.
KernelResult ReduceSumKernel(const KernelCall& call) {
  return VisitNumber(call, 0, [&](auto zero) {
    using T = decltype(zero);
    using A = SumOf<T>;
    return Reduce<T, A>(
        call, A{0}, [](A a, T x) { return a + static_cast<A>(x); },
        [](A a, int64_t) { return static_cast<T>(a); });
  });
}

// The mean of integers truncates towards zero.
KernelResult ReduceMeanKernel(const KernelCall& call) {
  return VisitNumber(call, 0, [&](auto zero) {
    using T = decltype(zero);
    return Reduce<T, double>(
        call, 0.0, [](double a, T x) { return a + static_cast<double>(x); },
        [](double a, int64_t count) {
          const double mean = a / static_cast<double>(count);
          if constexpr (std::is_floating_point_v<T>) return static_cast<T>(mean);
          return TruncateTo<T>(mean);
        });
  });
}

// The product of integers wraps.
KernelResult ReduceProdKernel(const KernelCall& call) {
  return VisitNumber(call, 0, [&](auto zero) {
    using T = decltype(zero);
    using A = SumOf<T>;
    return Reduce<T, A>(
        call, A{1}, [](A a, T x) { return a * static_cast<A>(x); },
        [](A a, int64_t) { return static_cast<T>(a); });
  });
}

KernelResult ReduceMaxKernel(const KernelCall& call) {
  const auto better = [](auto a, auto b) { return a > b; };
  // Booleans are ordered false < true.
  if (call.operand(0).type() == ElementType::kBool) return Extreme<uint8_t>(call, 0, better);
  return VisitNumber(call, 0, [&](auto zero) {
    using T = decltype(zero);
    return Extreme<T>(call, LeastOf<T>(), better);
  });
}

KernelResult ReduceMinKernel(const KernelCall& call) {
  const auto better = [](auto a, auto b) { return a < b; };
  if (call.operand(0).type() == ElementType::kBool) return Extreme<uint8_t>(call, 1, better);
  return VisitNumber(call, 0, [&](auto zero) {
    using T = decltype(zero);
    return Extreme<T>(call, GreatestOf<T>(), better);
  });
}

// The first index wins between equal elements, or the last with select_last_index.
KernelResult ArgMaxKernel(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  const int rank = x.shape().rank();
  KILN_ASSIGN_OR_RETURN(const int axis, call.Axis(call.attributes().Int("axis", 0), rank));
  const bool last = call.attributes().Int("select_last_index", 0) != 0;
  std::vector<int64_t> dims = x.shape().dims();
  const int64_t length = dims[static_cast<size_t>(axis)];
  int64_t inner = 1;
  for (int d = axis + 1; d < rank; ++d) inner *= x.shape()[d];
  if (call.attributes().Int("keepdims", 1) != 0) {
    dims[static_cast<size_t>(axis)] = 1;
  } else {
    dims.erase(dims.begin() + axis);
  }
  KILN_ASSIGN_OR_RETURN(Tensor out, call.NewTensor(ElementType::kInt64, Shape(std::move(dims))));
  if (length == 0 && out.size() > 0) {
    return call.Error(fmt::format("axis {} of {} is empty", axis, x.shape().ToString()),
                      "it needs an element to choose");
  }
  return VisitNumber(call, 0, [&](auto zero) -> KernelResult {
    using T = decltype(zero);
    for (int64_t i = 0; i < out.size(); ++i) {
      const T* column = Elements<T>(x) + (i / inner) * length * inner + i % inner;
      int64_t best = 0;
      for (int64_t k = 1; k < length; ++k) {
        const T candidate = column[k * inner], champion = column[best * inner];
        if (candidate > champion || (last && candidate == champion)) best = k;
      }
      Elements<int64_t>(out)[i] = best;
    }
    return One(std::move(out));
  });
}

}  // namespace kiln::reference
