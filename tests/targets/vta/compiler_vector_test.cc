// Element-wise operators and maximum pools against real numbers: within one code of the nearest,
// and nearly always it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "fmt/format.h"
#include "kiln/execute/codes.h"
#include "kiln/execute/reference.h"
#include "kiln/ir/random_tensor.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/support/random.h"
#include "kiln/targets/vta/accelerator.h"
#include "tests/targets/vta/compiled.h"

namespace kiln::vta {
namespace {

struct OperatorCase {
  Op op;
  int operands;
  std::function<double(double x, double y)> value;
};

std::vector<OperatorCase> Operators() {
  return {
      {Op::kAdd, 2, [](double x, double y) { return x + y; }},
      {Op::kSub, 2, [](double x, double y) { return x - y; }},
      {Op::kMul, 2, [](double x, double y) { return x * y; }},
      {Op::kMax, 2, [](double x, double y) { return std::max(x, y); }},
      {Op::kMin, 2, [](double x, double y) { return std::min(x, y); }},
      {Op::kAbs, 1, [](double x, double) { return std::abs(x); }},
      {Op::kNeg, 1, [](double x, double) { return -x; }},
      {Op::kRelu, 1, [](double x, double) { return std::max(x, 0.0); }},
      {Op::kLeakyRelu, 1, [](double x, double) { return std::max(x, 0.01 * x); }},
      {Op::kHardSigmoid, 1, [](double x, double) { return std::clamp(0.2 * x + 0.5, 0.0, 1.0); }},
      {Op::kHardSwish, 1, [](double x, double) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }}};
}

Graph GraphOf(const OperatorCase& c) {
  Graph graph("elementwise");
  const Shape shape{1, 9, 31, 37};
  std::vector<Value*> operands;
  for (int i = 0; i < c.operands; ++i) {
    operands.push_back(graph.AddInput("x" + std::to_string(i), {ElementType::kFloat32, shape}));
  }
  graph.MarkOutput(graph.AddNode(c.op, "op", operands, {"y"})->result());
  EXPECT_EQ(InferShapes(graph), OkStatus());
  return graph;
}

TEST(CompilerVector, ElementwiseOperatorsAreTheNearestCode) {
  for (const OperatorCase& c : Operators()) {
    SCOPED_TRACE(InfoOf(c.op).text);
    const Graph graph = GraphOf(c);
    Batch images = RandomImages(graph, 1, 3);
    for (float& v : images.inputs[0].data<float>()) v *= 1.7f;  // operands in different scales
    Recipe recipe = Int8Recipe();
    recipe.quantise_outputs = true;
    const Graph prepared = Prepare(graph.Clone(), images, recipe);
    for (const int threads : {1, 2}) {
      const auto program = CompileFor(prepared, PynqConfig(), threads);
      ASSERT_NE(program, nullptr);
      ASSERT_EQ(FindingsOf(*program), "");
      const Tensor codes = CodesOf(*program, images);
      EXPECT_EQ(CodesOf(*program, images, Level::kCycle), codes);
      std::vector<Tensor> inputs;
      for (size_t i = 0; i < images.inputs.size(); ++i) {
        inputs.push_back(RoundTensor(images.inputs[i], *prepared.inputs()[i]->quantisation()));
      }
      const Quantisation& q = *prepared.outputs()[0]->quantisation();
      int64_t off = 0;
      for (int64_t i = 0; i < codes.size(); ++i) {
        const double real = c.value(inputs[0].ValueAt(i), inputs.back().ValueAt(i)) / q.scales[0] +
                            q.zero_points[0];
        const double wanted = std::clamp(std::round(real), -128.0, 127.0);
        ASSERT_LE(std::abs(static_cast<double>(codes.IntAt(i)) - wanted), 1)
            << "element " << i << ": " << real;
        if (static_cast<double>(codes.IntAt(i)) != wanted) ++off;
      }
      EXPECT_LE(off, codes.size() / 100);
    }
  }
}

// The second operand (or the first, where `swapped`) has another shape, or is a constant.
struct OperandCase {
  Op op;
  Shape shape;
  bool constant = true, swapped = false;
  std::string Describe() const {
    return fmt::format("{} {} {}{}", InfoOf(op).text, shape.ToString(), constant ? "constant" : "",
                       swapped ? " first" : "");
  }
};

double Compute(Op op, double x, double y) {
  switch (op) {
    case Op::kAdd:
      return x + y;
    case Op::kSub:
      return x - y;
    case Op::kMul:
      return x * y;
    case Op::kDiv:
      return x / y;
    case Op::kMax:
      return std::max(x, y);
    default:
      return std::min(x, y);
  }
}

// Where an element of [1, 9, 31, 37] finds its operand.
int64_t Broadcast(int64_t element, const Shape& shape) {
  const Shape full{1, 9, 31, 37};
  int64_t at = 0, stride = 1, rest = element;
  for (int i = 3; i >= 0; --i) {
    const int64_t index = rest % full[i];
    rest /= full[i];
    const int axis = i - 4 + shape.rank();
    if (axis < 0) continue;
    if (shape[axis] > 1) at += index * stride;
    stride *= shape[axis];
  }
  return at;
}

// The operator that is first has nothing on the machine that says where channels are: the
// convolution behind it does.
TEST(CompilerVector, AReluOfTheGraphsInputKeepsTheConvolutionOnTheMachine) {
  Random random(5);
  Graph graph("relu first");
  Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{1, 3, 12, 10}});
  Value* w = graph.AddConstant(
      "w", RandomTensor(random, ElementType::kFloat32, Shape{20, 3, 3, 3}, -0.5, 0.5));
  Value* relu = graph.AddNode(Op::kRelu, "relu", {x}, {"r"})->result();
  Attributes attributes;
  attributes.Set("kernel_shape", std::vector<int64_t>{3, 3});
  attributes.Set("pads", std::vector<int64_t>{1, 1, 1, 1});
  graph.MarkOutput(graph.AddNode(Op::kConv, "conv", {relu, w}, {"y"}, attributes)->result());
  ASSERT_EQ(InferShapes(graph), OkStatus());
  const Batch images = RandomImages(graph, 1, 3);
  Recipe recipe = Int8Recipe();
  recipe.quantise_outputs = true;
  const Graph prepared = Prepare(graph.Clone(), images, recipe);
  const auto program = CompileFor(prepared, PynqConfig());  // without a host
  ASSERT_NE(program, nullptr);
  ASSERT_EQ(FindingsOf(*program), "");
  const Tensor codes = CodesOf(*program, images);
  EXPECT_EQ(CodesOf(*program, images, Level::kCycle), codes);
  const auto executor = ReferenceExecutor::Create(prepared);
  ASSERT_TRUE(executor.ok()) << executor.status();
  const auto expected = (*executor)->Run(images.inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const Quantisation& q = *prepared.outputs()[0]->quantisation();
  for (int64_t i = 0; i < codes.size(); ++i) {
    const double wanted = (*expected)[0].ValueAt(i) / q.scales[0] + q.zero_points[0];
    // Codes of the relu, too, may be one off.
    ASSERT_LE(std::abs(static_cast<double>(codes.IntAt(i)) - wanted), 2) << "element " << i;
  }
}

