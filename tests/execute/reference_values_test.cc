// Tests of operators with corner cases in their definition, with values worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/execute/evaluate.h"

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

std::string Fault(const StatusOr<std::vector<Tensor>>& results) {
  return results.ok() ? "no error" : MessageOf(results.status());
}

TEST(ReferenceValues, BroadcastingJoinsFromTheRight) {
  const Tensor y = First(Evaluate(Op::kSub, {Iota({2, 1, 3}), Floats({2, 1}, {0, 10})}));
  EXPECT_EQ(y.shape(), (Shape{2, 2, 3}));
  EXPECT_THAT(y.ToFloats(), ElementsAre(0, 1, 2, -10, -9, -8, 3, 4, 5, -7, -6, -5));
  EXPECT_THAT(Fault(Evaluate(Op::kAdd, {Iota({2}), Iota({3})})),
              HasSubstr("operands 2 and 3 do not broadcast"));
}

TEST(ReferenceValues, IntegersWrapAndDivideTowardsZero) {
  const auto bytes = [](std::vector<int8_t> v) {
    return Tensor::Of<int8_t>({static_cast<int64_t>(v.size())}, v);
  };
  EXPECT_THAT(First(Evaluate(Op::kAdd, {bytes({127}), bytes({1})})).ToInts(), ElementsAre(-128));
  EXPECT_THAT(First(Evaluate(Op::kMul, {bytes({64}), bytes({3})})).ToInts(), ElementsAre(-64));
  EXPECT_THAT(First(Evaluate(Op::kDiv, {bytes({-7, 7, -128}), bytes({2, -2, -1})})).ToInts(),
              ElementsAre(-3, -3, -128));
  EXPECT_THAT(First(Evaluate(Op::kMod, {bytes({-7, 7}), bytes({3, -3})})).ToInts(),
              ElementsAre(2, -2));
  EXPECT_THAT(
      First(Evaluate(Op::kMod, {bytes({-7, 7}), bytes({3, -3})}, {{"fmod", int64_t{1}}})).ToInts(),
      ElementsAre(-1, 1));
  EXPECT_THAT(Fault(Evaluate(Op::kDiv, {bytes({1}), bytes({0})})),
              HasSubstr("element 0 of the divisor is 0"));
}

TEST(ReferenceValues, PowerTakesItsTypeFromTheBase) {
  const Tensor y =
      First(Evaluate(Op::kPow, {Tensor::Of<int32_t>({3}, {2, 3, -2}), Floats({3}, {0.5f, 2, 3})}));
  EXPECT_EQ(y.type(), ElementType::kInt32);
  EXPECT_THAT(y.ToInts(), ElementsAre(1, 9, -8));
}

TEST(ReferenceValues, HalfPrecisionRoundsOnce) {
  // 2048 + 1 + 1 is 2050 in fp32; rounding after each addition would stay at 2048.
  const auto half = [](float v) {
    Tensor t(ElementType::kFloat16, Shape{1});
    t.data<uint16_t>()[0] = FloatToHalf(v);
    return t;
  };
  const Tensor y = First(Evaluate(Op::kSum, {half(2048), half(1), half(1)}));
  EXPECT_EQ(y.type(), ElementType::kFloat16);
  EXPECT_EQ(y.ValueAt(0), 2050);
}

TEST(ReferenceValues, ClipWithCrossedBoundsGivesTheUpper) {
  EXPECT_THAT(First(Evaluate(Op::kClip,
                             {Floats({3}, {-5, 2, 9}), Tensor::Scalar(4.0f), Tensor::Scalar(1.0f)}))
                  .ToFloats(),
              ElementsAre(1, 1, 1));
  EXPECT_THAT(First(Evaluate(Op::kClip, {Tensor::Of<int8_t>({2}, {-128, 5}), std::nullopt,
                                         Tensor::Scalar<int8_t>(3)}))
                  .ToInts(),
              ElementsAre(-128, 3));
}

TEST(ReferenceValues, RoundGoesToTheEvenNeighbour) {
  EXPECT_THAT(First(Evaluate(Op::kRound, {Floats({4}, {0.5f, 1.5f, -2.5f, 2.6f})})).ToFloats(),
              ElementsAre(0, 2, -2, 3));
}

