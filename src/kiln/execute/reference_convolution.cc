// Reference kernels of convolutions with any number of spatial axes, by their definition.
// reference_fast_convolution.cc has fast kernels for fp32; these are the oracle for it and run the
// convolutions that it does not serve. Sums are computed in binary64, or int64 for codes.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kiln/execute/reference_kernels.h"
#include "kiln/execute/reference_requantise.h"
#include "kiln/ir/checked_math.h"
#include "kiln/ir/window.h"
#include "kiln/support/parallel.h"

namespace kiln::reference {
namespace {

// Distances between neighbours in an activation tensor of either layout, in elements.
struct Strides {
  int64_t image = 0, channel = 0;
  std::vector<int64_t> axes;
};

// Returns the strides of a tensor with these channels and spatial dimensions, NHWC or NCHW.
Strides StridesOf(bool nhwc, int64_t channels, const std::vector<int64_t>& spatial) {
  Strides s;
  s.axes.assign(spatial.size(), 0);
  int64_t stride = nhwc ? channels : 1;
  for (size_t d = spatial.size(); d-- > 0;) {
    s.axes[d] = stride;
    stride *= spatial[d];
  }
  s.channel = nhwc ? 1 : stride;
  s.image = nhwc ? stride : stride * channels;
  return s;
}

// Advances `index` through [0, limits) in row-major order; returns false after the last one.
bool Next(std::vector<int64_t>& index, const std::vector<int64_t>& limits) {
  for (size_t d = index.size(); d-- > 0;) {
    if (++index[d] < limits[d]) return true;
    index[d] = 0;
  }
  return false;
}

// A convolution seen from the side that is walked: the result of a plain convolution, the input of
// a transposed one. Walked position p meets position p * stride - pad_begin + k * dilation of the
// other side through kernel position k.
// In both cases the walked side has stride 1, so one loop serves both kinds.
struct Walk {
  explicit Walk(const ConvGeometry& geometry) : g(geometry) {
    for (const WindowAxis& axis : g.axes) {
      inputs.push_back(axis.input);
      outputs.push_back(axis.output);
      kernel.push_back(axis.kernel);
    }
    x = StridesOf(g.nhwc, g.in_channels, inputs);
    y = StridesOf(g.nhwc, g.out_channels, outputs);
    plane = 1;
    for (int64_t o : outputs) plane *= o;
  }
  const ConvGeometry& g;
  std::vector<int64_t> inputs, outputs, kernel;
  Strides x, y;
  int64_t plane;  // positions of one output channel
};

// Adds the contribution of `depth` input channels of one image to one output channel. `sums` is
// [output positions], row-major. The weight of a channel and a kernel position is w[channel *
// w_channel + position].
template <typename T, typename A>
void Accumulate(const Walk& walk, const T* x, const T* w, int64_t w_channel, int64_t depth,
                A* sums) {
  const ConvGeometry& g = walk.g;
  const size_t outer = g.axes.size() - 1;
  const WindowAxis& last = g.axes[outer];
  const std::vector<int64_t>& walked = g.transposed ? walk.inputs : walk.outputs;
  const std::vector<int64_t>& other = g.transposed ? walk.outputs : walk.inputs;
  const std::vector<int64_t> walked_outer(walked.begin(),
                                          walked.begin() + static_cast<int64_t>(outer));
  const std::vector<int64_t> kernel_outer(walk.kernel.begin(),
                                          walk.kernel.begin() + static_cast<int64_t>(outer));
  const std::vector<int64_t> sum_strides = StridesOf(false, 1, walk.outputs).axes;
  const int64_t x_step = walk.x.axes[outer] * (g.transposed ? 1 : last.stride);
  const int64_t sum_step = g.transposed ? last.stride : 1;

  // The outer spatial axes are walked position by position; along the last axis, one weight is
  // applied to all positions at once.
  std::vector<int64_t> p(outer, 0);
  do {
    std::vector<int64_t> k(outer, 0);
    do {
      int64_t x_base = 0, sum_base = 0, w_base = 0;
      bool inside = true;
      for (size_t d = 0; d < outer && inside; ++d) {
        const int64_t q = g.axes[d].InputPosition(p[d], k[d]);
        inside = q >= 0 && q < other[d];
        x_base += walk.x.axes[d] * (g.transposed ? p[d] : q);
        sum_base += sum_strides[d] * (g.transposed ? q : p[d]);
        w_base = (w_base + k[d]) * walk.kernel[d + 1];
      }
      if (!inside) continue;
      for (int64_t c = 0; c < depth; ++c) {
        for (int64_t kw = 0; kw < last.kernel; ++kw) {
          const A weight = static_cast<A>(w[c * w_channel + w_base + kw]);
          // The walked positions whose partner InputPosition(position, kw) is inside the other
          // side.
          const int64_t shift = last.InputPosition(0, kw);
          const int64_t begin = std::max<int64_t>(0, CeilDiv(-shift, last.stride));
          const int64_t end =
              std::min(walked[outer], FloorDiv(other[outer] - 1 - shift, last.stride) + 1);
          const T* from =
              x + c * walk.x.channel + x_base + (g.transposed ? 0 : shift * walk.x.axes[outer]);
          A* to = sums + sum_base + (g.transposed ? shift : 0);
          for (int64_t i = begin; i < end; ++i)
            to[i * sum_step] += weight * static_cast<A>(from[i * x_step]);
        }
      }
    } while (Next(k, kernel_outer));
  } while (Next(p, walked_outer));
}

// Computes a convolution and calls store(output element, output channel, sum) for each element of
// the result. Each sum is an A; one job of the parallel loop is one output channel of one image.
template <typename T, typename A, typename Store>
void Convolve(const ConvGeometry& g, const T* x, const T* w, Store store) {
  const Walk walk(g);
  const int64_t in_group = g.in_channels / g.groups, out_group = g.out_channels / g.groups;
  const int64_t kernel = g.KernelElements();
  ParallelFor(g.batch * g.out_channels, 1, [&](int64_t begin, int64_t end) {
    std::vector<A> sums(static_cast<size_t>(walk.plane));
    for (int64_t job = begin; job < end; ++job) {
      const int64_t n = job / g.out_channels, oc = job % g.out_channels, group = oc / out_group;
      std::fill(sums.begin(), sums.end(), A{0});
      // Weights are [out, in / groups, kernel], transposed [in, out / groups, kernel].
      const T* weights = g.transposed ? w + (group * in_group * out_group + oc % out_group) * kernel
                                      : w + oc * in_group * kernel;
      Accumulate(walk, x + n * walk.x.image + group * in_group * walk.x.channel, weights,
                 g.transposed ? out_group * kernel : kernel, in_group, sums.data());
      const int64_t base = n * walk.y.image + oc * walk.y.channel;
      const int64_t step = g.nhwc ? g.out_channels : 1;
      for (int64_t i = 0; i < walk.plane; ++i)
        store(base + i * step, oc, sums[static_cast<size_t>(i)]);
    }
  });
}

// Returns an error unless bias operand i is absent or has one element of `type` per channel.
Status CheckBias(const KernelCall& call, int i, int64_t channels, ElementType type) {
  if (!call.Has(i)) return OkStatus();
  if (call.operand(i).shape() == Shape{channels} && call.operand(i).type() == type)
    return OkStatus();
  return call.Error(fmt::format("the bias is {} {}", NameOf(call.operand(i).type()),
                                call.operand(i).shape().ToString()),
                    fmt::format("it holds {} numbers of {}", channels, NameOf(type)));
}

// Conv and ConvTranspose on floats: sums in binary64, rounded once after the bias.
KernelResult FloatConvolution(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  const Tensor& w = call.operand(1);
  KILN_RETURN_IF_ERROR(call.RequireSameType(0, 1));
  KILN_ASSIGN_OR_RETURN(const ConvGeometry g, ResolveConv(call.node, x.shape(), w.shape()));
  KILN_RETURN_IF_ERROR(CheckBias(call, 2, g.out_channels, x.type()));
  return VisitFloat(call, 0, [&](auto zero) -> KernelResult {
    using T = decltype(zero);
    KILN_ASSIGN_OR_RETURN(Tensor y, call.NewTensor(x.type(), g.OutputShape()));
    const T* bias = call.Has(2) ? Elements<T>(call.operand(2)) : nullptr;
    T* to = Elements<T>(y);
    if (y.size() > 0) {
      Convolve<T, double>(
          g, Elements<T>(x), Elements<T>(w), [&](int64_t at, int64_t channel, double sum) {
            to[at] =
                static_cast<T>(bias != nullptr ? sum + static_cast<double>(bias[channel]) : sum);
          });
    }
    return One(std::move(y));
  });
}

}  // namespace

KernelResult ConvKernel(const KernelCall& call) { return FloatConvolution(call); }
KernelResult ConvTransposeKernel(const KernelCall& call) { return FloatConvolution(call); }

// Sums of code products, exact in int64 and wrapped to int32.
KernelResult ConvIntegerKernel(const KernelCall& call) {
  KILN_ASSIGN_OR_RETURN(const ConvGeometry g,
                        ResolveConv(call.node, call.operand(0).shape(), call.operand(1).shape()));
  KILN_ASSIGN_OR_RETURN(const Tensor x, CodesLessZeroPoint(call, 0, 2, -1));
  KILN_ASSIGN_OR_RETURN(const Tensor w, CodesLessZeroPoint(call, 1, 3, 0));
  KILN_ASSIGN_OR_RETURN(Tensor y, call.NewTensor(ElementType::kInt32, g.OutputShape()));
  int32_t* to = Elements<int32_t>(y);
  if (y.size() > 0) {
    Convolve<int32_t, int64_t>(
        g, Elements<int32_t>(x), Elements<int32_t>(w),
        [&](int64_t at, int64_t, int64_t sum) { to[at] = static_cast<int32_t>(sum); });
  }
  return One(std::move(y));
}

// Operands: x, its scale and zero point; w, its scale and zero point; the result's scale and zero
// point; bias. The exact sum is scaled in binary64 and requantised once.
KernelResult QLinearConvKernel(const KernelCall& call) {
  KILN_ASSIGN_OR_RETURN(const ConvGeometry g,
                        ResolveConv(call.node, call.operand(0).shape(), call.operand(3).shape()));
  KILN_ASSIGN_OR_RETURN(const Tensor x, CodesLessZeroPoint(call, 0, 2, -1));
  KILN_ASSIGN_OR_RETURN(const Tensor w, CodesLessZeroPoint(call, 3, 5, 0));
  KILN_RETURN_IF_ERROR(CheckBias(call, 8, g.out_channels, ElementType::kInt32));
  KILN_ASSIGN_OR_RETURN(const std::vector<double> x_scale, ScalesOf(call, 1, 1));
  KILN_ASSIGN_OR_RETURN(const std::vector<double> w_scale, ScalesOf(call, 4, g.out_channels));
  KILN_ASSIGN_OR_RETURN(const Requantiser requantise, Requantiser::Of(call, 6, 7));
  KILN_ASSIGN_OR_RETURN(Tensor y, call.NewTensor(requantise.type(), g.OutputShape()));
  const int32_t* bias = call.Has(8) ? Elements<int32_t>(call.operand(8)) : nullptr;
  if (y.size() > 0) {
    Convolve<int32_t, int64_t>(
        g, Elements<int32_t>(x), Elements<int32_t>(w),
        [&](int64_t at, int64_t channel, int64_t sum) {
          if (bias != nullptr) sum += bias[channel];
          requantise.Store(
              y, at, static_cast<double>(sum) * x_scale[0] * w_scale[static_cast<size_t>(channel)]);
        });
  }
  return One(std::move(y));
}

}  // namespace kiln::reference
