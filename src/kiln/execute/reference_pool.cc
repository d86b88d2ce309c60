// Reference kernels of max and average pools with any number of spatial axes, NCHW or NHWC.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "kiln/execute/reference_kernels.h"
#include "kiln/ir/checked_math.h"
#include "kiln/ir/window.h"
#include "kiln/support/parallel.h"

namespace kiln::reference {
namespace {

// Advances `index` through [begin, end) in row-major order; returns false after the last one.
bool Next(std::vector<int64_t>& index, const std::vector<int64_t>& begin,
          const std::vector<int64_t>& end) {
  for (size_t d = index.size(); d-- > 0;) {
    if (++index[d] < end[d]) return true;
    index[d] = begin[d];
  }
  return false;
}

// The numbers of kernel positions that a window meets.
struct Window {
  int64_t places = 0;  // kernel positions inside the padded input
  int64_t inside = 0;  // of those, inside the input
};

// Visits the windows of every channel of every image. For each window calls Start(), then
// Element(input element) for each element inside the input in row-major order, then Finish(output
// element, window). Each thread uses its own copy of `prototype`.
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
          // Sets the range of kernel positions that fall on [low, high).
          const auto clip = [&](int64_t low, int64_t high, int64_t* begin, int64_t* end) {
            *begin = start >= low ? 0 : (low - start + axis.dilation - 1) / axis.dilation;
            *end = start >= high
                       ? 0
                       : std::min(axis.kernel, (high - start + axis.dilation - 1) / axis.dilation);
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
            for (size_t d = 0; d < rank; ++d)
              x_at += g.axes[d].InputPosition(o[d], k[d]) * x_strides[d];
            body.Element(x_at);
          } while (Next(k, k_begin, k_end));
        }
        body.Finish(y_at, window);
      } while (Next(o, zero, outputs));
    }
  });
}

// Body of ForEachWindow that finds the greatest element and its index; the first one of equals
// wins.
template <typename T>
struct Greatest {
  const T* x;
  T* y;
  int64_t* where;  // element of the input that won
  int64_t best = -1;
  void Start() { best = -1; }
  void Element(int64_t at) {
    if (best < 0 || x[at] > x[best]) best = at;
  }
  void Finish(int64_t at, const Window&) {
    y[at] = best >= 0                     ? x[best]
            : std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                          : std::numeric_limits<T>::lowest();
    where[at] = best;
  }
};

// The output positions [begin, end) of one axis whose kernel position k falls on [low, high).
struct Span {
  int64_t begin, end;
};
Span SpanOf(const WindowAxis& axis, int64_t k, int64_t low, int64_t high) {
  const int64_t shift = axis.InputPosition(0, k);
  const int64_t begin = std::max<int64_t>(0, CeilDiv(low - shift, axis.stride));
  return {begin, std::clamp(FloorDiv(high - 1 - shift, axis.stride) + 1, begin,
                            std::max(begin, axis.output))};
}