TEST(ReferenceValues, ReductionsOverInnerOuterAndAllAxes) {
  const Tensor x = Iota({2, 3, 2});
  EXPECT_THAT(
      First(Evaluate(Op::kReduceSum, {x, IntList({0, 2})}, {{"keepdims", int64_t{0}}})).ToFloats(),
      ElementsAre(14, 22, 30));
  EXPECT_THAT(First(Evaluate(Op::kReduceMax, {x, IntList({-2})})).ToFloats(),
              ElementsAre(4, 5, 10, 11));
  EXPECT_THAT(First(Evaluate(Op::kReduceMean, {x})).ToFloats(), ElementsAre(5.5f));
  EXPECT_EQ(First(Evaluate(Op::kReduceSum, {x}, {{"noop_with_empty_axes", int64_t{1}}})), x);
  EXPECT_THAT(First(Evaluate(Op::kReduceMin, {Tensor(ElementType::kFloat32, {0}), IntList({0})}))
                  .ToFloats(),
              ElementsAre(std::numeric_limits<float>::infinity()));
  EXPECT_FALSE(Evaluate(Op::kReduceSum, {x, IntList({3})}).ok());
}

TEST(ReferenceValues, LongSumsKeepTheirSmallTerms) {
  // In fp32, 2^24 + 1 stays 2^24.
  Tensor x(ElementType::kFloat32, {1001});
  x.data<float>()[0] = 0x1p24f;
  for (size_t i = 1; i <= 1000; ++i) x.data<float>()[i] = 1;
  EXPECT_EQ(First(Evaluate(Op::kReduceSum, {x})).ValueAt(0), 0x1p24 + 1000);
}

TEST(ReferenceValues, ArgMaxChoosesFirstOrLast) {
  const Tensor x = Floats({2, 3}, {5, 1, 5, 2, 7, 7});
  EXPECT_THAT(First(Evaluate(Op::kArgMax, {x}, {{"axis", int64_t{1}}})).ToInts(),
              ElementsAre(0, 1));
  EXPECT_THAT(
      First(Evaluate(Op::kArgMax, {x}, {{"axis", int64_t{1}}, {"select_last_index", int64_t{1}}}))
          .ToInts(),
      ElementsAre(2, 2));
}

TEST(ReferenceValues, SoftmaxAlongEitherAxisAndWithoutOverflow) {
  const Tensor x = Floats({2, 2}, {1000, 1000, 1000 + std::log(3.0f), 1000});
  EXPECT_THAT(First(Evaluate(Op::kSoftmax, {x}, {{"axis", int64_t{0}}})).ToFloats(),
              Pointwise(FloatNear(1e-4f), {0.25f, 0.5f, 0.75f, 0.5f}));
  EXPECT_THAT(First(Evaluate(Op::kLogSoftmax, {x})).ToFloats(),
              Pointwise(FloatNear(1e-4f), {-0.693147f, -0.693147f, -0.287682f, -1.386294f}));
}

TEST(ReferenceValues, LayerNormalizationGivesMeanAndInverseDeviation) {
  const auto y =
      All(Evaluate(Op::kLayerNormalization,
                   {Floats({1, 4}, {1, 2, 3, 4}), Floats({4}, {1, 1, 2, 1}), Floats({1}, {10})},
                   {{"epsilon", 0.0f}}, 3));
  const float d = 1 / std::sqrt(1.25f);
  EXPECT_THAT(y[0].ToFloats(),
              Pointwise(FloatNear(1e-5f), {10 - 1.5f * d, 10 - 0.5f * d, 10 + d, 10 + 1.5f * d}));
  EXPECT_THAT(y[1].ToFloats(), ElementsAre(2.5f));
  EXPECT_THAT(y[2].ToFloats(), Pointwise(FloatNear(1e-6f), {d}));
}

TEST(ReferenceValues, ConvolutionOfTwoGroupsWithUnevenPads) {
  // Group 0 sums its window, group 1 takes its last tap alone.
  const Tensor y = First(Evaluate(
      Op::kConv, {Iota({1, 2, 4}), Floats({2, 1, 3}, {1, 1, 1, 0, 0, 1}), Floats({2}, {0, 100})},
      {{"group", int64_t{2}}, {"pads", Ints{0, 2}}, {"strides", Ints{2}}}));
  EXPECT_THAT(y.ToFloats(), ElementsAre(3, 5, 106, 100));
}