TEST(CompilerVector, ConstantsAndOperandsForAllPixels) {
  const Shape full{1, 9, 31, 37};
  std::vector<OperandCase> cases;
  for (const Op op : {Op::kAdd, Op::kSub, Op::kMul, Op::kMax, Op::kMin}) {
    for (const Shape& shape :
         {full, Shape{1, 9, 1, 1}, Shape{9, 1, 1}, Shape{31, 37}, Shape{37}, Shape{1}}) {
      cases.push_back({op, shape, true, false});
      cases.push_back({op, shape, true, true});
    }
    cases.push_back({op, Shape{1, 9, 1, 1}, false, false});
    cases.push_back({op, Shape{1, 9, 1, 1}, false, true});
  }
  cases.push_back({Op::kDiv, Shape{1}, true, false});
  for (const bool wide : {false, true}) {
    for (const OperandCase& c : cases) {
      SCOPED_TRACE(c.Describe());
      Graph graph("operands");
      Value* x = graph.AddInput("x", {ElementType::kFloat32, full});
      Random random(4);
      Tensor numbers(ElementType::kFloat32, c.shape);
      for (float& v : numbers.data<float>()) v = static_cast<float>(random.Uniform(0.3, 2.5));
      Value* y = c.constant ? graph.AddConstant("y", numbers)
                            : graph.AddInput("y", {ElementType::kFloat32, c.shape});
      std::vector<Value*> operands = {x, y};
      if (c.swapped) std::swap(operands[0], operands[1]);
      graph.MarkOutput(graph.AddNode(c.op, "op", operands, {"z"})->result());
      ASSERT_EQ(InferShapes(graph), OkStatus());
      const Batch images = RandomImages(graph, 1, 3);
      Recipe recipe = Int8Recipe();
      recipe.quantise_outputs = !wide;
      const Graph prepared = Prepare(graph.Clone(), images, recipe);
      const auto program = CompileFor(prepared, PynqConfig());
      ASSERT_NE(program, nullptr);
      ASSERT_EQ(FindingsOf(*program), "");
      RunOptions cycle;
      cycle.level = Level::kCycle;
      const VtaAccelerator accelerator(PynqConfig());
      const auto run = accelerator.Run(*program, images, {}),
                 timed = accelerator.Run(*program, images, cycle);
      ASSERT_TRUE(run.ok() && timed.ok());
      ASSERT_EQ(run->codes, timed->codes);
      const Tensor in = RoundTensor(images.inputs[0], *prepared.inputs()[0]->quantisation());
      const Tensor other =
          c.constant ? numbers
                     : RoundTensor(images.inputs[1], *prepared.inputs()[1]->quantisation());
      for (int64_t i = 0; i < in.size(); ++i) {
        double a = in.ValueAt(i), b = other.ValueAt(Broadcast(i, c.shape));
        if (c.swapped) std::swap(a, b);
        const double value = Compute(c.op, a, b);
        if (wide) {
          ASSERT_NEAR(run->outputs[0].ValueAt(i), value, 2e-4 * (1 + std::abs(value))) << i;
          continue;
        }
        const Quantisation& q = *prepared.outputs()[0]->quantisation();
        const double real = std::clamp(value / q.scales[0] + q.zero_points[0], -128.0, 127.0);
        ASSERT_NEAR(static_cast<double>(run->codes[0].IntAt(i)), real, 0.52) << i;
      }
    }
  }
}

