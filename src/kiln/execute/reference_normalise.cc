// Reference kernels of normalisations and softmax. Statistics are computed in binary64, results
// rounded to the operand's type.
#include <algorithm>
#include <cmath>

#include "kiln/execute/reference_broadcast.h"
#include "kiln/execute/reference_kernels.h"
#include "kiln/numerics/elementary.h"

namespace kiln::reference {
namespace {

// The mean and the reciprocal of the standard deviation of some elements.
struct Moments {
  double mean = 0;
  double inverse_deviation = 1;  // 1 / sqrt(variance + epsilon)
};

// Computes the moments of `count` elements in two passes: with a large mean, sum(x^2) - mean^2
// would cancel.
template <typename T>
Moments MomentsOf(const T* x, int64_t count, double epsilon) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(x[i]);
  const double mean = sum / static_cast<double>(count);
  double squares = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double d = static_cast<double>(x[i]) - mean;
    squares += d * d;
  }
  return {mean, 1 / std::sqrt(squares / static_cast<double>(count) + epsilon)};
}

// Returns an error unless operand i is [channels] and has the first operand's type.
Status RequireChannels(const KernelCall& call, int i, int64_t channels) {
  KILN_RETURN_IF_ERROR(call.RequireSameType(0, i));
  if (call.operand(i).shape() == Shape{channels}) return OkStatus();
  return call.Error(fmt::format("operand {} is {}", i, call.operand(i).shape().ToString()),
                    fmt::format("it holds one number for each of {} channels", channels));
}

// Returns an error if operand 0 has a lower rank.
Status RequireRank(const KernelCall& call, int rank) {
  if (call.operand(0).shape().rank() >= rank) return OkStatus();
  return call.Error("the input is " + call.operand(0).shape().ToString(),
                    fmt::format("it has rank {} or more", rank));
}

}  // namespace

// The inference form: (x - mean) * scale / sqrt(variance + epsilon) + shift per channel. The factor
// is rounded to the operand's type before it is applied.
KernelResult BatchNormalizationKernel(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  KILN_RETURN_IF_ERROR(RequireRank(call, 1));
  if (call.attributes().Int("training_mode", 0) != 0) {
    return call.Unsupported("training_mode is 1", "export the network for inference");
  }
  const int64_t channels = x.shape().rank() > 1 ? x.shape()[1] : 1;
  for (int i = 1; i <= 4; ++i) KILN_RETURN_IF_ERROR(RequireChannels(call, i, channels));
  const double epsilon = call.attributes().Float("epsilon", 1e-5f);
  return VisitFloat(call, 0, [&](auto zero) -> KernelResult {
    using T = decltype(zero);
    Tensor y(x.type(), x.shape());
    if (y.size() == 0) return One(std::move(y));
    const int64_t plane = x.size() / (x.shape()[0] * channels);
    for (int64_t p = 0; p < x.shape()[0] * channels; ++p) {
      const int64_t c = p % channels;
      const auto at = [&](int i) { return Elements<T>(call.operand(i))[c]; };
      const T factor = static_cast<T>(static_cast<double>(at(1)) /
                                      std::sqrt(static_cast<double>(at(4)) + epsilon));
      const T shift = at(2), mean = at(3);
      const T* from = Elements<T>(x) + p * plane;
      T* to = Elements<T>(y) + p * plane;
      for (int64_t i = 0; i < plane; ++i) to[i] = (from[i] - mean) * factor + shift;
    }
    return One(std::move(y));
  });
}

// Computes x / sqrt(mean(x^2) + epsilon) * scale, with the mean over the axes from `axis` on.
KernelResult RmsNormalizationKernel(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  const Tensor& scale = call.operand(1);
  const int rank = x.shape().rank();
  KILN_ASSIGN_OR_RETURN(const int axis, call.Axis(call.attributes().Int("axis", -1), rank));
  KILN_RETURN_IF_ERROR(call.RequireSameType(0, 1));
  if (BroadcastShapes(x.shape(), scale.shape()) != x.shape()) {
    return call.Error("the scale is " + scale.shape().ToString(),
                      "it broadcasts to the input, " + x.shape().ToString());
  }
  const double epsilon = call.attributes().Float("epsilon", 1e-5f);
  int64_t length = 1;
  for (int d = axis; d < rank; ++d) length *= x.shape()[d];
  return VisitFloat(call, 0, [&](auto zero) -> KernelResult {
    using T = decltype(zero);
    Tensor y(x.type(), x.shape());
    for (int64_t first = 0; length > 0 && first < x.size(); first += length) {
      const T* from = Elements<T>(x) + first;
      double squares = 0;
      for (int64_t i = 0; i < length; ++i)
        squares += static_cast<double>(from[i]) * static_cast<double>(from[i]);
      const double inverse = 1 / std::sqrt(squares / static_cast<double>(length) + epsilon);
      for (int64_t i = 0; i < length; ++i) {
        Elements<T>(y)[first + i] = static_cast<T>(static_cast<double>(from[i]) * inverse);
      }
    }
    const Shape shapes[] = {scale.shape()};
    const RowWalk walk(x.shape(), shapes);
    walk.ForEachRow([&](int64_t first, const int64_t* offsets) {
      const T* s = Elements<T>(scale) + offsets[0];
      for (int64_t i = 0; i < walk.row_length(); ++i)
        Elements<T>(y)[first + i] *= s[i * walk.row_stride(0)];
    });
    return One(std::move(y));
  });
}

