// Machines with several rows of activations in an element: rows are images.
#include <gtest/gtest.h>

#include "fmt/format.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/support/random.h"
#include "kiln/targets/vta/accelerator.h"
#include "tests/targets/vta/compiled.h"

namespace kiln::vta {
namespace {

Config WithBatch(int batch) {
  Config config = PynqConfig();
  config.name = fmt::format("batch-{}", batch);
  config.batch = batch;
  return config;
}

// Two convolutions, a residual, a maximum pool, an operator of the host, an average and a dense
// layer.
Graph BatchNetwork() {
  Graph graph("network");
  Random random(8);
  const auto weights = [&](const std::string& name, Shape shape) {
    Tensor t(ElementType::kFloat32, std::move(shape));
    for (float& v : t.data<float>()) v = static_cast<float>(random.Uniform(-0.2, 0.2));
    return graph.AddConstant(name, t);
  };
  const auto add = [&](Op op, std::vector<Value*> operands, const Attributes& a = {}) {
    const std::string name = fmt::format("node{}", graph.nodes().size());
    return graph.AddNode(op, name, std::move(operands), {name + "_y"}, a)->result();
  };
  Attributes same;
  same.Set("kernel_shape", std::vector<int64_t>{3, 3});
  same.Set("pads", std::vector<int64_t>{1, 1, 1, 1});
  Attributes pool;
  pool.Set("kernel_shape", std::vector<int64_t>{2, 2});
  pool.Set("strides", std::vector<int64_t>{2, 2});
  Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{1, 3, 12, 12}});
  Value* y = add(Op::kRelu, {add(Op::kConv, {x, weights("w1", {20, 3, 3, 3})}, same)});
  Value* z = add(Op::kAdd, {add(Op::kConv, {y, weights("w2", {20, 20, 3, 3})}, same), y});
  z = add(Op::kSigmoid, {add(Op::kMaxPool, {z}, pool)});
  z = add(Op::kFlatten, {add(Op::kGlobalAveragePool, {z})});
  graph.MarkOutput(add(Op::kMatMul, {z, weights("w3", {20, 10})}));
  EXPECT_EQ(InferShapes(graph), OkStatus());
  return graph;
}

// Steps of the GEMM unit for the images that the trace is of.
int64_t GemmSteps(const Trace& trace) {
  for (const UnitTrace& unit : trace.units) {
    if (unit.name == "gemm") return unit.busy_cycles;
  }
  return -1;
}

TEST(Batch, RowsAreImages) {
  const Graph graph = BatchNetwork();
  const Batch images = RandomImages(graph, 7, 2);
  const Graph prepared = Prepare(graph.Clone(), images, Int8Recipe());
  std::vector<RunResult> one_by_one;
  for (const int batch : {1, 2, 4}) {
    SCOPED_TRACE(batch);
    const VtaAccelerator accelerator(WithBatch(batch));
    const auto program = accelerator.Compile(prepared, {});
    ASSERT_TRUE(program.ok()) << program.status();
    RunOptions options;
    options.level = Level::kCycle;
    auto cycle = accelerator.Run(**program, images, options);
    ASSERT_TRUE(cycle.ok()) << cycle.status();
    const auto functional = accelerator.Run(**program, images, {});
    ASSERT_TRUE(functional.ok());
    EXPECT_EQ(functional->codes, cycle->codes);
    if (batch == 1) one_by_one = {*cycle};
    const RunResult& alone = one_by_one[0];
    EXPECT_EQ(cycle->codes, alone.codes);
    EXPECT_EQ(cycle->outputs, alone.outputs);
    EXPECT_EQ(cycle->trace.images, batch);
    // So many images in the steps of one.
    EXPECT_EQ(GemmSteps(cycle->trace), GemmSteps(alone.trace));
    ASSERT_EQ(cycle->cycles_per_image.size(), 7u);
    EXPECT_EQ(cycle->cycles_per_image[0], cycle->trace.cycles);
    if (batch > 1) {
      EXPECT_LT(cycle->trace.cycles, batch * alone.trace.cycles);
    }
  }
}

// Two dense layers of tokens with an operator of the host between them, and a sum.
Graph Tokens(int64_t tokens) {
  Graph graph("tokens");
  Random random(4);
  const auto weights = [&](const std::string& name, Shape shape) {
    Tensor t(ElementType::kFloat32, std::move(shape));
    for (float& v : t.data<float>()) v = static_cast<float>(random.Uniform(-0.2, 0.2));
    return graph.AddConstant(name, t);
  };
  Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{1, tokens, 40}});
  Value* y = graph.AddNode(Op::kMatMul, "first", {x, weights("w1", {40, 33})}, {"y"})->result();
  y = graph.AddNode(Op::kAdd, "bias", {y, weights("b1", {33})}, {"yb"})->result();
  y = graph.AddNode(Op::kTanh, "tanh", {y}, {"t"})->result();
  y = graph.AddNode(Op::kMatMul, "second", {y, weights("w2", {33, 40})}, {"z"})->result();
  y = graph.AddNode(Op::kAdd, "add", {y, x}, {"s"})->result();
  graph.MarkOutput(graph.AddNode(Op::kHardSwish, "swish", {y}, {"o"})->result());
  EXPECT_EQ(InferShapes(graph), OkStatus());
  return graph;
}

TEST(Batch, RowsAreTokensWhereLayersWorkPixelByPixel) {
  for (const int64_t tokens :
       {191, 13}) {  // 13 leave too many rows of the last element empty: rows are images
    const Graph graph = Tokens(tokens);
    const Batch images = RandomImages(graph, 3, 2);
    Recipe recipe = Int8Recipe();
    recipe.quantise_outputs = true;
    const Graph prepared = Prepare(graph.Clone(), images, recipe);
    RunOptions options;
    options.level = Level::kCycle;
    RunResult alone;
    for (const int batch : {1, 4}) {
      SCOPED_TRACE(fmt::format("{} tokens, batch {}", tokens, batch));
      const VtaAccelerator accelerator(WithBatch(batch));
      const auto program = accelerator.Compile(prepared, {});
      ASSERT_TRUE(program.ok()) << program.status();
      const auto cycle = accelerator.Run(**program, images, options);
      const auto functional = accelerator.Run(**program, images, {});
      ASSERT_TRUE(cycle.ok() && functional.ok());
      EXPECT_EQ(functional->codes, cycle->codes);
      if (batch == 1) {
        alone = *cycle;
        continue;
      }
      EXPECT_EQ(cycle->codes, alone.codes);
      const bool folds = tokens == 191;
      EXPECT_EQ(cycle->trace.images, folds ? 1 : 3);
      EXPECT_EQ(GemmSteps(cycle->trace) * (folds ? 191 : 1),
                GemmSteps(alone.trace) * (folds ? 48 : 1));
      if (folds) {
        EXPECT_LT(cycle->trace.cycles, alone.trace.cycles);
      }
    }
  }
}

}  // namespace
}  // namespace kiln::vta