TEST(CompilerVector, MaximumPoolsAreExact) {
  for (const int64_t pad : {0, 1}) {
    Graph graph("pool");
    Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{1, 45, 38, 20}});
    Attributes a;
    a.Set("kernel_shape", std::vector<int64_t>{3, 3});
    a.Set("strides", std::vector<int64_t>{2, 2});
    a.Set("pads", std::vector<int64_t>{pad, pad, pad, pad});
    a.Set("layout", std::string("nhwc"));
    graph.MarkOutput(graph.AddNode(Op::kMaxPool, "pool", {x}, {"y"}, a)->result());
    ASSERT_EQ(InferShapes(graph), OkStatus());
    const Batch images = RandomImages(graph, 1, 4);
    Recipe recipe = Int8Recipe();
    recipe.quantise_outputs = true;
    const Graph prepared = Prepare(graph.Clone(), images, recipe);
    const auto program = CompileFor(prepared, PynqConfig());
    ASSERT_NE(program, nullptr);
    EXPECT_EQ(FindingsOf(*program), "");
    const Tensor in = QuantiseTensor(images.inputs[0], *prepared.inputs()[0]->quantisation());
    const Shape shape = prepared.outputs()[0]->shape();
    std::vector<int64_t> wanted;
    for (int64_t y = 0; y < shape[1]; ++y) {
      for (int64_t xx = 0; xx < shape[2]; ++xx) {
        for (int64_t c = 0; c < shape[3]; ++c) {
          int64_t most = -128;
          for (int64_t k = 0; k < 9; ++k) {
            const int64_t iy = 2 * y - pad + k / 3, ix = 2 * xx - pad + k % 3;
            if (iy >= 0 && iy < 45 && ix >= 0 && ix < 38)
              most = std::max(most, in.IntAt((iy * 38 + ix) * 20 + c));
          }
          wanted.push_back(most);
        }
      }
    }
    EXPECT_EQ(CodesOf(*program, images).ToInts(), wanted);
    EXPECT_EQ(CodesOf(*program, images, Level::kCycle).ToInts(), wanted);
  }
}

