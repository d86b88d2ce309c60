// Builds networks in the style of quantising exporters: an input image, random stages, a linear
// layer. A Wire carries the magnitude of its numbers along, from which each stage derives its
// scales.

#include "kiln/ir/random_quantised_graph.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kiln/ir/random_tensor.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/numerics/elementary.h"
#include "kiln/support/random.h"

namespace kiln {
namespace {

// The encoding of a tensor by codes of 8 bits.
struct Coding {
  float scale = 1;
  int zero_point = 0;
  bool is_signed = true;
};

// A tensor under construction: its value (floats, or codes in style kQOperator), their encoding,
// and the approximate magnitude of its numbers.
struct Wire {
  Value* value = nullptr;
  Coding coding;
  double magnitude = 1;
};

// Builds one graph.
class Builder {
 public:
  Builder(uint64_t seed, const RandomQuantisedOptions& options)
      : random_(seed * 3 + static_cast<uint64_t>(options.style)),
        options_(options),
        graph_("quantised") {}

  // Builds the network from input to output.
  Graph Build() {
    const Shape image{1, Between(1, 4), Between(4, 8), Between(4, 8)};
    Wire x{graph_.AddInput("x", {ElementType::kFloat32, image}), {}, 1.0};
    x = Quantise(x);
    for (int i = 0; i < options_.stages; ++i) x = Stage(x);
    x = Flatten(x);
    x = Linear(x);
    graph_.MarkOutput(options_.style == QuantisedStyle::kQOperator ? Dequantised(x) : x.value);
    return std::move(graph_);
  }

 private:
  int64_t Between(int64_t low, int64_t high) { return random_.Between(low, high); }
  bool Chance(double p) { return random_.Uniform() < p; }
  // Returns whether values are codes rather than floats.
  bool OnCodes() const { return options_.style == QuantisedStyle::kQOperator; }

  // Adds a node and returns its first result, whose type is inferred.
  Value* Make(Op op, std::vector<Value*> operands, Attributes attributes = {}) {
    const std::string name = "n" + std::to_string(count_++);
    Node* node = graph_.AddNode(op, name, std::move(operands), {name}, std::move(attributes));
    KILN_CHECK(InferNode(graph_, *node).ok());
    return node->result();
  }
  Value* Constant(Tensor tensor) {
    return graph_.AddConstant("c" + std::to_string(count_++), std::move(tensor));
  }
  Value* Ints(const std::vector<int64_t>& values) {
    const Shape shape{static_cast<int64_t>(values.size())};
    return Constant(Tensor::Of<int64_t>(shape, values));
  }
  // Returns a scale that is at least `wanted` and at most twice as large.
  float Scale(double wanted) {
    if (options_.powers_of_two)
      return static_cast<float>(elementary::Exp2(std::ceil(elementary::Log2(wanted))));
    return static_cast<float>(wanted * random_.Uniform(1.0, 1.5));
  }
  // Return a constant of one code, or of several, as i8 or u8.
  Value* Code(int64_t code, bool is_signed) { return Codes(Shape{}, {code}, is_signed); }
  Value* Codes(const Shape& shape, const std::vector<int64_t>& codes, bool is_signed) {
    if (is_signed)
      return Constant(Tensor::Of<int8_t>(shape, std::vector<int8_t>(codes.begin(), codes.end())));
    return Constant(Tensor::Of<uint8_t>(shape, std::vector<uint8_t>(codes.begin(), codes.end())));
  }

  // ---- Activations ----
  // Returns an encoding for numbers of the given magnitude; `positive`: none of them is negative.
  Coding CodingFor(double magnitude, bool positive) {
    Coding c;
    c.is_signed = Chance(0.4);
    const bool symmetric = c.is_signed && Chance(0.5);
    const int middle = symmetric ? 0 : static_cast<int>(Between(-20, 20)) + (c.is_signed ? 0 : 128);
    const int lowest = c.is_signed ? -128 : 0;
    // Non-negative numbers use all codes from the lowest; others leave room on both sides of zero.
    c.zero_point = positive && !symmetric ? lowest : middle;
    c.scale = Scale(magnitude / (positive && !symmetric ? 250 : 105));
    return c;
  }
  // Returns the scale and zero-point operands of an encoding.
  std::vector<Value*> Parameters(const Coding& c) {
    return {Constant(Tensor::Scalar(c.scale)), Code(c.zero_point, c.is_signed)};
  }
  Value* Dequantised(const Wire& x) {
    const std::vector<Value*> p = Parameters(x.coding);
    return Make(Op::kDequantizeLinear, {x.value, p[0], p[1]});
  }

