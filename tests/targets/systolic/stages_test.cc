// Stages that lack functions or a divider: where operations go, what is refused, what the host
// gets.
#include "kiln/targets/systolic/isa/stages.h"

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kiln/ir/random_graph.h"
#include "kiln/ir/text.h"
#include "kiln/support/random.h"
#include "kiln/targets/systolic/emit/emit.h"
#include "kiln/targets/systolic/simulate/cycle/cycle.h"
#include "kiln/targets/systolic/simulate/functional/functional.h"
#include "tests/targets/systolic/compiled.h"
#include "tests/targets/systolic/random_instruction.h"

namespace kiln::systolic {
namespace {

using testing::HasSubstr;

Config WithStages(int stages, uint32_t functions, uint32_t dividers) {
  Config config = SquareConfig(8);
  config.vector_stages = stages;
  config.vector_function_stages = functions;
  config.vector_divide_stages = dividers;
  return config;
}

std::vector<int> OperationsOf(const std::optional<std::vector<Stage>>& stages) {
  std::vector<int> operations;
  if (!stages.has_value()) return {-1};
  for (const Stage& stage : *stages) operations.push_back(static_cast<int>(stage.op));
  return operations;
}
std::vector<int> Placed(std::initializer_list<StageOp> operations, const Config& config,
                        int first = 0) {
  std::vector<Stage> stages;
  for (const StageOp op : operations) stages.push_back({.op = op});
  return OperationsOf(PlaceStages(stages, config, first));
}
std::vector<int> Numbers(std::initializer_list<StageOp> operations) {
  std::vector<int> numbers;
  for (const StageOp op : operations) numbers.push_back(static_cast<int>(op));
  return numbers;
}
constexpr StageOp kOn = StageOp::kMultiply;  // what passes a value on

TEST(SystolicStages, StagesTakeTheFirstPlaceThatHasThem) {
  using enum StageOp;
  const Config config = WithStages(6, 0b010100, 0b100001);
  EXPECT_EQ(Placed({kAdd, kFunction, kAdd, kReciprocal, kDivide}, config),
            Numbers({kAdd, kOn, kFunction, kAdd, kReciprocal, kDivide}));
  EXPECT_EQ(Placed({kDivide, kFunction}, config), Numbers({kDivide, kOn, kFunction}));
  EXPECT_EQ(Placed({kFunction}, config, 1), Numbers({kOn, kFunction}));
  EXPECT_EQ(Placed({kFunction}, config, 4), Numbers({kFunction}));
  EXPECT_EQ(Placed({kFunction}, config, 5), std::vector<int>{-1});
  EXPECT_EQ(Placed({kFunction, kFunction, kReciprocalSquareRoot}, config), std::vector<int>{-1});
  EXPECT_EQ(Placed({kAdd, kAdd, kAdd, kAdd, kAdd, kAdd}, config).size(), 6u);
  EXPECT_EQ(Placed({kAdd, kAdd, kAdd, kAdd, kAdd, kAdd, kAdd}, config), std::vector<int>{-1});
  EXPECT_EQ(Placed({kFunction}, WithStages(6, 0, kEveryStage)), std::vector<int>{-1});
}

// What passes a value on changes no bit of it, in any vector format.
TEST(SystolicStages, PlacesBetweenChangeNoBit) {
  for (const char* format : {"fp32", "bf16", "fp16", "e6m9"}) {
    Config config = WithStages(4, 0b1000, 0);
    config.vector_format = *FindFormat(format);
    const auto graph = ParseGraph(R"(graph "t" {
  input %x : f32[1x64]
  %1 = tanh %x : f32[1x64]
  output %1
})",
                                  "test.kir");
    ASSERT_TRUE(graph.ok()) << graph.status();
    const std::vector<Tensor> inputs = RandomInputs(*graph, 5);
    Config complete = config;
    complete.vector_function_stages = kEveryStage;
    const auto few = CompileFor(*graph, config), all = CompileFor(*graph, complete);
    ASSERT_TRUE(few.ok() && all.ok());
    EXPECT_EQ((*few)->instructions()[0].vector.passes[0].stages.size(), 4u);
    EXPECT_EQ((*all)->instructions()[0].vector.passes[0].stages.size(), 1u);
    const auto a = RunFunctional(**few, Batch{inputs}, RunOptions{}),
               b = RunFunctional(**all, Batch{inputs}, RunOptions{});
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_TRUE(a->codes[0] == b->codes[0]) << format;
    const auto c = RunCycle(**few, Batch{inputs}, RunOptions{});
    ASSERT_TRUE(c.ok());
    EXPECT_TRUE(a->codes[0] == c->codes[0]) << format;
  }
}

