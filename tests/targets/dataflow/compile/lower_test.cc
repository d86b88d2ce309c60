// Which layers small graphs become, and what the host runs for which reason. The expected lines are
// written by hand from the graphs.
#include "kiln/targets/dataflow/compile/lower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/targets/dataflow/compile/lowered.h"

namespace kiln::dataflow {
namespace {

using testing::HasSubstr;

// A 3x3 convolution of 2 channels to 1 whose weights need 3 bits.
constexpr char kConvolution[] = R"(
  input %x : f32[1x5x6x2] Q
  const %w : f32[1x2x3x3] Q = [1.0, 2.0, 3.0, 0.0, 0.0, 0.0, -1.0, -2.0, -3.0,
                               0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
)";

TEST(DataflowLower, ConvolutionsWithTheirWindows) {
  EXPECT_EQ(LayersOf(std::string(kConvolution) + R"(
  %1 = conv %x, %w {layout="nhwc"} : f32[1x3x4x1] Q
  output %1)"),
            "convolution 3x3 @5x6x2 weights 3 multiply: 5x6x2 int8 -> 3x4x1 int8\n");
  EXPECT_EQ(LayersOf(std::string(kConvolution) + R"(
  %1 = conv %x, %w {layout="nhwc", pads=[1, 1, 1, 1], strides=[2, 3]} : f32[1x3x2x1] Q
  output %1)"),
            "convolution 3x3 /2x3 pad 1,1 of 0 @5x6x2 weights 3 multiply: "
            "5x6x2 int8 -> 3x2x1 int8\n");
  EXPECT_EQ(LayersOf(std::string(kConvolution) + R"(
  %1 = conv %x, %w {layout="nhwc", dilations=[2, 1]} : f32[1x1x4x1] Q
  output %1)"),
            "convolution 3x3 dilation 2x1 @5x6x2 weights 3 multiply: 5x6x2 int8 -> 1x4x1 int8\n");
}

// The padding has the zero point of the map, so that it counts as the number 0.
TEST(DataflowLower, PaddingIsTheZeroPoint) {
  EXPECT_EQ(LayersOf(R"(
  input %x : f32[1x4x4x1] quant uint8 per_tensor scale=[0.5] zero=[7]
  const %w : f32[1x1x3x3] Q = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
  %1 = conv %x, %w {layout="nhwc", pads=[1, 1, 1, 1]} : f32[1x4x4x1] Q
  output %1)"),
            "convolution 3x3 pad 1,1 of 7 @4x4x1 weights 1 multiply: 4x4x1 uint8 -> 4x4x1 int8\n");
}

// More padding on the left than a kernel covers, or at the end than the map is wide, is a layer of
// its own.
TEST(DataflowLower, WidePaddingIsALayer) {
  EXPECT_EQ(LayersOf(std::string(kConvolution) + R"(
  %1 = conv %x, %w {layout="nhwc", pads=[0, 3, 0, 0]} : f32[1x3x7x1] Q
  output %1)"),
            "pad 0,3,0 of 0: 5x6x2 int8 -> 5x9x2 int8\n"
            "convolution 3x3 @5x9x2 weights 3 multiply: 5x9x2 int8 -> 3x7x1 int8\n");
  EXPECT_EQ(LayersOf(std::string(kConvolution) + R"(
  %1 = conv %x, %w {layout="nhwc", pads=[0, 0, 3, 0]} : f32[1x6x4x1] Q
  output %1)"),
            "pad 0,0,0 of 0: 5x6x2 int8 -> 8x6x2 int8\n"
            "convolution 3x3 @8x6x2 weights 3 multiply: 8x6x2 int8 -> 6x4x1 int8\n");
}

TEST(DataflowLower, GroupsAndDepthwise) {
  const std::string input = "input %x : f32[1x3x3x4] Q\n";
  EXPECT_EQ(LayersOf(input + R"(
  const %w : f32[2x2x1x1] Q = [1.0, -2.0, 3.0, 4.0]
  %1 = conv %x, %w {layout="nhwc", group=2} : f32[1x3x3x2] Q
  output %1)"),
            "convolution 1x1 @3x3x4 groups 2 weights 4 multiply: 3x3x4 int8 -> 3x3x2 int8\n");
  // One group for each channel and one result for each: depthwise, which has no groups.
  EXPECT_EQ(LayersOf(input + R"(
  const %w : f32[4x1x1x1] Q = [1.0, -2.0, 3.0, 4.0]
  %1 = conv %x, %w {layout="nhwc", group=4} : f32[1x3x3x4] Q
  output %1)"),
            "depthwise 1x1 @3x3x4 weights 4 multiply: 3x3x4 int8 -> 3x3x4 int8\n");
  // Two results for each channel: a convolution with groups of one channel.
  EXPECT_EQ(LayersOf(input + R"(
  const %w : f32[8x1x1x1] Q = [1.0, -2.0, 3.0, 4.0, 1.0, -2.0, 3.0, 4.0]
  %1 = conv %x, %w {layout="nhwc", group=4} : f32[1x3x3x8] Q
  output %1)"),
            "convolution 1x1 @3x3x4 groups 4 weights 4 multiply: 3x3x4 int8 -> 3x3x8 int8\n");
}

TEST(DataflowLower, OneSpatialAxisIsAMapOfOneRow) {
  EXPECT_EQ(LayersOf(R"(
  input %x : f32[1x8x2] Q
  const %w : f32[3x2x3] Q = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0,
                             1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
  %1 = conv %x, %w {layout="nhwc", pads=[1, 1]} : f32[1x8x3] Q
  output %1)"),
            "convolution 1x3 pad 0,1 of 0 @1x8x2 weights 4 multiply: 1x8x2 int8 -> 1x8x3 int8\n");
}

// A product of rows with a constant matrix is a pointwise convolution of a map of one row.
TEST(DataflowLower, Products) {
  EXPECT_EQ(LayersOf(R"(
  input %x : f32[1x3x2] Q
  const %w : f32[2x4] Q = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, -8.0]
  %1 = matmul %x, %w : f32[1x3x4] Q
  output %1)"),
            "convolution 1x1 @1x3x2 weights 4 multiply: 1x3x2 int8 -> 1x3x4 int8\n");
  EXPECT_EQ(LayersOf(R"(
  input %x : f32[1x2] Q
  const %w : f32[4x2] Q = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
  %1 = matmul %x, %w {transpose_b=1} : f32[1x4] Q
  output %1)"),
            "convolution 1x1 @1x1x2 weights 5 multiply: 1x1x2 int8 -> 1x1x4 int8\n");
}

// Weights of -1 and +1 alone take one bit. A third value takes two.
TEST(DataflowLower, BipolarWeightsTakeOneBit) {
  const auto weights = [](const std::string& numbers) {
    return R"(
  input %x : f32[1x4] quant int4 per_tensor scale=[1.0]
  const %w : f32[4x2] quant int2 per_tensor symmetric scale=[0.5] = [)" +
           numbers + R"(]
  %1 = matmul %x, %w : f32[1x2] quant int8 per_tensor scale=[0.5]
  output %1)";
  };
  EXPECT_EQ(LayersOf(weights("0.5, -0.5, 0.5, 0.5, -0.5, -0.5, 0.5, 0.5")),
            "convolution 1x1 @1x1x4 weights 1 multiply: 1x1x4 int4 -> 1x1x2 int8\n");
  EXPECT_EQ(LayersOf(weights("0.5, -0.5, 0.5, 0.0, -0.5, -0.5, 0.5, 0.5")),
            "convolution 1x1 @1x1x4 weights 2 multiply: 1x1x4 int4 -> 1x1x2 int8\n");
}

