// Reference kernels of quantisation: ONNX's QuantizeLinear, DequantizeLinear and
// DynamicQuantizeLinear, QONNX's Quant, BipolarQuant and Trunc, and Kiln's Quantise.
#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>

#include "kiln/execute/codes.h"
#include "kiln/execute/reference_broadcast.h"
#include "kiln/execute/reference_kernels.h"
#include "kiln/execute/reference_requantise.h"
#include "kiln/ir/text.h"
#include "kiln/ir/verifier.h"
#include "kiln/numerics/elementary.h"
#include "kiln/support/excerpt.h"

namespace kiln::reference {
namespace {

// Maps an element of x to its scale: one scale for all, one per index of an axis, or one per block
// of `block_size` indices of that axis (then scales have x's rank).
// Example: x [4, 6] with axis 1 has 6 scales, or with block_size 3 scales of shape [4, 2].
class ScaleMap {
 public:
  // Reads axis and block_size; errors: scales or zero points of another shape than these ask for.
  static StatusOr<ScaleMap> Of(const KernelCall& call) {
    const Shape& x = call.operand(0).shape();
    const Tensor& scale = call.operand(1);
    ScaleMap map;
    if (call.Has(2) && call.operand(2).size() != scale.size()) {
      return call.Error("scale " + scale.shape().ToString() + " and zero point " +
                            call.operand(2).shape().ToString() + " differ in shape",
                        "one zero point for each scale");
    }
    const int64_t block_size = call.attributes().Int("block_size", 0);
    if (block_size == 0 && scale.size() == 1) return map;
    KILN_ASSIGN_OR_RETURN(const int axis, call.Axis(call.attributes().Int("axis", 1), x.rank()));
    map.length_ = x[axis];
    for (int d = axis + 1; d < x.rank(); ++d) map.inner_ *= x[d];
    if (block_size == 0) {
      if (scale.shape() == Shape{map.length_}) {
        map.kind_ = kAxis;
        return map;
      }
      return call.Error(
          "scale is " + scale.shape().ToString(),
          fmt::format("it is a scalar or holds {} numbers for axis {}", map.length_, axis));
    }
    if (block_size < 0) return call.Error(fmt::format("block_size is {}", block_size), "0 or more");
    map.kind_ = kBlock;
    map.block_size_ = block_size;
    // A block may be longer than the axis, and of any size in a file.
    map.blocks_ = map.length_ / block_size + (map.length_ % block_size != 0 ? 1 : 0);
    Shape expected = x;
    expected[axis] = map.blocks_;
    if (scale.shape() == expected) return map;
    return call.Error("scale is " + scale.shape().ToString(),
                      "for these blocks it is " + expected.ToString());
  }

  // Returns the index of the scale of an element.
  int64_t operator()(int64_t element) const {
    switch (kind_) {
      case kTensor:
        return 0;
      case kAxis:
        return element / inner_ % length_;
      case kBlock:
        return (element / inner_ / length_ * blocks_ + element / inner_ % length_ / block_size_) *
                   inner_ +
               element % inner_;
    }
    return 0;
  }

