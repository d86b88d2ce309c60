// Integer weights on an array of integers, and those of -1 and +1 on an array whose weights are -1
// and +1: values against plain arithmetic, and the refusal of other codes.
#include <cstdint>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kiln/ir/text.h"
#include "kiln/numerics/format.h"
#include "kiln/support/random.h"
#include "kiln/targets/systolic/simulate/cycle/cycle.h"
#include "kiln/targets/systolic/simulate/functional/functional.h"
#include "tests/targets/systolic/compiled.h"
#include "tests/targets/systolic/fp32_machine.h"

namespace kiln::systolic {
namespace {

using testing::HasSubstr;

Config SignConfig() {
  Config config = SquareConfig(4, Fp32Machine());
  config.weight_format = *FindFormat("binary");
  return config;
}

// Returns random numbers (code - zero) / 4, as the annotation of the inputs below has them.
std::vector<float> Activations(Random& random, int64_t count) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(0.25f * static_cast<float>(random.Between(-100, 100)));
  return values;
}
std::vector<int> Signs(Random& random, int64_t count) {
  std::vector<int> signs;
  for (int64_t i = 0; i < count; ++i) signs.push_back(random.Below(2) == 0 ? -1 : 1);
  return signs;
}

// Runs a graph without the host; functional and cycle level have the same bits.
// `bits`, if not null, becomes the bits of the packed weights of the first instruction.
std::vector<float> OnTheArray(const std::string& text, const Tensor& input,
                              const Config& config = SignConfig(), int* bits = nullptr) {
  const auto graph = ParseGraph(text, "test.kir");
  EXPECT_TRUE(graph.ok()) << graph.status() << "\n" << text;
  const auto program = CompileFor(*graph, config, /*host_fallback=*/false);
  EXPECT_TRUE(program.ok()) << program.status();
  if (!program.ok()) return {};
  if (bits != nullptr) *bits = (*program)->instructions()[0].convolution.weight_bits;
  const auto result = RunFunctional(**program, Batch{{input}}, RunOptions{});
  const auto cycle = RunCycle(**program, Batch{{input}}, RunOptions{});
  EXPECT_TRUE(result.ok() && cycle.ok()) << result.status() << cycle.status();
  if (!result.ok() || !cycle.ok()) return {};
  EXPECT_TRUE(result->codes == cycle->codes);
  return result->outputs[0].ToFloats();
}

// An annotation of weights, and what it makes of -1 and +1.
struct Case {
  std::string annotation;
  std::vector<float> scales;  // by output channel
};

TEST(SystolicSignWeights, ProductsAreSumsAndDifferences) {
  constexpr int64_t kRows = 3, kDepth = 7, kColumns = 5;
  const std::vector<Case> cases = {
      {"int2 per_tensor symmetric scale=[0.5]", std::vector<float>(5, 0.5f)},
      {"int8 per_tensor symmetric scale=[2]", std::vector<float>(5, 2.0f)},
      {"uint8 per_tensor scale=[0.25] zero=[128]", std::vector<float>(5, 0.25f)},
      {"int4 per_channel axis=1 scale=[0.5, 1, 2, 0.25, 4] zero=[0, 1, -2, 6, -7]",
       {0.5f, 1.0f, 2.0f, 0.25f, 4.0f}}};
  Random random(1);
  for (const Case& weights : cases) {
    SCOPED_TRACE(weights.annotation);
    const std::vector<float> x = Activations(random, kRows * kDepth);
    const std::vector<int> signs = Signs(random, kDepth * kColumns);
    std::vector<float> w, expected;
    for (size_t i = 0; i < signs.size(); ++i)
      w.push_back(static_cast<float>(signs[i]) * weights.scales[i % kColumns]);
    for (size_t r = 0; r < kRows; ++r) {
      for (size_t n = 0; n < kColumns; ++n) {
        float sum = 0;
        for (size_t k = 0; k < kDepth; ++k) sum += x[r * kDepth + k] * w[k * kColumns + n];
        expected.push_back(sum);
      }
    }
    const std::string text = fmt::format(
        R"(graph "t" {{
  input %x : f32[1x3x7] quant int8 per_tensor scale=[0.25] zero=[3]
  const %w : f32[7x5] quant {} = [{:#}]
  %1 = matmul %x, %w : f32[1x3x5]
  output %1
}})",
        weights.annotation, fmt::join(w, ", "));
    const Tensor input = Tensor::Of<float>({1, kRows, kDepth}, x);
    EXPECT_EQ(OnTheArray(text, input), expected);
    Config packed = SignConfig();
    packed.packed_weights = true;
    int bits = -1;
    EXPECT_EQ(OnTheArray(text, input, packed, &bits), expected);
    EXPECT_EQ(bits, 1);
  }
}