// The nodes of the sign of %1, of size 0.5, as the passes write BipolarQuant.
std::string SignOf(const std::string& type, const std::string& annotation) {
  return R"(
  const %far : f32[] = [1.2676506e+30]
  const %low : f32[] = [-1.0]
  const %one : f32[] = [1.0]
  const %half : f32[] = [0.5]
  %2 = mul %1, %far "sign" : )" +
         type + "\n  %3 = clip %2, %low, %one : " + type + "\n  %4 = mul %3, %far : " + type +
         "\n  %5 = add %4, %one : " + type + "\n  %6 = clip %5, %low, %one : " + type +
         "\n  %7 = mul %6, %half : " + type + " " + annotation + "\n  output %7";
}

// A sign is the requantisation of the sums before it, by thresholds or, to codes of more bits than
// have thresholds, by a product. Codes with too many bits for a table are sums themselves.
TEST(DataflowLower, SignsAreRequantisations) {
  const std::string product = R"(
  input %x : f32[1x2] quant int4 per_tensor scale=[1.0]
  const %w : f32[2x3] quant int4 per_tensor scale=[0.5] = [0.5, 1.5, -1.0, 2.0, 0.5, -0.5]
  %1 = matmul %x, %w "product" : f32[1x3])";
  EXPECT_EQ(LayersOf(product + SignOf("f32[1x3]", "quant int2 per_tensor symmetric scale=[0.5]")),
            "convolution 1x1 @1x1x2 weights 4 thresholds 2: 1x1x2 int4 -> 1x1x3 int2\n");
  EXPECT_EQ(LayersOf(product + SignOf("f32[1x3]", "quant int8 per_tensor scale=[0.25] zero=[1]")),
            "convolution 1x1 @1x1x2 weights 4 multiply: 1x1x2 int4 -> 1x1x3 int8\n");
  const std::string codes = "input %1 : f32[1x4] quant int16 per_tensor scale=[1.0] zero=[7]";
  EXPECT_EQ(LayersOf(codes + SignOf("f32[1x4]", "quant int2 per_tensor symmetric scale=[0.5]")),
            "depthwise 1x1 @1x1x4 weights 1 thresholds 2: 1x1x4 int16 -> 1x1x4 int2\n");
  const auto lowered =
      LowerText(codes + SignOf("f32[1x4]", "quant int2 per_tensor symmetric scale=[0.5]"), false);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_EQ(RunLowered(*lowered, {-1, 0, 1, -32775}), (std::vector<double>{-0.5, 0.5, 0.5, -0.5}));
}

