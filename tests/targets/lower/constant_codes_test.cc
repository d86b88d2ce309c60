#include "kiln/targets/lower/constant_codes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/numerics/format.h"

namespace kiln {
namespace {

using testing::ElementsAre;

Quantisation Annotation(const std::string& format, Scheme scheme) {
  Quantisation q;
  q.type.format = *FindFormat(format);
  q.type.scheme = scheme;
  return q;
}

TEST(ConstantCodes, CompleteAnnotationByHand) {
  // Nothing given: a scale of 1 for all.
  const Quantisation plain = CompleteAnnotation(Annotation("int8", Scheme::kNone));
  EXPECT_THAT(plain.scales, ElementsAre(1.0f));
  EXPECT_THAT(plain.zero_points, ElementsAre(0));
  EXPECT_EQ(plain.axis, -1);
  // One scale belongs to no axis, wherever the annotation says that it lies.
  Quantisation one = Annotation("int8", Scheme::kPerChannel);
  one.axis = 2;
  one.scales = {0.5f};
  EXPECT_EQ(CompleteAnnotation(one).axis, -1);
  EXPECT_EQ(CompleteAnnotation(one).type.scheme, Scheme::kPerTensor);
  // A scale per channel keeps its axis and gets zero points.
  Quantisation channels = Annotation("int8", Scheme::kPerChannel);
  channels.axis = 1;
  channels.scales = {0.5f, 2.0f};
  EXPECT_EQ(CompleteAnnotation(channels).axis, 1);
  EXPECT_THAT(CompleteAnnotation(channels).zero_points, ElementsAre(0, 0));
  // Block scales stay with their rule.
  Quantisation blocks = Annotation("int8", Scheme::kPerBlock);
  blocks.axis = 0;
  EXPECT_EQ(CompleteAnnotation(blocks), blocks);
}

TEST(ConstantCodes, OneScale) {
  Quantisation q = Annotation("int8", Scheme::kPerTensor);
  q.axis = 0;  // without meaning for one scale
  q.scales = {0.5f};
  q.zero_points = {3};
  const Tensor values = Tensor::Of<float>({2, 2}, {0.0f, 1.25f, -0.75f, 1000.0f});
  const ConstantCodes constant = QuantiseConstant(values, q);
  EXPECT_FALSE(constant.blocked());
  // 1.25 / 0.5 = 2.5 and -0.75 / 0.5 = -1.5 are ties, rounded to even.
  EXPECT_THAT(constant.codes.ToInts(), ElementsAre(3, 5, 1, 127));
  EXPECT_THAT(RoundToAnnotation(values, q).ToFloats(), ElementsAre(0.0f, 1.0f, -1.0f, 62.0f));
}

TEST(ConstantCodes, AScalePerChannel) {
  Quantisation q = Annotation("int4", Scheme::kPerChannel);
  q.axis = 1;
  q.scales = {1.0f, 0.25f};
  q.type.symmetric = false;
  const Tensor values = Tensor::Of<float>({2, 2, 1}, {3.0f, 1.0f, -9.0f, -0.5f});
  EXPECT_THAT(QuantiseConstant(values, q).codes.ToInts(), ElementsAre(3, 4, -8, -2));
  EXPECT_THAT(RoundToAnnotation(values, q).ToFloats(), ElementsAre(3.0f, 1.0f, -8.0f, -0.5f));
  q.type.symmetric = true;  // codes from -7 to 7
  EXPECT_THAT(QuantiseConstant(values, q).codes.ToInts(), ElementsAre(3, 4, -7, -2));
}

TEST(ConstantCodes, NoAnnotationOfAScaleMeansTheNumbersThemselves) {
  const Tensor values = Tensor::Of<float>({2}, {1.0f, 1.0f / 3});
  const Quantisation q = Annotation("bf16", Scheme::kNone);
  // bf16 is the upper half of fp32: 1/3 is 3eaaaaab, rounded to 3eab.
  EXPECT_THAT(QuantiseConstant(values, q).codes.ToInts(), ElementsAre(0x3f80, 0x3eab));
}

TEST(ConstantCodes, BlockScales) {
  Quantisation q = Annotation("int8", Scheme::kPerBlock);
  q.type.scale_format = *FindFormat("e8m0");
  q.type.block_size = 2;
  q.axis = 0;
  // Columns 0 and 1 of three rows: blocks of rows 0 and 1, and of row 2 alone.
  const Tensor values = Tensor::Of<float>({3, 2}, {64.0f, 1.0f, 3.0f, 0.5f, 0.0f, 64.0f});
  const ConstantCodes constant = QuantiseConstant(values, q);
  ASSERT_TRUE(constant.blocked());
  EXPECT_EQ(constant.codes.shape(), (Shape{3, 2}));
  EXPECT_EQ(constant.scales.shape(), (Shape{2, 2}));
  // Scale 2^(floor(log2(max)) - 6), as int8's greatest value 127 has exponent 6; e8m0 adds 127.
  EXPECT_THAT(constant.scales.ToInts(), ElementsAre(127, 121, 0, 127));
  EXPECT_THAT(constant.codes.ToInts(), ElementsAre(64, 64, 3, 32, 0, 64));
  EXPECT_EQ(RoundToAnnotation(values, q), values);
}

}  // namespace
}  // namespace kiln