// Without packed weights, narrow ones take whole bytes, which users should know.
TEST(SystolicIntegerWeights, ANoteTellsThatNarrowOnesTakeWholeBytes) {
  const auto notes = [](const char* annotation, bool packed) {
    const auto graph = ParseGraph(fmt::format(R"(graph "t" {{
  input %x : f32[1x3x2] quant int8 per_tensor scale=[0.25] zero=[3]
  const %w : f32[2x2] quant {} per_tensor symmetric scale=[1] = [1, -2, 3, 0]
  %1 = matmul %x, %w : f32[1x3x2]
  output %1
}})",
                                              annotation),
                                  "test.kir");
    EXPECT_TRUE(graph.ok()) << graph.status();
    Config config = SquareConfig(8);
    config.packed_weights = packed;
    const auto program = CompileFor(*graph, config, /*host_fallback=*/false);
    EXPECT_TRUE(program.ok()) << program.status();
    return program.ok() ? (*program)->notes() : std::vector<std::string>();
  };
  EXPECT_THAT(notes("int4", false),
              testing::ElementsAre("1 weight of fewer than 8 bits takes whole bytes, 4 in all; a "
                                   "design point with 'packed_weights: true' stores them in 2"));
  EXPECT_THAT(notes("int4", true), testing::IsEmpty());
  EXPECT_THAT(notes("int8", false), testing::IsEmpty());
}

// An array of integers takes weights of other integer formats by their codes, and the least code of
// a format is one of them.
TEST(SystolicIntegerWeights, AreTakenByTheirCodes) {
  struct IntegerCase {
    std::string annotation;
    double least, greatest, step;  // of the values
    int bits;                      // of a packed code; 0: not packed
  };
  const std::vector<IntegerCase> cases = {
      {"fixed8_4 none", -8, 7.9375, 0.0625, 0},
      {"int8 per_tensor symmetric scale=[0.5]", -63.5, 63.5, 0.5, 0},
      {"int8 per_tensor scale=[0.5]", -64, 63.5, 0.5, 0},
      {"int4 per_tensor symmetric scale=[2]", -14, 14, 2, 4},
      {"uint8 per_tensor scale=[0.25] zero=[128]", -32, 31.75, 0.25, 0},
      {"uint4 per_tensor symmetric scale=[1]", 0, 15, 1, 7},
      {"int16 per_tensor symmetric scale=[1]", -128, 127, 1, 0}};
  constexpr size_t kDepth = 6, kColumns = 5;
  Random random(3);
  for (const IntegerCase& weights : cases) {
    SCOPED_TRACE(weights.annotation);
    const std::vector<float> x = Activations(random, kDepth);
    std::vector<float> w, expected(kColumns, 0.0f);
    const auto codes = static_cast<int64_t>((weights.greatest - weights.least) / weights.step);
    for (size_t i = 0; i < kDepth * kColumns; ++i) {
      const int64_t code = i == 0 ? 0 : i == 1 ? codes : random.Between(0, codes);
      w.push_back(static_cast<float>(weights.least + weights.step * static_cast<double>(code)));
      expected[i % kColumns] += x[i / kColumns] * w.back();
    }
    const std::string text = fmt::format(
        R"(graph "t" {{
  input %x : f32[1x1x6] quant int8 per_tensor scale=[0.25] zero=[3]
  const %w : f32[6x5] quant {} = [{:#}]
  %1 = matmul %x, %w : f32[1x1x5]
  output %1
}})",
        weights.annotation, fmt::join(w, ", "));
    const Tensor input = Tensor::Of<float>({1, 1, kDepth}, x);
    Config config = SquareConfig(4, Fp32Machine());
    EXPECT_EQ(OnTheArray(text, input, config), expected);
    config.packed_weights = true;
    int bits = -1;
    EXPECT_EQ(OnTheArray(text, input, config, &bits), expected);
    // Five bits of 0 to 15 would make rows of three bytes, which cross the ends of beats.
    EXPECT_EQ(bits, weights.bits);
  }
}

