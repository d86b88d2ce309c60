// Nodes that are affine per channel: which are taken, and what they do to factors and offsets.

#include "kiln/targets/lower/channel_line.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace kiln {
namespace {

class ChannelLineTest : public ::testing::Test {
 protected:
  Value* Constant(std::vector<float> numbers) {
    const Shape shape = numbers.size() == 1 ? Shape{} : Shape{static_cast<int64_t>(numbers.size())};
    return graph_.AddConstant("c" + std::to_string(++names_), Tensor::Of<float>(shape, numbers));
  }
  Node* Append(Op op, std::vector<Value*> operands) {
    Node* node = graph_.AddNode(op, "", std::move(operands), {"v" + std::to_string(++names_)});
    graph_.SetType(node->result(), x_->type());
    nodes_.push_back(node);
    return node;
  }

  int names_ = 0;
  Graph graph_;
  Value* x_ = graph_.AddInput("x", {ElementType::kFloat32, Shape{1, 4, 4, 2}});
  std::vector<const Node*> nodes_;
};

TEST_F(ChannelLineTest, AppliesNodesInTheirOrder) {
  // ((3 s + 1) * {2, -4} - 1) / 2, at least 0, at most 6: at s = 2, 13/2 and -29/2.
  Value* y = Append(Op::kMul, {x_, Constant({2, -4})})->result();
  y = Append(Op::kSub, {y, Constant({1})})->result();
  y = Append(Op::kDiv, {y, Constant({2, 2})})->result();
  y = Append(Op::kIdentity, {y})->result();
  y = Append(Op::kRelu, {y})->result();
  Append(Op::kClip, {y, nullptr, Constant({6})});
  ChannelLine line{.factors = {3, 3}, .offsets = {1, 1}};
  ASSERT_TRUE(ApplyToLine(nodes_, x_, &line).ok());
  EXPECT_EQ(line.factors[0] * 2 + line.offsets[0], 13.0 / 2);
  EXPECT_EQ(line.factors[1] * 2 + line.offsets[1], -29.0 / 2);
  EXPECT_EQ(line.low, 0);
  EXPECT_EQ(line.high, 6);
}

TEST_F(ChannelLineTest, TakesConstantsPerChannelAndBounds) {
  EXPECT_TRUE(ContinuesLine(*Append(Op::kAdd, {x_, Constant({1, 2})}), x_, 2));
  EXPECT_TRUE(ContinuesLine(*Append(Op::kAdd, {Constant({5}), x_}), x_, 2));
  EXPECT_TRUE(ContinuesLine(*Append(Op::kRelu, {x_}), x_, 2));
  EXPECT_TRUE(IsBound(*nodes_.back()));
  // One number for each of three channels, a difference from a constant, and another operator.
  EXPECT_FALSE(ContinuesLine(*Append(Op::kMul, {x_, Constant({1, 2, 3})}), x_, 2));
  EXPECT_FALSE(ContinuesLine(*Append(Op::kSub, {Constant({1}), x_}), x_, 2));
  EXPECT_FALSE(ContinuesLine(*Append(Op::kExp, {x_}), x_, 2));
  EXPECT_FALSE(IsBound(*nodes_.back()));
}

TEST(ShiftOf, IsTheLargestThatFits) {
  for (const double factor : {1e-9, 0.3, 0.5, 0.75, 0.99999, 1.0, 3.7, 255.4, 65535.4}) {
    const auto shift = ShiftOf(factor, 16, 47);
    ASSERT_TRUE(shift.has_value()) << factor;
    EXPECT_LT(std::round(std::ldexp(factor, *shift)), 65536) << factor;
    if (*shift < 47) {
      EXPECT_GE(std::round(std::ldexp(factor, *shift + 1)), 65536) << factor;
    }
  }
  EXPECT_EQ(ShiftOf(1e-9, 16, 20), 20);
  EXPECT_EQ(ShiftOf(0, 16, 47), 47);
  EXPECT_EQ(ShiftOf(65535.6, 16, 47), std::nullopt);
}

// Bounds are applied in binary64; element 2 is of channel 0 again.
TEST(ChannelLine, GivesTheValuesOfSums) {
  const ChannelLine line = {.factors = {0.5, -2}, .offsets = {1, 0.25}, .low = -6, .high = 2.25};
  EXPECT_EQ(line.ValueOf(3, 0), 2.25);
  EXPECT_EQ(line.ValueOf(2, 1), -3.75);
  const Shape shape{2, 2};
  const Tensor values = Tensor::Of<float>(shape, {1.5f, -1.75f, -1, -6});
  EXPECT_EQ(ValuesOfSums<int32_t>(std::vector<int32_t>{1, 1, -4, 5}, line, shape), values);
  EXPECT_EQ(ValuesOfSums<int64_t>(std::vector<int64_t>{1, 1, -4, 5}, line, shape), values);
}

}  // namespace
}  // namespace kiln
