// Quotients and soft-maxes on the machine against real arithmetic, and the levels against each
// other.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "kiln/support/random.h"
#include "tests/targets/cgra/compile/by_graph.h"

namespace kiln::cgra {
namespace {

constexpr double kScaleOfA = 0.05, kScaleOfB = 0.031;
constexpr int kZeroOfA = 3, kZeroOfB = -11;

std::string Quant(double scale, int zero) {
  return fmt::format("quant int8 per_tensor scale=[{}] zero=[{}]", scale, zero);
}

double RealOf(int code, double scale, int zero) { return (code - zero) * scale; }

TEST(Quotients, AreTheNearestCodesForEveryPairOfCodes) {
  Tensor a(ElementType::kFloat32, Shape{256, 256}), b(ElementType::kFloat32, Shape{256, 256});
  for (int i = 0; i < 256; ++i) {
    for (int j = 0; j < 256; ++j) {
      const auto at = static_cast<size_t>(256 * i + j);
      a.data<float>()[at] = static_cast<float>(RealOf(i - 128, kScaleOfA, kZeroOfA));
      b.data<float>()[at] = static_cast<float>(RealOf(j - 128, kScaleOfB, kZeroOfB));
    }
  }
  for (const auto& [scale, zero] : {std::pair{0.07, 7}, {0.9, -20}, {0.004, 0}}) {
    const auto program = CompileText(
        fmt::format("graph \"g\" {{ input %a : f32[1x256] {}\n input %b : f32[1x256] {}\n"
                    "%y = div %a, %b \"ratio\" : f32[1x256] {}\n output %y }}",
                    Quant(kScaleOfA, kZeroOfA), Quant(kScaleOfB, kZeroOfB), Quant(scale, zero)),
        MachineOf16());
    ASSERT_NE(program, nullptr);
    ASSERT_EQ(program->kernels().size(), 1u);
    ASSERT_EQ(program->kernels()[0].host_reason, "");
    const auto result = RunByGraph(*program, {{a, b}});
    ASSERT_TRUE(result.ok()) << result.status();
    for (int i = 0; i < 256; ++i) {
      for (int j = 0; j < 256; ++j) {
        const double x = RealOf(i - 128, kScaleOfA, kZeroOfA),
                     y = RealOf(j - 128, kScaleOfB, kZeroOfB);
        // 0 / 0 has the code of zero; other divisions by zero saturate.
        const double real = y != 0 ? x / y : x == 0 ? 0 : x * 1e9;
        const double exact = std::clamp(real / scale + zero, -128.0, 127.0);
        ASSERT_NEAR(result->codes[0].ValueAt(256 * i + j), exact, 0.5 + 1e-3)
            << scale << " " << i << " " << j;
      }
    }
  }
}

// Multipliers of few bits: results are within an eighth of a code before rounding.
TEST(Quotients, OfSixteenBitsAreWithinAnEighthBeforeRounding) {
  constexpr int kCount = 4000;
  const double scale_a = 0.00081, scale_b = 0.0001;
  const auto program = CompileText(
      fmt::format("graph \"g\" {{ input %a : f32[1x{0}] quant int16 per_tensor scale=[{1}]\n"
                  "input %b : f32[1x{0}] quant int16 per_tensor scale=[{2}]\n"
                  "%y = div %a, %b \"ratio\" : f32[1x{0}] {3}\n output %y }}",
                  kCount, scale_a, scale_b, Quant(1, 0)),
      MachineOf16());
  ASSERT_NE(program, nullptr);
  ASSERT_EQ(program->kernels()[0].host_reason, "");
  Random random(11);
  Tensor a(ElementType::kFloat32, Shape{1, kCount}), b(ElementType::kFloat32, Shape{1, kCount});
  std::vector<std::pair<int, int>> codes;
  for (int i = 0; i < kCount; ++i) {
    const auto divisor = static_cast<int>(random.Between(1, 32767));
    const auto most = std::min(32767, 15 * divisor);
    codes.emplace_back(static_cast<int>(random.Between(-most, most)), divisor);
    a.data<float>()[static_cast<size_t>(i)] = static_cast<float>(codes.back().first * scale_a);
    b.data<float>()[static_cast<size_t>(i)] = static_cast<float>(divisor * scale_b);
  }
  const auto result = RunByGraph(*program, {{a, b}});
  ASSERT_TRUE(result.ok()) << result.status();
  int not_nearest = 0;
  for (int i = 0; i < kCount; ++i) {
    const auto [x, y] = codes[static_cast<size_t>(i)];
    const double exact = std::clamp(x * scale_a / (y * scale_b), -128.0, 127.0);
    const double error = std::abs(result->codes[0].ValueAt(i) - exact);
    ASSERT_LE(error, 0.625) << x << " " << y;
    not_nearest += error > 0.5 + 1e-9 ? 1 : 0;
  }
  EXPECT_GT(not_nearest, 0);
}

TEST(Quotients, OfANumberAndBroadcastOperands) {
  for (const char* number : {"1.5", "-0.25"}) {
    const auto program = CompileText(
        fmt::format("graph \"g\" {{ input %b : f32[1x256] {}\n const %n : f32[] = [{}]\n"
                    "%y = div %n, %b \"reciprocal\" : f32[1x256] {}\n output %y }}",
                    Quant(kScaleOfB, kZeroOfB), number, Quant(0.05, 4)),
        MachineOf4());
    ASSERT_NE(program, nullptr);
    ASSERT_EQ(program->kernels()[0].host_reason, "");
    Tensor b(ElementType::kFloat32, Shape{1, 256});
    for (int j = 0; j < 256; ++j)
      b.data<float>()[static_cast<size_t>(j)] =
          static_cast<float>(RealOf(j - 128, kScaleOfB, kZeroOfB));
    const auto result = RunByGraph(*program, {{b}});
    ASSERT_TRUE(result.ok()) << result.status();
    for (int j = 0; j < 256; ++j) {
      const double y = RealOf(j - 128, kScaleOfB, kZeroOfB);
      const double real = std::stod(number) / (y != 0 ? y : 1e-9);
      EXPECT_NEAR(result->codes[0].ValueAt(j), std::clamp(real / 0.05 + 4, -128.0, 127.0), 0.501)
          << number << " " << j;
    }
  }
  const auto program = CompileText(
      fmt::format("graph \"g\" {{ input %a : f32[1x3x5] {}\n input %b : f32[1x3x1] {}\n"
                  "%y = div %a, %b \"ratio\" : f32[1x3x5] {}\n output %y }}",
                  Quant(kScaleOfA, kZeroOfA), Quant(kScaleOfB, kZeroOfB), Quant(0.07, 7)),
      MachineOf4());
  ASSERT_NE(program, nullptr);
  ASSERT_EQ(program->kernels()[0].host_reason, "");
  Tensor a(ElementType::kFloat32, Shape{1, 3, 5}), b(ElementType::kFloat32, Shape{1, 3, 1});
  for (int i = 0; i < 15; ++i)
    a.data<float>()[static_cast<size_t>(i)] =
        static_cast<float>(RealOf(9 * i - 60, kScaleOfA, kZeroOfA));
  for (int i = 0; i < 3; ++i)
    b.data<float>()[static_cast<size_t>(i)] =
        static_cast<float>(RealOf(50 - 40 * i, kScaleOfB, kZeroOfB));
  const auto result = RunByGraph(*program, {{a, b}});
  ASSERT_TRUE(result.ok()) << result.status();
  for (int i = 0; i < 15; ++i) {
    const double real =
        RealOf(9 * i - 60, kScaleOfA, kZeroOfA) / RealOf(50 - 40 * (i / 5), kScaleOfB, kZeroOfB);
    EXPECT_NEAR(result->codes[0].ValueAt(i), std::clamp(real / 0.07 + 7, -128.0, 127.0), 0.501);
  }
}

struct SoftmaxCase {
  std::vector<int64_t> dims;
  int axis = -1;
  double scale_x = 0.1, scale_y = 1.0 / 255;
  int zero_y = -128;
};

// Soft-maxes of random codes, with the largest ones and equal ones among them.
TEST(Softmax, IsTheNearestCodeOfRealArithmetic) {
  const std::vector<SoftmaxCase> cases = {{.dims = {1, 10}},
                                          {.dims = {1, 7, 12}},
                                          {.dims = {1, 5, 9}, .axis = 1, .scale_x = 0.03},
                                          {.dims = {1, 2, 6, 40}, .scale_x = 0.25},
                                          {.dims = {1, 3, 300}, .scale_x = 0.02, .scale_y = 0.002},
                                          {.dims = {1, 4, 3}, .scale_y = 0.0079, .zero_y = 0},
                                          {.dims = {1, 1}}};
  for (const SoftmaxCase& c : cases) {
    const Shape shape(c.dims);
    SCOPED_TRACE(testing::Message() << testing::PrintToString(c.dims));
    std::string text;
    for (const int64_t dim : c.dims) text += fmt::format("{}{}", text.empty() ? "" : "x", dim);
    for (const Config& config : {MachineOf16(), MachineOf4()}) {
      const auto program = CompileText(
          fmt::format("graph \"g\" {{ input %x : f32[{}] {}\n"
                      "%y = softmax %x {{axis={}}} \"soft\" : f32[{}] {}\n output %y }}",
                      text, Quant(c.scale_x, 5), c.axis, text, Quant(c.scale_y, c.zero_y)),
          config);
      ASSERT_NE(program, nullptr);
      ASSERT_EQ(program->kernels().size(), 1u);
      ASSERT_EQ(program->kernels()[0].host_reason, "");
      Random random(7);
      Tensor x(ElementType::kFloat32, shape);
      std::vector<int> codes;
      for (float& v : x.data<float>()) {
        codes.push_back(static_cast<int>(random.Between(-128, 127)));
        v = static_cast<float>(RealOf(codes.back(), c.scale_x, 5));
      }
      const auto result = RunByGraph(*program, {{x}});
      ASSERT_TRUE(result.ok()) << result.status();
      const auto axis = static_cast<size_t>(c.axis < 0 ? shape.rank() + c.axis : c.axis);
      int64_t inner = 1;
      for (size_t i = axis + 1; i < c.dims.size(); ++i) inner *= c.dims[i];
      const int64_t length = c.dims[axis];
      for (int64_t e = 0; e < shape.NumElements(); ++e) {
        const int64_t first = e / (inner * length) * inner * length + e % inner;
        long double sum = 0;
        for (int64_t k = 0; k < length; ++k) {
          const int other = codes[static_cast<size_t>(first + k * inner)];
          sum += std::exp(static_cast<long double>(c.scale_x) *
                          (other - codes[static_cast<size_t>(e)]));
        }
        const double real = static_cast<double>(1 / sum) / c.scale_y + c.zero_y;
        ASSERT_NEAR(result->codes[0].ValueAt(e), std::clamp(real, -128.0, 127.0),
                    0.5 + (static_cast<double>(length) * 0x1p-21 + 0x1.2p-13) / c.scale_y)
            << e;
      }
    }
  }
}

// One element, and many whose exponentials are just below half a unit, so that the sum leaves all
// of them out.
TEST(Softmax, SumsOfSmallExponentialsAreCloseEnough) {
  constexpr int kLength = 512;
  const auto program = CompileText(
      fmt::format("graph \"g\" {{ input %x : f32[1x{0}] {1}\n"
                  "%y = softmax %x {{axis=-1}} \"soft\" : f32[1x{0}] {2}\n output %y }}",
                  kLength, Quant(0.1, 0), Quant(1.0 / 255, -128)),
      MachineOf16());
  ASSERT_NE(program, nullptr);
  ASSERT_EQ(program->kernels()[0].host_reason, "");
  Tensor x(ElementType::kFloat32, Shape{1, kLength});
  for (float& v : x.data<float>()) v = -1.9F;
  x.data<float>()[5] = 12.7F;
  const auto result = RunByGraph(*program, {{x}});
  ASSERT_TRUE(result.ok()) << result.status();
  const double exact = 1 / (1 + (kLength - 1) * std::exp(-14.6)) * 255 - 128;
  EXPECT_NEAR(result->codes[0].ValueAt(5), exact, 0.5 + kLength * 0x1p-21 * 255 + 0x1.2p-13 * 255);
  EXPECT_EQ(result->codes[0].ValueAt(6), -128);
}

// Exponentials of 19 bits after the binary point, against long doubles.
TEST(Softmax, RowsOfOneThousandElementsAreWithinTheBound) {
  constexpr int kLength = 1024;
  constexpr double kScale = 0.06, kResultScale = 1.0 / 255;
  const auto program = CompileText(
      fmt::format("graph \"g\" {{ input %x : f32[1x{0}] {1}\n"
                  "%y = softmax %x {{axis=-1}} \"soft\" : f32[1x{0}] {2}\n output %y }}",
                  kLength, Quant(kScale, 0), Quant(kResultScale, -128)),
      MachineOf16());
  ASSERT_NE(program, nullptr);
  ASSERT_EQ(program->kernels()[0].host_reason, "");
  for (const int greatest : {-110, -40, 127}) {
    Random random(5);
    Tensor x(ElementType::kFloat32, Shape{1, kLength});
    std::vector<int> codes;
    for (float& v : x.data<float>()) {
      codes.push_back(static_cast<int>(random.Between(-128, -100)));
      if (codes.size() == 77) codes.back() = greatest;
      v = static_cast<float>(RealOf(codes.back(), kScale, 0));
    }
    const auto result = RunByGraph(*program, {{x}});
    ASSERT_TRUE(result.ok()) << result.status();
    long double sum = 0;
    for (const int code : codes) sum += std::exp(static_cast<long double>(kScale) * code);
    for (int i = 0; i < kLength; ++i) {
      const long double share =
          std::exp(static_cast<long double>(kScale) * codes[static_cast<size_t>(i)]) / sum;
      const double exact =
          std::clamp(static_cast<double>(share) / kResultScale - 128, -128.0, 127.0);
      ASSERT_NEAR(result->codes[0].ValueAt(i), exact,
                  0.5 + (kLength * 0x1p-20 + 0x1.2p-13) / kResultScale)
          << i;
    }
  }
}

// A soft-max of a network that states its pieces, as exporters do without the operator.
constexpr char kPieces[] =
    "graph \"pieces\" { input %x : f32[1x6x9] quant int8 per_tensor scale=[0.05] zero=[4]\n"
    "const %axes : i64[1] = [-1]\n"
    "%m = reduce_max %x, %axes {keepdims=1} \"most\" : f32[1x6x1] quant int8 per_tensor "
    "scale=[0.05] zero=[4]\n"
    "%d = sub %x, %m \"below\" : f32[1x6x9] quant int8 per_tensor scale=[0.05] zero=[127]\n"
    "%e = exp %d \"exp\" : f32[1x6x9] quant uint8 per_tensor scale=[0.00392156862745098]\n"
    "%s = reduce_sum %e, %axes {keepdims=1} \"sum\" : f32[1x6x1] quant uint8 per_tensor "
    "scale=[0.05]\n"
    "%y = div %e, %s \"share\" : f32[1x6x9] quant uint8 per_tensor "
    "scale=[0.00392156862745098]\n output %y }";

TEST(Softmax, PiecesRunOnTheMachineAtAllLevels) {
  for (const Config& config : {MachineOf16(), MachineOf4()}) {
    const auto program = CompileText(kPieces, config);
    ASSERT_NE(program, nullptr);
    ASSERT_EQ(program->kernels().size(), 5u);
    for (const KernelInfo& kernel : program->kernels()) EXPECT_EQ(kernel.host_reason, "");
    Random random(3);
    Tensor x(ElementType::kFloat32, Shape{1, 6, 9});
    for (float& v : x.data<float>()) v = static_cast<float>(random.Uniform(-3, 3));
    const auto by_graph = RunByGraph(*program, {{x}});
    ASSERT_TRUE(by_graph.ok()) << by_graph.status();
    RunOptions options;
    const auto functional = RunNetwork(*program, {{x}}, options);
    ASSERT_TRUE(functional.ok()) << functional.status();
    EXPECT_TRUE(functional->codes == by_graph->codes);
    options.level = Level::kCycle;
    const auto cycle = RunNetwork(*program, {{x}}, options);
    ASSERT_TRUE(cycle.ok()) << cycle.status();
    EXPECT_TRUE(cycle->codes == by_graph->codes);
    double cost = 0;
    for (const KernelInfo& kernel : program->kernels()) cost += kernel.certificate.cost;
    EXPECT_EQ(static_cast<double>(cycle->cycles_per_image[0]), cost);
  }
}

TEST(Softmax, WhatLanesCannotComputeGoesToTheHostWithAReason) {
  const auto reason = [](const std::string& y, int outputs) {
    Config config = MachineOf16();
    config.outputs = outputs;
    const auto program = CompileText(
        "graph \"g\" { input %x : f32[1x8] quant int8 per_tensor scale=[0.05]\n"
        "%y = softmax %x {axis=-1} \"soft\" : f32[1x8]" +
            y + "\n output %y }",
        config);
    return program == nullptr ? "" : program->kernels()[0].host_reason;
  };
  EXPECT_EQ(reason(" quant int8 per_tensor scale=[0.01]", 2), "");
  EXPECT_NE(reason(" quant int8 per_tensor scale=[0.0001]", 2).find("codes off"),
            std::string::npos);
  EXPECT_NE(reason("", 2).find("not quantised"), std::string::npos);
  EXPECT_NE(reason(" quant int16 per_tensor scale=[0.0001]", 2).find("16 bits"), std::string::npos);
  EXPECT_NE(reason(" quant int8 per_tensor scale=[0.01]", 1).find("one output"), std::string::npos);
}

}  // namespace
}  // namespace kiln::cgra
