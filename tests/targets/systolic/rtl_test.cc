// Emitted designs: what stands in the folder, and that its simulation computes the bits of the functional level in the
// cycles of the cycle level, kernel by kernel.
#include "kiln/targets/systolic/rtl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kiln/ir/text.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "kiln/support/random.h"
#include "kiln/targets/systolic/cycle.h"
#include "kiln/targets/systolic/emit.h"
#include "kiln/targets/systolic/functional.h"
#include "tests/targets/systolic/compiled.h"

namespace kiln::systolic {
namespace {

using testing::HasSubstr;

// As little hardware as there can be, so that it is built quickly.
Config Tiny() {
  Config c;
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

// A convolution, a pool, a residual and a product: matrix and vector instructions that wait for each other.
constexpr const char* kBranches = R"(graph "branches" {
  input %image : f32[1x3x6x6]
  const %w : f32[3x3x1x1] = [1, -2, 3, 4, 5, -6, 7, 8, 9]
  const %v : f32[27x5] = WEIGHTS
  const %shape : i64[2] = [1, 27]
  %1 = conv %image, %w {kernel_shape=[1, 1]} "conv" : f32[1x3x6x6]
  %2 = relu %1 "relu" : f32[1x3x6x6]
  %3 = add %2, %image "add" : f32[1x3x6x6]
  %4 = max_pool %3 {kernel_shape=[2, 2], strides=[2, 2]} "pool" : f32[1x3x3x3]
  %5 = reshape %4, %shape "flat" : f32[1x27]
  %6 = matmul %5, %v "product" : f32[1x5]
  output %6
}
)";
constexpr const char* kPool = R"(graph "pool" {
  input %image : f32[1x5x7x7]
  %1 = average_pool %image {kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]} "pool" : f32[1x5x4x4]
  output %1
}
)";

struct Compiled {
  std::unique_ptr<SystolicProgram> program;
  Batch images;
};

void Compile(std::string text, int64_t images, Compiled* out) {
  Random random(3);
  if (const size_t at = text.find("WEIGHTS"); at != std::string::npos) {
    std::string weights;
    for (int i = 0; i < 27 * 5; ++i) {
      weights += (i == 0 ? "[" : ", ") + std::to_string(static_cast<int>(random.Between(-50, 50)));
    }
    text.replace(at, 7, weights + "]");
  }
  auto graph = ParseGraph(text, "net.kir");
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::vector<int64_t> dims = graph->inputs()[0]->shape().dims();
  dims[0] = images;
  Tensor batch(ElementType::kFloat32, Shape(dims));
  for (float& x : batch.data<float>()) x = static_cast<float>(random.Uniform(-1, 1));
  dims[0] = 1;
  std::vector<std::vector<Tensor>> each;
  const size_t size = batch.data<float>().size() / static_cast<size_t>(images);
  for (size_t i = 0; i < static_cast<size_t>(images); ++i) {
    Tensor image(ElementType::kFloat32, Shape(dims));
    std::copy_n(batch.data<float>().begin() + static_cast<std::ptrdiff_t>(i * size), size,
                image.data<float>().begin());
    each.push_back({std::move(image)});
  }
  const auto prepared = Prepare(*std::move(graph), each);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  auto program = CompileFor(*prepared, Tiny(), /*host_fallback=*/false);
  ASSERT_TRUE(program.ok()) << program.status();
  out->program = *std::move(program);
  out->images.inputs.push_back(std::move(batch));
}

// All runs are of one design, so that one folder holds the simulation of all.
TEST(SystolicRtl, EmittedDesignsRunInTheBitsAndCyclesOfTheOtherLevels) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-test");
  size_t kernels = 0;
  for (const auto& [network, images, stalls] :
       std::vector<std::tuple<const char*, int64_t, double>>{
           {kBranches, 2, 0.0}, {kPool, 1, 0.0}, {kBranches, 1, 0.4}}) {
    Compiled c;
    Compile(network, images, &c);
    if (HasFatalFailure()) return;
    RunOptions options;
    options.rtl.folder = folder.path();
    options.rtl.stall_probability = stalls;
    const auto functional = RunFunctional(*c.program, c.images, options);
    const auto cycle = RunCycle(*c.program, c.images, options);
    const auto rtl = RunRtl(*c.program, c.images, options);
    ASSERT_TRUE(functional.ok() && cycle.ok() && rtl.ok())
        << functional.status() << cycle.status() << rtl.status();
    EXPECT_TRUE(rtl->codes == functional->codes);
    EXPECT_TRUE(rtl->outputs == functional->outputs);
    EXPECT_TRUE(cycle->codes == functional->codes);
    if (stalls > 0) {  // time is another one then, and it is longer
      EXPECT_GT(rtl->cycles_per_image[0], cycle->cycles_per_image[0]);
      continue;
    }
    EXPECT_EQ(rtl->cycles_per_image, cycle->cycles_per_image);
    ASSERT_EQ(rtl->trace.kernels.size(), cycle->trace.kernels.size());
    for (size_t k = 0; k < rtl->trace.kernels.size(); ++k, ++kernels) {
      EXPECT_EQ(rtl->trace.kernels[k].kernel, cycle->trace.kernels[k].kernel);
      EXPECT_EQ(rtl->trace.kernels[k].begin, cycle->trace.kernels[k].begin) << "kernel " << k;
      EXPECT_EQ(rtl->trace.kernels[k].end, cycle->trace.kernels[k].end) << "kernel " << k;
    }
  }
  EXPECT_GE(kernels, 4u);
}

TEST(SystolicRtl, TheFolderHasWhatTheDesignNeeds) {
  Compiled c;
  Compile(kPool, 1, &c);
  if (HasFatalFailure()) return;
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-test");
  ASSERT_EQ(EmitDesign(*c.program, folder.path()), OkStatus());
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
