// Fragments of networks: an MLP and an attention head, their sums by hand, and the same bits at the
// functional and the cycle level.
#include <gtest/gtest.h>

#include <cmath>
#include <regex>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "kiln/support/random.h"
#include "kiln/targets/cgra/compile/cost_of_launch.h"
#include "tests/targets/cgra/compile/by_graph.h"

namespace kiln::cgra {
namespace {

// Returns whole numbers as a list of text; `range` on both sides of 0.
std::string Numbers(Random* random, int count, int range, double scale) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += fmt::format("{}{:.9g}", i == 0 ? "" : ", ",
                        static_cast<double>(random->Between(-range, range)) * scale + 0.0);
  }
  return text;
}

// Two layers, 20 -> 24 -> 5, with scales that are powers of two, so that reals are exact.
std::string MlpText() {
  Random random(5);
  return fmt::format(
      "graph \"mlp\" {{ input %x : f32[1x20] quant int8 per_tensor scale=[0.0625]\n"
      "const %w1 : f32[20x24] quant int8 per_tensor symmetric scale=[0.0078125] = [{}]\n"
      "const %b1 : f32[24] = [{}]\n"
      "const %w2 : f32[24x5] quant int8 per_tensor symmetric scale=[0.0078125] = [{}]\n"
      "%p1 = matmul %x, %w1 \"fc1\" : f32[1x24] quant int8 per_tensor scale=[0.125]\n"
      "%s1 = add %p1, %b1 \"fc1\" : f32[1x24] quant int8 per_tensor scale=[0.125]\n"
      "%r1 = relu %s1 \"relu\" : f32[1x24] quant int8 per_tensor scale=[0.0625] zero=[-128]\n"
      "%p2 = matmul %r1, %w2 \"fc2\" : f32[1x5]\n"
      "output %p2 }}",
      Numbers(&random, 480, 127, 0.0078125), Numbers(&random, 24, 30, 0.125),
      Numbers(&random, 120, 127, 0.0078125));
}

std::string AttentionText() {
  return "graph \"head\" { input %q : f32[1x2x6x8] quant int8 per_tensor symmetric scale=[0.03]\n"
         "input %k : f32[1x2x6x8] quant int8 per_tensor scale=[0.04] zero=[5]\n"
         "input %v : f32[1x2x6x8] quant int8 per_tensor symmetric scale=[0.02]\n"
         "%s = matmul %q, %k {transpose_b=1, alpha=0.35} \"scores\" : f32[1x2x6x6] quant int8 "
         "per_tensor scale=[0.04] zero=[2]\n"
         "%p = softmax %s {axis=-1} \"soft\" : f32[1x2x6x6] quant int8 per_tensor symmetric "
         "scale=[0.0079]\n"
         "%o = matmul %p, %v \"mix\" : f32[1x2x6x8] quant int8 per_tensor scale=[0.02]\n"
         "%t = transpose %o {perm=[0, 2, 1, 3]} \"turn\" : f32[1x6x2x8] quant int8 per_tensor "
         "scale=[0.02]\n"
         "output %t }";
}

Batch RandomInputs(const NetworkProgram& program, int64_t images) {
  Random random(9);
  Batch batch;
  for (const Value* input : program.network().inputs()) {
    std::vector<int64_t> dims = input->shape().dims();
    dims[0] = images;
    Tensor tensor(ElementType::kFloat32, Shape(dims));
    for (float& v : tensor.data<float>()) v = static_cast<float>(random.Uniform(-3, 3));
    batch.inputs.push_back(std::move(tensor));
  }
  return batch;
}

// The functional and the cycle level have the bits of the graphs, and the cycles of the compiler's
// certificates.
void CheckLevels(const NetworkProgram& program, const Batch& batch) {
  const auto by_graph = RunByGraph(program, batch);
  ASSERT_TRUE(by_graph.ok()) << by_graph.status();
  RunOptions options;
  const auto functional = RunNetwork(program, batch, options);
  ASSERT_TRUE(functional.ok()) << functional.status();
  EXPECT_TRUE(functional->codes == by_graph->codes);
  options.level = Level::kCycle;
  const auto cycle = RunNetwork(program, batch, options);
  ASSERT_TRUE(cycle.ok()) << cycle.status();
  EXPECT_TRUE(cycle->codes == by_graph->codes);
  double cost = 0;
  for (const KernelInfo& kernel : program.kernels()) cost += kernel.certificate.cost;
  EXPECT_EQ(static_cast<double>(cycle->cycles_per_image[0]), cost) << program.Print();
}