// Without codes for the result, the product stays on the machine, and the host computes the sign.
TEST(DataflowLower, SignsWithoutCodesAreOnTheHost) {
  const std::string lines = LayersOf(R"(
  input %x : f32[1x2] quant int4 per_tensor scale=[1.0]
  const %w : f32[2x3] quant int4 per_tensor scale=[0.5] = [0.5, 1.5, -1.0, 2.0, 0.5, -0.5]
  %1 = matmul %x, %w "product" : f32[1x3])" +
                                     SignOf("f32[1x3]", ""));
  EXPECT_THAT(lines, HasSubstr("convolution 1x1 @1x1x2 weights 4: 1x1x2 int4"));
  EXPECT_THAT(lines, HasSubstr("'1' is not quantised"));
}

// Every layer has the widths of its own annotations: 3-bit weights between 4 and 2 bits, then 16.
TEST(DataflowLower, MixedWidths) {
  const std::string text = R"(
  input %x : f32[1x2x2x1] quant int4 per_tensor scale=[1.0]
  const %v : f32[1x1x1x1] quant int3 per_tensor symmetric scale=[1.0] = [3.0]
  const %w : f32[1x1x1x1] quant int16 per_tensor symmetric scale=[0.125] = [2000.0]
  %1 = conv %x, %v {layout="nhwc"} : f32[1x2x2x1] quant uint2 per_tensor scale=[2.0]
  %2 = conv %1, %w {layout="nhwc"} : f32[1x2x2x1] quant int16 per_tensor scale=[1.0]
  output %2)";
  EXPECT_EQ(LayersOf(text),
            "convolution 1x1 @2x2x1 weights 3 thresholds 2: 2x2x1 int4 -> 2x2x1 uint2\n"
            "convolution 1x1 @2x2x1 weights 15 multiply: 2x2x1 uint2 -> 2x2x1 int16\n");
  Config config;
  config.threshold_bits = 1;
  EXPECT_THAT(LayersOf(text, config), HasSubstr("weights 3 multiply: 2x2x1 int4"));
}

