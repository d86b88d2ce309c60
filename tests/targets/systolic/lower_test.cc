// Which kernels small graphs become.
#include "kiln/targets/systolic/compile/lower.h"

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kiln/ir/text.h"
#include "tests/targets/systolic/compiled.h"

namespace kiln::systolic {
namespace {

using testing::HasSubstr;

constexpr char kQuant[] = " quant int8 per_tensor symmetric scale=[0.05]";

// Writes `Q` where a value is annotated, for short texts.
std::string Expand(std::string text) {
  for (size_t at; (at = text.find(" Q")) != std::string::npos;) text.replace(at, 2, kQuant);
  return text;
}

std::string KernelsOf(const std::string& text, Config config = SquareConfig(8)) {
  const auto graph = ParseGraph(Expand(text), "test.kir");
  if (!graph.ok()) return MessageOf(graph.status());
  const auto program = CompileFor(*graph, config);
  return program.ok() ? KernelList(**program) : MessageOf(program.status());
}

constexpr char kConvolution[] = R"(graph "t" {
  input %x : f32[1x4x4x2] Q
  const %w : f32[2x2x1x1] Q = [0.1, 0.2, 0.3, 0.4]
  const %b : f32[2] = [1.0, 2.0]
)";

TEST(SystolicLower, AConvolutionTakesItsFollowersAlong) {
  EXPECT_EQ(KernelsOf(std::string(kConvolution) + R"(
  %1 = conv %x, %w, %b {layout="nhwc"} : f32[1x4x4x2] Q
  %2 = add %1, %x : f32[1x4x4x2] Q
  %3 = relu %2 : f32[1x4x4x2] Q
  output %3
})"),
            "matrix conv 1x1 2->2 /1 @4x4 + bias + add + relu\n");
}

TEST(SystolicLower, AValueWithTwoUsersLeavesItsKernel) {
  EXPECT_EQ(KernelsOf(std::string(kConvolution) + R"(
  %1 = conv %x, %w, %b {layout="nhwc"} : f32[1x4x4x2] Q
  %2 = relu %1 : f32[1x4x4x2] Q
  %3 = add %2, %1 : f32[1x4x4x2] Q
  output %3
})"),
            "matrix conv 1x1 2->2 /1 @4x4 + bias\nvector relu + add @1x4x4x2\n");
}

TEST(SystolicLower, GatesAreOneKernel) {
  EXPECT_EQ(KernelsOf(std::string(kConvolution) + R"(
  %1 = conv %x, %w {layout="nhwc"} : f32[1x4x4x2] Q
  %2 = sigmoid %1 : f32[1x4x4x2] Q
  %3 = mul %1, %2 : f32[1x4x4x2] Q
  output %3
})"),
            "matrix conv 1x1 2->2 /1 @4x4 + sigmoid + mul\n");
}

TEST(SystolicLower, MovesAreStrides) {
  // Heads of attention: reshape and transposition on either side of a product cost nothing.
  EXPECT_EQ(KernelsOf(R"(graph "t" {
  input %q : f32[1x4x8] Q
  input %k : f32[1x4x8] Q
  const %heads : i64[4] = [1, 4, 2, 4]
  %1 = reshape %q, %heads : f32[1x4x2x4] Q
  %2 = transpose %1 {perm=[0, 2, 1, 3]} : f32[1x2x4x4] Q
  %3 = reshape %k, %heads : f32[1x4x2x4] Q
  %4 = transpose %3 {perm=[0, 2, 1, 3]} : f32[1x2x4x4] Q
  %5 = matmul %2, %4 {transpose_b=1, alpha=0.5} : f32[1x2x4x4] Q
  %6 = transpose %5 {perm=[0, 2, 1, 3]} : f32[1x4x2x4] Q
  const %flat : i64[3] = [1, 4, 8]
  %7 = reshape %6, %flat : f32[1x4x8] Q
  output %7
})"),
            "matrix matmul 2 x 4x4x4\n");
}

