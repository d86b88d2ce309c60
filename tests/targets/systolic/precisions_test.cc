// An array in several precisions: which one the compiler chooses, what a machine refuses, and
// networks in two of them. (Random instructions of any precision: formats_test.cc; in hardware:
// tests/rtl/systolic.)
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kiln/execute/reference.h"
#include "kiln/ir/random_graph.h"
#include "kiln/ir/text.h"
#include "kiln/quantise/simulate.h"
#include "kiln/support/random.h"
#include "kiln/targets/systolic/simulate/cycle/cycle.h"
#include "kiln/targets/systolic/simulate/functional/functional.h"
#include "tests/targets/systolic/compiled.h"
#include "tests/targets/systolic/random_instruction.h"

namespace kiln::systolic {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// int8 x int8, e4m3 x e4m3 and posit8_1 x int4.
Config ThreePrecisions() {
  Config config = SquareConfig(8);
  config.other_precisions = {{*FindFormat("e4m3"), *FindFormat("e4m3")},
                             {*FindFormat("posit8_1"), *FindFormat("int4")}};
  config.psum_format = config.accumulation_format = *FindFormat("fp32");
  return config;
}

std::unique_ptr<SystolicProgram> Compile(const std::string& text, const Config& config) {
  const auto graph = ParseGraph(text, "test.kir");
  EXPECT_TRUE(graph.ok()) << graph.status();
  auto program = CompileFor(*graph, config);
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}

std::vector<int> PrecisionsOf(const SystolicProgram& program) {
  std::vector<int> precisions;
  for (const Instruction& in : program.instructions()) {
    if (in.opcode == Opcode::kMatrix) precisions.push_back(in.precision);
  }
  return precisions;
}

// So many weights, as text.
std::string Weights(int count) {
  Random random(static_cast<uint64_t>(count));
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(random.Uniform(-0.5, 0.5));
  return fmt::format("[{:.4f}]", fmt::join(values, ", "));
}

std::unique_ptr<SystolicProgram> CompileProduct(std::string_view activations,
                                                std::string_view weights) {
  return Compile(fmt::format(R"(graph "t" {{
  input %x : f32[1x2] quant {} scale=[0.25]
  const %w : f32[2x2] quant {} scale=[0.25] = [0.5, -0.5, 0.25, 0.0]
  %1 = matmul %x, %w : f32[1x2]
  output %1
}})",
                             activations, weights),
                 ThreePrecisions());
}

TEST(SystolicPrecisions, AProductTakesTheOneOfItsOperands) {
  EXPECT_THAT(
      PrecisionsOf(*CompileProduct("int8 per_tensor symmetric", "int8 per_tensor symmetric")),
      ElementsAre(0));
  EXPECT_THAT(
      PrecisionsOf(*CompileProduct("e4m3 per_tensor symmetric", "e4m3 per_tensor symmetric")),
      ElementsAre(1));
  EXPECT_THAT(
      PrecisionsOf(*CompileProduct("posit8_1 per_tensor symmetric", "int4 per_tensor symmetric")),
      ElementsAre(2));
  const auto none = CompileProduct("e4m3 per_tensor symmetric", "int4 per_tensor symmetric");
  EXPECT_THAT(PrecisionsOf(*none), ElementsAre());
  EXPECT_THAT(KernelList(*none), HasSubstr("as int8 x int8: activations are e4m3, the array takes "
                                           "int8; as e4m3 x e4m3: weights are int4, "
                                           "the array takes e4m3; as posit8_1 x int4: activations "
                                           "are e4m3, the array takes posit8_1"));
}

// Also where it is not the format that a precision refuses, and another one comes before it.
TEST(SystolicPrecisions, AZeroPointThatFloatSumsRefuseIsNamed) {
  Config config = ThreePrecisions();
  const std::string network = R"(graph "t" {
  input %x : f32[1x2] quant int8 per_tensor scale=[0.25] zero=[3]
  const %w : f32[2x2] quant int8 per_tensor symmetric scale=[0.25] = [0.5, -0.5, 0.25, 0.0]
  %1 = matmul %x, %w : f32[1x2]
  output %1
})";
  const std::string reason =
      "int8 x int8: activations have a zero point, the array accumulates in fp32 (a recipe with "
      "symmetric: true";
  EXPECT_THAT(KernelList(*Compile(network, config)), HasSubstr(reason));
  std::swap(config.input_format, config.other_precisions[0].input);
  std::swap(config.weight_format, config.other_precisions[0].weight);
  EXPECT_THAT(KernelList(*Compile(network, config)), HasSubstr(reason));
  config.other_precisions.clear();
  config.input_format = config.weight_format = *FindFormat("int8");
  config.accumulation_format = config.psum_format = *FindFormat("int32");
  EXPECT_THAT(KernelList(*Compile(network, config)), testing::Not(HasSubstr("host")));
}