// The sums are 0 to 15. None reaches the codes 5 to 15, so these codes have the threshold 16.
TEST(DataflowLower, SumsHaveRoomForThresholdsAboveThem) {
  const auto lowered = LowerText(R"(
  input %x : f32[1x1x1x1] quant uint4 per_tensor scale=[1.0]
  const %v : f32[1x1x1x1] quant int3 per_tensor symmetric scale=[1.0] = [1.0]
  %1 = conv %x, %v {layout="nhwc"} : f32[1x1x1x1] quant uint4 per_tensor scale=[4.0]
  output %1)",
                                 false);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_EQ(lowered->layers[0].stage.sum_bits, 6);
  EXPECT_EQ(RunLowered(*lowered, {15}), std::vector<double>{16});
}

TEST(DataflowLower, ALayerTakesItsFollowersAlong) {
  EXPECT_EQ(LayersOf(std::string(kConvolution) + R"(
  const %b : f32[1] = [0.5]
  const %f : f32[1] = [2.0]
  const %low : f32[] = [0.0]
  const %high : f32[] = [6.0]
  %1 = conv %x, %w, %b {layout="nhwc"} : f32[1x3x4x1]
  %2 = mul %1, %f : f32[1x3x4x1]
  %3 = add %2, %b : f32[1x3x4x1]
  %4 = clip %3, %low, %high : f32[1x3x4x1] Q
  output %4)"),
            "convolution 3x3 @5x6x2 weights 3 multiply: 5x6x2 int8 -> 3x4x1 int8\n");
  // A value with two users ends the layer; its Relu is a table.
  EXPECT_EQ(LayersOf(std::string(kConvolution) + R"(
  %1 = conv %x, %w {layout="nhwc"} : f32[1x3x4x1] Q
  %2 = relu %1 : f32[1x3x4x1] Q
  %3 = add %2, %1 : f32[1x3x4x1] Q
  output %3)"),
            "convolution 3x3 @5x6x2 weights 3 multiply: 5x6x2 int8 -> 3x4x1 int8\n"
            "table: 3x4x1 int8 -> 3x4x1 int8\n"
            "affine: 3x4x1 int8 3x4x1 int8 -> 3x4x1 int8\n");
}

// A negative factor behind a layer changes the signs of its weights, because requantisation only
// multiplies by positive numbers.
TEST(DataflowLower, NegativeFactorsChangeWeights) {
  const auto lowered = LowerText(R"(
  input %x : f32[1x1x1x1] Q
  const %w : f32[2x1x1x1] Q = [3.0, 5.0]
  const %f : f32[2] = [-1.0, 2.0]
  %1 = conv %x, %w {layout="nhwc"} : f32[1x1x1x2]
  %2 = mul %1, %f : f32[1x1x1x2] Q
  output %2)");
  ASSERT_TRUE(lowered.ok());
  EXPECT_EQ(lowered->layers[0].stage.weights, (std::vector<int32_t>{-3, 5}));
  EXPECT_EQ(RunLowered(*lowered, {7}), (std::vector<double>{-21, 70}));
}

