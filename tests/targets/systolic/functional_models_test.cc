// Functional and cycle level are two implementations of isa.h: same programs, same inputs, same bits.
#include <gtest/gtest.h>

#include <filesystem>

#include "kiln/frontend/onnx.h"
#include "kiln/ir/random_graph.h"
#include "kiln/support/cpu.h"
#include "kiln/targets/systolic/cycle.h"
#include "kiln/targets/systolic/functional.h"
#include "tests/targets/systolic/compiled.h"
#include "tests/targets/systolic/random_instruction.h"

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
    const auto machine = FunctionalMachine::Create(config, {&c.instruction, 1}, c.memory.size(), 0, {});
    ASSERT_TRUE(machine.ok()) << MessageOf(machine.status());
    (*machine)->Run(0, 1, false, c.memory);
    ASSERT_EQ(c.memory, cycle) << "case " << i << "\n" << Print(c.instruction, config);
  }
}

class FunctionalModels : public testing::TestWithParam<const char*> {};

TEST_P(FunctionalModels, GiveTheBitsOfTheCycleLevelAtEveryProcessorLevel) {
  std::string path = std::string("models/") + GetParam();
  if (!std::filesystem::exists(path)) {
    if (SharedFolder().empty()) GTEST_SKIP() << "no folder of shared models (KILN_SHARED)";
    path = SharedFolder() + "/models/" + GetParam();
  }
  auto graph = ImportOnnx(path);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const std::vector<Tensor> image = RandomInputs(*graph, 9);
  const auto prepared = Prepare(std::move(*graph), {image});
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  const auto program = CompileFor(*prepared, SquareConfig(16));
  ASSERT_TRUE(program.ok()) << program.status();
  const auto cycle = RunCycle(**program, Batch{image}, RunOptions{});
  ASSERT_TRUE(cycle.ok()) << cycle.status();
  for (CpuLevel level : {CpuLevel::kPortable, CpuLevel::kAvx2, CpuLevel::kAvx512Vnni}) {
    LimitCpuLevel(level);
    const auto functional = RunFunctional(**program, Batch{image}, RunOptions{});
    LimitCpuLevel(CpuLevel::kAvx512Vnni);
    ASSERT_TRUE(functional.ok()) << functional.status();
    ASSERT_EQ(functional->codes.size(), cycle->codes.size());
    for (size_t i = 0; i < cycle->codes.size(); ++i) {
      EXPECT_TRUE(functional->codes[i] == cycle->codes[i]) << "output " << i << " at " << NameOf(level);
      EXPECT_TRUE(functional->outputs[i] == cycle->outputs[i]) << "output " << i << " at " << NameOf(level);
    }
  }
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