constexpr char kAttention[] = R"(graph "t" {
  input %x : f32[3x4]
  const %g : f32[4] = [1.0, 0.5, 2.0, 1.5]
  %1 = softmax %x : f32[3x4]
  %2 = layer_norm %1, %g : f32[3x4]
  %3 = sigmoid %2 : f32[3x4]
  %4 = div %3, %g : f32[3x4]
  output %4
})";

std::string KernelsOf(const Config& config) {
  const auto graph = ParseGraph(kAttention, "test.kir");
  if (!graph.ok()) return MessageOf(graph.status());
  const auto program = CompileFor(*graph, config);
  return program.ok() ? KernelList(**program) : MessageOf(program.status());
}

TEST(SystolicStages, KernelsGrowAsFarAsStagesReach) {
  EXPECT_EQ(KernelsOf(WithStages(12, kEveryStage, kEveryStage)),
            "vector softmax 3x4\nvector layer norm 3x4 + sigmoid\nvector div @3x4\n");
  // The square root of the normalisation wants the third scalar stage or one behind it, its
  // followers a fourth place.
  EXPECT_EQ(KernelsOf(WithStages(6, 0b001000, 0b100000)),
            "vector softmax 3x4\nvector layer norm 3x4 + sigmoid\nvector div @3x4\n");
  EXPECT_EQ(KernelsOf(WithStages(6, 0b000100, 0b100000)),
            "vector softmax 3x4\nvector layer norm 3x4\nvector sigmoid + div @3x4\n");
}

// Where functions come early, product and sum before the root of a normalisation are one stage. In
// a short float each is rounded, as in two stages.
TEST(SystolicStages, EarlyFunctionsNormaliseToTheSameBits) {
  const auto graph = ParseGraph(absl::StrReplaceAll(kAttention, {{"3x4", "1x3x4"}}), "test.kir");
  ASSERT_TRUE(graph.ok()) << graph.status();
  Config early = WithStages(3, 0b010, 0b010), late = WithStages(12, kEveryStage, kEveryStage);
  early.vector_format = late.vector_format = *FindFormat("bf16.flush");
  EXPECT_EQ(KernelsOf(early),
            "vector softmax 3x4\nvector layer norm 3x4\nvector sigmoid @3x4\nvector div @3x4\n");
  const auto three = CompileFor(*graph, early), twelve = CompileFor(*graph, late);
  ASSERT_TRUE(three.ok() && twelve.ok());
  EXPECT_EQ((*three)->instructions()[1].vector.passes[1].scalar_stages.size(), 2u);
  EXPECT_EQ((*twelve)->instructions()[1].vector.passes[1].scalar_stages.size(), 3u);
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<Tensor> inputs = RandomInputs(*graph, seed);
    const auto a = RunFunctional(**three, Batch{inputs}, RunOptions{}),
               b = RunFunctional(**twelve, Batch{inputs}, RunOptions{});
    ASSERT_TRUE(a.ok()) << a.status();
    ASSERT_TRUE(b.ok()) << b.status();
    EXPECT_TRUE(a->codes[0] == b->codes[0]) << "seed " << seed;
  }
}

// The exponentials of a soft-max over pairs are instructions of their own where a function comes
// too early for both stages before it.
TEST(SystolicStages, EarlyFunctionsGiveSoftmaxOfPairsTheSameBits) {
  const auto graph = ParseGraph(R"(graph "t" {
  input %x : f32[1x600x2]
  %1 = softmax %x {axis=2} : f32[1x600x2]
  output %1
})",
                                "test.kir");
  ASSERT_TRUE(graph.ok()) << graph.status();
  Config early = WithStages(3, 0b010, 0b010), late = WithStages(12, kEveryStage, kEveryStage);
  early.vector_format = late.vector_format = *FindFormat("bf16.flush");
  const auto three = CompileFor(*graph, early), twelve = CompileFor(*graph, late);
  ASSERT_TRUE(three.ok() && twelve.ok());
  EXPECT_EQ((*three)->instructions().size(), (*twelve)->instructions().size() + 1);
  const std::vector<Tensor> inputs = RandomInputs(*graph, 3);
  const auto a = RunFunctional(**three, Batch{inputs}, RunOptions{}),
             b = RunFunctional(**twelve, Batch{inputs}, RunOptions{});
  ASSERT_TRUE(a.ok()) << a.status();
  ASSERT_TRUE(b.ok()) << b.status();
  EXPECT_TRUE(a->codes[0] == b->codes[0]);
}