TEST(DataflowLower, Pools) {
  const std::string input = "input %x : f32[1x6x4x3] Q\n";
  EXPECT_EQ(LayersOf(input + R"(
  %1 = max_pool %x {layout="nhwc", kernel_shape=[2, 3], strides=[2, 1], pads=[0, 1, 0, 1]}
     : f32[1x3x4x3] Q
  output %1)"),
            "max_pool 2x3 /2x1 pad 0,1 of -128 @6x4x3: 6x4x3 int8 -> 3x4x3 int8\n");
  EXPECT_EQ(LayersOf(input + R"(
  %1 = global_max_pool %x {layout="nhwc"} : f32[1x1x1x3] Q
  output %1)"),
            "max_pool 6x4 @6x4x3: 6x4x3 int8 -> 1x1x3 int8\n");
  EXPECT_EQ(LayersOf(input + R"(
  %1 = average_pool %x {layout="nhwc", kernel_shape=[2, 2], strides=[2, 2]} : f32[1x3x2x3] Q
  output %1)"),
            "depthwise 2x2 /2x2 @6x4x3 weights 1 multiply: 6x4x3 int8 -> 3x2x3 int8\n");
  // Means over all pixels add words up without a window.
  for (const char* node :
       {R"(average_pool %x {layout="nhwc", kernel_shape=[6, 4]})",
        R"(global_average_pool %x {layout="nhwc"})", "reduce_mean %x, %axes {keepdims=1}"}) {
    EXPECT_EQ(LayersOf(input + "const %axes : i64[2] = [1, 2]\n%1 = " + node +
                       " : f32[1x1x1x3] Q\noutput %1"),
              "global_sum multiply: 6x4x3 int8 -> 1x1x3 int8\n");
  }
}

TEST(DataflowLower, JoinsAndMoves) {
  // Operands with other codes than the result are requantised in front of the concatenation.
  EXPECT_EQ(LayersOf(R"(
  input %x : f32[1x2x2x3] Q
  input %y : f32[1x2x2x1] quant int8 per_tensor scale=[0.5]
  %1 = concat %x, %y {axis=3} : f32[1x2x2x4] Q
  output %1)"),
            "affine: 2x2x1 int8 -> 2x2x1 int8\n"
            "concat: 2x2x3 int8 2x2x1 int8 -> 2x2x4 int8\n");
  EXPECT_EQ(LayersOf(R"(
  input %x : f32[1x2x3x2] quant int8 per_tensor scale=[0.5] zero=[3]
  const %pads : i64[8] = [0, 1, 2, 4, 0, 0, 1, 2]
  const %value : f32[] = [2.0]
  %1 = pad %x, %pads, %value : f32[1x3x6x8] quant int8 per_tensor scale=[0.5] zero=[3]
  output %1)"),
            "pad 1,2,4 of 7: 2x3x2 int8 -> 3x6x8 int8\n");  // 2 / 0.5 + 3
  EXPECT_EQ(LayersOf(R"(
  input %x : f32[1x2x3x4] Q
  const %scales : f32[4] = [1.0, 2.0, 3.0, 1.0]
  %1 = resize %x, _, %scales {mode="nearest", coordinate_transformation_mode="asymmetric",
     nearest_mode="floor"} : f32[1x4x9x4] Q
  output %1)"),
            "rearrange 2x3 repeat: 2x3x4 int8 -> 4x9x4 int8\n");
  // ONNX defines DepthToSpace on NCHW. Channels are the axis that moves fastest in the map.
  EXPECT_EQ(LayersOf(R"(
  input %x : f32[1x2x3x8] Q
  %1 = transpose %x {perm=[0, 3, 1, 2]} : f32[1x8x2x3] Q
  %2 = depth_to_space %1 {blocksize=2} : f32[1x2x4x6] Q
  %3 = transpose %2 {perm=[0, 2, 3, 1]} : f32[1x4x6x2] Q
  const %w : f32[1x2x1x1] Q = [1.0, 1.0]
  %4 = conv %3, %w {layout="nhwc"} : f32[1x4x6x1] Q
  output %4)"),
            "rearrange 2x2 depth to space: 2x3x8 int8 -> 4x6x2 int8\n"
            "convolution 1x1 @4x6x2 weights 1 multiply: 4x6x2 int8 -> 4x6x1 int8\n");
  // Every second row and column from the first on is a maximum of single pixels.
  EXPECT_EQ(LayersOf(R"(
  input %x : f32[1x5x6x2] Q
  const %starts : i64[2] = [0, 0]
  const %ends : i64[2] = [5, 4]
  const %axes : i64[2] = [1, 2]
  const %steps : i64[2] = [2, 1]
  %1 = slice %x, %starts, %ends, %axes, %steps : f32[1x3x4x2] Q
  output %1)"),
            "max_pool 1x1 /2x1 @5x6x2: 5x6x2 int8 -> 3x4x2 int8\n");
}