// Combines the elements of each window in row-major order of the kernel, for a whole row of outputs
// at a time, so that compilers vectorise the loop. Rows are outputs along the last axis (NCHW), or
// outputs and channels (NHWC). Body::First takes the first element of a window, Body::Next each
// further one, and Body::Finish computes the result from the number of elements combined and the
// number of positions inside the padded input.
// With padding, the first kernel positions meet only later outputs and the last ones only earlier
// outputs, so the outputs that each position meets form a span.
template <typename Body>
void PoolRows(const PoolGeometry& g, const typename Body::Input* x, typename Body::Input* y,
              const Body& body) {
  using T = typename Body::Input;
  using A = typename Body::Combined;
  const size_t rank = g.axes.size(), outer = rank - 1;
  const WindowAxis& last = g.axes[outer];
  int64_t x_plane = 1, y_rows = 1;
  for (size_t d = 0; d < rank; ++d) {
    x_plane *= g.axes[d].input;
    if (d < outer) y_rows *= g.axes[d].output;
  }
  // Per kernel position along the last axis: the outputs whose element is inside the input, and
  // inside the padded input.
  std::vector<Span> inside_of, places_of;
  for (int64_t k = 0; k < last.kernel; ++k) {
    inside_of.push_back(SpanOf(last, k, 0, last.input));
    places_of.push_back(SpanOf(last, k, -last.pad_begin, last.input + last.pad_end));
  }
  // Elements of one output position that are neighbours in memory.
  const int64_t lanes = g.nhwc ? g.channels : 1, planes = g.nhwc ? g.batch : g.batch * g.channels;
  ParallelFor(planes * y_rows, std::max<int64_t>(1, 4096 / (last.output * lanes)),
              [&](int64_t first, int64_t end) {
                std::vector<A> row(static_cast<size_t>(last.output * lanes));
                std::vector<int64_t> met(static_cast<size_t>(last.output)),
                    places(static_cast<size_t>(last.output));
                std::vector<int64_t> o(outer), k(outer), kernel(outer);
                for (size_t d = 0; d < outer; ++d) kernel[d] = g.axes[d].kernel;
                const std::vector<int64_t> zero(outer, 0);
                for (int64_t job = first; job < end; ++job) {
                  const int64_t plane = job / y_rows;
                  // One job is one row of outputs: a position along the outer spatial axes of one
                  // plane.
                  int64_t rest = job % y_rows;
                  for (size_t d = outer; d-- > 0;) {
                    o[d] = rest % g.axes[d].output;
                    rest /= g.axes[d].output;
                  }
                  std::fill(met.begin(), met.end(), 0);
                  std::fill(places.begin(), places.end(), 0);
                  std::fill(k.begin(), k.end(), 0);
                  do {
                    bool inside = true, padded = true;
                    int64_t x_row = 0;
                    for (size_t d = 0; d < outer; ++d) {
                      const WindowAxis& axis = g.axes[d];
                      const int64_t at = axis.InputPosition(o[d], k[d]);
                      inside = inside && at >= 0 && at < axis.input;
                      padded = padded && at >= -axis.pad_begin && at < axis.input + axis.pad_end;
                      x_row = x_row * axis.input + at;
                    }
                    if (!padded) continue;
                    for (int64_t kw = 0; kw < last.kernel; ++kw) {
                      const Span places_here = places_of[static_cast<size_t>(kw)];
                      for (int64_t i = places_here.begin; i < places_here.end; ++i)
                        ++places[static_cast<size_t>(i)];
                      if (!inside) continue;
                      const Span here = inside_of[static_cast<size_t>(kw)];
                      const T* from = x + ((plane * x_plane / last.input + x_row) * last.input +
                                           last.InputPosition(0, kw)) *
                                              lanes;
                      // Outputs that have not combined an element yet form a prefix of the span: an
                      // output after it has already combined kernel position kw - 1.
                      int64_t i = here.begin;
                      const auto step = [&](int64_t until, auto combine) {
                        const int64_t from_step = last.stride * lanes;
                        if (lanes == 1) {
                          for (; i < until; ++i)
                            combine(row[static_cast<size_t>(i)], from[i * from_step]);
                          return;
                        }
                        for (; i < until; ++i) {
                          A* to = row.data() + i * lanes;
                          for (int64_t c = 0; c < lanes; ++c)
                            combine(to[c], from[i * from_step + c]);
                        }
                      };
                      int64_t fresh = here.begin;
                      while (fresh < here.end && met[static_cast<size_t>(fresh)] == 0) ++fresh;
                      step(fresh, [&](A& to, T value) { to = body.First(value); });
                      step(here.end, [&](A& to, T value) { to = body.Next(to, value); });
                      for (int64_t j = here.begin; j < here.end; ++j) ++met[static_cast<size_t>(j)];
                    }
                  } while (Next(k, zero, kernel));
                  T* to = y + job * last.output * lanes;
                  for (int64_t i = 0; i < last.output; ++i) {
                    for (int64_t c = 0; c < lanes; ++c) {
                      const auto at = static_cast<size_t>(i * lanes + c);
                      to[at] = body.Finish(row[at], met[static_cast<size_t>(i)],
                                           places[static_cast<size_t>(i)]);
                    }
                  }
                }
              });
}

// Body of PoolRows for averages, summed in binary64.
template <typename T>
struct Average {
  using Input = T;
  using Combined = double;
  bool include_pad;
  double First(T x) const { return static_cast<double>(x); }
  double Next(double sum, T x) const { return sum + static_cast<double>(x); }
  T Finish(double sum, int64_t met, int64_t places) const {
    const int64_t count = include_pad ? places : met;
    return count > 0 ? static_cast<T>((met > 0 ? sum : 0) / static_cast<double>(count)) : T{0};
  }
};

// Body of PoolRows for maxima; -infinity or the least integer for a window outside the input.
template <typename T>
struct Maximum {
  using Input = T;
  using Combined = T;
  T First(T x) const { return x; }
  T Next(T greatest, T x) const { return x > greatest ? x : greatest; }
  T Finish(T greatest, int64_t met, int64_t) const {
    if (met > 0) return greatest;
    return std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                       : std::numeric_limits<T>::lowest();
  }
};

// AveragePool and GlobalAveragePool; ResolvePool makes the latter's window the whole plane.
KernelResult AverageWindows(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  KILN_ASSIGN_OR_RETURN(const PoolGeometry g, ResolvePool(call.node, x.shape()));
  KILN_ASSIGN_OR_RETURN(Tensor y, call.NewTensor(x.type(), g.OutputShape()));
  return VisitFloat(call, 0, [&](auto zero) -> KernelResult {
    using T = decltype(zero);
    if (y.size() > 0) PoolRows(g, Elements<T>(x), Elements<T>(y), Average<T>{g.count_include_pad});
    return One(std::move(y));
  });
}

// Converts indices of maxima from memory order to ONNX's: an index in the whole tensor in NCHW
// order, or, with storage_order 1, with the first spatial axis of each plane varying fastest. A
// window outside the input has index 0.
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

// MaxPool and GlobalMaxPool. The slower window walk is needed only if the indices are requested.
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
    if (y.size() > 0 && with_places) {
      ForEachWindow(g, Greatest<T>{Elements<T>(x), Elements<T>(y), Elements<int64_t>(places)});
    } else if (y.size() > 0) {
      PoolRows(g, Elements<T>(x), Elements<T>(y), Maximum<T>{});
    }
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