// Cost is what the launch takes; neither element-wise layers nor pools are below their bound, nor
// far above it.
TEST(CompilerVector, CertificatesHold) {
  std::vector<Graph> graphs;
  for (const OperatorCase& c : Operators()) graphs.push_back(GraphOf(c));
  for (const int64_t stride : {1, 2, 3}) {
    Graph pool("pool");
    Value* x = pool.AddInput("x", {ElementType::kFloat32, Shape{1, 40, 41, 32}});
    Attributes a;
    a.Set("kernel_shape", std::vector<int64_t>{2, 3});
    a.Set("strides", std::vector<int64_t>{stride, stride});
    a.Set("dilations", std::vector<int64_t>{1, stride});
    a.Set("layout", std::string("nhwc"));
    pool.MarkOutput(pool.AddNode(Op::kMaxPool, "pool", {x}, {"y"}, a)->result());
    EXPECT_EQ(InferShapes(pool), OkStatus());
    graphs.push_back(std::move(pool));
  }
  for (const bool wide : {false, true}) {
    for (const Graph& graph : graphs) {
      SCOPED_TRACE(InfoOf(graph.nodes().front()->op()).text);
      const Batch images = RandomImages(graph, 1, 9);
      Recipe recipe = Int8Recipe();
      recipe.quantise_outputs = !wide;
      const auto program = CompileFor(Prepare(graph.Clone(), images, recipe), PynqConfig());
      ASSERT_NE(program, nullptr);
      const Certificate& certificate = program->kernels()[0].certificate;
      RunOptions options;
      options.level = Level::kCycle;
      const auto run = VtaAccelerator(PynqConfig()).Run(*program, images, options);
      ASSERT_TRUE(run.ok()) << run.status();
      EXPECT_EQ(certificate.unit, "cycles");
      EXPECT_EQ(certificate.cost, static_cast<double>(run->trace.cycles));
      EXPECT_LE(certificate.lower_bound, certificate.cost) << certificate.bound_from;
      EXPECT_GT(certificate.lower_bound, 0.2 * certificate.cost) << certificate.bound_from;
    }
  }
}

// Compiled by the family's interface, so with a host; the reason why the host runs the only layer.
std::string HostReasonOf(const Graph& prepared) {
  const auto program = VtaAccelerator(PynqConfig()).Compile(prepared, {});
  EXPECT_TRUE(program.ok()) << program.status();
  return program.ok() ? (*program)->kernels().back().host_reason : "";
}

// A pool in numbers: kernel, stride, padding of both axes.
struct PoolCase {
  Op op;
  int64_t height, width, channels, kernel_y, kernel_x, stride, pad, dilation = 1;
  bool include_pad = false, ceil_mode = false;
  std::string Describe() const {
    return fmt::format("{} {}x{}x{} kernel {}x{} stride {} pad {} dilation {}{}{}", InfoOf(op).text,
                       height, width, channels, kernel_y, kernel_x, stride, pad, dilation,
                       include_pad ? " include" : "", ceil_mode ? " ceil" : "");
  }
};

