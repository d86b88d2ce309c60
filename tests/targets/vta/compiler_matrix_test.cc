// Linear layers against a model of their own: integer sums in plain loops, then the formula of
// docs/vta-networks.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "fmt/format.h"
#include "kiln/execute/codes.h"
#include "kiln/ir/random_tensor.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/ir/text.h"
#include "kiln/ir/window.h"
#include "kiln/support/random.h"
#include "kiln/targets/vta/accelerator.h"
#include "tests/targets/vta/compiled.h"

namespace kiln::vta {
namespace {

struct LayerCase {
  int64_t in = 3, out = 8, height = 8, width = 8, kernel = 3, stride = 1, dilation = 1, pad = 1,
          groups = 1;
  bool relu = false, residual = false, wide = false, powers_of_two = false;

  std::string Describe() const {
    return fmt::format("{}->{} {}x{} kernel {} stride {} dilation {} pad {} groups {}{}{}{}{}", in,
                       out, height, width, kernel, stride, dilation, pad, groups,
                       relu ? " relu" : "", residual ? " residual" : "", wide ? " wide" : "",
                       powers_of_two ? " powers of two" : "");
  }
};

// Draws what has an output.
LayerCase RandomCase(Random& random) {
  for (;;) {
    LayerCase c;
    c.in = 1 + static_cast<int64_t>(random.Below(40));
    c.out = 1 + static_cast<int64_t>(random.Below(50));
    c.height = 1 + static_cast<int64_t>(random.Below(14));
    c.width = 1 + static_cast<int64_t>(random.Below(40));
    c.kernel = 1 + static_cast<int64_t>(random.Below(4));
    c.stride = 1 + static_cast<int64_t>(random.Below(3));
    c.dilation = 1 + static_cast<int64_t>(random.Below(2));
    c.pad = static_cast<int64_t>(random.Below(3));
    if (random.Below(4) == 0) {
      c.groups = 1 + static_cast<int64_t>(random.Below(5));
      c.in *= c.groups;
      c.out *= c.groups;
    } else if (random.Below(6) == 0) {
      c.groups = c.in = c.out = c.in;
    }
    c.relu = random.Below(2) == 0;
    c.wide = random.Below(4) == 0;
    c.residual = !c.wide && random.Below(3) == 0;
    c.powers_of_two = random.Below(4) == 0;
    const int64_t extent = (c.kernel - 1) * c.dilation + 1;
    if (extent <= c.height + 2 * c.pad && extent <= c.width + 2 * c.pad && c.pad < extent) return c;
  }
}

Tensor RandomConstant(Random& random, Shape shape, double bound) {
  Tensor t(ElementType::kFloat32, std::move(shape));
  for (float& v : t.data<float>()) v = static_cast<float>(random.Uniform(-bound, bound));
  return t;
}

Graph GraphOf(const LayerCase& c, Random& random) {
  Graph graph("layer");
  Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{1, c.height, c.width, c.in}});
  Value* w = graph.AddConstant(
      "w", RandomConstant(random, {c.out, c.in / c.groups, c.kernel, c.kernel}, 0.4));
  Value* b = graph.AddConstant("b", RandomConstant(random, {c.out}, 1.5));
  Attributes a;
  a.Set("kernel_shape", std::vector<int64_t>{c.kernel, c.kernel});
  a.Set("strides", std::vector<int64_t>{c.stride, c.stride});
  a.Set("dilations", std::vector<int64_t>{c.dilation, c.dilation});
  a.Set("group", c.groups);
  a.Set("layout", std::string("nhwc"));
  a.Set("pads", std::vector<int64_t>{c.pad, c.pad, c.pad, c.pad});
  Value* y = graph.AddNode(Op::kConv, "conv", {x, w, b}, {"conv_y"}, a)->result();
  EXPECT_EQ(InferShapes(graph), OkStatus());
  if (c.residual) {
    Value* r = graph.AddInput("r", {ElementType::kFloat32, y->shape()});
    y = graph.AddNode(Op::kAdd, "add", {y, r}, {"add_y"})->result();
  }
  if (c.relu) y = graph.AddNode(Op::kRelu, "relu", {y}, {"relu_y"})->result();
  graph.MarkOutput(y);
  EXPECT_EQ(InferShapes(graph), OkStatus());
  return graph;
}

const Node* FindNode(const Graph& graph, Op op) {
  for (const auto& node : graph.nodes()) {
    if (node->op() == op) return node.get();
  }
  return nullptr;
}

double ScaleOf(const Value& value, int64_t channel = 0) {
  const auto& scales = value.quantisation()->scales;
  return scales[scales.size() == 1 ? 0 : static_cast<size_t>(channel)];
}
int64_t ZeroOf(const Value& value) { return value.quantisation()->zero_points[0]; }