 private:
  // One scale, one per index of the axis, or one per block of indices.
  enum Kind { kTensor, kAxis, kBlock };
  Kind kind_ = kTensor;
  int64_t length_ = 1, inner_ = 1, block_size_ = 1, blocks_ = 1;
};

// Returns the element type of the codes: the zero point's, otherwise the one that `output_dtype`
// names, otherwise uint8.
StatusOr<ElementType> CodeType(const KernelCall& call) {
  if (call.Has(2)) return call.operand(2).type();
  const int64_t code = call.attributes().Int("output_dtype", 0);
  if (code == 0) return ElementType::kUint8;
  const std::optional<ElementType> type = FindElementTypeByOnnxCode(code);
  if (!type || !IsInteger(*type) || SizeOf(*type) > 2) {
    return call.Unsupported(fmt::format("output_dtype is {}", code),
                            "use int8, uint8, int16 or uint16");
  }
  return *type;
}

// A rounding function of QONNX's operators.
using Rounding = double (*)(double);
// Returns the function for the attribute rounding_mode, in any case; null for an unknown name.
Rounding FindRounding(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  if (name == "ROUND" || name == "HALF_EVEN") return [](double v) { return std::nearbyint(v); };
  if (name == "CEIL") return [](double v) { return std::ceil(v); };
  if (name == "FLOOR") return [](double v) { return std::floor(v); };
  if (name == "UP") return [](double v) { return std::copysign(std::ceil(std::abs(v)), v); };
  if (name == "DOWN" || name == "ROUND_TO_ZERO") return [](double v) { return std::trunc(v); };
  if (name == "HALF_UP")
    return [](double v) { return std::copysign(std::floor(std::abs(v) + 0.5), v); };
  if (name == "HALF_DOWN")
    return [](double v) { return std::copysign(std::ceil(std::abs(v) - 0.5), v); };
  return nullptr;
}

// Returns the rounding of a node; error: an unknown name.
StatusOr<Rounding> RoundingOf(const KernelCall& call, const std::string& fallback) {
  const std::string name = call.attributes().String("rounding_mode", fallback);
  if (const Rounding rounding = FindRounding(name)) return rounding;
  return call.Error("rounding_mode is " + QuotedExcerpt(name),
                    "use ROUND, CEIL, FLOOR, UP, DOWN, HALF_UP or HALF_DOWN");
}

// Evaluates f(x, parameters) on each element of operand 0. Operands 1 .. count - 1 are the
// parameters; they broadcast to operand 0 and may have any numeric type.
template <typename F>
KernelResult MapWithParameters(const KernelCall& call, int count, F f) {
  const Tensor& x = call.operand(0);
  std::vector<Tensor> parameters;
  std::vector<Shape> shapes = {x.shape()};
  for (int i = 1; i < count; ++i) {
    const Tensor& p = call.operand(i);
    if (p.type() == ElementType::kString || BroadcastShapes(x.shape(), p.shape()) != x.shape()) {
      return call.Error(
          fmt::format("operand {} is {} {}", i, NameOf(p.type()), p.shape().ToString()),
          "numbers that broadcast to the input, " + x.shape().ToString());
    }
    parameters.push_back(CastTensor(p, ElementType::kFloat64));
    shapes.push_back(p.shape());
  }
  return VisitFloat(call, 0, [&](auto zero) -> KernelResult {
    using T = decltype(zero);
    Tensor y(x.type(), x.shape());
    const RowWalk walk(x.shape(), shapes);
    std::vector<double> p(parameters.size());
    walk.ForEachRow([&](int64_t first, const int64_t* offsets) {
      for (int64_t i = 0; i < walk.row_length(); ++i) {
        for (size_t k = 0; k < p.size(); ++k) {
          p[k] = Elements<double>(
              parameters[k])[offsets[k + 1] + i * walk.row_stride(static_cast<int>(k) + 1)];
        }
        const double value = static_cast<double>(Elements<T>(x)[first + i]);
        Elements<T>(y)[first + i] = static_cast<T>(f(value, p.data()));
      }
    });
    return One(std::move(y));
  });
}

}  // namespace

// Computes saturate(round_half_even(x / scale) + zero_point).
KernelResult QuantizeLinearKernel(const KernelCall& call) {
  Tensor x = call.operand(0);
  const Tensor& scale = call.operand(1);
  if (x.type() == ElementType::kInt32) x = CastTensor(x, ElementType::kFloat32);
  if (!IsFloat(x.type())) return call.UnsupportedType(0);
  if (!IsFloat(scale.type())) return call.UnsupportedType(1);
  KILN_ASSIGN_OR_RETURN(const ScaleMap map, ScaleMap::Of(call));
  KILN_ASSIGN_OR_RETURN(const ElementType type, CodeType(call));
  CodeRange range;
  if (!FindCodeRange(type, &range) || type == ElementType::kInt32) return call.UnsupportedType(2);
  KILN_ASSIGN_OR_RETURN(Tensor y, call.NewTensor(type, x.shape()));
  const bool wide = x.type() == ElementType::kFloat64;
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t s = map(i);
    const double zero = call.Has(2) ? call.operand(2).ValueAt(s) : 0;
    // fp32 operands divide in fp32, so that ties fall where ONNX's definition puts them.
    const double ratio = wide ? x.ValueAt(i) / scale.ValueAt(s)
                              : static_cast<double>(static_cast<float>(x.ValueAt(i)) /
                                                    static_cast<float>(scale.ValueAt(s)));
    const double code = std::nearbyint(ratio) + zero;
    StoreCode(y, i, std::isnan(code) ? zero : std::clamp(code, range.low, range.high));
  }
  return One(std::move(y));
}