Graph GraphOf(const PoolCase& c) {
  Graph graph("pool");
  Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{1, c.height, c.width, c.channels}});
  Attributes a;
  a.Set("kernel_shape", std::vector<int64_t>{c.kernel_y, c.kernel_x});
  a.Set("strides", std::vector<int64_t>{c.stride, c.stride});
  a.Set("pads", std::vector<int64_t>{c.pad, c.pad, c.pad, c.pad});
  a.Set("dilations", std::vector<int64_t>{c.dilation, c.dilation});
  a.Set("ceil_mode", int64_t{c.ceil_mode});
  if (c.op == Op::kAveragePool) a.Set("count_include_pad", int64_t{c.include_pad});
  a.Set("layout", std::string("nhwc"));
  graph.MarkOutput(graph.AddNode(c.op, "pool", {x}, {"y"}, a)->result());
  EXPECT_EQ(InferShapes(graph), OkStatus());
  return graph;
}

// The real number that a pool has at an output.
double PoolAt(const PoolCase& c, const Tensor& in, int64_t oy, int64_t ox, int64_t channel) {
  double most = -1e30, sum = 0;
  int64_t count = 0;
  for (int64_t ky = 0; ky < c.kernel_y; ++ky) {
    for (int64_t kx = 0; kx < c.kernel_x; ++kx) {
      const int64_t y = oy * c.stride - c.pad + ky * c.dilation,
                    x = ox * c.stride - c.pad + kx * c.dilation;
      const bool inside = y >= 0 && y < c.height && x >= 0 && x < c.width;
      if (inside || (c.include_pad && y < c.height + c.pad && x < c.width + c.pad)) ++count;
      if (!inside) continue;
      const double v = in.ValueAt((y * c.width + x) * c.channels + channel);
      most = std::max(most, v);
      sum += v;
    }
  }
  return c.op == Op::kMaxPool ? most : sum / static_cast<double>(count);
}

