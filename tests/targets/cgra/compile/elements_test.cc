// Element-wise networks against real arithmetic, at every pair of codes.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "tests/targets/cgra/compile/by_graph.h"

namespace kiln::cgra {
namespace {

constexpr double kScaleA = 0.05, kScaleB = 0.031, kScaleY = 0.07;
constexpr int kZeroA = 3, kZeroB = -11, kZeroY = 7;

// A network of one operator on two inputs of 256 elements, y = op(a, b), and the operator.
struct Case {
  const char* node;
  std::function<double(double, double)> real;
  double scale_y = kScaleY;
};

// All pairs of codes, as 256 images of 256 elements: image i has code i - 128 in all elements of a.
Batch AllPairs() {
  Tensor a(ElementType::kFloat32, Shape{256, 256}), b(ElementType::kFloat32, Shape{256, 256});
  for (int i = 0; i < 256; ++i) {
    for (int j = 0; j < 256; ++j) {
      const auto at = static_cast<size_t>(256 * i + j);
      a.data<float>()[at] = static_cast<float>((i - 128 - kZeroA) * kScaleA);
      b.data<float>()[at] = static_cast<float>((j - 128 - kZeroB) * kScaleB);
    }
  }
  return {{a, b}};
}

TEST(Elements, AreTheNearestCodesOfRealArithmetic) {
  const std::vector<Case> cases = {
      {"add %a, %b", [](double a, double b) { return a + b; }},
      {"sub %a, %b", [](double a, double b) { return a - b; }},
      {"mul %a, %b", [](double a, double b) { return a * b; }, 0.2},
      {"max %a, %b", [](double a, double b) { return std::max(a, b); }},
      {"min %a, %b", [](double a, double b) { return std::min(a, b); }},
  };
  const Batch batch = AllPairs();
  for (const Case& c : cases) {
    SCOPED_TRACE(c.node);
    const auto program = CompileText(
        fmt::format("graph \"g\" {{ input %a : f32[1x256] quant int8 per_tensor scale=[{}] "
                    "zero=[{}]\n input %b : f32[1x256] quant int8 per_tensor scale=[{}] "
                    "zero=[{}]\n %y = {} \"op\" : f32[1x256] quant int8 per_tensor scale=[{}] "
                    "zero=[{}]\n output %y }}",
                    kScaleA, kZeroA, kScaleB, kZeroB, c.node, c.scale_y, kZeroY),
        MachineOf16());
    ASSERT_NE(program, nullptr);
    ASSERT_EQ(program->kernels().size(), 1u);
    EXPECT_EQ(program->kernels()[0].host_reason, "");
    const auto result = RunByGraph(*program, batch);
    ASSERT_TRUE(result.ok()) << result.status();
    int off = 0;
    for (int i = 0; i < 256; ++i) {
      for (int j = 0; j < 256; ++j) {
        const double real = c.real((i - 128 - kZeroA) * kScaleA, (j - 128 - kZeroB) * kScaleB);
        const double exact = std::clamp(real / c.scale_y + kZeroY, -128.0, 127.0);
        const double code = result->codes[0].ValueAt(256 * i + j);
        // Half a code, and what factors in fixed point leave.
        ASSERT_NEAR(code, exact, 0.5 + 0.02) << i << " " << j;
        off += std::abs(code - exact) > 0.5 + 1e-4 ? 1 : 0;
      }
    }
    EXPECT_LT(off, 65536 / 50);
  }
}

// A slope of one number may have as many axes as the operand.
TEST(Elements, FunctionsTakeNumbersOfAnyRank) {
  const auto program = CompileText(
      "graph \"g\" { input %a : f32[1x16x16] quant int8 per_tensor symmetric scale=[0.0625]\n"
      "const %s : f32[1x1x1] = [0.25]\n"
      "%y = prelu %a, %s \"slope\" : f32[1x16x16] quant int8 per_tensor symmetric "
      "scale=[0.0625]\n output %y }",
      MachineOf16());
  ASSERT_NE(program, nullptr);
  ASSERT_EQ(program->kernels()[0].host_reason, "");
  Tensor x(ElementType::kFloat32, Shape{1, 16, 16});
  for (int i = 0; i < 256; ++i)
    x.data<float>()[static_cast<size_t>(i)] = static_cast<float>(i - 128) * 0.0625F;
  const auto result = RunByGraph(*program, {{x}});
  ASSERT_TRUE(result.ok()) << result.status();
  for (int i = 1; i < 256; ++i) {
    const int code = i - 128;
    EXPECT_EQ(result->codes[0].ValueAt(i), code >= 0 ? code : std::floor(code / 4.0 + 0.5)) << code;
  }
}

TEST(Elements, ChainsHaveTheBitsOfTheirNodes) {
  const std::string head =
      "graph \"g\" { input %a : f32[1x256] quant int8 per_tensor scale=[0.05] zero=[3]\n"
      "input %b : f32[1x256] quant int8 per_tensor scale=[0.031] zero=[-11]\n"
      "const %c : f32[] = [0.75]\n"
      "%s = add %a, %b \"s\" : f32[1x256] quant int8 per_tensor scale=[0.08] zero=[1]\n"
      "%m = mul %s, %c \"m\" : f32[1x256] quant int8 per_tensor scale=[0.06]\n"
      "%r = relu %m \"r\" : f32[1x256] quant int8 per_tensor scale=[0.03] zero=[-128]\n";
  const auto fused = CompileText(head + "output %r }", MachineOf16());
  const auto apart = CompileText(head + "output %s\n output %m\n output %r }", MachineOf16());
  ASSERT_NE(fused, nullptr);
  ASSERT_NE(apart, nullptr);
  EXPECT_EQ(fused->kernels().size(), 1u);
  EXPECT_EQ(apart->kernels().size(), 3u);
  const auto one = RunByGraph(*fused, AllPairs()), three = RunByGraph(*apart, AllPairs());
  ASSERT_TRUE(one.ok() && three.ok());
  EXPECT_TRUE(one->codes[0] == three->codes[2]);
}

TEST(Elements, WhatLanesCannotComputeGoesToTheHostWithAReason) {
  const auto program = CompileText(
      "graph \"g\" { input %a : f32[1x8] quant int8 per_tensor scale=[0.05]\n"
      "input %b : f32[1x8] quant int8 per_tensor scale=[0.05]\n"
      "%q = pow %a, %b \"power\" : f32[1x8] quant int8 per_tensor scale=[0.05]\n"
      "%s = log_softmax %q {axis=-1} \"soft\" : f32[1x8] quant int8 per_tensor scale=[0.01]\n"
      "%f = add %s, %a \"float\" : f32[1x8]\n output %f }",
      MachineOf16());
  ASSERT_NE(program, nullptr);
  ASSERT_EQ(program->kernels().size(), 3u);
  EXPECT_NE(program->kernels()[0].host_reason.find("several activations"), std::string::npos);
  EXPECT_NE(program->kernels()[1].host_reason.find("lanes do not meet"), std::string::npos);
  EXPECT_NE(program->kernels()[2].host_reason.find("not quantised"), std::string::npos);
}

TEST(Elements, AGridIsForMappingOnly) {
  Config grid = MachineOf16();
  grid.rows = grid.columns = 4;
  const auto program = CompileText(
      "graph \"g\" { input %a : f32[1x8] quant int8 per_tensor scale=[0.05]\n"
      "%s = add %a, %a \"sum\" : f32[1x8] quant int8 per_tensor scale=[0.1]\n output %s }",
      grid);
  ASSERT_NE(program, nullptr);
  ASSERT_EQ(program->kernels().size(), 1u);
  EXPECT_NE(program->kernels()[0].host_reason.find("`kiln cgra map` only"), std::string::npos);
}

}  // namespace
}  // namespace kiln::cgra
