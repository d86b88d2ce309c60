#include "kiln/quantise/codes.h"

#include <gtest/gtest.h>

#include "kiln/numerics/quantise.h"
#include "kiln/support/random.h"

namespace kiln {
namespace {

Tensor RandomTensor(const Shape& shape, uint64_t seed) {
  Tensor t(ElementType::kFloat32, shape);
  Random random(seed);
  for (float& x : t.data<float>()) x = static_cast<float>(random.Uniform(-3, 3));
  return t;
}

TEST(Codes, EveryAxisAndFormatElementByElement) {
  const Shape shape{2, 3, 4};
  const Tensor values = RandomTensor(shape, 1);
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
        const auto c = static_cast<size_t>(axis < 0 ? 0 : i / strides[static_cast<size_t>(axis)] % shape[axis]);
        const int64_t code = QuantiseToCode(values.data<float>()[static_cast<size_t>(i)], InverseScale(q.scales[c]),
                                            q.zero_points[c], CodesOf(q.type.format, false));
        ASSERT_EQ(codes.IntAt(i), code) << name << " axis " << axis << " element " << i;
        ASSERT_EQ(back.ValueAt(i), DequantiseCode(code, q.scales[c], q.zero_points[c]));
      }
    }
  }
}

TEST(Codes, EmptyTensor) {
  const Quantisation q = PerTensorQuantisation(-1, 1, {.format = *FindFormat("int8")});
  EXPECT_EQ(QuantiseTensor(Tensor(ElementType::kFloat32, Shape{0, 3}), q).size(), 0);
}

}  // namespace
}  // namespace kiln