  // Quantises floats in the style of the options. The new wire holds floats, or codes in style
  // kQOperator.
  Wire Quantise(const Wire& x, bool positive = false) {
    if (options_.style == QuantisedStyle::kQonnx) return QuantiseQonnx(x, positive);
    const Coding coding = CodingFor(x.magnitude, positive);
    const std::vector<Value*> p = Parameters(coding);
    const Wire codes{Make(Op::kQuantizeLinear, {x.value, p[0], p[1]}), coding, x.magnitude};
    if (OnCodes()) return codes;
    return {Make(Op::kDequantizeLinear, {codes.value, p[0], p[1]}), coding, x.magnitude};
  }
  // Quantises by a Quant node with a random number of bits.
  Wire QuantiseQonnx(const Wire& x, bool positive) {
    const auto bits = static_cast<int>(Between(2, 8));
    const bool is_signed = !positive || Chance(0.3);
    const bool narrow = is_signed && Chance(0.5);
    const double levels = elementary::Exp2(is_signed ? bits - 1 : bits) - 1;
    return {Quant(x.value, Constant(Tensor::Scalar(Scale(x.magnitude / levels))), bits, is_signed,
                  narrow),
            {},
            x.magnitude};
  }
  Value* Quant(Value* x, Value* scale, int bits, bool is_signed, bool narrow) {
    Attributes attributes;
    attributes.Set("signed", int64_t{is_signed});
    attributes.Set("narrow", int64_t{narrow});
    attributes.Set("rounding_mode", std::string("ROUND"));
    return Make(Op::kQuant,
                {x, scale, Constant(Tensor::Scalar(0.0f)),
                 Constant(Tensor::Scalar(static_cast<float>(bits)))},
                std::move(attributes));
  }

  // ---- Weights ----
  struct Weights {
    Value* value = nullptr;  // floats, or codes in style kQOperator
    std::vector<float> scales;
    Value *scale = nullptr, *zero = nullptr;  // kQOperator
    double magnitude = 1;
  };
  // Returns random weights, quantised per tensor or per channel of `axis`.
  Weights MakeWeights(const Shape& shape, int axis, int64_t fan_in) {
    const double magnitude = 1.5 / std::sqrt(static_cast<double>(fan_in));
    const bool per_channel = Chance(0.6);
    const auto channels = static_cast<size_t>(per_channel ? shape[axis] : 1);
    const bool qonnx = options_.style == QuantisedStyle::kQonnx;
    const int bits = qonnx ? static_cast<int>(Between(2, 8)) : 8;
    Weights w;
    w.magnitude = magnitude;
    for (size_t i = 0; i < channels; ++i)
      w.scales.push_back(Scale(magnitude / (elementary::Exp2(bits - 1) - 1)));
    if (qonnx) {
      Shape scale_shape;
      if (per_channel) {
        std::vector<int64_t> dims(static_cast<size_t>(shape.rank()), 1);
        dims[static_cast<size_t>(axis)] = shape[axis];
        scale_shape = Shape(dims);
      }
      w.value = Quant(
          Constant(RandomTensor(random_, ElementType::kFloat32, shape, -magnitude, magnitude)),
          Constant(Tensor::Of<float>(scale_shape, w.scales)), bits, true, Chance(0.5));
      return w;
    }
    const Shape parameters = per_channel ? Shape{shape[axis]} : Shape{};
    const bool is_signed = per_channel || Chance(0.7);
    std::vector<int64_t> codes(static_cast<size_t>(shape.NumElements()));
    for (int64_t& code : codes) code = Between(-127, 127) + (is_signed ? 0 : 128);
    w.value = Codes(shape, codes, is_signed);
    w.scale = Constant(Tensor::Of<float>(parameters, w.scales));
    w.zero = Codes(parameters, std::vector<int64_t>(channels, is_signed ? 0 : 128), is_signed);
    if (OnCodes()) return w;
    Attributes attributes;
    if (per_channel) attributes.Set("axis", int64_t{axis});
    w.value = Make(Op::kDequantizeLinear, {w.value, w.scale, w.zero}, std::move(attributes));
    return w;
  }
  // Returns a 32-bit bias under the scale of the products; floats in style kQonnx; null for no
  // bias.
  Value* Bias(const Wire& x, const Weights& w, int64_t channels) {
    if (Chance(0.4)) return nullptr;
    if (options_.style == QuantisedStyle::kQonnx) {
      std::vector<float> values(static_cast<size_t>(channels));
      for (float& v : values) v = static_cast<float>(Between(-64, 64)) / 128;
      return Constant(Tensor::Of<float>(Shape{channels}, values));
    }
    std::vector<int32_t> codes(static_cast<size_t>(channels));
    for (int32_t& code : codes) code = static_cast<int32_t>(Between(-2000, 2000));
    Value* bias = Constant(Tensor::Of<int32_t>(Shape{channels}, codes));
    if (OnCodes()) return bias;
    std::vector<float> scales = w.scales;
    for (float& scale : scales) scale *= x.coding.scale;
    Attributes attributes;
    if (scales.size() > 1) attributes.Set("axis", int64_t{0});
    const Shape shape = scales.size() > 1 ? Shape{channels} : Shape{};
    return Make(Op::kDequantizeLinear, {bias, Constant(Tensor::Of<float>(shape, scales))},
                std::move(attributes));
  }

