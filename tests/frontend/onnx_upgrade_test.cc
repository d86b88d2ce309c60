// Checks that older forms of operators compute what their own opset defines. The tests of the ONNX
// standard (tests/onnx) cover most forms; this file covers those that its data lacks.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/frontend/onnx_models.h"

namespace kiln {
namespace {

void ExpectNear(const Tensor& a, const std::vector<double>& expected, double tolerance = 1e-5) {
  ASSERT_EQ(a.size(), static_cast<int64_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(a.ValueAt(static_cast<int64_t>(i)), expected[i], tolerance) << "element " << i;
  }
}

TEST(OnnxUpgrade, SoftmaxBeforeOpset13SeesAMatrix) {
  const Tensor x = Ramp({2, 2, 3}, 0.25f);
  const Tensor y = OutputOf(Import(11, InputText("x", {"2", "2", "3"}) + NodeToY("Softmax")), {x});
  // Default axis 1: each row of the 2 x 6 matrix sums to 1.
  std::vector<double> expected(12);
  for (size_t row = 0; row < 2; ++row) {
    double sum = 0;
    for (size_t i = 0; i < 6; ++i)
      sum += expected[row * 6 + i] = std::exp(0.25 * static_cast<double>(i));
    for (size_t i = 0; i < 6; ++i) expected[row * 6 + i] /= sum;
  }
  EXPECT_EQ(y.shape(), (Shape{2, 2, 3}));
  ExpectNear(y, expected);
}

TEST(OnnxUpgrade, SoftmaxOfOpset13KeepsItsAxis) {
  const auto graph =
      Import(13, InputText("x", {"2", "2", "3"}) + NodeToY("Softmax", IntAttribute("axis", 1)));
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->num_nodes(), 1);
  EXPECT_EQ(graph->nodes().front()->attributes().Int("axis", -1), 1);
}

TEST(OnnxUpgrade, ClipBounds) {
  const auto graph =
      Import(6, InputText("x", {"4"}) +
                    NodeToY("Clip", FloatAttribute("min", -1) + FloatAttribute("max", 6)));
  EXPECT_EQ(OutputOf(graph, {Tensor::Of<float>({4}, {-3, 0, 6, 9})}),
            Tensor::Of<float>({4}, {-1, 0, 6, 6}));
  const auto upper = Import(6, InputText("x", {"2"}) + NodeToY("Clip", FloatAttribute("max", 6)));
  EXPECT_EQ(OutputOf(upper, {Tensor::Of<float>({2}, {-3, 9})}), Tensor::Of<float>({2}, {-3, 6}));
}

TEST(OnnxUpgrade, LegacyBroadcastBeginsAtItsAxis) {
  const std::string text = InputText("x", {"2", "2", "2"}) + FloatsText("c", {2}, {10, 20});
  const std::string broadcast = "input: 'c' " + IntAttribute("broadcast", 1);
  EXPECT_EQ(OutputOf(Import(6, text + NodeToY("Add", broadcast + IntAttribute("axis", 1))),
                     {Ramp({2, 2, 2})}),
            Tensor::Of<float>({2, 2, 2}, {10, 11, 22, 23, 14, 15, 26, 27}));
  EXPECT_EQ(OutputOf(Import(6, text + NodeToY("Add", broadcast)), {Ramp({2, 2, 2})}),
            Tensor::Of<float>({2, 2, 2}, {10, 21, 12, 23, 14, 25, 16, 27}));
}

TEST(OnnxUpgrade, AttributesBecomeOperands) {
  EXPECT_EQ(OutputOf(Import(9, InputText("x", {"2", "3"}) +
                                   NodeToY("Slice", IntsAttribute("starts", {1}) +
                                                        IntsAttribute("ends", {3}) +
                                                        IntsAttribute("axes", {1}))),
                     {Ramp({2, 3})}),
            Tensor::Of<float>({2, 2}, {1, 2, 4, 5}));
  EXPECT_EQ(OutputOf(Import(10, InputText("x", {"1", "2"}) +
                                    NodeToY("Pad", IntsAttribute("pads", {0, 1, 0, 0}) +
                                                       FloatAttribute("value", 7))),
                     {Ramp({1, 2})}),
            Tensor::Of<float>({1, 3}, {7, 0, 1}));
  EXPECT_EQ(OutputOf(Import(12, InputText("x", {"1", "2"}) +
                                    NodeToY("Squeeze", IntsAttribute("axes", {0}))),
                     {Ramp({1, 2})}),
            Tensor::Of<float>({2}, {0, 1}));
  EXPECT_EQ(
      OutputOf(Import(12, InputText("x", {"2"}) + NodeToY("Unsqueeze", IntsAttribute("axes", {1}))),
               {Ramp({2})}),
      Tensor::Of<float>({2, 1}, {0, 1}));
  EXPECT_EQ(OutputOf(Import(11, InputText("x", {"2", "2"}) +
                                    NodeToY("ReduceSum", IntsAttribute("axes", {0}) +
                                                             IntAttribute("keepdims", 0))),
                     {Ramp({2, 2})}),
            Tensor::Of<float>({2}, {2, 4}));
}

TEST(OnnxUpgrade, SplitWithoutSizesIsEqual) {
  const auto graph =
      Import(11, InputText("x", {"6"}) +
                     "node { op_type: 'Split' input: 'x' output: 'a' output: 'b' output: 'y' } "
                     "output { name: 'y' }");
  EXPECT_EQ(OutputOf(graph, {Ramp({6})}), Tensor::Of<float>({2}, {4, 5}));
}

TEST(OnnxUpgrade, GroupNormalizationOfOpset18HasAScaleAGroup) {
  const std::string x = InputText("x", {"1", "4", "2"});
  const std::string attribute = IntAttribute("num_groups", 2);
  const Tensor input = Ramp({1, 4, 2}, 0.5f);
  const Tensor old_form =
      OutputOf(Import(18, x + FloatsText("s", {2}, {2, 3}) + FloatsText("b", {2}, {-1, 1}) +
                              NodeToY("GroupNormalization", "input: 's' input: 'b' " + attribute)),
               {input});
  const Tensor new_form = OutputOf(
      Import(21, x + FloatsText("s", {4}, {2, 2, 3, 3}) + FloatsText("b", {4}, {-1, -1, 1, 1}) +
                     NodeToY("GroupNormalization", "input: 's' input: 'b' " + attribute)),
      {input});
  EXPECT_EQ(old_form, new_form);
}

TEST(OnnxUpgrade, UpsampleIsAnAsymmetricResize) {
  const std::string scales = "attribute { name: 'scales' type: FLOATS floats: [1, 1, 1, 2] } ";
  EXPECT_EQ(OutputOf(Import(7, InputText("x", {"1", "1", "1", "2"}) + NodeToY("Upsample", scales)),
                     {Ramp({1, 1, 1, 2})}),
            Tensor::Of<float>({1, 1, 1, 4}, {0, 0, 1, 1}));
  const std::string linear = scales + "attribute { name: 'mode' type: STRING s: 'linear' } ";
  EXPECT_EQ(OutputOf(Import(7, InputText("x", {"1", "1", "1", "2"}) + NodeToY("Upsample", linear)),
                     {Ramp({1, 1, 1, 2})}),
            Tensor::Of<float>({1, 1, 1, 4}, {0, 0.5, 1, 1}));
}

TEST(OnnxUpgrade, HalfPixelOfTensorFlow) {
  const auto text = [](const std::string& name, const std::string& value) {
    return "attribute { name: '" + name + "' type: STRING s: '" + value + "' } ";
  };
  // Output position o shows input position floor((o + 0.5) / scale).
  const auto graph = Import(
      11, InputText("x", {"1", "1", "1", "8"}) + FloatsText("roi", {0}, {}) +
              FloatsText("scales", {4}, {1, 1, 1, 0.375}) +
              NodeToY("Resize", "input: 'roi' input: 'scales' " +
                                    text("coordinate_transformation_mode", "tf_half_pixel_for_nn") +
                                    text("nearest_mode", "floor")));
  EXPECT_EQ(OutputOf(graph, {Ramp({1, 1, 1, 8})}), Tensor::Of<float>({1, 1, 1, 3}, {1, 4, 6}));
}

TEST(OnnxUpgrade, TrainingIsRefused) {
  const std::string statistics = FloatsText("c", {2}, {1, 1}) + InputText("x", {"1", "2", "3"});
  const std::string operands = "input: 'c' input: 'c' input: 'c' input: 'c' ";
  const auto refused = StatusCode::kUnimplemented;
  ExpectError(Import(15, statistics + NodeToY("BatchNormalization",
                                              operands + IntAttribute("training_mode", 1))),
              refused, "training mode");
  ExpectError(Import(6, statistics + NodeToY("BatchNormalization", operands)), refused,
              "is_test is 0");
  ExpectError(
      Import(8, statistics + NodeToY("BatchNormalization", operands + IntAttribute("spatial", 0))),
      refused, "spatial is 0");
  ExpectError(Import(9, statistics + "node { op_type: 'BatchNormalization' input: 'x' " + operands +
                            "output: 'y' output: 'm' } output { name: 'y' }"),
              refused, "training mode");
  EXPECT_TRUE(Import(8, statistics + NodeToY("BatchNormalization", operands)).ok());
}

TEST(OnnxComposition, MatchesItsFormula) {
  const Tensor x = Tensor::Of<float>({4}, {-2, -0.25, 0.5, 3});
  struct Case {
    std::string op_type, attributes;
    double (*formula)(double);
  };
  const Case cases[] = {
      {"Mish", "", [](double v) { return v * std::tanh(std::log1p(std::exp(v))); }},
      {"Softsign", "", [](double v) { return v / (1 + std::abs(v)); }},
      {"Sinh", "", [](double v) { return std::sinh(v); }},
      {"Cosh", "", [](double v) { return std::cosh(v); }},
      {"Tan", "", [](double v) { return std::tan(v); }},
      {"Celu", FloatAttribute("alpha", 2),
       [](double v) { return v > 0 ? v : 2 * std::expm1(v / 2); }},
      {"ThresholdedRelu", FloatAttribute("alpha", 0.4), [](double v) { return v > 0.4 ? v : 0; }},
      {"Shrink", FloatAttribute("lambd", 1) + FloatAttribute("bias", 0.5),
       [](double v) { return v < -1  ? v + 0.5
                             : v > 1 ? v - 0.5
                                     : 0; }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.op_type);
    std::vector<double> expected;
    for (int64_t i = 0; i < x.size(); ++i) expected.push_back(c.formula(x.ValueAt(i)));
    ExpectNear(OutputOf(Import(18, InputText("x", {"4"}) + NodeToY(c.op_type, c.attributes)), {x}),
               expected);
  }
}

TEST(OnnxComposition, LrnSumsOverNeighbouringChannels) {
  const Tensor x = Ramp({1, 5, 1, 2}, 0.5f, 1);
  const auto graph =
      Import(13, InputText("x", {"1", "5", "1", "2"}) +
                     NodeToY("LRN", IntAttribute("size", 4) + FloatAttribute("alpha", 0.5) +
                                        FloatAttribute("beta", 0.75) + FloatAttribute("bias", 2)));
  std::vector<double> expected;
  for (int channel = 0; channel < 5; ++channel) {
    for (int column = 0; column < 2; ++column) {
      double sum = 0;
      // floor((size - 1) / 2) channels before, ceil((size - 1) / 2) after
      for (int c = std::max(0, channel - 1); c <= std::min(4, channel + 2); ++c)
        sum += std::pow(x.ValueAt(c * 2 + column), 2);
      expected.push_back(x.ValueAt(channel * 2 + column) / std::pow(2 + 0.5 / 4 * sum, 0.75));
    }
  }
  ExpectNear(OutputOf(graph, {x}), expected);
}

TEST(OnnxComposition, LogSumExpKeepsInfinities) {
  const float inf = std::numeric_limits<float>::infinity();
  const auto graph =
      Import(18, InputText("x", {"3", "2"}) +
                     "initializer { name: 'a' data_type: 7 dims: 1 int64_data: 1 } " +
                     NodeToY("ReduceLogSumExp", "input: 'a' " + IntAttribute("keepdims", 0)));
  const Tensor y = OutputOf(graph, {Tensor::Of<float>({3, 2}, {-inf, -inf, inf, 0, 1000, 1000})});
  ASSERT_EQ(y.size(), 3);
  EXPECT_EQ(y.ValueAt(0), -inf);
  EXPECT_EQ(y.ValueAt(1), inf);
  EXPECT_NEAR(y.ValueAt(2), 1000 + std::log(2.0), 1e-4);
}

TEST(OnnxComposition, ArgMinOfIntegersDoesNotOverflow) {
  const auto index = [](int element, const Tensor& x) {
    return OutputOf(Import(13, InputText("x", {"3"}, element) +
                                   NodeToY("ArgMin", IntAttribute("keepdims", 0))),
                    {x})
        .IntAt(0);
  };
  EXPECT_EQ(index(6, Tensor::Of<int32_t>({3}, {5, INT32_MIN, INT32_MAX})), 1);
  EXPECT_EQ(index(2, Tensor::Of<uint8_t>({3}, {255, 128, 0})), 2);
}

}  // namespace
}  // namespace kiln