TEST(ReferenceValues, TransposedConvolutionSpreadsItsInput) {
  const Tensor x = Floats({1, 1, 2}, {1, 10}), w = Floats({1, 1, 3}, {1, 2, 3});
  EXPECT_THAT(First(Evaluate(Op::kConvTranspose, {x, w}, {{"strides", Ints{2}}})).ToFloats(),
              ElementsAre(1, 2, 13, 20, 30));
  EXPECT_THAT(
      First(Evaluate(Op::kConvTranspose, {x, w}, {{"strides", Ints{2}}, {"pads", Ints{1, 0}}}))
          .ToFloats(),
      ElementsAre(2, 13, 20, 30));
  EXPECT_THAT(First(Evaluate(Op::kConvTranspose, {x, w},
                             {{"strides", Ints{2}}, {"output_padding", Ints{1}}}))
                  .ToFloats(),
              ElementsAre(1, 2, 13, 20, 30, 0));
}

TEST(ReferenceValues, MaxPoolTellsWhereInEitherOrder) {
  const Tensor x = Floats({1, 1, 2, 3}, {1, 9, 3, 8, 5, 6});
  const AttributeList window = {{"kernel_shape", Ints{1, 3}}};
  const auto y = All(Evaluate(Op::kMaxPool, {x}, window, 2));
  EXPECT_THAT(y[0].ToFloats(), ElementsAre(9, 8));
  EXPECT_THAT(y[1].ToInts(), ElementsAre(1, 3));
  AttributeList columns = window;
  columns.emplace_back("storage_order", int64_t{1});
  EXPECT_THAT(All(Evaluate(Op::kMaxPool, {x}, columns, 2))[1].ToInts(), ElementsAre(2, 1));
}

TEST(ReferenceValues, AveragePoolDividesByWhatCounts) {
  const Tensor x = Floats({1, 1, 2}, {2, 4});
  const AttributeList window = {{"kernel_shape", Ints{2}}, {"pads", Ints{1, 0}}};
  EXPECT_THAT(First(Evaluate(Op::kAveragePool, {x}, window)).ToFloats(), ElementsAre(2, 3));
  AttributeList padded = window;
  padded.emplace_back("count_include_pad", int64_t{1});
  EXPECT_THAT(First(Evaluate(Op::kAveragePool, {x}, padded)).ToFloats(), ElementsAre(1, 3));
}