TEST(SystolicStages, WhatNoStageHasGoesToTheHostAndSaysWhy) {
  const std::string kernels = KernelsOf(WithStages(6, 0b000001, 0));
  EXPECT_THAT(kernels, HasSubstr("softmax"));
  EXPECT_THAT(
      kernels,
      HasSubstr("too few stages for its 2: functions are in stages 0 of 6, dividers in no stage"));
  EXPECT_THAT(kernels, HasSubstr("the vector unit has no stage for div: functions are in"));
}

TEST(SystolicStages, InstructionsAreHeldToThem) {
  Random random(7);
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    Config config = RandomConfig(random);
    config.vector_function_latency = 0;  // so that times do not depend on the stages
    config.vector_function_stages = static_cast<uint32_t>(random.Below(kEveryStage + 1));
    config.vector_divide_stages = static_cast<uint32_t>(random.Below(kEveryStage + 1));
    const RandomCase c = RandomInstruction(random, config, Opcode::kVector);
    ASSERT_TRUE(CheckInstruction(c.instruction, config).ok())
        << CheckInstruction(c.instruction, config);
    // Without what its stages use the instruction is refused, by the decoder, too.
    bool functions = false, divisions = false;
    for (const Pass& pass : c.instruction.vector.passes) {
      for (const auto* stages : {&pass.stages, &pass.scalar_stages}) {
        for (const Stage& stage : *stages) {
          functions = functions || IsFunction(stage.op);
          divisions = divisions || IsDivision(stage.op);
        }
      }
    }
    const std::vector<uint8_t> bits = Encode(std::span(&c.instruction, 1), config);
    Config without = config;
    without.vector_function_stages = without.vector_divide_stages = 0;
    EXPECT_EQ(CheckInstruction(c.instruction, without).ok(), !functions && !divisions);
    EXPECT_TRUE(Decode(bits, config).ok());
    EXPECT_EQ(Decode(bits, without).ok(), !functions && !divisions);
    refused += functions || divisions ? 1 : 0;
  }
  EXPECT_GT(refused, 100);
}

TEST(SystolicStages, DesignPointsNameThem) {
  const std::string head =
      "family: systolic\nname: x\narray_rows: 8\narray_columns: 8\nvector_stages: 4\n";
  const auto config =
      ParseConfig(head + "vector_function_stages: [3, 0]\nvector_divide_stages: []\n", "x.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->vector_function_stages, 0b1001u);
  EXPECT_EQ(config->vector_divide_stages, 0u);
  const std::string text = PrintConfig(*config);
  EXPECT_THAT(text, HasSubstr("vector_function_stages: [0, 3]\nvector_divide_stages: []\n"));
  EXPECT_EQ(PrintConfig(*ParseConfig(text, "again.yaml")), text);
  const std::string top = hardware::SystemVerilogOf(TopOf(*config));
  EXPECT_THAT(top, HasSubstr(".VECTOR_FUNCTION_STAGES(4'b1001)"));
  EXPECT_THAT(top, HasSubstr(".VECTOR_DIVIDE_STAGES(4'b0)"));
  EXPECT_THAT(PrintConfig(*ParseConfig(head, "x.yaml")), HasSubstr("vector_divide_stages: [1]\n"));
  const auto error = [&](const std::string& line) {
    return MessageOf(ParseConfig(head + line, "x.yaml").status());
  };
  EXPECT_THAT(error("vector_function_stages: [4]\n"), HasSubstr("vector_function_stages"));
  EXPECT_THAT(error("vector_function_stages: [1, 1]\n"), HasSubstr("stage 1 occurs twice"));
  EXPECT_THAT(error("vector_divide_stages: 3\n"), HasSubstr("vector_divide_stages"));
}

}  // namespace
}  // namespace kiln::systolic