TEST(Levels, AnMlpHasTheSumsThatOneComputesByHand) {
  for (const Config& config : {MachineOf16(), MachineOf4()}) {
    SCOPED_TRACE(config.name);
    const auto program = CompileText(MlpText(), config);
    ASSERT_NE(program, nullptr);
    ASSERT_EQ(program->kernels().size(), 2u);
    for (const KernelInfo& kernel : program->kernels()) {
      EXPECT_EQ(kernel.host_reason, "");
      EXPECT_GE(kernel.certificate.cost, kernel.certificate.lower_bound);
      EXPECT_GT(kernel.certificate.lower_bound, 0);
      EXPECT_NE(kernel.certificate.bound_from.find("among all mappings"), std::string::npos);
      // A bound of the loading, the beats and the intervals is near the cost.
      EXPECT_LT(kernel.certificate.gap(), 0.5);
      // One of a thing is named in the singular.
      EXPECT_FALSE(std::regex_search(kernel.schedule,
                                     std::regex("(^|[^0-9])1 (vector|block|step|run|thread)s")))
          << kernel.schedule;
      EXPECT_TRUE(
          std::regex_search(kernel.schedule, std::regex("^[0-9]+ vectors? x [0-9]+ blocks? of ")))
          << kernel.schedule;
    }
    const Batch batch = RandomInputs(*program, 3);
    CheckLevels(*program, batch);
    const auto result = RunByGraph(*program, batch);
    ASSERT_TRUE(result.ok());
    const auto constant = [&](const char* name) {
      return program->network().FindValue(name)->constant().ToFloats();
    };
    const std::vector<float> w1 = constant("w1"), b1 = constant("b1"), w2 = constant("w2");
    for (int64_t image = 0; image < 3; ++image) {
      std::vector<double> hidden;
      for (int64_t n = 0; n < 24; ++n) {
        double sum = b1[static_cast<size_t>(n)];
        for (int64_t k = 0; k < 20; ++k) {
          const double x = std::clamp(
              std::nearbyint(batch.inputs[0].ValueAt(20 * image + k) / 0.0625), -128.0, 127.0);
          sum += x * 0.0625 * w1[static_cast<size_t>(24 * k + n)];
        }
        // Codes of 0.0625 from -128, rounded half up.
        hidden.push_back(std::clamp(std::floor(std::max(sum, 0.0) / 0.0625 + 0.5), 0.0, 255.0) *
                         0.0625);
      }
      for (int64_t n = 0; n < 5; ++n) {
        double sum = 0;
        for (int64_t k = 0; k < 24; ++k)
          sum += hidden[static_cast<size_t>(k)] * w2[static_cast<size_t>(5 * k + n)];
        EXPECT_EQ(result->outputs[0].ValueAt(5 * image + n), sum) << image << " " << n;
      }
    }
  }
}

TEST(Levels, AttentionRunsOnTheMachine) {
  for (const Config& config : {MachineOf16(), MachineOf4()}) {
    SCOPED_TRACE(config.name);
    const auto program = CompileText(AttentionText(), config);
    ASSERT_NE(program, nullptr);
    ASSERT_EQ(program->kernels().size(), 3u);
    for (const KernelInfo& kernel : program->kernels()) EXPECT_EQ(kernel.host_reason, "");
    EXPECT_EQ(program->kernels()[1].source_nodes, std::vector<std::string>{"soft"});
    const Batch batch = RandomInputs(*program, 2);
    CheckLevels(*program, batch);
    // The transposition is a view: no kernel, and element (token, head, i) of the output is element
    // (head, token, i) of the product.
    const auto result = RunByGraph(*program, batch);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->outputs[0].shape(), (Shape{2, 6, 2, 8}));
  }
}

TEST(Levels, ConvolutionsPoolsAndFunctionsAgree) {
  Random random(11);
  const auto program = CompileText(
      fmt::format(
          "graph \"image\" {{ input %x : f32[1x5x6x4] quant int8 per_tensor scale=[0.05] zero=[4]\n"
          "const %w : f32[6x2x3x3] quant int8 per_tensor symmetric scale=[0.01] = [{}]\n"
          "const %b : f32[6] = [{}]\n"
          "%c = conv %x, %w, %b {{group=2, kernel_shape=[3, 3], layout=\"nhwc\", pads=[1, 1, 1, "
          "1], strides=[1, 1]}} \"conv\" : f32[1x5x6x6] quant int8 per_tensor scale=[0.06] "
          "zero=[-3]\n"
          "%t = tanh %c \"tanh\" : f32[1x5x6x6] quant int8 per_tensor symmetric scale=[0.008]\n"
          "%a = average_pool %t {{kernel_shape=[3, 3], layout=\"nhwc\", pads=[1, 1, 0, 0], "
          "strides=[2, 2]}} \"average\" : f32[1x2x3x6] quant int8 per_tensor scale=[0.006]\n"
          "%m = max_pool %t {{kernel_shape=[2, 2], layout=\"nhwc\", strides=[2, 2]}} \"most\" : "
          "f32[1x2x3x6] quant int8 per_tensor symmetric scale=[0.008]\n"
          "%j = concat %a, %m {{axis=3}} \"join\" : f32[1x2x3x12] quant int8 per_tensor "
          "scale=[0.008]\n"
          "output %j }}",
          Numbers(&random, 108, 100, 0.01), Numbers(&random, 6, 10, 0.1)),
      MachineOf16());
  ASSERT_NE(program, nullptr);
  for (const KernelInfo& kernel : program->kernels()) EXPECT_EQ(kernel.host_reason, "");
  CheckLevels(*program, RandomInputs(*program, 2));
}

}  // namespace
}  // namespace kiln::cgra