TEST(ReferenceValues, ResizeModes) {
  const Tensor x = Floats({1, 1, 1, 2}, {0, 4});
  const auto resize = [&](int64_t width, AttributeList attributes) {
    return First(Evaluate(Op::kResize, {x, std::nullopt, std::nullopt, IntList({1, 1, 1, width})},
                          attributes))
        .ToFloats();
  };
  const auto mode = [](std::string name, std::string coordinates) {
    return AttributeList{{"mode", name}, {"coordinate_transformation_mode", coordinates}};
  };
  EXPECT_THAT(resize(4, mode("linear", "half_pixel")), ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(resize(5, mode("linear", "align_corners")), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(resize(4, mode("linear", "asymmetric")), ElementsAre(0, 2, 4, 4));
  EXPECT_THAT(resize(4, mode("nearest", "half_pixel")), ElementsAre(0, 0, 4, 4));
  // Position 1 of 4 shows 0.5: down to the first under round_prefer_floor, up under ceil.
  EXPECT_THAT(resize(4, mode("nearest", "asymmetric")), ElementsAre(0, 0, 4, 4));
  AttributeList ceil = mode("nearest", "asymmetric");
  ceil.emplace_back("nearest_mode", std::string("ceil"));
  EXPECT_THAT(resize(4, ceil), ElementsAre(0, 4, 4, 4));
}

TEST(ReferenceValues, QuantizeLinearRoundsSaturatesAndKnowsAxes) {
  const Tensor x = Floats({2, 3}, {0.5f, 1.5f, -300, 10, 25, 1000});
  const Tensor y = First(Evaluate(Op::kQuantizeLinear,
                                  {x, Floats({2}, {1, 10}), Tensor::Of<int8_t>({2}, {0, 1})},
                                  {{"axis", int64_t{0}}}));
  EXPECT_EQ(y.type(), ElementType::kInt8);
  EXPECT_THAT(y.ToInts(), ElementsAre(0, 2, -128, 2, 3, 101));
  const Tensor back = First(Evaluate(Op::kDequantizeLinear,
                                     {y, Floats({2}, {1, 10}), Tensor::Of<int8_t>({2}, {0, 1})},
                                     {{"axis", int64_t{0}}}));
  EXPECT_THAT(back.ToFloats(), ElementsAre(0, 2, -128, 10, 20, 1000));
}

TEST(ReferenceValues, BlockwiseScales) {
  const Tensor x = Tensor::Of<int8_t>({1, 5}, {1, 1, 1, 1, 1});
  EXPECT_THAT(First(Evaluate(Op::kDequantizeLinear, {x, Floats({1, 3}, {1, 2, 3})},
                             {{"axis", int64_t{1}}, {"block_size", int64_t{2}}}))
                  .ToFloats(),
              ElementsAre(1, 1, 2, 2, 3));
}

TEST(ReferenceValues, QonnxQuantisersOfFewBits) {
  const Tensor x = Floats({5}, {-3, -0.75f, 0.25f, 0.75f, 3});
  const auto scalar = [](float v) { return Tensor::Scalar<float>(v); };
  EXPECT_THAT(
      First(Evaluate(Op::kQuant, {x, scalar(0.5f), scalar(0), scalar(2)}, {{"narrow", int64_t{1}}}))
          .ToFloats(),
      ElementsAre(-0.5f, -0.5f, 0, 0.5f, 0.5f));
  EXPECT_THAT(
      First(Evaluate(Op::kQuant, {x, scalar(0.5f), scalar(0), scalar(2)}, {{"signed", int64_t{0}}}))
          .ToFloats(),
      ElementsAre(0, 0, 0, 1, 1.5f));
  EXPECT_THAT(First(Evaluate(Op::kBipolarQuant, {x, scalar(2)})).ToFloats(),
              ElementsAre(-2, -2, 2, 2, 2));
  // Codes -6, -2, 0, 2, 6 of 4 bits lose their lowest two.
  EXPECT_THAT(
      First(Evaluate(Op::kTrunc, {x, scalar(0.5f), scalar(0), scalar(4), scalar(2)})).ToFloats(),
      ElementsAre(-1, -0.5f, 0, 0, 0.5f));
}

TEST(ReferenceValues, IntegerProductsLessTheirZeroPoints) {
  const Tensor a = Tensor::Of<uint8_t>({1, 2}, {130, 120}), b = Tensor::Of<int8_t>({2, 1}, {3, -4});
  EXPECT_THAT(First(Evaluate(Op::kMatMulInteger,
                             {a, b, Tensor::Scalar<uint8_t>(128), Tensor::Scalar<int8_t>(1)}))
                  .ToInts(),
              ElementsAre(2 * 2 + -8 * -5));
  const Tensor one = Tensor::Scalar<float>(1), zero = Tensor::Scalar<uint8_t>(128);
  EXPECT_THAT(
      First(Evaluate(Op::kQLinearMatMul,
                     {a, one, zero, b, Tensor::Scalar<float>(0.5f), Tensor::Scalar<int8_t>(1),
                      Tensor::Scalar<float>(4), Tensor::Scalar<int8_t>(-3)}))
          .ToInts(),
      ElementsAre(6 - 3));  // 44 * 0.5 / 4 = 5.5, to the even 6
}

TEST(ReferenceValues, CastsSaturateWrapAndRead) {
  const auto to = [](int64_t type) { return AttributeList{{"to", type}}; };
  EXPECT_THAT(First(Evaluate(Op::kCast, {Floats({4}, {-1.9f, 300, 1e20f, NAN})}, to(3))).ToInts(),
              ElementsAre(-1, 127, 127, 0));
  EXPECT_THAT(First(Evaluate(Op::kCast, {Tensor::Of<int32_t>({1}, {257})}, to(2))).ToInts(),
              ElementsAre(1));
  EXPECT_THAT(First(Evaluate(Op::kCast, {Floats({3}, {0, 0.5f, NAN})}, to(9))).ToInts(),
              ElementsAre(0, 1, 1));
  EXPECT_THAT(First(Evaluate(Op::kCast, {Tensor::OfStrings({3}, {"1.5", "-INF", "3e2"})}, to(1)))
                  .ToFloats(),
              ElementsAre(1.5f, -std::numeric_limits<float>::infinity(), 300));
  EXPECT_THAT(First(Evaluate(Op::kCast, {Floats({2}, {0.25f, -INFINITY})}, to(8))).strings(),
              ElementsAre("0.25", "-INF"));
  EXPECT_THAT(Fault(Evaluate(Op::kCast, {Tensor::OfStrings({1}, {"cat"})}, to(1))),
              HasSubstr("element 0 is the text 'cat'"));
}

}  // namespace
}  // namespace kiln