// Two layers that read an input in the same order of elements share its stream, whatever the shapes
// of the views. Another order needs a stream of its own.
TEST(DataflowLower, LayersShareTheStreamOfAnInput) {
  const auto sends = [](const std::string& text) {
    const auto lowered = LowerText(text, false);
    return lowered.ok() ? lowered->steps[0].sends.size() : 0;
  };
  EXPECT_EQ(sends(R"(
  input %x : f32[1x1x4x5] Q
  const %w : f32[1x1x1x1] Q = [3.0]
  %1 = transpose %x {perm=[0, 2, 3, 1]} : f32[1x4x5x1] Q
  %2 = conv %1, %w {layout="nhwc"} : f32[1x4x5x1] Q
  %3 = transpose %2 {perm=[0, 3, 1, 2]} : f32[1x1x4x5] Q
  %4 = add %3, %x : f32[1x1x4x5] Q
  output %4)"),
            1u);
  EXPECT_EQ(sends(R"(
  input %x : f32[1x3x4x5] Q
  const %w : f32[3x3x1x1] Q = [3.0, 1.0, 1.0, 3.0, 1.0, 1.0, 3.0, 1.0, 1.0]
  %1 = transpose %x {perm=[0, 2, 3, 1]} : f32[1x4x5x3] Q
  %2 = conv %1, %w {layout="nhwc"} : f32[1x4x5x3] Q
  %3 = transpose %2 {perm=[0, 3, 1, 2]} : f32[1x3x4x5] Q
  %4 = add %3, %x : f32[1x3x4x5] Q
  output %4)"),
            1u);  // the host sends it in the order of the other operand
  EXPECT_EQ(sends(R"(
  input %x : f32[4x4] Q
  const %w : f32[4x4] Q = [3.0, 1.0, 1.0, 3.0, 1.0, 1.0, 3.0, 1.0,
                           3.0, 1.0, 1.0, 3.0, 1.0, 1.0, 3.0, 1.0]
  %1 = transpose %x {perm=[1, 0]} : f32[4x4] Q
  %2 = matmul %x, %w : f32[4x4] Q
  %3 = matmul %1, %w : f32[4x4] Q
  %4 = add %2, %3 : f32[4x4] Q
  output %4)"),
            2u);
}

// An input that is added to the result of a layer has the shape of its map, in either order of
// operands.
TEST(DataflowLower, SumsWithAnInputHaveTheMapOfTheLayer) {
  for (const char* operands : {"%3, %x", "%x, %3"}) {
    const std::string text = std::string(R"(
  input %x : f32[1x1x2x3] Q
  const %w : f32[1x1x1x1] Q = [3.0]
  %1 = transpose %x {perm=[0, 2, 3, 1]} : f32[1x2x3x1] Q
  %2 = conv %1, %w {layout="nhwc"} : f32[1x2x3x1] Q
  %3 = transpose %2 {perm=[0, 3, 1, 2]} : f32[1x1x2x3] Q
  %4 = add )") + operands + " : f32[1x1x2x3] Q\n  output %4";
    EXPECT_EQ(LayersOf(text),
              "convolution 1x1 @2x3x1 weights 3 multiply: 2x3x1 int8 -> 2x3x1 int8\n"
              "affine: 2x3x1 int8 2x3x1 int8 -> 2x3x1 int8\n");
    const auto lowered = LowerText(text, false);
    ASSERT_TRUE(lowered.ok());
    EXPECT_EQ(RunLowered(*lowered, {1, -2, 3, 4, 5, 6}),
              (std::vector<double>{4, -8, 12, 16, 20, 24}));
  }
}