// A transposed input of a product is read where it lies.
TEST(SystolicLower, TransposedInputsAreReadInPlace) {
  EXPECT_EQ(KernelsOf(R"(graph "t" {
  input %a : f32[1x8x4] Q
  input %b : f32[1x8x6] Q
  %1 = transpose %a {perm=[0, 2, 1]} : f32[1x4x8] Q
  %2 = matmul %1, %b {} : f32[1x4x6] Q
  output %2
})"),
            "matrix matmul 4x8x6\n");
}

TEST(SystolicLower, ConcatenationIsWrittenInPlace) {
  EXPECT_EQ(KernelsOf(std::string(kConvolution) + R"(
  %1 = conv %x, %w {layout="nhwc"} : f32[1x4x4x2] Q
  %2 = abs %x : f32[1x4x4x2] Q
  %3 = concat %1, %2 {axis=3} : f32[1x4x4x4] Q
  output %3
})"),
            "matrix conv 1x1 2->2 /1 @4x4\nvector abs @1x4x4x2\n");
}

TEST(SystolicLower, TheHostTakesTheRestWithItsReason) {
  EXPECT_EQ(KernelsOf(R"(graph "t" {
  input %x : f32[1x4x4x2] Q
  const %w : f32[2x2x1x1] = [0.1, 0.2, 0.3, 0.4]
  %1 = conv %x, %w {layout="nhwc"} : f32[1x4x4x2] Q
  %2 = sin %1 : f32[1x4x4x2] Q
  %3 = relu %2 : f32[1x4x4x2] Q
  output %3
})"),
            "host conv + sin (weights are not quantised; the vector unit has no sin)\nvector relu "
            "@1x4x4x2\n");
}

// The input fetch counts positions in a row of pixels, padding included, in 31 bits.
TEST(SystolicLower, RowsThatAreTooLongGoToTheHost) {
  const auto kernels = [](int64_t windows) {
    return KernelsOf(fmt::format(R"(graph "t" {{
  input %x : f32[1x2x1x2] Q
  const %w : f32[1x2x1x2] Q = [0.1, 0.2, 0.3, 0.4]
  %1 = conv %x, %w {{strides=[1, 4194304], pads=[0, 0, 0, {}]}} : f32[1x1x1x{}] Q
  output %1
}})",
                                 windows * 4194304, windows + 1));
  };
  EXPECT_EQ(kernels(254), "matrix conv 1x2 2->1 /1,4194304 @1x255\n");
  EXPECT_EQ(kernels(255), "host conv (the convolution is larger than the machine counts)\n");
}

// A stride of 2 GiB or more is that of a batch of one image, so that no machine needs it.
TEST(SystolicLower, ATensorMayHaveMoreThanTwoGibibytes) {
  Config config = SquareConfig(8);
  config.memory_bytes = int64_t{1} << 32;
  EXPECT_EQ(KernelsOf(R"(graph "t" {
  input %x : f32[1x32x5826x5762]
  %1 = max_pool %x {kernel_shape=[2, 2], strides=[64, 64]} : f32[1x32x92x91]
  output %1
})",
                      config),
            "vector max pool 2x2 /64 @92x91x32\n");
  EXPECT_EQ(KernelsOf(R"(graph "t" {
  input %x : f32[1x12000x96000x2] Q
  const %w : f32[1x2x1x1] Q = [0.1, 0.2]
  %1 = conv %x, %w {layout="nhwc", strides=[1000, 1000]} : f32[1x12x96x1] Q
  output %1
})",
                      config),
            "matrix conv 1x1 2->1 /1000 @12x96\n");
}

TEST(SystolicLower, WithoutTheHostTheFirstNodeIsNamed) {
  const auto graph = ParseGraph(Expand(R"(graph "t" {
  input %x : f32[1x4] Q
  %1 = sin %x "wave" : f32[1x4] Q
  output %1
})"),
                                "test.kir");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto program = CompileFor(*graph, SquareConfig(8), /*host_fallback=*/false);
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(MessageOf(program.status()),
            "test.kir: node 'wave' (Sin): the vector unit has no sin; allow host fallback or "
            "change the network");
}