// Normalises over the axes from `axis` on. Results: y, then mean and inverse deviation in fp32.
KernelResult LayerNormalizationKernel(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  const int rank = x.shape().rank();
  KILN_ASSIGN_OR_RETURN(const int axis, call.Axis(call.attributes().Int("axis", -1), rank));
  const double epsilon = call.attributes().Float("epsilon", 1e-5f);
  for (int i = 1; i <= 2; ++i) {
    if (!call.Has(i)) continue;
    KILN_RETURN_IF_ERROR(call.RequireSameType(0, i));
    if (BroadcastShapes(x.shape(), call.operand(i).shape()) != x.shape()) {
      return call.Error(
          "operand " + std::to_string(i) + " is " + call.operand(i).shape().ToString(),
          "it broadcasts to the input, " + x.shape().ToString());
    }
  }
  std::vector<int64_t> outer_dims = x.shape().dims();
  int64_t length = 1;
  for (int d = axis; d < rank; ++d) {
    length *= x.shape()[d];
    outer_dims[static_cast<size_t>(d)] = 1;
  }
  return VisitFloat(call, 0, [&](auto zero) -> KernelResult {
    using T = decltype(zero);
    Tensor y(x.type(), x.shape()), mean(ElementType::kFloat32, Shape(outer_dims)),
        deviation(ElementType::kFloat32, Shape(outer_dims));
    for (int64_t o = 0; length > 0 && o < mean.size(); ++o) {
      const T* from = Elements<T>(x) + o * length;
      const Moments m = MomentsOf(from, length, epsilon);
      Elements<float>(mean)[o] = static_cast<float>(m.mean);
      Elements<float>(deviation)[o] = static_cast<float>(m.inverse_deviation);
      for (int64_t i = 0; i < length; ++i) {
        Elements<T>(y)[o * length + i] =
            static_cast<T>((static_cast<double>(from[i]) - m.mean) * m.inverse_deviation);
      }
    }
    const Tensor& scale = call.operand(1);
    const Tensor none = Tensor::Scalar<T>(0);
    const Tensor& bias = call.Has(2) ? call.operand(2) : none;
    const Shape shapes[] = {scale.shape(), bias.shape()};
    const RowWalk walk(x.shape(), shapes);
    walk.ForEachRow([&](int64_t first, const int64_t* offsets) {
      T* row = Elements<T>(y) + first;
      const T* s = Elements<T>(scale) + offsets[0];
      const T* b = Elements<T>(bias) + offsets[1];
      for (int64_t i = 0; i < walk.row_length(); ++i) {
        row[i] = row[i] * s[i * walk.row_stride(0)] + b[i * walk.row_stride(1)];
      }
    });
    std::vector<Tensor> results = One(std::move(y));
    results.push_back(std::move(mean));
    results.push_back(std::move(deviation));
    return results;
  });
}

// Normalises each channel of each image by its own mean and deviation.
KernelResult InstanceNormalizationKernel(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  KILN_RETURN_IF_ERROR(RequireRank(call, 2));
  const int64_t channels = x.shape()[1];
  for (int i = 1; i <= 2; ++i) KILN_RETURN_IF_ERROR(RequireChannels(call, i, channels));
  const double epsilon = call.attributes().Float("epsilon", 1e-5f);
  return VisitFloat(call, 0, [&](auto zero) -> KernelResult {
    using T = decltype(zero);
    Tensor y(x.type(), x.shape());
    if (y.size() == 0) return One(std::move(y));
    const int64_t planes = x.shape()[0] * channels, plane = x.size() / planes;
    for (int64_t p = 0; p < planes; ++p) {
      const T* from = Elements<T>(x) + p * plane;
      const Moments m = MomentsOf(from, plane, epsilon);
      const double scale =
          static_cast<double>(Elements<T>(call.operand(1))[p % channels]) * m.inverse_deviation;
      const double bias = static_cast<double>(Elements<T>(call.operand(2))[p % channels]);
      for (int64_t i = 0; i < plane; ++i) {
        Elements<T>(y)[p * plane + i] =
            static_cast<T>((static_cast<double>(from[i]) - m.mean) * scale + bias);
      }
    }
    return One(std::move(y));
  });
}