// The layer as docs/vta-networks.md has it, on one image.
class Model {
 public:
  Model(const Graph& graph, const LayerCase& c)
      : graph_(graph), case_(c), conv_(*FindNode(graph, Op::kConv)) {
    output_ = graph.outputs()[0];
    weights_ = QuantiseTensor(conv_.operand(1)->constant(), *conv_.operand(1)->quantisation());
    factors_ = Factors();
  }

  // x, r and the result: codes, [height][width][channels].
  std::vector<int64_t> Run(const std::vector<int64_t>& x, const std::vector<int64_t>& r) const {
    const ConvGeometry g = *ResolveConv(conv_);
    const int64_t height = g.axes[0].output, width = g.axes[1].output;
    std::vector<int64_t> out;
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t xx = 0; xx < width; ++xx) {
        for (int64_t o = 0; o < case_.out; ++o) {
          const int64_t sum = Sum(x, o, y, xx);
          out.push_back(case_.wide ? Wide(sum, o) : Narrow(sum, o, r.empty() ? 0 : r[out.size()]));
        }
      }
    }
    return out;
  }

 private:
  const Value& input() const { return *conv_.operand(0); }

  int64_t Weight(int64_t o, int64_t c, int64_t ky, int64_t kx) const {
    return weights_.IntAt(((o * (case_.in / case_.groups) + c) * case_.kernel + ky) * case_.kernel +
                          kx);
  }
  int64_t WeightSum(int64_t o) const {
    int64_t sum = 0;
    const int64_t each = case_.in / case_.groups * case_.kernel * case_.kernel;
    for (int64_t i = 0; i < each; ++i) sum += weights_.IntAt(o * each + i);
    return sum;
  }

  int64_t Sum(const std::vector<int64_t>& x, int64_t o, int64_t oy, int64_t ox) const {
    const int64_t group = o / (case_.out / case_.groups), channels = case_.in / case_.groups;
    int64_t sum = 0;
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t ky = 0; ky < case_.kernel; ++ky) {
        for (int64_t kx = 0; kx < case_.kernel; ++kx) {
          const int64_t y = oy * case_.stride - case_.pad + ky * case_.dilation;
          const int64_t xx = ox * case_.stride - case_.pad + kx * case_.dilation;
          const bool inside = y >= 0 && y < case_.height && xx >= 0 && xx < case_.width;
          const int64_t at = (y * case_.width + xx) * case_.in + group * channels + c;
          sum += Weight(o, c, ky, kx) * (inside ? x[static_cast<size_t>(at)] : ZeroOf(input()));
        }
      }
    }
    return sum;
  }

  std::vector<double> Factors() const {
    std::vector<double> factors;
    const double out_scale = case_.wide ? 1 : ScaleOf(*output_);
    for (int64_t o = 0; o < case_.out; ++o) {
      factors.push_back(ScaleOf(input()) / out_scale * ScaleOf(*conv_.operand(1), o));
    }
    return factors;
  }

  double Bias(int64_t o) const { return conv_.operand(2)->constant().ValueAt(o); }

  int64_t Wide(int64_t sum, int64_t o) const {
    const double unit = factors_[static_cast<size_t>(o)];
    const int64_t bias =
        std::llround(Bias(o) / unit - static_cast<double>(ZeroOf(input()) * WeightSum(o)));
    return std::max<int64_t>(sum + bias, case_.relu ? 0 : INT32_MIN);
  }

  int64_t Narrow(int64_t sum, int64_t o, int64_t residual) const {
    const double factor = factors_[static_cast<size_t>(o)], out_scale = ScaleOf(*output_);
    const int64_t zero = ZeroOf(*output_);
    double offset = Bias(o) / out_scale -
                    factor * static_cast<double>(ZeroOf(input()) * WeightSum(o)) +
                    static_cast<double>(zero);
    const int64_t least_code = output_->quantisation()->type.symmetric ? -127 : -128;
    const int64_t low = case_.relu ? std::max(least_code, zero) : least_code, high = 127;
    const bool shared =
        std::all_of(factors_.begin(), factors_.end(), [&](double f) { return f == factors_[0]; });
    int exponent = 0;
    if (!case_.residual && shared && std::frexp(factor, &exponent) == 0.5 && exponent <= 1) {
      // The real number's nearest code, ties upwards.
      const double real = static_cast<double>(sum) * factor + offset;
      return std::clamp(static_cast<int64_t>(std::floor(real + 0.5)), low, high);
    }
    double from = static_cast<double>(low), to = static_cast<double>(high) + 1, other = 0;
    int shift = 24;
    if (case_.residual) {
      const Value& r = *Residual();
      other = ScaleOf(r) / out_scale;
      offset += -other * static_cast<double>(ZeroOf(r));
      to = 128 * (1 + other) + 2;
      from = -to;
      shift = std::min(24, 29 - static_cast<int>(std::ceil(std::log2(to))));
    }
    const double scale = std::exp2(shift);
    const double multiplier = std::max(1.0, std::round(factor * scale));
    const double bias = std::round((offset + 0.5) * scale / multiplier);
    const double least = std::ceil(std::ceil(from * scale) / multiplier);
    const double most = std::floor((std::floor(to * scale) - 1) / multiplier);
    const auto held =
        static_cast<int64_t>(std::min(std::max(static_cast<double>(sum) + bias, least), most));
    int64_t product = held * static_cast<int64_t>(multiplier);
    if (!case_.residual) return product >> shift;
    product += residual * std::llround(other * scale);
    return std::clamp(product >> shift, low, high);
  }

  const Value* Residual() const {
    const Node* add = FindNode(graph_, Op::kAdd);
    return add->operand(add->operand(0) == conv_.result() ? 1 : 0);
  }

  const Graph& graph_;
  const LayerCase case_;
  const Node& conv_;
  const Value* output_;
  Tensor weights_;
  std::vector<double> factors_;
};

