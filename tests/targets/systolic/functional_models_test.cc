// Functional and cycle level are two implementations of isa.h: same programs, same inputs, same
// bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "kiln/frontend/onnx.h"
#include "kiln/ir/random_graph.h"
#include "kiln/support/cpu.h"
#include "kiln/support/parallel.h"
#include "kiln/support/random.h"
#include "kiln/targets/systolic/simulate/cycle/cycle.h"
#include "kiln/targets/systolic/simulate/functional/functional.h"
#include "tests/targets/inferred_node.h"
#include "tests/targets/systolic/compiled.h"
#include "tests/targets/systolic/random_instruction.h"
#include "tests/test_data.h"

namespace kiln::systolic {
namespace {

TEST(FunctionalAndCycle, AgreeOnRandomInstructions) {
  Random random(31);
  for (int i = 0; i < 600; ++i) {
    const Config config = RandomConfig(random);
    RandomCase c = RandomInstruction(random, config, static_cast<Opcode>(1 + i % 3));
    std::vector<uint8_t> cycle = c.memory;
    const auto trace = RunInstructions(config, {&c.instruction, 1}, cycle);
    ASSERT_TRUE(trace.ok()) << MessageOf(trace.status());
    const auto machine =
        FunctionalMachine::Create(config, {&c.instruction, 1}, c.memory.size(), 0, {});
    ASSERT_TRUE(machine.ok()) << MessageOf(machine.status());
    (*machine)->Run(0, 1, false, c.memory);
    ASSERT_EQ(c.memory, cycle) << "case " << i << "\n" << Print(c.instruction, config);
  }
}

// Two convolutions with a residual, in code, so that the test needs no files.
Graph RandomImageGraph() {
  Random random(12);
  Graph graph("two_convolutions");
  const auto convolve = [&](std::string name, Value* x, int64_t in, int64_t out) {
    Tensor weights(ElementType::kFloat32, Shape{out, in, 3, 3});
    for (float& value : weights.data<float>())
      value = static_cast<float>(random.Uniform(-0.3, 0.3));
    Attributes attributes;
    attributes.Set("pads", std::vector<int64_t>{1, 1, 1, 1});
    return AddInferred(graph, Op::kConv, name,
                       {x, graph.AddConstant(name + "_weights", std::move(weights))},
                       std::move(attributes));
  };
  Value* x = graph.AddInput("image", {ElementType::kFloat32, Shape{1, 3, 11, 9}});
  Value* a = AddInferred(graph, Op::kRelu, "relu", {convolve("conv1", x, 3, 12)});
  Value* b = AddInferred(graph, Op::kAdd, "sum", {convolve("conv2", a, 12, 12), a});
  graph.MarkOutput(AddInferred(graph, Op::kSigmoid, "out", {b}));
  return graph;
}

class FunctionalModels : public testing::TestWithParam<const char*> {};

TEST_P(FunctionalModels, GiveTheBitsOfTheCycleLevelAtEveryProcessorLevel) {
  auto graph = ImportOnnx(TestData("models") / GetParam());
  ASSERT_TRUE(graph.ok()) << graph.status();
  const std::vector<Tensor> image = RandomInputs(*graph, 9);
  const auto prepared = Prepare(std::move(*graph), {image});
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  const auto program = CompileFor(*prepared, SquareConfig(16));
  ASSERT_TRUE(program.ok()) << program.status();
  const auto cycle = RunCycle(**program, Batch{image}, RunOptions{});
  ASSERT_TRUE(cycle.ok()) << cycle.status();
  for (CpuLevel level : kCpuLevels) {
    LimitCpuLevel(level);
    const auto functional = RunFunctional(**program, Batch{image}, RunOptions{});
    LimitCpuLevel(kHighestCpuLevel);
    ASSERT_TRUE(functional.ok()) << functional.status();
    ASSERT_EQ(functional->codes.size(), cycle->codes.size());
    for (size_t i = 0; i < cycle->codes.size(); ++i) {
      EXPECT_TRUE(functional->codes[i] == cycle->codes[i])
          << "output " << i << " at " << NameOf(level);
      EXPECT_TRUE(functional->outputs[i] == cycle->outputs[i])
          << "output " << i << " at " << NameOf(level);
    }
  }
}

// Several images at once, on any number of threads, give what one image alone gives.
TEST(FunctionalBatch, DoesNotDependOnThreadsOrCompany) {
  auto graph = RandomImageGraph();
  const std::vector<Tensor> calibration = RandomInputs(graph, 3);
  const auto prepared = Prepare(std::move(graph), {calibration});
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  const auto program = CompileFor(*prepared, SquareConfig(8));
  ASSERT_TRUE(program.ok()) << program.status();
  constexpr int64_t kImages = 9;
  Tensor images(ElementType::kFloat32, Shape{kImages, 3, 11, 9});
  Random random(4);
  for (float& value : images.data<float>()) value = static_cast<float>(random.Uniform(-1, 1));
  SetThreadCount(1);
  const auto one = RunFunctional(**program, Batch{{images}}, RunOptions{});
  SetThreadCount(4);
  const auto four = RunFunctional(**program, Batch{{images}}, RunOptions{});
  ASSERT_TRUE(one.ok()) << one.status();
  ASSERT_TRUE(four.ok()) << four.status();
  EXPECT_TRUE(one->outputs[0] == four->outputs[0]);
  const int64_t size = images.size() / kImages, out_size = one->outputs[0].size() / kImages;
  for (int64_t i = 0; i < kImages; ++i) {
    Tensor image(ElementType::kFloat32, Shape{1, 3, 11, 9});
    std::copy_n(images.data<float>().begin() + i * size, size, image.data<float>().begin());
    const auto alone = RunFunctional(**program, Batch{{image}}, RunOptions{});
    ASSERT_TRUE(alone.ok()) << alone.status();
    EXPECT_TRUE(std::equal(alone->outputs[0].data<float>().begin(),
                           alone->outputs[0].data<float>().end(),
                           std::as_const(one->outputs[0]).data<float>().begin() + i * out_size))
        << "image " << i;
  }
  SetThreadCount(0);
}

INSTANTIATE_TEST_SUITE_P(Trained, FunctionalModels,
                         testing::Values("resnet20_cifar10.onnx", "resnet8_cifar10_mlperftiny.onnx",
                                         "dscnn_kws_mlperftiny.onnx", "vit_mnist.onnx"),
                         [](const auto& info) {
                           const std::string file = info.param;
                           return file.substr(0, file.find('.'));
                         });

}  // namespace
}  // namespace kiln::systolic