TEST(DataflowLower, FunctionsOfOneValueAreATable) {
  const auto lowered = LowerText(R"(
  input %x : f32[1x4] quant int3 per_tensor scale=[1.0]
  const %two : f32[] = [2.0]
  %1 = mul %x, %two : f32[1x4]
  %2 = abs %1 : f32[1x4] quant uint4 per_tensor scale=[1.0]
  output %2)");
  ASSERT_TRUE(lowered.ok());
  ASSERT_EQ(lowered->layers.size(), 1u);
  EXPECT_EQ(lowered->layers[0].stage.kind, StageKind::kTable);
  // By the bits of the code: 0 to 3, then -4 to -1.
  EXPECT_EQ(lowered->layers[0].stage.table, (std::vector<int32_t>{0, 2, 4, 6, 8, 6, 4, 2}));
}

// A host node in the middle makes two segments.
TEST(DataflowLower, HostNodesCutTheNetworkIntoSegments) {
  const auto lowered = LowerText(R"(
  input %x : f32[1x2] Q
  const %w : f32[2x2] Q = [1.0, 2.0, 3.0, 4.0]
  %1 = matmul %x, %w : f32[1x2] Q
  %2 = softmax %1 {axis=1} : f32[1x2] Q
  %3 = matmul %2, %w : f32[1x2] Q
  output %3)");
  ASSERT_TRUE(lowered.ok());
  EXPECT_EQ(lowered->segments, 2);
  ASSERT_EQ(lowered->steps.size(), 3u);
  EXPECT_EQ(lowered->steps[0].segment, 0);
  EXPECT_TRUE(lowered->steps[1].host.has_value());
  EXPECT_EQ(lowered->steps[2].segment, 1);
  EXPECT_EQ(lowered->layers[0].segment, 0);
  EXPECT_EQ(lowered->layers[1].segment, 1);
}