std::vector<int64_t> CodesOfImage(const Graph& graph, size_t input, const Batch& batch) {
  const Value& value = *graph.inputs()[input];
  const Tensor codes = QuantiseTensor(batch.inputs[input], *value.quantisation());
  return codes.ToInts();
}

TEST(CompilerMatrix, IsItsFormulaBitForBit) {
  Random random(5);
  for (int i = 0; i < 120; ++i) {
    const LayerCase c = RandomCase(random);
    SCOPED_TRACE(fmt::format("case {}: {}", i, c.Describe()));
    const Graph graph = GraphOf(c, random);
    const Batch image = RandomImages(graph, 1, 100 + static_cast<uint64_t>(i));
    Recipe recipe = Int8Recipe();
    recipe.quantise_outputs = !c.wide;
    if (c.powers_of_two) {
      recipe.activations.type.scale_format = recipe.weights.type.scale_format = *FindFormat("e8m0");
      recipe.weights.type.scheme = Scheme::kPerTensor;
      recipe.activations.type.symmetric = true;
    }
    const Graph prepared = Prepare(graph.Clone(), image, recipe);
    const int threads = static_cast<int>(random.Below(kMaxThreads + 1));
    const auto program = CompileFor(prepared, PynqConfig(), threads);
    ASSERT_NE(program, nullptr);
    ASSERT_EQ(FindingsOf(*program), "") << program->Print();
    const Model model(prepared, c);
    const std::vector<int64_t> expected =
        model.Run(CodesOfImage(prepared, 0, image),
                  c.residual ? CodesOfImage(prepared, 1, image) : std::vector<int64_t>());
    ASSERT_EQ(CodesOf(*program, image).ToInts(), expected) << program->Print();
    if (i % 8 == 0) {
      ASSERT_EQ(CodesOf(*program, image, Level::kCycle).ToInts(), expected);
    }
  }
}

// Sums that are not quantised, with a bias beside which products are nothing.
TEST(CompilerMatrix, BiasesThatAreTooLargeGoToTheHost) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float number : {-infinity, std::numeric_limits<float>::lowest(), 1e9f, 1e4f}) {
    for (const bool no_weights : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", number, no_weights));
      Graph graph("bias");
      Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{1, 16, 3, 3}});
      Random random(1);
      Tensor weights = RandomTensor(random, ElementType::kFloat32, Shape{16, 16, 1, 1}, -1.0, 1.0);
      if (no_weights) std::fill_n(weights.data<float>().begin() + 5 * 16, 16, 0.0f);
      Tensor bias(ElementType::kFloat32, Shape{16});
      std::fill(bias.data<float>().begin(), bias.data<float>().end(), 0.5f);
      Attributes a;
      a.Set("kernel_shape", std::vector<int64_t>{1, 1});
      const std::vector<Value*> operands = {x, graph.AddConstant("w", weights),
                                            graph.AddConstant("b", bias)};
      graph.MarkOutput(graph.AddNode(Op::kConv, "conv", operands, {"y"}, a)->result());
      ASSERT_EQ(InferShapes(graph), OkStatus());
      const Batch images = RandomImages(graph, 1, 2);
      Graph prepared = Prepare(graph.Clone(), images, Int8Recipe());
      // Calibration refuses infinite values; networks that bring their own quantisation may have
      // them.
      bias = bias.Clone();
      bias.data<float>()[5] = number;
      for (Node* node : prepared.NodeList()) {
        if (node->op() == Op::kConv)
          prepared.SetOperand(node, 2, prepared.AddConstant("bias", bias));
      }
      const VtaAccelerator accelerator(PynqConfig());
      const auto program = accelerator.Compile(prepared, {});
      ASSERT_TRUE(program.ok()) << program.status();
      const bool on_host = std::abs(number) > 1e8f;
      bool found = false;
      for (const KernelInfo& kernel : (*program)->kernels()) {
        found |= kernel.host_reason.find("do not fit the accumulators") != std::string::npos;
      }
      EXPECT_EQ(found, on_host);
      const auto run = accelerator.Run(**program, images, {});
      ASSERT_TRUE(run.ok()) << run.status();
      const Tensor& y = run->outputs[0];
      for (int64_t pixel = 0; pixel < 9; ++pixel) {
        const double result = y.ValueAt(5 * 9 + pixel), next = y.ValueAt(6 * 9 + pixel);
        if (std::isinf(number)) {
          EXPECT_EQ(result, number);
        } else {
          EXPECT_NEAR(result, number, 40 + 1e-6 * std::abs(number));  // 16 products below 2
        }
        EXPECT_NEAR(next, 0.5, 40);
      }
    }
  }
}