// Normalises each group of channels of each image; scale and bias are per channel.
KernelResult GroupNormalizationKernel(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  KILN_RETURN_IF_ERROR(RequireRank(call, 2));
  const int64_t channels = x.shape()[1];
  const int64_t groups = call.attributes().Int("num_groups", 0);
  if (groups < 1 || channels % groups != 0) {
    return call.Error(fmt::format("num_groups is {} for {} channels", groups, channels),
                      "it divides the channels");
  }
  for (int i = 1; i <= 2; ++i) KILN_RETURN_IF_ERROR(RequireChannels(call, i, channels));
  const double epsilon = call.attributes().Float("epsilon", 1e-5f);
  return VisitFloat(call, 0, [&](auto zero) -> KernelResult {
    using T = decltype(zero);
    Tensor y(x.type(), x.shape());
    if (y.size() == 0) return One(std::move(y));
    const int64_t plane = x.size() / (x.shape()[0] * channels), group = plane * (channels / groups);
    for (int64_t g = 0; g < x.shape()[0] * groups; ++g) {
      const Moments m = MomentsOf(Elements<T>(x) + g * group, group, epsilon);
      for (int64_t i = g * group; i < (g + 1) * group; ++i) {
        const int64_t c = i / plane % channels;
        const double scale = static_cast<double>(Elements<T>(call.operand(1))[c]);
        const double bias = static_cast<double>(Elements<T>(call.operand(2))[c]);
        const double normal =
            (static_cast<double>(Elements<T>(x)[i]) - m.mean) * m.inverse_deviation;
        Elements<T>(y)[i] = static_cast<T>(normal * scale + bias);
      }
    }
    return One(std::move(y));
  });
}

namespace {

// Computes softmax, or its logarithm, over `length` elements that are `inner` elements apart, for
// `inner` neighbouring columns together, so that memory is read in order for every axis. `greatest`
// and `sum` are scratch memory of `inner` elements.
template <typename T>
void Normalise(const T* x, T* y, int64_t length, int64_t inner, bool logarithm,
               std::vector<T>& greatest, std::vector<double>& sum) {
  // Subtracting the greatest element keeps the exponentials from overflowing.
  std::copy(x, x + inner, greatest.begin());
  for (int64_t k = 1; k < length; ++k) {
    for (int64_t i = 0; i < inner; ++i)
      greatest[static_cast<size_t>(i)] =
          std::max(greatest[static_cast<size_t>(i)], x[k * inner + i]);
  }
  std::fill(sum.begin(), sum.end(), 0.0);
  for (int64_t k = 0; k < length; ++k) {
    for (int64_t i = 0; i < inner; ++i) {
      const T shifted = x[k * inner + i] - greatest[static_cast<size_t>(i)];
      const T power = static_cast<T>(elementary::Exp(static_cast<double>(shifted)));
      y[k * inner + i] = logarithm ? shifted : power;
      sum[static_cast<size_t>(i)] += static_cast<double>(power);
    }
  }
  for (double& s : sum) s = logarithm ? elementary::Log(s) : 1 / s;
  for (int64_t k = 0; k < length; ++k) {
    for (int64_t i = 0; i < inner; ++i) {
      const double value = static_cast<double>(y[k * inner + i]), s = sum[static_cast<size_t>(i)];
      y[k * inner + i] = static_cast<T>(logarithm ? value - s : value * s);
    }
  }
}

// Softmax or LogSoftmax along the attribute `axis`, block by block of inner columns.
KernelResult Softmax(const KernelCall& call, bool logarithm) {
  const Tensor& x = call.operand(0);
  const int rank = x.shape().rank();
  KILN_ASSIGN_OR_RETURN(const int axis, call.Axis(call.attributes().Int("axis", -1), rank));
  const int64_t length = x.shape()[axis];
  int64_t inner = 1;
  for (int d = axis + 1; d < rank; ++d) inner *= x.shape()[d];
  return VisitFloat(call, 0, [&](auto zero) -> KernelResult {
    using T = decltype(zero);
    Tensor y(x.type(), x.shape());
    std::vector<T> greatest(static_cast<size_t>(inner));
    std::vector<double> sum(static_cast<size_t>(inner));
    for (int64_t at = 0; at < x.size(); at += length * inner) {
      Normalise(Elements<T>(x) + at, Elements<T>(y) + at, length, inner, logarithm, greatest, sum);
    }
    return One(std::move(y));
  });
}

}  // namespace

KernelResult SoftmaxKernel(const KernelCall& call) { return Softmax(call, false); }
KernelResult LogSoftmaxKernel(const KernelCall& call) { return Softmax(call, true); }

}  // namespace kiln::reference