TEST(SystolicLower, RowsBeyondTheRowBufferGoToTheHost) {
  Config config = SquareConfig(8);
  config.vector_row_buffer_words = 1;
  EXPECT_THAT(KernelsOf(R"(graph "t" {
  input %x : f32[2x9] Q
  %1 = softmax %x : f32[2x9] Q
  output %1
})",
                        config),
              HasSubstr("host softmax (rows of 9 elements; the row buffer holds 8)"));
}

std::string ProductOf(std::string_view activations, std::string_view weights) {
  return KernelsOf(fmt::format(R"(graph "t" {{
  input %x : f32[1x2] quant {}
  const %w : f32[2x2] quant {} = [0.5, -0.5, 0.25, 0.0]
  %1 = matmul %x, %w : f32[1x2] Q
  output %1
}})",
                               activations, weights));
}

TEST(SystolicLower, TheArrayTakesEveryIntegerFormatWhoseCodesFit) {
  constexpr std::string_view kProduct = "matrix matmul 1x2x2\n";
  constexpr std::string_view kInt8 = "int8 per_tensor scale=[0.25]";
  for (const std::string_view activations :
       {"int2 per_tensor symmetric scale=[0.5]", "uint8 per_tensor scale=[0.1] zero=[7]",
        "uint4 per_tensor scale=[0.1]", "int8 per_tensor scale=[0.1] zero=[-128]"}) {
    EXPECT_EQ(ProductOf(activations, kInt8), kProduct) << activations;
  }
  for (const std::string_view weights :
       {"int3 per_tensor symmetric scale=[0.25]", "uint8 per_tensor scale=[0.25] zero=[128]",
        "uint8 per_channel axis=1 scale=[0.25, 0.5] zero=[3, 255]",
        "int8 per_tensor scale=[0.25] zero=[-2]", "int16 per_tensor symmetric scale=[0.25]"}) {
    EXPECT_EQ(ProductOf(kInt8, weights), kProduct) << weights;
  }
  EXPECT_THAT(ProductOf("int16 per_tensor symmetric scale=[0.5]", kInt8),
              HasSubstr("activations are int16, the array takes int8"));
  EXPECT_THAT(ProductOf(kInt8, "int16 per_tensor symmetric scale=[0.0001]"),
              HasSubstr("weights are int16 with codes that do not fit the array's int8"));
  EXPECT_THAT(ProductOf(kInt8, "int8 per_tensor scale=[0.001953125] zero=[100]"),
              HasSubstr("do not fit"));
}

TEST(SystolicLower, WhatTheMachineCannotWriteTheHostDoes) {
  // An input is written by the host anyway; a result makes its node the host's, with both formats
  // named.
  EXPECT_EQ(KernelsOf(R"(graph "t" {
  input %x : f32[2x3] quant int8 per_channel symmetric axis=0 scale=[0.1, 0.2]
  %1 = relu %x : f32[2x3]
  output %1
})"),
            "vector relu @2x3\n");
  EXPECT_EQ(
      KernelsOf(R"(graph "t" {
  input %x : f32[2x3]
  %1 = relu %x : f32[2x3] quant e5m2 per_tensor symmetric scale=[0.5]
  output %1
})"),
      "host relu ('1' is held as e5m2, this design point writes int8, bf16.flush and integers)\n");
  EXPECT_THAT(ProductOf("e5m2 per_tensor symmetric scale=[0.5]", "int8 per_tensor scale=[0.25]"),
              HasSubstr("activations are e5m2, the array takes int8"));
  EXPECT_THAT(
      ProductOf("int8 per_tensor scale=[0.25]", "posit8_1 per_tensor symmetric scale=[0.25]"),
      HasSubstr("weights are posit8_1, the array takes int8"));
}

}  // namespace
}  // namespace kiln::systolic
