// The reference kernel of Resize: nearest, linear and cubic, one axis after the other.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <string_view>

#include "kiln/execute/reference_kernels.h"
#include "kiln/support/excerpt.h"

namespace kiln::reference {
namespace {

// The inputs of one output position of an axis: input position `first + i`, clamped to the axis,
// with weight weights[i].
// Linear interpolation has two taps, cubic four, nearest one.
struct Taps {
  int64_t first = 0;
  std::vector<double> weights;
  bool outside = false;  // tf_crop_and_resize: the output is the extrapolation value
};

// How one axis is resized.
struct AxisPlan {
  int64_t input = 0;
  int64_t output = 0;
  std::vector<Taps> taps;  // one per output position; empty if the axis is not resized
};

// The node's attributes, with ONNX's names.
struct ResizeOptions {
  std::string mode, coordinates, nearest;
  double cubic_a = -0.75;
  double extrapolation = 0;
  bool exclude_outside = false;
};

// Returns the input coordinate, a real number, of output position `o` under the attribute
// coordinate_transformation_mode.
double InputCoordinate(const ResizeOptions& options, int64_t o, int64_t in, int64_t out,
                       double scale, double roi_begin, double roi_end) {
  const double x = static_cast<double>(o), in_size = static_cast<double>(in),
               out_size = static_cast<double>(out);
  const std::string_view mode = options.coordinates;
  if (mode == "asymmetric") return x / scale;
  // Uses the resized length before rounding down to whole elements, as ONNX's reference
  // implementation does.
  if (mode == "align_corners") return out == 1 ? 0 : x * (in_size - 1) / (scale * in_size - 1);
  if (mode == "pytorch_half_pixel") return out > 1 ? (x + 0.5) / scale - 0.5 : 0;
  if (mode == "tf_half_pixel_for_nn") return (x + 0.5) / scale;
  if (mode == "half_pixel_symmetric") {
    // Keeps the middle of the input in the middle, although the output size was rounded down.
    return in_size / 2 * (1 - out_size / (scale * in_size)) + (x + 0.5) / scale - 0.5;
  }
  if (mode == "tf_crop_and_resize") {
    if (out == 1) return 0.5 * (roi_begin + roi_end) * (in_size - 1);
    return roi_begin * (in_size - 1) + x * (roi_end - roi_begin) * (in_size - 1) / (out_size - 1);
  }
  return (x + 0.5) / scale - 0.5;
}

// Rounds a coordinate to an input position; the default, round_prefer_floor, rounds halves down.
double RoundNearest(std::string_view mode, double x) {
  if (mode == "floor") return std::floor(x);
  if (mode == "ceil") return std::ceil(x);
  if (mode == "round_prefer_ceil") return std::floor(x + 0.5);
  return std::ceil(x - 0.5);
}

// Returns the weights of Keys' cubic convolution kernel with parameter a for the four neighbours of
// a point that lies `ratio` after the second one.
std::vector<double> CubicWeights(double ratio, double a) {
  const auto near = [a](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  const auto far = [a](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(1 + ratio), near(ratio), near(1 - ratio), far(2 - ratio)};
}

// Returns the taps of an output position at input coordinate x.
Taps TapsAt(const ResizeOptions& options, double x, int64_t length) {
  Taps taps;
  const double last = static_cast<double>(length - 1);
  taps.outside = options.coordinates == "tf_crop_and_resize" && (x < 0 || x > last);
  // A crop box may be anywhere. A few positions beyond the edge, every tap shows the edge element,
  // and the clamped coordinate fits an integer.
  x = std::clamp(x, -4.0, last + 4.0);
  if (options.mode == "nearest") {
    taps.first = static_cast<int64_t>(RoundNearest(options.nearest, x));
    taps.weights = {1};
    return taps;
  }
  const double below = std::floor(x), ratio = x - below;
  taps.first = static_cast<int64_t>(below);
  if (options.mode == "cubic") {
    taps.first -= 1;
    taps.weights = CubicWeights(ratio, options.cubic_a);
  } else {
    taps.weights = {1 - ratio, ratio};
  }
  // exclude_outside drops the taps outside the input and scales the others to sum 1.
  if (options.exclude_outside) {
    double sum = 0;
    for (size_t i = 0; i < taps.weights.size(); ++i) {
      const int64_t position = taps.first + static_cast<int64_t>(i);
      if (position < 0 || position >= length) taps.weights[i] = 0;
      sum += taps.weights[i];
    }
    for (double& w : taps.weights) w /= sum;
  }
  return taps;
}

// Resizes one axis of x by calling mix(taps, input row, output row, inner) for each output
// position.
template <typename T, typename Mix>
Tensor ResizeAxis(const Tensor& x, int axis, const AxisPlan& plan, const Mix& mix) {
  Shape shape = x.shape();
  shape[axis] = plan.output;
  Tensor y(x.type(), shape);
  int64_t inner = 1, outer = 1;
  for (int d = 0; d < axis; ++d) outer *= shape[d];
  for (int d = axis + 1; d < shape.rank(); ++d) inner *= shape[d];
  for (int64_t r = 0; r < outer; ++r) {
    const T* from = Elements<T>(x) + r * plan.input * inner;
    T* to = Elements<T>(y) + r * plan.output * inner;
    for (int64_t o = 0; o < plan.output; ++o)
      mix(plan.taps[static_cast<size_t>(o)], from, to + o * inner, inner);
  }
  return y;
}

// Resizes one axis by copying elements of any type.
template <typename T>
Tensor NearestAxis(const Tensor& x, int axis, const AxisPlan& plan, T extrapolation) {
  return ResizeAxis<T>(x, axis, plan, [&](const Taps& taps, const T* from, T* to, int64_t inner) {
    const T* row = from + std::clamp<int64_t>(taps.first, 0, plan.input - 1) * inner;
    for (int64_t i = 0; i < inner; ++i) to[i] = taps.outside ? extrapolation : row[i];
  });
}

// Resizes one axis by weighted sums in binary64.
Tensor MixedAxis(const Tensor& x, int axis, const AxisPlan& plan, double extrapolation) {
  return ResizeAxis<double>(
      x, axis, plan, [&](const Taps& taps, const double* from, double* to, int64_t inner) {
        std::fill(to, to + inner, taps.outside ? extrapolation : 0.0);
        if (taps.outside) return;
        for (size_t k = 0; k < taps.weights.size(); ++k) {
          const int64_t position =
              std::clamp<int64_t>(taps.first + static_cast<int64_t>(k), 0, plan.input - 1);
          for (int64_t i = 0; i < inner; ++i) to[i] += taps.weights[k] * from[position * inner + i];
        }
      });
}

// Reads and checks the attributes.
StatusOr<ResizeOptions> ReadOptions(const KernelCall& call) {
  const Attributes& a = call.attributes();
  ResizeOptions o;
  o.mode = a.String("mode", "nearest");
  o.coordinates = a.String("coordinate_transformation_mode", "half_pixel");
  o.nearest = a.String("nearest_mode", "round_prefer_floor");
  o.cubic_a = a.Float("cubic_coeff_a", -0.75f);
  o.extrapolation = a.Float("extrapolation_value", 0);
  o.exclude_outside = a.Int("exclude_outside", 0) != 0;
  const auto one_of = [](std::string_view name, std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (!one_of(o.mode, {"nearest", "linear", "cubic"})) {
    return call.Error("mode is " + QuotedExcerpt(o.mode), "use nearest, linear or cubic");
  }
  if (!one_of(o.coordinates,
              {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
               "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"})) {
    return call.Error("coordinate_transformation_mode is " + QuotedExcerpt(o.coordinates),
                      "use one of ONNX's modes");
  }
  if (!one_of(o.nearest, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})) {
    return call.Error("nearest_mode is " + QuotedExcerpt(o.nearest),
                      "use round_prefer_floor, round_prefer_ceil, floor or ceil");
  }
  if (a.Int("antialias", 0) != 0) return call.Unsupported("antialias is 1", "resize without it");
  return o;
}

// Returns a list of floats, empty if the operand is absent or empty.
StatusOr<std::vector<double>> Floats(const KernelCall& call, int i) {
  std::vector<double> out;
  if (!call.Has(i)) return out;
  const Tensor& t = call.operand(i);
  if (!IsFloat(t.type()) || t.shape().rank() != 1 || t.size() > 64) {
    return call.Error(fmt::format("operand {} is {} {}", i, NameOf(t.type()), t.shape().ToString()),
                      "it must be a list of floats");
  }
  for (int64_t k = 0; k < t.size(); ++k) out.push_back(t.ValueAt(k));
  return out;
}

// The output sizes and, for each axis, the scale and region used to compute coordinates.
struct Target {
  std::vector<int64_t> sizes;
  std::vector<double> scales, roi_begin, roi_end;
};

// Reads the operands roi, scales and sizes and the attributes axes and keep_aspect_ratio_policy.
StatusOr<Target> ReadTarget(const KernelCall& call, const Shape& x) {
  const size_t rank = static_cast<size_t>(x.rank());
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  axes = call.attributes().Ints("axes", axes);
  KILN_RETURN_IF_ERROR(call.Axes(axes, x.rank()).status());
  for (int64_t& axis : axes) axis = axis < 0 ? axis + x.rank() : axis;

  Target t{x.dims(), std::vector<double>(rank, 1), std::vector<double>(rank, 0),
           std::vector<double>(rank, 1)};
  KILN_ASSIGN_OR_RETURN(const std::vector<double> roi, Floats(call, 1));
  if (!roi.empty()) {
    if (roi.size() != 2 * axes.size()) {
      return call.Error(fmt::format("roi has {} numbers for {} axes", roi.size(), axes.size()),
                        "two for each axis");
    }
    for (size_t i = 0; i < axes.size(); ++i) {
      t.roi_begin[static_cast<size_t>(axes[i])] = roi[i];
      t.roi_end[static_cast<size_t>(axes[i])] = roi[i + axes.size()];
    }
  }
  KILN_ASSIGN_OR_RETURN(const std::vector<double> scales, Floats(call, 2));
  std::vector<int64_t> sizes;
  if (call.Has(3)) {
    KILN_ASSIGN_OR_RETURN(sizes, call.Ints(3));
  }
  if (scales.empty() == sizes.empty())
    return call.Error("scales and sizes are both given or both absent", "give one");
  if (scales.size() + sizes.size() != axes.size()) {
    return call.Error(
        fmt::format("{} scales or sizes for {} axes", scales.size() + sizes.size(), axes.size()),
        "one for each axis");
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = static_cast<size_t>(axes[i]);
    const double in = static_cast<double>(x.dims()[axis]);
    if (!scales.empty()) {
      const double size = std::floor((t.roi_end[axis] - t.roi_begin[axis]) * in * scales[i]);
      const bool crops =
          call.attributes().String("coordinate_transformation_mode", "") == "tf_crop_and_resize";
      const double plain = std::floor(in * scales[i]);
      const double chosen = crops ? size : plain;
      if (!(scales[i] > 0) || !(chosen >= 0) || chosen > static_cast<double>(kMaxElements)) {
        return call.Error(fmt::format("scale {} on axis {} of {}", scales[i], axis, x.ToString()),
                          "a positive number");
      }
      t.scales[axis] = scales[i];
      t.sizes[axis] = static_cast<int64_t>(chosen);
    } else {
      if (sizes[i] < 0 || sizes[i] > kMaxElements) {
        return call.Error(fmt::format("size {} on axis {}", sizes[i], axis), "0 or more");
      }
      t.sizes[axis] = sizes[i];
      t.scales[axis] = in > 0 ? static_cast<double>(sizes[i]) / in : 1;
    }
  }
  const std::string policy = call.attributes().String("keep_aspect_ratio_policy", "stretch");
  if (!sizes.empty() && policy != "stretch") {
    if (policy != "not_larger" && policy != "not_smaller") {
      return call.Error("keep_aspect_ratio_policy is " + QuotedExcerpt(policy),
                        "use stretch, not_larger or not_smaller");
    }
    double scale = t.scales[static_cast<size_t>(axes[0])];
    for (int64_t axis : axes) {
      const double s = t.scales[static_cast<size_t>(axis)];
      scale = policy == "not_larger" ? std::min(scale, s) : std::max(scale, s);
    }
    for (int64_t axis : axes) {
      t.scales[static_cast<size_t>(axis)] = scale;
      // Rounds halves up, like round_int in ONNX's definition.
      t.sizes[static_cast<size_t>(axis)] = static_cast<int64_t>(
          std::floor(scale * static_cast<double>(x.dims()[static_cast<size_t>(axis)]) + 0.5));
    }
  }
  return t;
}

}  // namespace

// Plans each axis first, then resizes axis by axis: by copying in mode nearest, in binary64
// otherwise.
KernelResult ResizeKernel(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  KILN_ASSIGN_OR_RETURN(const ResizeOptions options, ReadOptions(call));
  if (x.shape().rank() < 1) return call.Error("the input is a scalar", "it has an axis to resize");
  KILN_ASSIGN_OR_RETURN(const Target target, ReadTarget(call, x.shape()));
  KILN_RETURN_IF_ERROR(call.CheckSize(ElementType::kFloat64, Shape(target.sizes)));
  if (std::find(target.sizes.begin(), target.sizes.end(), 0) != target.sizes.end()) {
    return One(Tensor(x.type(), Shape(target.sizes)));
  }
  std::vector<AxisPlan> plans(target.sizes.size());
  Shape largest = x.shape();
  for (size_t d = 0; d < plans.size(); ++d) {
    AxisPlan& plan = plans[d];
    plan.input = x.shape().dims()[d];
    plan.output = target.sizes[d];
    largest[static_cast<int>(d)] = std::max(plan.input, plan.output);
    const bool crops = options.coordinates == "tf_crop_and_resize" &&
                       (target.roi_begin[d] != 0 || target.roi_end[d] != 1);
    if (plan.input == plan.output && target.scales[d] == 1 && !crops) continue;
    if (plan.input == 0 && plan.output > 0)
      return call.Error(fmt::format("axis {} is empty", d), "it has elements");
    for (int64_t o = 0; o < plan.output; ++o) {
      const double at = InputCoordinate(options, o, plan.input, plan.output, target.scales[d],
                                        target.roi_begin[d], target.roi_end[d]);
      plan.taps.push_back(TapsAt(options, at, plan.input));
    }
  }
  // A partly resized tensor can be larger than both input and output if one axis grows and another
  // shrinks; it must not exceed the limit either.
  KILN_RETURN_IF_ERROR(call.CheckSize(ElementType::kFloat64, largest));
  Tensor y = x;
  if (options.mode == "nearest") {
    return VisitBytes(call, 0, [&](auto zero) -> KernelResult {
      using T = decltype(zero);
      const Tensor fill = CastTensor(Tensor::Scalar<double>(options.extrapolation), x.type());
      for (size_t d = 0; d < plans.size(); ++d) {
        if (!plans[d].taps.empty()) {
          y = NearestAxis<T>(y, static_cast<int>(d), plans[d], *Elements<T>(fill));
        }
      }
      return One(y);
    });
  }
  if (!IsFloat(x.type())) return call.UnsupportedType(0);
  y = CastTensor(x, ElementType::kFloat64);
  for (size_t d = 0; d < plans.size(); ++d) {
    if (!plans[d].taps.empty()) {
      y = MixedAxis(y, static_cast<int>(d), plans[d], options.extrapolation);
    }
  }
  return One(CastTensor(y, x.type()));
}

}  // namespace kiln::reference