  // ---- Stages ----
  Wire Stage(const Wire& x) {
    const bool image = x.value->shape()[2] >= 3 && x.value->shape()[3] >= 3;
    switch (Between(0, 4)) {
      case 0:
        return image ? Pool(x) : Convolve(x);
      case 1:
        return OnCodes() ? Convolve(x) : Residual(x);
      case 2:
        return OnCodes() ? IntegerConvolution(x) : Branches(x);
      default:
        return Convolve(x);
    }
  }

  // Returns the attributes of a window that keeps height and width.
  Attributes SameWindow(int64_t kernel) {
    Attributes attributes;
    attributes.Set("kernel_shape", std::vector<int64_t>{kernel, kernel});
    attributes.Set("pads", std::vector<int64_t>(4, kernel / 2));
    return attributes;
  }
  // Returns the magnitude of a sum of fan_in independent products, which grows with the square
  // root.
  static double SumMagnitude(const Wire& x, const Weights& w, int64_t fan_in) {
    return x.magnitude * w.magnitude * std::sqrt(static_cast<double>(fan_in));
  }

  // Adds a convolution with optional bias, in the operators of the style.
  Wire Convolve(const Wire& x, int64_t out_channels = 0) {
    const int64_t channels = x.value->shape()[1], kernel = 2 * Between(0, 1) + 1;
    if (out_channels == 0) out_channels = Between(1, 6);
    const int64_t fan_in = channels * kernel * kernel;
    const Weights w = MakeWeights(Shape{out_channels, channels, kernel, kernel}, 0, fan_in);
    Value* bias = Bias(x, w, out_channels);
    Wire y{nullptr, {}, SumMagnitude(x, w, fan_in)};
    if (OnCodes()) {
      y.coding = CodingFor(y.magnitude, Chance(0.5));
      const std::vector<Value*> px = Parameters(x.coding), py = Parameters(y.coding);
      std::vector<Value*> operands = {x.value, px[0],  px[1], w.value,
                                      w.scale, w.zero, py[0], py[1]};
      if (bias != nullptr) operands.push_back(bias);
      y.value = Make(Op::kQLinearConv, std::move(operands), SameWindow(kernel));
      return y;
    }
    std::vector<Value*> operands = {x.value, w.value};
    if (bias != nullptr) operands.push_back(bias);
    y.value = Make(Op::kConv, std::move(operands), SameWindow(kernel));
    const bool relu = Chance(0.5);
    if (relu) y.value = Make(Op::kRelu, {y.value});
    return Quantise(y, relu);
  }