// Computes (x - zero_point) * scale in the scale's type.
KernelResult DequantizeLinearKernel(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  CodeRange range;
  if (!FindCodeRange(x.type(), &range)) return call.UnsupportedType(0);
  if (call.Has(2)) KILN_RETURN_IF_ERROR(call.RequireSameType(0, 2));
  KILN_ASSIGN_OR_RETURN(const ScaleMap map, ScaleMap::Of(call));
  return VisitFloat(call, 1, [&](auto zero_float) -> KernelResult {
    using T = decltype(zero_float);
    KILN_ASSIGN_OR_RETURN(Tensor y, call.NewTensor(call.operand(1).type(), x.shape()));
    for (int64_t i = 0; i < x.size(); ++i) {
      const int64_t s = map(i);
      const int64_t zero = call.Has(2) ? call.operand(2).IntAt(s) : 0;
      Elements<T>(y)[i] = static_cast<T>(x.IntAt(i) - zero) * Elements<T>(call.operand(1))[s];
    }
    return One(std::move(y));
  });
}

// Quantises to uint8 with a scale computed from the data. Results: codes, scale, zero point. The
// range is widened to contain 0.
KernelResult DynamicQuantizeLinearKernel(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  if (x.type() != ElementType::kFloat32) return call.UnsupportedType(0);
  float low = 0, high = 0;
  for (float v : x.data<float>()) {
    low = std::min(low, v);
    high = std::max(high, v);
  }
  const float scale = high > low ? (high - low) / 255 : 1.0f;  // all zeros fit any scale
  const float zero = std::clamp(std::nearbyint(-low / scale), 0.0f, 255.0f);
  Tensor y(ElementType::kUint8, x.shape());
  for (int64_t i = 0; i < x.size(); ++i) {
    const float code =
        std::clamp(std::nearbyint(Elements<float>(x)[i] / scale) + zero, 0.0f, 255.0f);
    Elements<uint8_t>(y)[i] = static_cast<uint8_t>(std::isnan(code) ? zero : code);
  }
  std::vector<Tensor> results = One(std::move(y));
  results.push_back(Tensor::Scalar<float>(scale));
  results.push_back(Tensor::Scalar<uint8_t>(static_cast<uint8_t>(zero)));
  return results;
}

// Rounds x to the integers of a bit width and back. Operands: x, scale, zero point, bit width.
//   source  github.com/fastmachinelearning/qonnx, docs/qonnx-custom-ops/quant_op.md
KernelResult QuantKernel(const KernelCall& call) {
  const bool is_signed = call.attributes().Int("signed", 1) != 0,
             narrow = call.attributes().Int("narrow", 0) != 0;
  KILN_ASSIGN_OR_RETURN(const Rounding round, RoundingOf(call, "ROUND"));
  return MapWithParameters(call, 4, [=](double x, const double* p) {
    const double scale = p[0], zero = p[1], bits = p[2];
    const double low = is_signed ? -elementary::Exp2(bits - 1) + (narrow ? 1 : 0) : 0;
    const double high =
        is_signed ? elementary::Exp2(bits - 1) - 1 : elementary::Exp2(bits) - (narrow ? 2 : 1);
    // This order of min and max is defined even if low > high (no code exists); std::clamp's is
    // not.
    const double code = round(std::max(std::min(x / scale + zero, high), low));
    return (code - zero) * scale;
  });
}

// Rounds to the nearest values that the annotation in the attribute `type` can represent.
KernelResult QuantiseKernel(const KernelCall& call) {
  if (call.operand(0).type() != ElementType::kFloat32) return call.UnsupportedType(0);
  const auto q = ParseQuantisation(call.attributes().String("type", ""), "");
  if (!q.ok()) return call.Error(MessageOf(q.status()), "an annotation in the attribute type");
  const TensorType type{ElementType::kFloat32, call.operand(0).shape()};
  KILN_RETURN_IF_ERROR(VerifyQuantisation(*q, type, "", call.node.Describe()));
  return One(RoundTensor(call.operand(0), *q));
}

// Returns scale if x / scale >= 0, otherwise -scale.
KernelResult BipolarQuantKernel(const KernelCall& call) {
  return MapWithParameters(call, 2,
                           [](double x, const double* p) { return x / p[0] >= 0 ? p[0] : -p[0]; });
}

// Drops the low bits of codes. Operands: x, scale, zero point, input bit width, output bit width.
//   source  github.com/fastmachinelearning/qonnx, docs/qonnx-custom-ops/trunc_op.md
KernelResult TruncKernel(const KernelCall& call) {
  KILN_ASSIGN_OR_RETURN(const Rounding round, RoundingOf(call, "FLOOR"));
  return MapWithParameters(call, 5, [=](double x, const double* p) {
    const double code = std::nearbyint(x / p[0] + p[1]);
    return (round(code / elementary::Exp2(p[2] - p[3])) - p[1]) * p[0];
  });
}

}  // namespace kiln::reference
