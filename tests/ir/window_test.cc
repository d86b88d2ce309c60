// Tests of the window geometry of convolutions and pools: pads, strides, dilations and ceil mode.
#include "kiln/ir/window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kiln {
namespace {

using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;

// A graph with one node over inputs of the given shapes.
struct OneNode {
  Graph graph;
  Node* node;
  OneNode(Op op, std::vector<Shape> operands, Attributes attributes) {
    std::vector<Value*> values;
    for (Shape& shape : operands)
      values.push_back(graph.AddInput("", {ElementType::kFloat32, std::move(shape)}));
    node = graph.AddNode(op, "n", values, {"y"}, std::move(attributes));
  }
};

Attributes Attrs(std::vector<std::pair<std::string, Attribute>> list) {
  Attributes out;
  for (auto& [name, value] : list) out.Set(name, std::move(value));
  return out;
}

StatusOr<ConvGeometry> Conv(Op op, Shape input, Shape weights, Attributes attributes) {
  const OneNode one(op, {std::move(input), std::move(weights)}, std::move(attributes));
  return ResolveConv(*one.node, "net.onnx");
}

StatusOr<PoolGeometry> Pool(Op op, Shape input, Attributes attributes) {
  const OneNode one(op, {std::move(input)}, std::move(attributes));
  return ResolvePool(*one.node, "net.onnx");
}

TEST(ConvWindow, DefaultsComeFromTheWeights) {
  const auto g = Conv(Op::kConv, {2, 3, 9, 8}, {16, 3, 3, 5}, {});
  ASSERT_TRUE(g.ok()) << g.status();
  EXPECT_EQ(g->OutputShape(), Shape({2, 16, 7, 4}));
  EXPECT_EQ(g->axes[1], (WindowAxis{.input = 8, .output = 4, .kernel = 5}));
  EXPECT_FALSE(g->IsDepthwise());
  EXPECT_FALSE(g->IsPointwise());
  EXPECT_EQ(g->KernelElements(), 15);
}

TEST(ConvWindow, StridesDilationsAndUnevenPads) {
  // Height: (11 + 1 + 2 - 5) / 2 + 1 = 5; width: (10 + 0 + 3 - 3) / 3 + 1 = 4.
  const auto g =
      Conv(Op::kConv, {1, 4, 11, 10}, {8, 4, 3, 3},
           Attrs({{"strides", Ints{2, 3}}, {"dilations", Ints{2, 1}}, {"pads", Ints{1, 0, 2, 3}}}));
  ASSERT_TRUE(g.ok()) << g.status();
  EXPECT_EQ(g->OutputShape(), Shape({1, 8, 5, 4}));
  EXPECT_EQ(g->axes[0].Extent(), 5);
  EXPECT_EQ(g->axes[0].InputPosition(0, 0), -1);
  EXPECT_EQ(g->axes[0].InputPosition(4, 2), 11);  // in the end padding
}

TEST(ConvWindow, SamePaddingPutsTheOddPixelWhereItsNameSays) {
  // 5 positions, kernel 4, stride 2: 3 outputs need 8 positions, 3 of padding.
  const auto upper = Conv(Op::kConv, {1, 1, 5}, {1, 1, 4},
                          Attrs({{"strides", Ints{2}}, {"auto_pad", "SAME_UPPER"}}));
  const auto lower = Conv(Op::kConv, {1, 1, 5}, {1, 1, 4},
                          Attrs({{"strides", Ints{2}}, {"auto_pad", "SAME_LOWER"}}));
  ASSERT_TRUE(upper.ok() && lower.ok());
  EXPECT_EQ(upper->axes[0].output, 3);
  EXPECT_EQ(upper->axes[0].pad_begin, 1);
  EXPECT_EQ(upper->axes[0].pad_end, 2);
  EXPECT_EQ(lower->axes[0].pad_begin, 2);
  EXPECT_EQ(lower->axes[0].pad_end, 1);
}

TEST(ConvWindow, SamePaddingIsNeverNegative) {
  const auto g = Conv(Op::kConv, {1, 1, 9}, {1, 1, 1},
                      Attrs({{"strides", Ints{4}}, {"auto_pad", "SAME_UPPER"}}));
  ASSERT_TRUE(g.ok());
  EXPECT_EQ(g->axes[0].output, 3);
  EXPECT_EQ(g->axes[0].pad_begin + g->axes[0].pad_end, 0);
}

TEST(ConvWindow, ValidIgnoresPads) {
  const auto g =
      Conv(Op::kConv, {1, 1, 9}, {1, 1, 3}, Attrs({{"pads", Ints{5, 5}}, {"auto_pad", "VALID"}}));
  ASSERT_TRUE(g.ok());
  EXPECT_EQ(g->axes[0].output, 7);
}

TEST(ConvWindow, NhwcActivationsWithChannelsFirstWeights) {
  const auto g =
      Conv(Op::kConv, {1, 32, 30, 8}, {8, 1, 3, 3},
           Attrs({{"layout", "nhwc"}, {"group", int64_t{8}}, {"pads", Ints{1, 1, 1, 1}}}));
  ASSERT_TRUE(g.ok()) << g.status();
  EXPECT_EQ(g->OutputShape(), Shape({1, 32, 30, 8}));
  EXPECT_TRUE(g->IsDepthwise());
}

TEST(ConvWindow, UnknownDimensionsStayUnknown) {
  const auto g = Conv(Op::kConv, {kUnknownDim, 3, kUnknownDim, 8}, {4, 3, 3, 3}, {});
  ASSERT_TRUE(g.ok());
  EXPECT_EQ(g->OutputShape(), Shape({kUnknownDim, 4, kUnknownDim, 6}));
  EXPECT_FALSE(g->IsKnown());
}

TEST(ConvTransposeWindow, OutputPaddingAndGroups) {
  // 2 * (5 - 1) + 1 + 3 - 1 - 1 = 10.
  const auto g = Conv(Op::kConvTranspose, {1, 4, 5}, {4, 3, 3},
                      Attrs({{"strides", Ints{2}},
                             {"pads", Ints{1, 1}},
                             {"output_padding", Ints{1}},
                             {"group", int64_t{2}}}));
  ASSERT_TRUE(g.ok()) << g.status();
  EXPECT_EQ(g->OutputShape(), Shape({1, 6, 10}));
}

TEST(ConvTransposeWindow, OutputShapeDecidesThePads) {
  // The case of ONNX's test convtranspose_output_shape: 3x3 input, 3x3 kernel, strides 3 and 2,
  // 10x8 result.
  const auto g = Conv(Op::kConvTranspose, {1, 1, 3, 3}, {1, 2, 3, 3},
                      Attrs({{"strides", Ints{3, 2}}, {"output_shape", Ints{10, 8}}}));
  ASSERT_TRUE(g.ok()) << g.status();
  EXPECT_EQ(g->OutputShape(), Shape({1, 2, 10, 8}));
  EXPECT_EQ(g->axes[0].pad_begin, 0);
  // A smaller result crops: full size is 2 * 4 + 3 = 11, so 9 leaves a padding of 2.
  const auto cropped = Conv(Op::kConvTranspose, {1, 1, 5}, {1, 1, 3},
                            Attrs({{"strides", Ints{2}}, {"output_shape", Ints{8}}}));
  ASSERT_TRUE(cropped.ok());
  EXPECT_EQ(cropped->axes[0].pad_begin, 2);
  EXPECT_EQ(cropped->axes[0].pad_end, 1);
}

TEST(ConvTransposeWindow, SameGivesInputTimesStride) {
  const auto g = Conv(Op::kConvTranspose, {1, 1, 3}, {1, 2, 3},
                      Attrs({{"strides", Ints{2}}, {"auto_pad", "SAME_UPPER"}}));
  ASSERT_TRUE(g.ok());
  EXPECT_EQ(g->axes[0].output, 6);
  EXPECT_EQ(g->axes[0].pad_begin, 0);
  EXPECT_EQ(g->axes[0].pad_end, 1);
}

TEST(PoolWindow, CeilModeRoundsUp) {
  // (4 - 3) / 2 rounds up to 1, so 2 outputs: ONNX's test maxpool_2d_ceil.
  const auto g = Pool(
      Op::kMaxPool, {1, 1, 4, 4},
      Attrs({{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"ceil_mode", int64_t{1}}}));
  ASSERT_TRUE(g.ok()) << g.status();
  EXPECT_EQ(g->OutputShape(), Shape({1, 1, 2, 2}));
}

TEST(PoolWindow, CeilModeDropsAWindowThatStartsInTheEndPadding) {
  // Kernel 1, stride 2, input 2: ceil((2 - 1) / 2) + 1 = 2, but the second window starts at 2,
  // outside.
  const auto g = Pool(
      Op::kMaxPool, {1, 1, 2, 2},
      Attrs({{"kernel_shape", Ints{1, 1}}, {"strides", Ints{2, 2}}, {"ceil_mode", int64_t{1}}}));
  ASSERT_TRUE(g.ok());
  EXPECT_EQ(g->OutputShape(), Shape({1, 1, 1, 1}));
}

TEST(PoolWindow, ThreeDimensions) {
  const auto g = Pool(Op::kAveragePool, {2, 3, 8, 9, 10},
                      Attrs({{"kernel_shape", Ints{2, 3, 4}}, {"count_include_pad", int64_t{1}}}));
  ASSERT_TRUE(g.ok());
  EXPECT_EQ(g->OutputShape(), Shape({2, 3, 7, 7, 7}));
  EXPECT_TRUE(g->count_include_pad);
}

TEST(PoolWindow, GlobalPoolsCoverTheInput) {
  const auto g = Pool(Op::kGlobalAveragePool, {2, 7, 5, 3}, Attrs({{"layout", "nhwc"}}));
  ASSERT_TRUE(g.ok());
  EXPECT_EQ(g->OutputShape(), Shape({2, 1, 1, 3}));
  EXPECT_EQ(g->axes[0].kernel, 7);
}

struct BadConv {
  std::string_view what;
  Op op;
  Shape input, weights;
  std::vector<std::pair<std::string, Attribute>> attributes;
  std::string message;
};

TEST(ConvWindow, ErrorsNameNodeAndFault) {
  const std::vector<BadConv> cases = {
      {"rank", Op::kConv, {1, 3}, {4, 3}, {}, "the input has shape 1x3"},
      {"weights rank", Op::kConv, {1, 3, 8, 8}, {4, 3, 3}, {}, "weights 4x3x3 do not fit"},
      {"channels", Op::kConv, {1, 4, 8, 8}, {4, 3, 3, 3}, {}, "the input has 4 channels"},
      {"groups",
       Op::kConv,
       {1, 6, 8, 8},
       {4, 2, 3, 3},
       {{"group", int64_t{3}}},
       "do not split into 3 groups"},
      {"group 0", Op::kConv, {1, 6, 8, 8}, {4, 2, 3, 3}, {{"group", int64_t{0}}}, "group is 0"},
      {"group huge", Op::kConv, {1, 6, 8, 8}, {4, 2, 3, 3}, {{"group", INT64_MAX}}, "group is 922"},
      {"stride 0",
       Op::kConv,
       {1, 3, 8, 8},
       {4, 3, 3, 3},
       {{"strides", Ints{1, 0}}},
       "strides [1,0] has 0"},
      {"stride count",
       Op::kConv,
       {1, 3, 8, 8},
       {4, 3, 3, 3},
       {{"strides", Ints{1}}},
       "strides [1] has 1 numbers"},
      {"pads",
       Op::kConv,
       {1, 3, 8, 8},
       {4, 3, 3, 3},
       {{"pads", Ints{0, 0, 0, -1}}},
       "pads [0,0,0,-1] has -1"},
      {"pads huge",
       Op::kConv,
       {1, 3, 8, 8},
       {4, 3, 3, 3},
       {{"pads", Ints{0, 0, 0, INT64_MAX}}},
       "pads [0,0,0,922"},
      {"auto_pad",
       Op::kConv,
       {1, 3, 8, 8},
       {4, 3, 3, 3},
       {{"auto_pad", "SAME"}},
       "auto_pad 'SAME' is unknown"},
      {"window",
       Op::kConv,
       {1, 3, 8, 8},
       {4, 3, 9, 3},
       {},
       "the window covers 9 positions of spatial axis 0"},
      {"kernel_shape",
       Op::kConv,
       {1, 3, 8, 8},
       {4, 3, 3, 3},
       {{"kernel_shape", Ints{3}}},
       "kernel_shape [3] differs"},
      {"kernel 0", Op::kConv, {1, 3, 8, 8}, {4, 3, 0, 3}, {}, "a kernel of 0 positions"},
      {"layout",
       Op::kConv,
       {1, 3, 8, 8},
       {4, 3, 3, 3},
       {{"layout", "nchwc"}},
       "layout 'nchwc' is unknown"},
      {"no layout",
       Op::kConvTranspose,
       {1, 3, 8, 8},
       {3, 3, 3, 3},
       {{"layout", "nhwc"}},
       "takes no layout"},
      {"unknown weights",
       Op::kConv,
       {1, 3, 8, 8},
       {4, 3, kUnknownDim, 3},
       {},
       "weights have shape 4x3x?x3"},
      {"empty", Op::kConv, {1, 3, 0, 8}, {4, 3, 3, 3}, {}, "spatial axis 0 of the input is empty"},
      {"crop",
       Op::kConvTranspose,
       {1, 3, 2},
       {3, 3, 1},
       {{"pads", Ints{1, 1}}},
       "would have 0 positions"},
      {"huge weights",
       Op::kConv,
       {1, 3, 8, 8},
       {int64_t{1} << 40, 3, 1 << 20, 3},
       {},
       "weights have shape"},
  };
  for (const BadConv& c : cases) {
    const auto g = Conv(c.op, c.input, c.weights, Attrs(c.attributes));
    ASSERT_FALSE(g.ok()) << c.what;
    EXPECT_THAT(MessageOf(g.status()), HasSubstr("net.onnx: node 'n' (Conv")) << c.what;
    EXPECT_THAT(MessageOf(g.status()), HasSubstr(c.message)) << c.what;
  }
}

TEST(PoolWindow, ErrorsNameNodeAndFault) {
  EXPECT_THAT(MessageOf(Pool(Op::kMaxPool, {1, 1, 4}, {}).status()),
              HasSubstr("has no kernel_shape"));
  EXPECT_THAT(MessageOf(Pool(Op::kGlobalMaxPool, {1, 1, 0}, {}).status()), HasSubstr("is empty"));
  EXPECT_THAT(MessageOf(Pool(Op::kMaxPool, {1, 1, 4}, Attrs({{"kernel_shape", Ints{5}}})).status()),
              HasSubstr("covers 5 positions"));
}

TEST(ConvWindow, MissingShapesAreAnError) {
  Graph graph;
  Value* x = graph.AddInput("x", {});
  Node* node = graph.AddNode(Op::kConv, "n", {x}, {"y"});
  EXPECT_THAT(MessageOf(ResolveConv(*node).status()),
              HasSubstr("shapes of input and weights are not known"));
}

}  // namespace
}  // namespace kiln
