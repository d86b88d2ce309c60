// Activations of one bit: a product, a bias and the nodes that compute a sign are one layer, whose
// result is +1 from 0 on and -1 below.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "kiln/ir/text.h"
#include "kiln/support/random.h"
#include "kiln/targets/binary/run_network.h"

namespace kiln::binary {
namespace {

constexpr int kInputs = 20, kOutputs = 10;

TEST(Signs, AreComputedByTheMachine) {
  Random random(4);
  std::vector<int> signs;
  std::string weights, biases;
  std::vector<double> bias;
  for (int i = 0; i < kInputs * kOutputs; ++i) {
    signs.push_back(random.Below(2) == 0 ? -1 : 1);
    weights += fmt::format("{}{}", i == 0 ? "" : ", ", signs.back() * 0.25);
  }
  for (int n = 0; n < kOutputs; ++n) {
    // Multiples of half a step, so that sums of exactly 0 occur.
    bias.push_back(0.125 * static_cast<double>(random.Between(-8, 8)));
    biases += fmt::format("{}{}", n == 0 ? "" : ", ", bias.back());
  }
  const auto graph = ParseGraph(
      fmt::format("graph \"net\" {{ input %x : f32[1x{0}] quant int2 per_tensor symmetric "
                  "scale=[1]\n"
                  "const %w : f32[{0}x{1}] quant int2 per_tensor symmetric scale=[0.25] = [{2}]\n"
                  "const %b : f32[{1}] = [{3}]\nconst %far : f32[] = [1.2676506e+30]\n"
                  "const %l : f32[] = [-1]\nconst %h : f32[] = [1]\n"
                  "%p = matmul %x, %w \"fc\" : f32[1x{1}]\n%s = add %p, %b \"fc\" : f32[1x{1}]\n"
                  "%m = mul %s, %far \"q\" : f32[1x{1}]\n%c = clip %m, %l, %h \"q\" : f32[1x{1}]\n"
                  "%n = mul %c, %far \"q\" : f32[1x{1}]\n%a = add %n, %h \"q\" : f32[1x{1}]\n"
                  "%d = clip %a, %l, %h \"q\" : f32[1x{1}]\n"
                  "%y = mul %d, %h \"q\" : f32[1x{1}] quant int2 per_tensor symmetric scale=[1]\n"
                  "output %y }}",
                  kInputs, kOutputs, weights, biases),
      "net.kir");
  ASSERT_TRUE(graph.ok()) << graph.status();
  Config config;
  config.name = "machine";
  CompileOptions options;
  options.host_fallback = false;
  const auto program = CompileNetwork(*graph, config, options);
  ASSERT_TRUE(program.ok()) << program.status();
  constexpr int kImages = 40;
  Tensor images(ElementType::kFloat32, Shape{kImages, kInputs});
  for (float& value : images.data<float>()) value = random.Below(2) == 0 ? -1.0f : 1.0f;
  for (const Level level : {Level::kFunctional, Level::kCycle}) {
    RunOptions run;
    run.level = level;
    const auto result = RunNetwork(static_cast<const NetworkProgram&>(**program), {{images}}, run);
    ASSERT_TRUE(result.ok()) << result.status();
    int zeros = 0;
    for (int i = 0; i < kImages; ++i) {
      for (int n = 0; n < kOutputs; ++n) {
        double sum = bias[static_cast<size_t>(n)];
        for (int k = 0; k < kInputs; ++k) {
          sum += 0.25 * signs[static_cast<size_t>(k * kOutputs + n)] *
                 images.data<float>()[static_cast<size_t>(i * kInputs + k)];
        }
        zeros += sum == 0 ? 1 : 0;
        EXPECT_EQ(result->codes[0].IntAt(i * kOutputs + n), sum >= 0 ? 1 : -1) << sum;
      }
    }
    EXPECT_GT(zeros, 0);
  }
}

}  // namespace
}  // namespace kiln::binary