// Padding adds nothing, with a zero point as well.
TEST(SystolicSignWeights, ConvolutionsWithPaddingAndGroups) {
  constexpr int kSize = 5, kIn = 4, kOut = 6;
  Random random(2);
  for (const int groups : {1, 2}) {
    const int in = kIn / groups, out = kOut / groups;
    const std::vector<float> x = Activations(random, kSize * kSize * kIn);
    const std::vector<int> signs = Signs(random, kOut * in * 9);
    std::vector<float> w;
    const std::vector<float> scales = {0.5, 1, 0.25, 2, 0.125, 4};
    for (size_t i = 0; i < signs.size(); ++i)
      w.push_back(static_cast<float>(signs[i]) * scales[i / static_cast<size_t>(in * 9)]);
    std::vector<float> expected;
    for (int place = 0; place < kSize * kSize; ++place) {
      for (int n = 0; n < kOut; ++n) {
        float sum = 0;
        for (int tap = 0; tap < 9; ++tap) {
          const int y = place / kSize + tap / 3 - 1, at = place % kSize + tap % 3 - 1;
          if (y < 0 || y >= kSize || at < 0 || at >= kSize) continue;
          for (int c = 0; c < in; ++c) {
            sum += x[static_cast<size_t>((y * kSize + at) * kIn + n / out * in + c)] *
                   w[static_cast<size_t>((n * in + c) * 9 + tap)];
          }
        }
        expected.push_back(sum);
      }
    }
    const std::string text = fmt::format(
        R"(graph "t" {{
  input %x : f32[1x5x5x4] quant int8 per_tensor scale=[0.25] zero=[-5]
  const %w : f32[6x{}x3x3] quant int2 per_channel symmetric axis=0 scale=[{:#}] = [{:#}]
  %1 = conv %x, %w {{group={}, layout="nhwc", pads=[1, 1, 1, 1]}} : f32[1x5x5x6]
  output %1
}})",
        in, fmt::join(scales, ", "), fmt::join(w, ", "), groups);
    EXPECT_EQ(OnTheArray(text, Tensor::Of<float>({1, kSize, kSize, kIn}, x)), expected) << groups;
  }
}

TEST(SystolicSignWeights, AnotherCodeIsNamed) {
  const auto kernels = [](const std::string& annotation, const std::string& values) {
    const auto graph = ParseGraph(fmt::format(R"(graph "t" {{
  input %x : f32[1x2] quant int8 per_tensor symmetric scale=[0.25]
  const %taps : f32[2x2] quant {} = [{}]
  %1 = matmul %x, %taps : f32[1x2]
  output %1
}})",
                                              annotation, values),
                                  "test.kir");
    EXPECT_TRUE(graph.ok()) << graph.status();
    return KernelList(**CompileFor(*graph, SignConfig()));
  };
  const std::string signs = "int2 per_tensor symmetric scale=[0.5]";
  EXPECT_EQ(kernels(signs, "0.5, -0.5, -0.5, 0.5"), "matrix matmul 1x2x2\n");
  EXPECT_THAT(kernels(signs, "0.5, -0.5, 0.0, 0.5"),
              HasSubstr("host matmul (weights are int2, the array takes binary: weight 2 of 'taps' "
                        "is 0 times its scale, not -1 or 1)"));
  EXPECT_THAT(kernels("uint8 per_tensor scale=[0.5] zero=[7]", "0.5, -1.0, 0.5, 0.5"),
              HasSubstr("weight 1 of 'taps' is -2 times its scale"));
  EXPECT_THAT(kernels("e4m3 per_tensor symmetric scale=[0.5]", "0.5, -0.5, -0.5, 0.5"),
              HasSubstr("weights are e4m3, the array takes binary"));
}

}  // namespace
}  // namespace kiln::systolic