// Every refusal gives its reason in the report, and with the node in the error without a host.
TEST(DataflowLower, RefusalsNameNodeAndReason) {
  const std::string map = "input %x : f32[1x4x4x2] Q\n",
                    weights = "const %w : f32[1x2x1x1] Q = [1.0, 2.0]\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"the machine has no stage for Softmax",
       map + R"(%1 = softmax %x {axis=3} "n" : f32[1x4x4x2] Q)"},
      {"'w' is not constant", map + R"(input %w : f32[1x2x1x1] Q
         %1 = conv %x, %w {layout="nhwc"} "n" : f32[1x4x4x1] Q)"},
      {"'w' is not quantised", map + R"(const %w : f32[1x2x1x1] = [1.0, 2.0]
         %1 = conv %x, %w {layout="nhwc"} "n" : f32[1x4x4x1] Q)"},
      {"'w' is int8, the machine has integers of at most 16 bits without zero points",
       map + R"(const %w : f32[1x2x1x1] quant int8 per_tensor scale=[1.0] zero=[1] = [1.0, 2.0]
         %1 = conv %x, %w {layout="nhwc"} "n" : f32[1x4x4x1] Q)"},
      {"'w' is fp16, the machine has integers of at most 16 bits without zero points",
       map + R"(const %w : f32[1x2x1x1] quant fp16 per_tensor scale=[1.0] = [1.0, 2.0]
         %1 = conv %x, %w {layout="nhwc"} "n" : f32[1x4x4x1] Q)"},
      {"'x' is not quantised", "input %x : f32[1x4x4x2]\n" + weights +
                                   R"(%1 = conv %x, %w {layout="nhwc"} "n" : f32[1x4x4x1] Q)"},
      {"'x' is int8, the machine takes integers of up to 16 bits with one scale",
       R"(input %x : f32[1x4x4x2] quant int8 per_channel axis=3 scale=[1.0, 2.0])"
       "\n" +
           weights + R"(%1 = conv %x, %w {layout="nhwc"} "n" : f32[1x4x4x1] Q)"},
      {"a bias that is not constant", map + weights + R"(input %b : f32[1]
         %1 = conv %x, %w, %b {layout="nhwc"} "n" : f32[1x4x4x1] Q)"},
      {"a product of two activations",
       R"(input %x : f32[2x2] Q
         %1 = matmul %x, %x "n" : f32[2x2] Q)"},
      {"an average of fewer elements at the edge",
       map + R"(%1 = average_pool %x {layout="nhwc", kernel_shape=[3, 3], pads=[1, 1, 1, 1]} "n"
         : f32[1x4x4x2] Q)"},
      {"a maximum over 81 pixels",
       R"(input %x : f32[1x9x9x1] Q
         %1 = global_max_pool %x {layout="nhwc"} "n" : f32[1x1x1x1] Q)"},
      {"'1' has other codes than what it is made of",
       map + R"(%1 = max_pool %x {layout="nhwc", kernel_shape=[2, 2]} "n"
         : f32[1x3x3x2] quant int8 per_tensor scale=[0.5])"},
      {"a mean that is not over all pixels", map + R"(const %axes : i64[1] = [3]
         %1 = reduce_mean %x, %axes {keepdims=1} "n" : f32[1x4x4x1] Q)"},
      {"a concatenation that is not of channels",
       "input %x : f32[1x4x4x2] Q\n" + weights +
           R"(%0 = conv %x, %w {layout="nhwc"} : f32[1x4x4x1] Q
         %1 = concat %0, %0 {axis=1} "n" : f32[1x8x4x1] Q)"},
      {"the machine has no product of two activations",
       map + R"(%1 = mul %x, %x "n" : f32[1x4x4x2] Q)"},
      {"a sum that broadcasts one of its operands", map + R"(input %y : f32[1x1x1x2] Q
         %1 = add %x, %y "n" : f32[1x4x4x2] Q)"},
      {"a function of codes of 16 bits, the machine has tables of at most 10",
       R"(input %x : f32[1x4] quant int16 per_tensor scale=[1.0]
         %1 = tanh %x "n" : f32[1x4] Q)"},
      {"padding that is not constant", map + R"(const %pads : i64[8] = [0, 1, 1, 0, 0, 1, 1, 0]
         %1 = pad %x, %pads {mode="reflect"} "n" : f32[1x6x6x2] Q)"},
      {"a slice that is not of the first rows or columns, or of every n-th",
       map + R"(const %starts : i64[1] = [1]
         const %ends : i64[1] = [4]
         const %axes : i64[1] = [1]
         %1 = slice %x, %starts, %ends, %axes "n" : f32[1x3x4x2] Q)"},
      {"Resize in a mode that the machine does not have",
       map + R"(const %scales : f32[4] = [1.0, 2.0, 2.0, 1.0]
         %1 = resize %x, _, %scales {mode="linear"} "n" : f32[1x8x8x2] Q)"},
      // In ONNX's mode CRD the blocks of a pixel are the fastest part of a channel's number.
      {"DepthToSpace in a mode that the machine does not have",
       R"(input %x : f32[1x8x2x2] Q
         %1 = depth_to_space %x {blocksize=2, mode="CRD"} "n" : f32[1x2x4x4] Q)"},
  };
  for (const auto& [reason, body] : cases) {
    const std::string text = body + "\noutput %1";
    EXPECT_THAT(LayersOf(text), HasSubstr(": " + reason + "\n")) << body;
    const auto strict = LowerText(text, false);
    ASSERT_FALSE(strict.ok()) << body;
    const std::string message = MessageOf(strict.status());
    EXPECT_THAT(message, HasSubstr("'n'")) << body;
    EXPECT_THAT(message, HasSubstr(reason)) << body;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace kiln::dataflow
