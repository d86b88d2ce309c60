// Element-wise operators and maximum pools against real numbers: within one code of the nearest, and nearly always it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "kiln/execute/codes.h"
#include "kiln/ir/shape_inference.h"
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
  return {{Op::kAdd, 2, [](double x, double y) { return x + y; }},
          {Op::kSub, 2, [](double x, double y) { return x - y; }},
          {Op::kMul, 2, [](double x, double y) { return x * y; }},
          {Op::kMax, 2, [](double x, double y) { return std::max(x, y); }},
          {Op::kMin, 2, [](double x, double y) { return std::min(x, y); }},
          {Op::kAbs, 1, [](double x, double) { return std::abs(x); }},
          {Op::kNeg, 1, [](double x, double) { return -x; }},
          {Op::kRelu, 1, [](double x, double) { return std::max(x, 0.0); }},
          {Op::kLeakyRelu, 1, [](double x, double) { return std::max(x, 0.01 * x); }},
          {Op::kHardSigmoid, 1, [](double x, double) { return std::clamp(0.2 * x + 0.5, 0.0, 1.0); }}};
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
        const double real = c.value(inputs[0].ValueAt(i), inputs.back().ValueAt(i)) / q.scales[0] + q.zero_points[0];
        const double wanted = std::clamp(std::round(real), -128.0, 127.0);
        ASSERT_LE(std::abs(static_cast<double>(codes.IntAt(i)) - wanted), 1) << "element " << i << ": " << real;
        if (static_cast<double>(codes.IntAt(i)) != wanted) ++off;
      }
      EXPECT_LE(off, codes.size() / 100);
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
            if (iy >= 0 && iy < 45 && ix >= 0 && ix < 38) most = std::max(most, in.IntAt((iy * 38 + ix) * 20 + c));
          }
          wanted.push_back(most);
        }
      }
    }
    EXPECT_EQ(CodesOf(*program, images).ToInts(), wanted);
    EXPECT_EQ(CodesOf(*program, images, Level::kCycle).ToInts(), wanted);
  }
}

// Compiled by the family's interface, so with a host; the reason why the host runs the only layer.
std::string HostReasonOf(const Graph& prepared) {
  const auto program = VtaAccelerator(PynqConfig()).Compile(prepared, {});
  EXPECT_TRUE(program.ok()) << program.status();
  return program.ok() ? (*program)->kernels().back().host_reason : "";
}

TEST(CompilerVector, WindowsBeyondTheBuffersGoToTheHost) {
  for (const Op op : {Op::kMaxPool, Op::kAveragePool}) {
    Graph graph("pool");
    Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{1, 64, 64, 16}});
    Attributes a;
    a.Set("kernel_shape", std::vector<int64_t>{64, 64});
    a.Set("layout", std::string("nhwc"));
    graph.MarkOutput(graph.AddNode(op, "pool", {x}, {"y"}, a)->result());
    ASSERT_EQ(InferShapes(graph), OkStatus());
    const Graph prepared = Prepare(graph.Clone(), RandomImages(graph, 1, 4), Int8Recipe());
    EXPECT_THAT(HostReasonOf(prepared),
                testing::AnyOf(testing::HasSubstr("accumulators"), testing::HasSubstr("buffers")));
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

}  // namespace
}  // namespace kiln::vta
