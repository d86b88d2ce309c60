// Pools over any number of spatial axes.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "kiln/execute/reference_kernels.h"
#include "kiln/ir/window.h"
#include "kiln/support/parallel.h"

namespace kiln::reference {
namespace {

bool Next(std::vector<int64_t>& index, const std::vector<int64_t>& begin, const std::vector<int64_t>& end) {
  for (size_t d = index.size(); d-- > 0;) {
    if (++index[d] < end[d]) return true;
    index[d] = begin[d];
  }
  return false;
}

struct Window {
  int64_t places = 0;  // kernel positions inside the padded input
  int64_t inside = 0;  // of those, inside the input
};

// Walks the windows of every channel of every image. For each window calls Start(), then Element(input element) for
// each place inside the input, in row-major order, then Finish(output element, window). `prototype` is copied for each
// thread.
template <typename Body>
void ForEachWindow(const PoolGeometry& g, const Body& prototype) {
  const size_t rank = g.axes.size();
  std::vector<int64_t> x_strides(rank), y_strides(rank);
  int64_t x_plane = g.nhwc ? g.channels : 1, y_plane = x_plane;
  for (size_t d = rank; d-- > 0;) {
    x_strides[d] = x_plane;
    y_strides[d] = y_plane;
    x_plane *= g.axes[d].input;
    y_plane *= g.axes[d].output;
  }
  ParallelFor(g.batch * g.channels, 1, [&](int64_t first, int64_t last) {
    Body body = prototype;
    std::vector<int64_t> zero(rank, 0), outputs(rank), o(rank), k(rank), k_begin(rank), k_end(rank);
    for (size_t d = 0; d < rank; ++d) outputs[d] = g.axes[d].output;
    for (int64_t plane = first; plane < last; ++plane) {
      const int64_t n = plane / g.channels, c = plane % g.channels;
      const int64_t x_base = g.nhwc ? n * x_plane + c : plane * x_plane;
      const int64_t y_base = g.nhwc ? n * y_plane + c : plane * y_plane;
      std::fill(o.begin(), o.end(), 0);
      do {
        Window window{1, 1};
        int64_t y_at = y_base;
        for (size_t d = 0; d < rank; ++d) {
          const WindowAxis& axis = g.axes[d];
          const int64_t start = axis.InputPosition(o[d], 0);
          // First and end of the kernel positions that fall on [low, high).
          const auto clip = [&](int64_t low, int64_t high, int64_t* begin, int64_t* end) {
            *begin = start >= low ? 0 : (low - start + axis.dilation - 1) / axis.dilation;
            *end = start >= high ? 0 : std::min(axis.kernel, (high - start + axis.dilation - 1) / axis.dilation);
            *end = std::max(*begin, *end);
          };
          int64_t padded_begin = 0, padded_end = 0;
          clip(-axis.pad_begin, axis.input + axis.pad_end, &padded_begin, &padded_end);
          clip(0, axis.input, &k_begin[d], &k_end[d]);
          window.places *= padded_end - padded_begin;
          window.inside *= k_end[d] - k_begin[d];
          y_at += o[d] * y_strides[d];
        }
        body.Start();
        if (window.inside > 0) {
          k = k_begin;
          do {
            int64_t x_at = x_base;
            for (size_t d = 0; d < rank; ++d) x_at += g.axes[d].InputPosition(o[d], k[d]) * x_strides[d];
            body.Element(x_at);
          } while (Next(k, k_begin, k_end));
        }
        body.Finish(y_at, window);
      } while (Next(o, zero, outputs));
    }
  });
}

template <typename T>
struct Average {
  const T* x;
  T* y;
  bool include_pad;
  double sum = 0;
  void Start() { sum = 0; }
  void Element(int64_t at) { sum += static_cast<double>(x[at]); }
  void Finish(int64_t at, const Window& window) {
    const int64_t count = include_pad ? window.places : window.inside;
    y[at] = count > 0 ? static_cast<T>(sum / static_cast<double>(count)) : T{0};
  }
};
template <typename T>
struct Greatest {
  const T* x;
  T* y;
  int64_t* where;  // element of the input that won, or null
  int64_t best = -1;
  void Start() { best = -1; }
  void Element(int64_t at) {
    if (best < 0 || x[at] > x[best]) best = at;
  }
  void Finish(int64_t at, const Window&) {
    y[at] = best >= 0                     ? x[best]
            : std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                          : std::numeric_limits<T>::lowest();
    if (where != nullptr) where[at] = best;
  }
};
KernelResult AverageWindows(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  KILN_ASSIGN_OR_RETURN(const PoolGeometry g, ResolvePool(call.node, x.shape()));
  KILN_ASSIGN_OR_RETURN(Tensor y, call.NewTensor(x.type(), g.OutputShape()));
  return VisitFloat(call, 0, [&](auto zero) -> KernelResult {
    using T = decltype(zero);
    if (y.size() > 0) ForEachWindow(g, Average<T>{Elements<T>(x), Elements<T>(y), g.count_include_pad});
    return One(std::move(y));
  });
}

// ONNX counts the place of a maximum through the whole tensor in NCHW order; storage_order 1 counts the spatial axes of
// each plane with the first running fastest.
void RenumberPlaces(const PoolGeometry& g, bool first_axis_fastest, Tensor& places) {
  int64_t plane = 1;
  for (const WindowAxis& axis : g.axes) plane *= axis.input;
  for (int64_t i = 0; i < places.size(); ++i) {
    int64_t& place = Elements<int64_t>(places)[i];
    if (place < 0) {
      place = 0;
      continue;
    }
    int64_t n_c = place / plane, spatial = place % plane;
    if (g.nhwc) {
      const int64_t image = place / (plane * g.channels);
      n_c = image * g.channels + place % g.channels;
      spatial = place / g.channels % plane;
    }
    if (first_axis_fastest) {
      int64_t rest = spatial, weight = plane;
      spatial = 0;
      for (size_t d = g.axes.size(); d-- > 0;) {
        weight /= g.axes[d].input;
        spatial += rest % g.axes[d].input * weight;
        rest /= g.axes[d].input;
      }
    }
    place = n_c * plane + spatial;
  }
}

KernelResult GreatestOfWindows(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  KILN_ASSIGN_OR_RETURN(const PoolGeometry g, ResolvePool(call.node, x.shape()));
  KILN_ASSIGN_OR_RETURN(Tensor y, call.NewTensor(x.type(), g.OutputShape()));
  Tensor places;
  const bool with_places = call.node.num_results() > 1;
  if (with_places) {
    KILN_ASSIGN_OR_RETURN(places, call.NewTensor(ElementType::kInt64, g.OutputShape()));
  }
  return VisitNumber(call, 0, [&](auto zero) -> KernelResult {
    using T = decltype(zero);
    int64_t* where = with_places ? Elements<int64_t>(places) : nullptr;
    if (y.size() > 0) ForEachWindow(g, Greatest<T>{Elements<T>(x), Elements<T>(y), where});
    std::vector<Tensor> results = One(std::move(y));
    if (with_places) {
      RenumberPlaces(g, call.attributes().Int("storage_order", 0) != 0, places);
      results.push_back(std::move(places));
    }
    return results;
  });
}

}  // namespace

KernelResult AveragePoolKernel(const KernelCall& call) { return AverageWindows(call); }
KernelResult GlobalAveragePoolKernel(const KernelCall& call) { return AverageWindows(call); }
KernelResult MaxPoolKernel(const KernelCall& call) { return GreatestOfWindows(call); }
KernelResult GlobalMaxPoolKernel(const KernelCall& call) { return GreatestOfWindows(call); }

}  // namespace kiln::reference