// A product of one pixel reads the whole map as one image. A product of several pixels, padded,
// does not, although it reads as many channels and the map has a border for another reader.
TEST(CompilerMatrix, OnlyOnePixelReadsAFlattenedMap) {
  const std::string head =
      "graph \"net\" { input %x : f32[1x3x3x1] quant int8 per_tensor scale=[1]\n"
      "const %one : f32[1x1x1x1] quant int8 per_tensor symmetric scale=[1] = [1]\n"
      "const %shape : i64[4] = [1, 1, 1, 9]\n"
      "const %d : f32[2x9x1x1] quant int8 per_tensor symmetric scale=[1] ="
      " [1, 0, -1, 1, 1, 0, -1, 0, 1, 0, 1, 1, -1, 0, 0, 1, -1, -1]\n"
      "const %e : f32[1x1x3x3] quant int8 per_tensor symmetric scale=[1] ="
      " [1, -1, 0, 0, 1, 0, 1, 0, -1]\n"
      "%m = conv %x, %one {dilations=[1, 1], group=1, kernel_shape=[1, 1], layout=\"nhwc\","
      " pads=[0, 0, 0, 0], strides=[1, 1]} \"map\" : f32[1x3x3x1] quant int8 per_tensor scale=[1]\n"
      "%r = reshape %m, %shape \"flat\" : f32[1x1x1x9] quant int8 per_tensor scale=[1]\n";
  const std::vector<int> d = {1, 0, -1, 1, 1, 0, -1, 0, 1, 0, 1, 1, -1, 0, 0, 1, -1, -1};
  for (const int pad : {0, 1}) {
    SCOPED_TRACE(pad);
    const int side = 1 + 2 * pad;
    const auto graph = ParseGraph(
        head +
            fmt::format("%y = conv %r, %d {{dilations=[1, 1], group=1, kernel_shape=[1, 1],"
                        " layout=\"nhwc\", pads=[{0}, {0}, {0}, {0}], strides=[1, 1]}} \"dense\""
                        " : f32[1x{1}x{1}x2] quant int8 per_tensor scale=[1]\n"
                        "%z = conv %m, %e {{dilations=[1, 1], group=1, kernel_shape=[3, 3],"
                        " layout=\"nhwc\", pads=[1, 1, 1, 1], strides=[1, 1]}} \"other\""
                        " : f32[1x3x3x1] quant int8 per_tensor scale=[1]\noutput %y\noutput %z }}",
                        pad, side),
        "net.kir");
    ASSERT_TRUE(graph.ok()) << graph.status();
    const VtaAccelerator accelerator(PynqConfig());
    const auto program = accelerator.Compile(*graph, {});
    ASSERT_TRUE(program.ok()) << program.status();
    Tensor image(ElementType::kFloat32, {1, 3, 3, 1});
    for (int i = 0; i < 9; ++i) image.data<float>()[static_cast<size_t>(i)] = float(i * i % 7 - 3);
    const auto run = accelerator.Run(**program, {{image}}, {});
    ASSERT_TRUE(run.ok()) << run.status();
    for (int at = 0; at < side * side; ++at) {
      for (int o = 0; o < 2; ++o) {
        float sum = 0;
        for (int c = 0; c < 9 && at == side * side / 2; ++c) {
          sum += float(d[static_cast<size_t>(9 * o + c)]) *
                 image.data<float>()[static_cast<size_t>(c)];
        }
        EXPECT_EQ(run->outputs[0].ValueAt(2 * at + o), sum) << at << " " << o;
      }
    }
  }
}

}  // namespace
}  // namespace kiln::vta