// Windows with fewer elements at the edge, and such as no buffer has a place for.
TEST(CompilerVector, PoolsOfEveryKind) {
  const std::vector<PoolCase> cases = {{Op::kAveragePool, 11, 13, 20, 3, 3, 1, 1},
                                       {Op::kAveragePool, 16, 12, 16, 3, 3, 2, 1},
                                       {Op::kAveragePool, 14, 14, 33, 3, 2, 2, 1, 1, true},
                                       {Op::kAveragePool, 14, 13, 16, 3, 3, 2, 0, 1, false, true},
                                       {Op::kAveragePool, 14, 13, 16, 3, 3, 2, 1, 1, true, true},
                                       {Op::kAveragePool, 15, 15, 16, 3, 3, 1, 2, 2},
                                       {Op::kMaxPool, 15, 15, 16, 3, 3, 1, 2, 2},
                                       {Op::kAveragePool, 40, 40, 8, 13, 13, 9, 12, 2},
                                       {Op::kAveragePool, 40, 40, 8, 31, 31, 9, 15},
                                       {Op::kAveragePool, 64, 64, 20, 64, 64, 1, 0},
                                       {Op::kAveragePool, 112, 50, 16, 112, 50, 1, 0},
                                       {Op::kMaxPool, 64, 64, 20, 64, 64, 1, 0},
                                       {Op::kMaxPool, 70, 33, 5, 65, 30, 4, 3},
                                       {Op::kMaxPool, 1000, 3, 16, 997, 2, 1, 0},
                                       {Op::kMaxPool, 60, 60, 16, 25, 25, 7, 3, 2}};
  for (const PoolCase& c : cases) {
    for (const bool wide : {false, true}) {
      SCOPED_TRACE(c.Describe() + (wide ? " wide" : ""));
      const Graph graph = GraphOf(c);
      const Batch images = RandomImages(graph, 1, 5);
      Recipe recipe = Int8Recipe();
      recipe.quantise_outputs = !wide;
      const Graph prepared = Prepare(graph.Clone(), images, recipe);
      const auto program = CompileFor(prepared, PynqConfig());
      ASSERT_NE(program, nullptr);
      ASSERT_EQ(FindingsOf(*program), "");
      EXPECT_LE(program->kernels()[0].certificate.lower_bound,
                program->kernels()[0].certificate.cost);
      const VtaAccelerator accelerator(PynqConfig());
      RunOptions cycle;
      cycle.level = Level::kCycle;
      const auto run = accelerator.Run(*program, images, {}),
                 timed = accelerator.Run(*program, images, cycle);
      ASSERT_TRUE(run.ok() && timed.ok());
      ASSERT_EQ(run->codes, timed->codes);
      const Tensor in = RoundTensor(images.inputs[0], *prepared.inputs()[0]->quantisation());
      const Shape shape = prepared.outputs()[0]->shape();
      for (int64_t i = 0; i < run->codes[0].size(); ++i) {
        const int64_t channel = i % shape[3], ox = i / shape[3] % shape[2],
                      oy = i / shape[3] / shape[2];
        const double value = PoolAt(c, in, oy, ox, channel);
        if (wide) {
          ASSERT_NEAR(run->outputs[0].ValueAt(i), value, 1e-3 * (1 + std::abs(value))) << i;
          continue;
        }
        const Quantisation& q = *prepared.outputs()[0]->quantisation();
        const double real = std::clamp(value / q.scales[0] + q.zero_points[0], -128.0, 127.0);
        // The bias of a sum is rounded to what one code of the input is worth in the mean.
        const double of_bias =
            prepared.inputs()[0]->quantisation()->scales[0] / q.scales[0] /
            static_cast<double>(c.op == Op::kMaxPool ? 1000 : c.kernel_y * c.kernel_x);
        ASSERT_NEAR(static_cast<double>(run->codes[0].IntAt(i)), real, 0.57 + of_bias / 2) << i;
      }
    }
  }
}

TEST(CompilerVector, WindowsThatAreTooLargeGoToTheHost) {
  const std::vector<std::pair<PoolCase, std::string>> cases = {
      {{Op::kMaxPool, 4, 700, 16, 2, 600, 1, 0}, "wider than the accumulators"},
      {{Op::kAveragePool, 40, 40, 8, 35, 35, 9, 15}, "leave 32 bits"}};
  for (const auto& [c, reason] : cases) {
    SCOPED_TRACE(c.Describe());
    const Graph graph = GraphOf(c);
    Recipe recipe = Int8Recipe();
    recipe.quantise_outputs = true;
    const Graph prepared = Prepare(graph.Clone(), RandomImages(graph, 1, 4), recipe);
    EXPECT_THAT(HostReasonOf(prepared), testing::HasSubstr(reason));
    EXPECT_FALSE(VtaAccelerator(PynqConfig()).Compile(prepared, {.host_fallback = false}).ok());
  }
}

TEST(CompilerVector, SumsThatLeave32BitsGoToTheHost) {
  for (const OperatorCase& c : Operators()) {
    if (c.op == Op::kHardSigmoid) continue;
    SCOPED_TRACE(InfoOf(c.op).text);
    const Graph graph = GraphOf(c);
    Recipe recipe = Int8Recipe();
    recipe.quantise_outputs = true;
    Graph prepared = Prepare(graph.Clone(), RandomImages(graph, 1, 3), recipe);
    Quantisation fine = *prepared.outputs()[0]->quantisation();
    fine.scales = {1e-12f};
    prepared.outputs()[0]->set_quantisation(fine);
    EXPECT_THAT(HostReasonOf(prepared), testing::HasSubstr("leave 32 bits"));
  }
}

