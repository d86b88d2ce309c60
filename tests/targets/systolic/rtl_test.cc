// Emitted designs: what their folders hold, and what is refused. That their simulation agrees with
// the other levels is the conformance suite's (tests/targets/conformance/rtl_test.cc).
#include "kiln/targets/systolic/simulate/rtl/rtl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kiln/ir/text.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "kiln/support/random.h"
#include "kiln/targets/systolic/emit/emit.h"
#include "tests/targets/systolic/compiled.h"
#include "tests/targets/systolic/fp32_machine.h"

namespace kiln::systolic {
namespace {

using testing::HasSubstr;

// As little hardware as there can be, so that it is built quickly.
Config Tiny() {
  Config c = Fp32Machine();
  c.name = "tiny";
  c.array_rows = c.array_columns = 2;
  c.input_buffer_words = c.weight_buffer_words = c.accumulation_buffer_words = 64;
  c.vector_stages = 2;
  c.vector_stage_latency = 1;
  c.vector_function_stages = c.vector_divide_stages = 0;
  c.vector_row_buffer_words = 16;
  c.vector_rows_in_flight = 2;
  c.operand_buffer_words = 32;
  c.depthwise_multipliers = 0;
  c.input_port_bytes = c.weight_port_bytes = c.operand_port_bytes = c.output_port_bytes = 8;
  c.memory_latency = 9;
  return c;
}

constexpr const char* kPool = R"(graph "pool" {
  input %image : f32[1x5x7x7]
  %1 = average_pool %image {kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]} "pool" : f32[1x5x4x4]
  output %1
}
)";

std::unique_ptr<SystolicProgram> CompilePool() {
  auto graph = ParseGraph(kPool, "net.kir");
  EXPECT_TRUE(graph.ok()) << graph.status();
  Random random(3);
  Tensor image(ElementType::kFloat32, graph->inputs()[0]->shape());
  for (float& x : image.data<float>()) x = static_cast<float>(random.Uniform(-1, 1));
  std::vector<std::vector<Tensor>> images;
  images.push_back({std::move(image)});
  const auto prepared = Prepare(*std::move(graph), images);
  EXPECT_TRUE(prepared.ok()) << prepared.status();
  auto program = CompileFor(*prepared, Tiny(), /*host_fallback=*/false);
  EXPECT_TRUE(program.ok()) << program.status();
  return program.ok() ? *std::move(program) : nullptr;
}

TEST(SystolicRtl, TheFolderHasWhatTheDesignNeeds) {
  const auto program = CompilePool();
  ASSERT_NE(program, nullptr);
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-test");
  ASSERT_EQ(EmitDesign(*program, {}, {}, folder.path()), OkStatus());
  const auto text = [&](const char* name) { return ReadFile(folder.path() / name).value_or(""); };
  EXPECT_THAT(text("kiln_accelerator.sv"), HasSubstr(".ARRAY_COLUMNS(2)"));
  EXPECT_THAT(text("kiln_accelerator.sv"), HasSubstr(".VECTOR_FUNCTION_STAGES(2'b0)"));
  EXPECT_THAT(text("filelist.f"), HasSubstr("rtl/kiln_vector_unit.sv"));
  EXPECT_THAT(text("design.mk"), HasSubstr("--memory memory.hex --program "));
  EXPECT_THAT(text("program.txt"), HasSubstr("pool"));
  EXPECT_THAT(text("memory.hex"), HasSubstr("@"));
  const auto again = ParseConfig(text("design.yaml"), "design.yaml");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(PrintConfig(*again), PrintConfig(Tiny()));
}

TEST(SystolicRtl, SaysWhatTheHardwareHasNot) {
  Config config = Tiny();
  config.array_columns = 1;
  config.depthwise_multipliers = 1;
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-test");
  EXPECT_EQ(MessageOf(EmitMachine(config, folder.path())),
            "tiny, key 'array_columns': the RTL's depthwise unit wants two columns; 2 or more, or "
            "depthwise_multipliers: 0");
}

// make and Verilator would fail on it.
TEST(SystolicRtl, FoldersHaveNoBlanksInTheirPath) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-test");
  const Status status = EmitMachine(Tiny(), folder.path() / "a b");
  EXPECT_THAT(MessageOf(status), HasSubstr("a b: make and Verilator take no blanks in paths"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "a b"));
}

}  // namespace
}  // namespace kiln::systolic