  // Adds a convolution of codes to 32-bit sums, scaled afterwards by one number.
  Wire IntegerConvolution(const Wire& x) {
    const int64_t channels = x.value->shape()[1], out_channels = Between(1, 6);
    Weights w = MakeWeights(Shape{out_channels, channels, 3, 3}, 0, channels * 9);
    Value* sums =
        Make(Op::kConvInteger, {x.value, w.value, Parameters(x.coding)[1], w.zero}, SameWindow(3));
    Attributes to;
    to.Set("to", OnnxCodeOf(ElementType::kFloat32));
    Value* floats = Make(Op::kCast, {sums}, std::move(to));
    Value* scale = Constant(Tensor::Scalar(x.coding.scale * w.scales[0]));
    return Quantise({Make(Op::kMul, {floats, scale}), {}, SumMagnitude(x, w, channels * 9)});
  }

  // Adds a convolution added to its own input.
  Wire Residual(const Wire& x) {
    const Wire branch = Convolve(x, x.value->shape()[1]);
    Wire sum{Make(Op::kAdd, {branch.value, x.value}), {}, branch.magnitude + x.magnitude};
    if (Chance(0.5)) sum.value = Make(Op::kRelu, {sum.value});
    return Quantise(sum);
  }

  // Adds one value that is quantised in two ways and joined again.
  Wire Branches(const Wire& x) {
    Attributes attributes;
    attributes.Set("alpha", 0.25f);
    const Wire raw{Make(Op::kLeakyRelu, {x.value}, std::move(attributes)), {}, x.magnitude};
    const Wire a = Convolve(Quantise(raw), 2), b = Convolve(Quantise(raw), 2);
    attributes = {};
    attributes.Set("axis", int64_t{1});
    const Wire joined{Make(Op::kConcat, {a.value, b.value}, std::move(attributes)),
                      {},
                      std::max(a.magnitude, b.magnitude)};
    return Quantise(joined);
  }

  // Adds a max pool, which selects among codes without changing them.
  Wire Pool(const Wire& x) {
    Attributes attributes;
    attributes.Set("kernel_shape", std::vector<int64_t>{2, 2});
    attributes.Set("strides", std::vector<int64_t>{2, 2});
    return {Make(Op::kMaxPool, {x.value}, std::move(attributes)), x.coding, x.magnitude};
  }

  // Adds a reshape to one row.
  Wire Flatten(const Wire& x) {
    const int64_t size = x.value->shape().NumElements();
    return {Make(Op::kReshape, {x.value, Ints({1, size})}), x.coding, x.magnitude};
  }

  // Adds a matrix product to a few outputs, in the operators of the style.
  Wire Linear(const Wire& x) {
    const int64_t fan_in = x.value->shape()[1], outputs = Between(2, 6);
    const bool transposed = !OnCodes() && Chance(0.4);
    const Weights w = MakeWeights(transposed ? Shape{outputs, fan_in} : Shape{fan_in, outputs},
                                  transposed ? 0 : 1, fan_in);
    Wire y{nullptr, {}, SumMagnitude(x, w, fan_in)};
    if (OnCodes()) {
      y.coding = CodingFor(y.magnitude, false);
      const std::vector<Value*> px = Parameters(x.coding), py = Parameters(y.coding);
      y.value =
          Make(Op::kQLinearMatMul, {x.value, px[0], px[1], w.value, w.scale, w.zero, py[0], py[1]});
      return y;
    }
    if (transposed) {
      Attributes attributes;
      attributes.Set("transB", int64_t{1});
      std::vector<Value*> operands = {x.value, w.value};
      if (Value* bias = Bias(x, w, outputs); bias != nullptr) operands.push_back(bias);
      y.value = Make(Op::kGemm, std::move(operands), std::move(attributes));
    } else {
      y.value = Make(Op::kMatMul, {x.value, w.value});
    }
    return Chance(0.7) ? Quantise(y) : y;
  }

  Random random_;
  const RandomQuantisedOptions& options_;
  Graph graph_;
  int count_ = 0;
};

}  // namespace

// The style takes part in the seed, so that the styles yield different networks.
Graph RandomQuantisedGraph(uint64_t seed, const RandomQuantisedOptions& options) {
  return Builder(seed, options).Build();
}

}  // namespace kiln