// Results that are not quantised, with a constant beside which the other operand's digits would be
// lost: the host computes what the machine cannot.
TEST(CompilerVector, ConstantsThatAreTooLargeGoToTheHost) {
  const float infinity = std::numeric_limits<float>::infinity(),
              lowest = std::numeric_limits<float>::lowest();
  struct ConstantCase {
    Op op;
    Shape shape;
    float number;  // the last one, where there are several; the others are 1.5
    std::string reason;
  };
  const std::string not_finite = "not finite", apart = "far apart";
  const std::vector<ConstantCase> cases = {{Op::kAdd, {1}, -infinity, not_finite},
                                           {Op::kAdd, {37}, -infinity, not_finite},
                                           {Op::kAdd, {1, 9, 31, 37}, lowest, apart},
                                           {Op::kAdd, {1}, lowest, apart},
                                           {Op::kAdd, {31, 37}, 1e9f, apart},
                                           {Op::kSub, {1}, 1e9f, apart},
                                           {Op::kSub, {1}, 1000, ""},
                                           {Op::kMul, {37}, infinity, not_finite},
                                           {Op::kMul, {37}, 1e9f, apart},
                                           {Op::kMax, {37}, -infinity, not_finite},
                                           {Op::kMax, {1}, infinity, not_finite},
                                           {Op::kMin, {37}, 1e9f, apart},
                                           {Op::kMin, {1}, infinity, ""}};
  for (const ConstantCase& c : cases) {
    SCOPED_TRACE(fmt::format("{} {} {}", InfoOf(c.op).text, c.shape.ToString(), c.number));
    Graph graph("mask");
    Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{1, 9, 31, 37}});
    Tensor numbers(ElementType::kFloat32, c.shape);
    for (float& v : numbers.data<float>()) v = 1.5;
    graph.MarkOutput(
        graph.AddNode(c.op, "op", {x, graph.AddConstant("c", numbers)}, {"y"})->result());
    ASSERT_EQ(InferShapes(graph), OkStatus());
    const Batch images = RandomImages(graph, 1, 3);
    Graph prepared = Prepare(graph.Clone(), images, Int8Recipe());
    // Calibration refuses infinite values; networks that bring their own quantisation may have
    // them.
    numbers = numbers.Clone();
    numbers.data<float>().back() = c.number;
    Node* node =
        prepared.outputs()[0]->producer();  // passes may have made an addition of a difference
    prepared.SetOperand(node, 1, prepared.AddConstant("numbers", numbers));
    const VtaAccelerator accelerator(PynqConfig());
    const auto program = accelerator.Compile(prepared, {});
    ASSERT_TRUE(program.ok()) << program.status();
    const std::string reason = (*program)->kernels().back().host_reason;
    if (c.reason.empty()) {
      EXPECT_EQ(reason, "");
    } else {
      EXPECT_THAT(reason, testing::HasSubstr(c.reason));
    }
    const auto run = accelerator.Run(**program, images, {});
    ASSERT_TRUE(run.ok()) << run.status();
    const Tensor in = RoundTensor(images.inputs[0], *prepared.inputs()[0]->quantisation());
    for (int64_t i = 0; i < in.size(); ++i) {
      const auto value = static_cast<float>(
          Compute(node->op(), in.ValueAt(i), numbers.ValueAt(Broadcast(i, c.shape))));
      const double result = run->outputs[0].ValueAt(i);
      if (std::isnan(value)) {  // nothing times an infinite number
        ASSERT_TRUE(std::isnan(result)) << i;
      } else if (std::isinf(value) || !c.reason.empty()) {
        ASSERT_EQ(result, value) << i;
      } else {
        ASSERT_NEAR(result, value, 1e-5 * (1 + std::abs(value))) << i;
      }
    }
  }
}

}  // namespace
}  // namespace kiln::vta
