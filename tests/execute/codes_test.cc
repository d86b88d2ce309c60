// Tests of rounding whole tensors to codes, against the scalar definition, for every format and
// axis.
#include "kiln/execute/codes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "kiln/execute/reference.h"
#include "kiln/ir/text.h"
#include "kiln/numerics/codec.h"
#include "kiln/numerics/microscaling.h"
#include "kiln/numerics/quantise.h"
#include "kiln/support/random.h"

namespace kiln {
namespace {

Tensor RandomValues(const Shape& shape, uint64_t seed) {
  Tensor t(ElementType::kFloat32, shape);
  Random random(seed);
  for (float& x : t.data<float>()) x = static_cast<float>(random.Uniform(-3, 3));
  return t;
}

TEST(Codes, EveryAxisAndFormatElementByElement) {
  const Shape shape{2, 3, 4};
  const Tensor values = RandomValues(shape, 1);
  for (std::string_view name : {"int4", "uint8", "int8", "int16", "uint16", "int32"}) {
    for (int axis = -1; axis < 3; ++axis) {
      Quantisation q;
      q.type = {.format = *FindFormat(name),
                .scheme = axis < 0 ? Scheme::kPerTensor : Scheme::kPerChannel,
                .symmetric = false};
      q.axis = axis;
      const int64_t channels = axis < 0 ? 1 : shape[axis];
      for (int64_t c = 0; c < channels; ++c) {
        q.scales.push_back(0.01f * static_cast<float>(c + 1));
        q.zero_points.push_back(static_cast<int32_t>(c));
      }
      const Tensor codes = QuantiseTensor(values, q);
      const Tensor back = DequantiseTensor(codes, q);
      ASSERT_EQ(codes.type(), CodeElementType(q.type.format));
      const std::vector<int64_t> strides = RowMajorStrides(shape);
      for (int64_t i = 0; i < values.size(); ++i) {
        const auto c = static_cast<size_t>(
            axis < 0 ? 0 : i / strides[static_cast<size_t>(axis)] % shape[axis]);
        const int64_t code =
            QuantiseToCode(values.data<float>()[static_cast<size_t>(i)], InverseScale(q.scales[c]),
                           q.zero_points[c], CodesOf(q.type.format, false));
        ASSERT_EQ(codes.IntAt(i), code) << name << " axis " << axis << " element " << i;
        ASSERT_EQ(back.ValueAt(i), DequantiseCode(code, q.scales[c], q.zero_points[c]));
      }
    }
  }
}

// Formats of at most 16 bits take another way through the code than the scalar definition. It must
// agree where values are ties, special, or far beyond the codes, and with zero points that leave
// the codes or are too large for it.
TEST(Codes, NarrowIntegersAtTheirEdges) {
  std::vector<float> edges = {std::nanf(""),
                              std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::max(),
                              std::numeric_limits<float>::denorm_min(),
                              -0.0f,
                              0x1p22f,
                              -0x1.8p23f};
  for (int i = -70; i <= 70; ++i) edges.push_back(static_cast<float>(i) * 0.25f);
  for (const float code : {127.0f, 128.0f, 255.0f, 256.0f, 32767.0f, 32768.0f, 65535.0f}) {
    for (const float step : {-0.5f, -0.49f, 0.0f, 0.49f, 0.5f, 1.5f}) {
      edges.push_back(code + step);
      edges.push_back(-code - step);
    }
  }
  const auto count = static_cast<int64_t>(edges.size());
  const Tensor values = Tensor::Of<float>(Shape{count}, edges);
  for (const std::string_view name : {"int2", "int4", "int8", "uint8", "int16", "uint16"}) {
    const auto format = FindFormat(name);
    ASSERT_TRUE(format.ok()) << name;
    for (const bool symmetric : {false, true}) {
      for (const int32_t zero_point :
           {0, 1, -7, 100, -300, 40000, 1 << 21, 1 << 23, std::numeric_limits<int32_t>::min()}) {
        for (const float scale : {1.0f, 0.25f, 3.0f, 0x1p-126f, 0x1p127f}) {
          Quantisation q;
          q.type = {.format = *format, .scheme = Scheme::kPerTensor, .symmetric = symmetric};
          q.scales = {scale};
          q.zero_points = {zero_point};
          const Tensor codes = QuantiseTensor(values, q);
          for (int64_t i = 0; i < count; ++i) {
            ASSERT_EQ(codes.IntAt(i),
                      QuantiseToCode(edges[static_cast<size_t>(i)], InverseScale(scale), zero_point,
                                     CodesOf(*format, symmetric)))
                << name << " " << edges[static_cast<size_t>(i)] << " / " << scale << " + "
                << zero_point;
          }
        }
      }
    }
  }
}

// The tensor is large enough for several threads, whose pieces begin within a row.
TEST(Codes, LargeTensorsElementByElement) {
  const Shape shape{3, 211, 307};
  const Tensor values = RandomValues(shape, 5);
  for (int axis = -1; axis < 3; ++axis) {
    Quantisation q;
    q.type = {.format = *FindFormat("int8"),
              .scheme = axis < 0 ? Scheme::kPerTensor : Scheme::kPerChannel,
              .symmetric = false};
    q.axis = axis;
    const int64_t channels = axis < 0 ? 1 : shape[axis];
    for (int64_t c = 0; c < channels; ++c) {
      q.scales.push_back(0.01f + 0.0003f * static_cast<float>(c));
      q.zero_points.push_back(static_cast<int32_t>(c % 50));
    }
    const Tensor codes = QuantiseTensor(values, q);
    const std::vector<int64_t> strides = RowMajorStrides(shape);
    for (int64_t i = 0; i < values.size(); ++i) {
      const auto c =
          static_cast<size_t>(axis < 0 ? 0 : i / strides[static_cast<size_t>(axis)] % shape[axis]);
      ASSERT_EQ(codes.IntAt(i), QuantiseToCode(values.data<float>()[static_cast<size_t>(i)],
                                               InverseScale(q.scales[c]), q.zero_points[c],
                                               CodesOf(q.type.format, false)))
          << "axis " << axis << " element " << i;
    }
  }
}

// Under every format, each element is what the scalar definition says.
TEST(Codes, EveryNamedFormatByTheScalarDefinition) {
  const Tensor values = RandomValues({5, 40}, 2);
  for (const Format& format : AllFormats()) {
    if (format.is_whole()) continue;  // numerics/quantise.h's, tested above
    for (Scheme scheme : {Scheme::kNone, Scheme::kPerTensor, Scheme::kPerChannel}) {
      Quantisation q;
      q.type.format = format;
      q.type.scheme = scheme;
      if (scheme == Scheme::kPerTensor) q.scales = {0.37f};
      if (scheme == Scheme::kPerChannel) q.axis = 0, q.scales = {0.5f, 0.1f, 0.2f, 1.0f, 3.0f};
      q.zero_points.assign(q.scales.size(), 0);
      const Tensor codes = QuantiseTensor(values, q);
      ASSERT_EQ(codes.type(), CodeElementType(format));
      const Tensor back = DequantiseTensor(codes, q);
      for (int64_t i = 0; i < values.size(); ++i) {
        const float x = values.data<float>()[static_cast<size_t>(i)];
        const float scale =
            q.scales.empty() ? 1 : q.scales[q.scales.size() == 1 ? 0 : static_cast<size_t>(i / 40)];
        const uint32_t code = EncodeFloat(format, scale == 1 ? x : x * InverseScale(scale));
        ASSERT_EQ(static_cast<uint32_t>(codes.IntAt(i)) & CodeMask(format), code)
            << format.name << " " << x;
        ASSERT_EQ(back.data<float>()[static_cast<size_t>(i)], DecodeFloat(format, code) * scale)
            << format.name;
      }
      ASSERT_EQ(RoundTensor(values, q), back);
    }
  }
}

TEST(Codes, IntegersUnderOtherRoundingsAndOverflow) {
  const Tensor values = Tensor::Of<float>(Shape{5}, {2.7f, -2.7f, 9.2f, -9.6f, 0.5f});
  const auto codes = [&](std::string_view format, int32_t zero_point) {
    Quantisation q;
    q.type = *FindQuantType(format);
    q.type.symmetric = false;
    q.scales = {1};
    q.zero_points = {zero_point};
    const Tensor t = QuantiseTensor(values, q);
    std::vector<int64_t> list;
    for (int64_t i = 0; i < t.size(); ++i) list.push_back(t.IntAt(i));
    return list;
  };
  using List = std::vector<int64_t>;
  EXPECT_EQ(codes("int4", 0), (List{3, -3, 7, -8, 0}));
  EXPECT_EQ(codes("int4.toward_zero", 0), (List{2, -2, 7, -8, 0}));
  EXPECT_EQ(codes("int4.down", 1), (List{3, -2, 8 - 1, -7, 1}));
  EXPECT_EQ(codes("int4.nearest_away", 0), (List{3, -3, 7, -8, 1}));
  EXPECT_EQ(codes("int4.wrap", 0), (List{3, -3, 9 - 16, -10 + 16, 0}));
  EXPECT_EQ(codes("int4.wrap", 7), (List{10 - 16, 4, 0, -3, 7}));
}

// Lines along the blocked axis one by one through BlockCodec, whatever stands behind the axis.
TEST(Codes, BlocksAlongEveryAxis) {
  const Shape shape{3, 7, 5};
  const Tensor values = RandomValues(shape, 3);
  const std::vector<int64_t> strides = RowMajorStrides(shape);
  for (std::string_view name : {"mxint8", "mxfp8_e4m3", "mxfp4"}) {
    for (int axis = 0; axis < 3; ++axis) {
      Quantisation q{.type = *FindQuantType(name), .axis = axis};
      q.type.block_size = 3;
      const Tensor rounded = RoundTensor(values, q);
      const BlockCodes blocks = QuantiseBlocks(values, q);
      EXPECT_EQ(blocks.scales.shape()[axis], (shape[axis] + 2) / 3);
      EXPECT_EQ(DequantiseBlocks(blocks, q), rounded);
      const BlockCodec codec(q.type);
      for (int64_t i = 0; i < values.size(); ++i) {
        const int64_t stride = strides[static_cast<size_t>(axis)], along = i / stride % shape[axis];
        std::vector<float> block;
        for (int64_t k = along / 3 * 3; k < std::min<int64_t>(along / 3 * 3 + 3, shape[axis]);
             ++k) {
          block.push_back(values.data<float>()[static_cast<size_t>(i + (k - along) * stride)]);
        }
        const float scale = codec.ScaleValue(codec.ScaleCode(block.data(), std::ssize(block)));
        const float x = values.data<float>()[static_cast<size_t>(i)];
        ASSERT_EQ(rounded.data<float>()[static_cast<size_t>(i)],
                  codec.Value(codec.ElementCode(x, scale), scale))
            << name << " axis " << axis << " element " << i;
      }
    }
  }
}

TEST(Codes, BlocksWithScalesOfTheirOwn) {
  const Shape shape{2, 5, 3};
  const Tensor values = RandomValues(shape, 4);
  for (int axis = 0; axis < 3; ++axis) {
    Quantisation q;
    q.type = *FindQuantType("int8");
    q.type.scheme = Scheme::kPerBlock;
    q.type.block_size = 2;
    q.axis = axis;
    Shape blocks = shape;
    blocks[axis] = (shape[axis] + 1) / 2;
    for (int64_t i = 0; i < blocks.NumElements(); ++i)
      q.scales.push_back(0.01f * static_cast<float>(i + 1));
    q.zero_points.assign(q.scales.size(), 0);
    const Tensor rounded = RoundTensor(values, q);
    const std::vector<int64_t> strides = RowMajorStrides(shape),
                               block_strides = RowMajorStrides(blocks);
    for (int64_t i = 0; i < values.size(); ++i) {
      int64_t block = 0;
      for (int d = 0; d < 3; ++d) {
        const int64_t at = i / strides[static_cast<size_t>(d)] % shape[d];
        block += (d == axis ? at / 2 : at) * block_strides[static_cast<size_t>(d)];
      }
      const float scale = q.scales[static_cast<size_t>(block)];
      const int64_t code = QuantiseToCode(values.data<float>()[static_cast<size_t>(i)],
                                          InverseScale(scale), 0, {-127, 127});
      ASSERT_EQ(rounded.data<float>()[static_cast<size_t>(i)], DequantiseCode(code, scale, 0))
          << axis << " " << i;
    }
  }
}

TEST(Codes, ANanScaleMakesTheBlockNan) {
  const Tensor values = Tensor::Of<float>(Shape{4}, {1, INFINITY, 3, 4});
  Quantisation q{.type = *FindQuantType("mxint8"), .axis = 0};
  q.type.block_size = 2;
  const Tensor rounded = RoundTensor(values, q);
  EXPECT_TRUE(std::isnan(rounded.ValueAt(0)) && std::isnan(rounded.ValueAt(1)));
  EXPECT_EQ(rounded.ValueAt(2), 3);
  EXPECT_EQ(rounded.ValueAt(3), 4);
}

TEST(Codes, StochasticRoundingIsReproducibleAndUnbiased) {
  Tensor values(ElementType::kFloat32, Shape{20000});
  for (float& x : values.data<float>()) x = 0.3f;
  Quantisation q;
  q.type = *FindQuantType("int8.stochastic");
  q.scales = {1};
  q.zero_points = {0};
  const Tensor rounded = RoundTensor(values, q);
  EXPECT_EQ(RoundTensor(values, q), rounded);
  double sum = 0;
  for (int64_t i = 0; i < rounded.size(); ++i) sum += rounded.ValueAt(i);
  EXPECT_NEAR(sum / static_cast<double>(rounded.size()), 0.3, 0.02);
}

TEST(Codes, TheOperatorQuantiseRoundsAsItsTypeSays) {
  const auto graph = ParseGraph(
      "graph \"\" { input %x : f32[2x40] %y = quantise %x {type=\"fixed8_6 per_block axis=1 "
      "block=32 "
      "scale_format=e8m0\"} "
      ": f32[2x40] output %y }",
      "t.kir");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const Tensor x = RandomValues({2, 40}, 5);
  const Tensor* operands[] = {&x};
  const auto y = EvaluateNode(*graph->NodeList()[0], operands);
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ((*y)[0], RoundTensor(x, Quantisation{.type = *FindQuantType("mxint8"), .axis = 1}));
  const auto bad = ParseGraph(
      "graph \"\" { input %x : f32[2] %y = quantise %x {type=\"int8 per_tensor\"} output %y }",
      "t.kir");
  EXPECT_NE(MessageOf(bad.status()).find("has 0 scales under per_tensor"), std::string::npos)
      << bad.status();
}

TEST(Codes, EmptyTensor) {
  const Quantisation blocks{.type = *FindQuantType("mxint8"), .axis = 1};
  EXPECT_EQ(RoundTensor(Tensor(ElementType::kFloat32, Shape{0, 3}), blocks).size(), 0);
  EXPECT_EQ(RoundTensor(Tensor(ElementType::kFloat32, Shape{3, 0}), blocks).size(), 0);
  const Quantisation q = PerTensorQuantisation(-1, 1, {.format = *FindFormat("int8")});
  EXPECT_EQ(QuantiseTensor(Tensor(ElementType::kFloat32, Shape{0, 3}), q).size(), 0);
}

// Blocks by their rule: with a largest value of 6 the scale of e8m0 is 1, and e2m1 has the codes 7,
// 2 and 9 for 6, 1 and -0.5.
TEST(Codes, EncodeTensorTakesEveryAnnotation) {
  const Tensor values = Tensor::Of<float>({1, 3}, {6, 1, -0.5f});
  Quantisation q;
  q.type = {.format = *FindFormat("e2m1"), .scheme = Scheme::kPerBlock, .block_size = 32};
  q.type.scale_format = *FindFormat("e8m0");
  q.axis = 1;
  EXPECT_EQ(EncodeTensor(values, q), Tensor::Of<uint8_t>({1, 3}, {7, 2, 9}));
  Quantisation whole = PerTensorQuantisation(-8, 8, *FindQuantType("int8"));
  whole.scales = {0.5f};
  EXPECT_EQ(EncodeTensor(values, whole), Tensor::Of<int8_t>({1, 3}, {12, 2, -1}));
}

TEST(Codes, TensorOfCodesHasTheTypeOfTheFormat) {
  const Shape shape{2, 1};
  const std::vector<int64_t> wide = {-3, 200};
  EXPECT_EQ(TensorOfCodes<int64_t>(*FindFormat("int9"), shape, wide),
            Tensor::Of<int16_t>(shape, {-3, 200}));
  const std::vector<int32_t> codes = {3, 200};
  EXPECT_EQ(TensorOfCodes<int32_t>(*FindFormat("uint8"), shape, codes),
            Tensor::Of<uint8_t>(shape, {3, 200}));
  EXPECT_EQ(TensorOfCodes<int32_t>(*FindFormat("int4"), shape, std::vector<int32_t>{-8, 7}),
            Tensor::Of<int8_t>(shape, {-8, 7}));
}

}  // namespace
}  // namespace kiln