// What one layer writes in another format stands in memory as codes, and the next one reads them.
TEST(SystolicPrecisions, LayersOfTwoFormatsFollowOneAnother) {
  const std::string network = fmt::format(R"(graph "t" {{
  input %x : f32[1x4x4x2] quant int8 per_tensor symmetric scale=[0.0078125]
  const %w : f32[3x2x3x3] quant int8 per_tensor symmetric scale=[0.0078125] = {}
  const %v : f32[4x3x1x1] quant e4m3 per_tensor symmetric scale=[0.015625] = {}
  const %u : f32[4x4x1x1] quant int8 per_tensor symmetric scale=[0.015625] = {}
  %1 = conv %x, %w {{pads=[1, 1, 1, 1], layout="nhwc"}} : f32[1x4x4x3] quant e4m3 per_tensor symmetric scale=[0.015625]
  %2 = conv %1, %v {{layout="nhwc"}} : f32[1x4x4x4] quant int8 per_tensor symmetric scale=[0.0078125]
  %3 = conv %2, %u {{layout="nhwc"}} : f32[1x4x4x4]
  output %3
}})",
                                          Weights(54), Weights(12), Weights(16));
  const auto program = Compile(network, ThreePrecisions());
  EXPECT_THAT(PrecisionsOf(*program), ElementsAre(0, 1, 0));
  EXPECT_THAT(KernelList(*program), testing::Not(HasSubstr("host")));
  EXPECT_EQ(program->instructions()[0].vector.output.element, InputElement(1));
  EXPECT_THAT(Print(program->instructions()[1], program->config()),
              HasSubstr("precision 1: e4m3 x e4m3"));

  // Float arithmetic on the values that the codes stand for gives what the array gives.
  const auto graph = ParseGraph(network, "test.kir");
  const auto inputs = RandomInputs(*graph, 7);
  const auto functional = RunFunctional(*program, Batch{inputs}, RunOptions{});
  const auto cycle = RunCycle(*program, Batch{inputs}, RunOptions{});
  ASSERT_TRUE(functional.ok() && cycle.ok()) << functional.status() << cycle.status();
  EXPECT_TRUE(functional->codes == cycle->codes);
  const auto simulated = SimulateQuantisation(*graph);
  ASSERT_TRUE(simulated.ok()) << simulated.status();
  const auto executor = ReferenceExecutor::Create(*simulated);
  ASSERT_TRUE(executor.ok()) << executor.status();
  const std::vector<float> expected = (*(*executor)->Run(inputs))[0].ToFloats();
  const std::vector<float> got = functional->outputs[0].ToFloats();
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-2) << i;
}

// The depthwise unit has the first precision only: others run as groups on the array.
TEST(SystolicPrecisions, DepthwiseLayersOfOthersRunOnTheArray) {
  const auto program = [](std::string_view format) {
    return Compile(fmt::format(R"(graph "t" {{
  input %x : f32[1x4x4x4] quant {0} per_tensor symmetric scale=[0.0078125]
  const %w : f32[4x1x3x3] quant {0} per_tensor symmetric scale=[0.0078125] = {1}
  %1 = conv %x, %w {{pads=[1, 1, 1, 1], group=4, layout="nhwc"}} : f32[1x4x4x4]
  output %1
}})",
                               format, Weights(36)),
                   ThreePrecisions());
  };
  const auto int8 = program("int8");
  EXPECT_EQ(int8->instructions()[0].opcode, Opcode::kDepthwise);
  EXPECT_THAT(KernelList(*int8), testing::Not(HasSubstr("groups")));
  const auto e4m3 = program("e4m3");
  EXPECT_EQ(e4m3->instructions()[0].opcode, Opcode::kMatrix);
  EXPECT_EQ(e4m3->instructions()[0].precision, 1);
  EXPECT_THAT(KernelList(*e4m3),
              HasSubstr("conv 3x3 4->4 /1 in 4 groups (the depthwise unit takes int8 x int8)"));
}

TEST(SystolicPrecisions, AMachineRefusesWhatItHasNot) {
  const Config config = ThreePrecisions();
  Random random(5);
  const auto fault = [&](Opcode opcode, const auto& change, const Config& machine) {
    Instruction in = RandomInstruction(random, machine, opcode).instruction;
    change(in);
    const Status status = CheckInstruction(in, machine);
    return status.ok() ? "no error" : MessageOf(status);
  };
  const auto precision = [](uint8_t number) {
    return [number](Instruction& in) { in.precision = number; };
  };
  EXPECT_THAT(fault(Opcode::kMatrix, precision(3), config),
              HasSubstr("the precision is 3, not in [0, 2]"));
  EXPECT_THAT(fault(Opcode::kMatrix, precision(1), SquareConfig(8)),
              HasSubstr("the precision is 1, not in [0, 0]"));
  EXPECT_THAT(fault(Opcode::kDepthwise, precision(1), config),
              HasSubstr("the depthwise unit has precision 0 only"));
  EXPECT_THAT(fault(Opcode::kVector, precision(1), config),
              HasSubstr("a vector instruction names a precision"));
  const auto output = [](Instruction& in) { in.vector.output.element = WeightElement(2); };
  EXPECT_THAT(fault(Opcode::kVector, output, SquareConfig(8)),
              HasSubstr("codes of a precision that this design point"));

  Config blocks = config;
  blocks.block_size = 8;
  ASSERT_FALSE(FindFormatFault(blocks).has_value());
  const auto scaled = [](Instruction& in) {
    in.precision = 1;
    in.tiling.packing = Packing::kChannels;
    in.convolution.weight_scales.present = true;
  };
  EXPECT_THAT(fault(Opcode::kMatrix, scaled, blocks), HasSubstr("block scales are of precision 0"));
}

}  // namespace
}  // namespace kiln::systolic
