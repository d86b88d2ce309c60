// Compares RNN, GRU and LSTM with PyTorch's layers on small numbers, and with each other across
// layouts, lengths and directions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kiln/support/random.h"
#include "tests/execute/evaluate.h"

namespace kiln {
namespace {

using ::testing::FloatNear;
using ::testing::Pointwise;

// Three steps of two sequences of two numbers; two hidden numbers, both directions.
const Tensor kInput = Floats({3, 2, 2}, {0.8f, 0.17f, 0.09f, -0.61f, 0.05f, -1.37f, 0.34f, 1.01f,
                                         -1.44f, 0.98f, 0.52f, 1.24f});
const AttributeList kBoth = {{"direction", std::string("bidirectional")},
                             {"hidden_size", int64_t{2}}};

// Expected values: torch 1.13, torch.nn.RNN, GRU and LSTM, gates brought into ONNX's order.
TEST(ReferenceRecurrent, RnnAsPyTorch) {
  const auto y = All(Evaluate(
      Op::kRNN,
      {kInput, Floats({2, 2, 2}, {0.64f, 0.57f, 0.39f, -0.43f, 0.04f, 0.38f, 0.21f, -0.19f}),
       Floats({2, 2, 2}, {-0.4f, -0.46f, 0.26f, 0.58f, -0.5f, -0.01f, -0.33f, -0.56f}),
       Floats({2, 4}, {-0.09f, -0.67f, -0.16f, 0.09f, -0.4f, -0.65f, 0.08f, -0.19f}), std::nullopt,
       Floats({2, 2, 2}, {-0.32f, -1.53f, -0.12f, -1.45f, -0.16f, 0.7f, 0.29f, 1.06f})},
      kBoth, 2));
  EXPECT_THAT(
      y[0].ToFloats(),
      Pointwise(FloatNear(1e-5f),
                {0.8307959f,  -0.8647049f,  0.1731382f,  -0.819338f,  0.1255678f,  -0.4093648f,
                 -0.5249785f, -0.4597136f,  -0.7322002f, -0.2514142f, 0.6915603f,  -0.8647554f,
                 -0.6978697f, -0.06991975f, 0.07833625f, -0.4180407f, -0.2016668f, -0.9561683f,
                 0.7214984f,  -0.8432025f,  0.06769632f, -0.9312602f, 0.01639851f, -0.9296356f}));
  EXPECT_THAT(y[1].ToFloats(),
              Pointwise(FloatNear(1e-5f), {-0.2016668f, -0.9561683f, 0.7214984f, -0.8432025f,
                                           0.1255678f, -0.4093648f, -0.5249785f, -0.4597136f}));
}

TEST(ReferenceRecurrent, GruThatResetsAfterTheProductAsPyTorch) {
  AttributeList attributes = kBoth;
  attributes.emplace_back("linear_before_reset", int64_t{1});
  const auto y = All(Evaluate(
      Op::kGRU,
      {kInput, Floats({2, 6, 2}, {0.53f,  0.02f, 0.18f, -0.26f, 0.11f, 0.7f,  0.62f,  -0.61f,
                                  -0.57f, 0.07f, 0.2f,  0.36f,  -0.4f, 0.07f, 0.26f,  0.38f,
                                  -0.65f, 0,     0.68f, -0.5f,  0.04f, 0.17f, -0.32f, 0.67f}),
       Floats({2, 6, 2}, {-0.01f, -0.18f, 0,     0.12f, -0.59f, -0.68f, 0.34f,  -0.14f,
                          -0.65f, 0.26f,  0.08f, 0.33f, 0.63f,  -0.23f, 0.51f,  -0.52f,
                          -0.47f, 0.46f,  0.38f, 0.62f, 0.49f,  -0.44f, -0.48f, -0.48f}),
       Floats({2, 12}, {0.47f, -0.36f, -0.37f, 0.51f,  0.62f,  0.09f,  0.11f, 0.11f,
                        0.62f, 0.64f,  0.22f,  0.45f,  -0.49f, -0.53f, 0.69f, 0.21f,
                        0.07f, -0.15f, -0.45f, -0.64f, 0.18f,  0.45f,  0.07f, 0.47f}),
       std::nullopt, Floats({2, 2, 2}, {-2.13f, 0.93f, 0.27f, -1.37f, 1.09f, 0.62f, 0.88f, 0.96f})},
      attributes, 2));
  EXPECT_THAT(
      y[0].ToFloats(),
      Pointwise(FloatNear(1e-5f),
                {-1.225564f, 0.7645317f,  0.282928f,  -0.6561779f, 0.3106829f, -0.1376867f,
                 0.1273204f, -0.2994507f, -0.461315f, 0.4664571f,  0.3090171f, 0.1394998f,
                 0.2371833f, -0.6060784f, 0.3821413f, 0.4176007f,  0.3350927f, 0.3855707f,
                 0.3427091f, 0.5211254f,  0.7985935f, 0.6487989f,  0.5144931f, 0.4577253f}));
}

std::vector<std::optional<Tensor>> LstmOperands() {
  return {kInput,
          Floats({2, 8, 2}, {-0.45f, -0.44f, -0.29f, 0.14f, -0.19f, -0.7f,  -0.33f, 0.01f,
                             -0.54f, -0.54f, -0.34f, 0.43f, -0.51f, -0.63f, -0.61f, -0.35f,
                             -0.32f, 0.01f,  0.43f,  0.24f, 0.6f,   -0.62f, 0.28f,  -0.62f,
                             0.09f,  0.59f,  0.16f,  0.48f, -0.61f, -0.61f, -0.64f, 0.04f}),
          Floats({2, 8, 2}, {0.12f,  -0.1f,  -0.08f, -0.46f, -0.1f,  0.62f, 0.45f,  0.18f,
                             0.36f,  -0.17f, -0.48f, -0.17f, -0.1f,  0.65f, 0.37f,  -0.29f,
                             -0.47f, -0.24f, -0.29f, 0.21f,  0.12f,  0.29f, 0.07f,  -0.25f,
                             -0.59f, 0.7f,   0.1f,   0.25f,  -0.48f, 0.39f, -0.17f, -0.35f}),
          Floats({2, 16}, {-0.25f, 0.59f,  -0.52f, -0.31f, 0.3f,   -0.31f, 0.5f,  0.05f,
                           -0.53f, -0.59f, 0.15f,  0.58f,  0.02f,  -0.51f, 0.38f, 0.32f,
                           0.13f,  -0.27f, 0.31f,  0.37f,  -0.24f, -0.26f, 0.42f, -0.49f,
                           -0.47f, -0.54f, -0.1f,  0.66f,  -0.47f, -0.6f,  0.59f, 0.62f}),
          std::nullopt,
          Floats({2, 2, 2}, {0.61f, 0.68f, 0.41f, 0.03f, -0.03f, 1.46f, 3.79f, 0.27f}),
          Floats({2, 2, 2}, {0.4f, -0.61f, 0.38f, 0.49f, -1.97f, -2.03f, 0.57f, -0.12f})};
}

TEST(ReferenceRecurrent, LstmAsPyTorch) {
  const auto y = All(Evaluate(Op::kLSTM, LstmOperands(), kBoth, 3));
  EXPECT_THAT(y[0].ToFloats(),
              Pointwise(FloatNear(1e-5f),
                        {0.1391634f,   -0.1018579f, 0.2602155f,    0.2158901f,   0.1189182f,
                         -0.1258737f,  0.2269548f,  -0.002645509f, 0.3666086f,   0.163997f,
                         0.06982502f,  0.03020796f, 0.1897859f,    -0.07080408f, 0.02099914f,
                         -0.05552046f, 0.2059661f,  0.3887238f,    0.01454312f,  -0.08258591f,
                         -0.2188869f,  -0.2579751f, -0.007847779f, -0.1380258f}));
  EXPECT_THAT(y[1].ToFloats(),
              Pointwise(FloatNear(1e-5f), {0.2059661f, 0.3887238f, 0.01454312f, -0.08258591f,
                                           0.1189182f, -0.1258737f, 0.2269548f, -0.002645509f}));
  EXPECT_THAT(y[2].ToFloats(),
              Pointwise(FloatNear(1e-5f), {0.738113f, 0.602936f, 0.06937101f, -0.1550659f,
                                           0.187203f, -0.1660783f, 0.3631619f, -0.003266854f}));
}

// Axes 0 and 1 of a tensor exchanged.
Tensor Exchanged(const Tensor& t) {
  Shape shape = t.shape();
  std::swap(shape[0], shape[1]);
  Tensor out(t.type(), shape);
  const int64_t a = t.shape()[0], b = t.shape()[1], inner = t.size() / (a * b);
  for (int64_t i = 0; i < t.size(); ++i) {
    const int64_t row = i / inner;
    out.data<float>()[static_cast<size_t>((row % b * a + row / b) * inner + i % inner)] =
        t.data<float>()[static_cast<size_t>(i)];
  }
  return out;
}

TEST(ReferenceRecurrent, BatchFirstIsTheSameTransposed) {
  std::vector<std::optional<Tensor>> operands = LstmOperands();
  const auto y = All(Evaluate(Op::kLSTM, operands, kBoth, 3));
  for (int i : {0, 5, 6})
    operands[static_cast<size_t>(i)] = Exchanged(*operands[static_cast<size_t>(i)]);
  AttributeList attributes = kBoth;
  attributes.emplace_back("layout", int64_t{1});
  const auto z = All(Evaluate(Op::kLSTM, operands, attributes, 3));
  EXPECT_EQ(z[0].shape(), (Shape{2, 3, 2, 2}));
  // [steps, directions, batch, h] is [batch, steps, directions, h].
  for (int64_t t = 0; t < 3; ++t) {
    for (int64_t d = 0; d < 2; ++d) {
      for (int64_t b = 0; b < 2; ++b) {
        for (int64_t j = 0; j < 2; ++j) {
          EXPECT_EQ(y[0].ValueAt(((t * 2 + d) * 2 + b) * 2 + j),
                    z[0].ValueAt(((b * 3 + t) * 2 + d) * 2 + j));
        }
      }
    }
  }
  EXPECT_EQ(Exchanged(y[1]), z[1]);
  EXPECT_EQ(Exchanged(y[2]), z[2]);
}

// The second sequence cut to two steps: as if it had no third, 0 behind its end, in either
// direction.
TEST(ReferenceRecurrent, SequencesEndWhereTheirLengthSays) {
  std::vector<std::optional<Tensor>> operands = LstmOperands();
  operands[4] = Tensor::Of<int32_t>({2}, {3, 2});
  const auto y = All(Evaluate(Op::kLSTM, operands, kBoth, 3));
  const auto whole = All(Evaluate(Op::kLSTM, LstmOperands(), kBoth, 3));
  operands = LstmOperands();
  operands[0] = Floats({2, 2, 2}, {0.8f, 0.17f, 0.09f, -0.61f, 0.05f, -1.37f, 0.34f, 1.01f});
  const auto cut = All(Evaluate(Op::kLSTM, operands, kBoth, 3));
  for (int64_t d = 0; d < 2; ++d) {
    for (int64_t j = 0; j < 2; ++j) {
      const auto at = [&](int64_t t, int64_t b) { return ((t * 2 + d) * 2 + b) * 2 + j; };
      for (int64_t t = 0; t < 3; ++t) EXPECT_EQ(y[0].ValueAt(at(t, 0)), whole[0].ValueAt(at(t, 0)));
      for (int64_t t = 0; t < 2; ++t) EXPECT_EQ(y[0].ValueAt(at(t, 1)), cut[0].ValueAt(at(t, 1)));
      EXPECT_EQ(y[0].ValueAt(at(2, 1)), 0);
      EXPECT_EQ(y[1].ValueAt((d * 2 + 1) * 2 + j), cut[1].ValueAt((d * 2 + 1) * 2 + j));
      EXPECT_EQ(y[2].ValueAt((d * 2 + 1) * 2 + j), cut[2].ValueAt((d * 2 + 1) * 2 + j));
    }
  }
}

// One number in, one hidden number, weights 1: the state is f(x + h).
std::vector<float> Scalar(const AttributeList& attributes, std::vector<float> inputs) {
  const Shape shape{static_cast<int64_t>(inputs.size()), 1, 1};
  const auto y = All(
      Evaluate(Op::kRNN, {Floats(shape, inputs), Floats({1, 1, 1}, {1}), Floats({1, 1, 1}, {1})},
               attributes, 2));
  return y.empty() ? std::vector<float>() : y[0].ToFloats();
}
AttributeList Activation(const std::string& name, std::vector<float> alpha = {},
                         std::vector<float> beta = {}) {
  AttributeList list = {{"activations", std::vector<std::string>{name}}};
  if (!alpha.empty()) list.emplace_back("activation_alpha", alpha);
  if (!beta.empty()) list.emplace_back("activation_beta", beta);
  return list;
}

TEST(ReferenceRecurrent, ActivationsByName) {
  const auto expect = [](const AttributeList& attributes, float at_minus_one, float at_two) {
    EXPECT_THAT(Scalar(attributes, {-1}), Pointwise(FloatNear(1e-6f), {at_minus_one}));
    EXPECT_THAT(Scalar(attributes, {2}), Pointwise(FloatNear(1e-6f), {at_two}));
  };
  expect(Activation("Relu"), 0, 2);
  expect(Activation("Affine", {3}, {0.5f}), -2.5f, 6.5f);
  expect(Activation("LeakyRelu"), -0.01f, 2);
  expect(Activation("LeakyRelu", {0.25f}), -0.25f, 2);
  expect(Activation("ThresholdedRelu", {2.5f}), 0, 0);
  expect(Activation("ScaledTanh", {2}, {0.5f}), 2 * std::tanh(-0.5f), 2 * std::tanh(1.0f));
  expect(Activation("HardSigmoid"), 0.3f, 0.9f);
  expect(Activation("Elu", {2}), 2 * (std::exp(-1.0f) - 1), 2);
  expect(Activation("Softsign"), -0.5f, 2.0f / 3);
  expect(Activation("Softplus"), std::log1p(std::exp(-1.0f)), std::log1p(std::exp(2.0f)));
  expect(Activation("sigmoid"), 1 / (1 + std::exp(1.0f)), 1 / (1 + std::exp(-2.0f)));
  // The state goes on: 1, then 1 + 2, then 3 + 3.
  EXPECT_THAT(Scalar(Activation("Affine"), {1, 2, 3}), Pointwise(FloatNear(0), {1.0f, 3.0f, 6.0f}));
  EXPECT_FALSE(Evaluate(Op::kRNN, {Iota({1, 1, 1}), Iota({1, 1, 1}), Iota({1, 1, 1})},
                        Activation("Cosine"), 2)
                   .ok());
}

TEST(ReferenceRecurrent, ClipBoundsWhatActivationsTake) {
  AttributeList attributes = Activation("Affine", {10});
  attributes.emplace_back("clip", 0.5f);
  EXPECT_THAT(Scalar(attributes, {0.25f, -9, 9}), Pointwise(FloatNear(0), {2.5f, -5.0f, 5.0f}));
}

TEST(ReferenceRecurrent, GruThatResetsBeforeTheProductByHand) {
  // One number each: z = s(x + h), r = s(x + h), n = tanh(x + r * h), h' = (1 - z) n + z h, with x
  // = 0.5 and h = 0.25.
  const auto y = All(Evaluate(
      Op::kGRU,
      {Floats({1, 1, 1}, {0.5f}), Floats({1, 3, 1}, {1, 1, 1}), Floats({1, 3, 1}, {1, 1, 1}),
       std::nullopt, std::nullopt, Floats({1, 1, 1}, {0.25f})},
      {}, 2));
  const double gate = 1 / (1 + std::exp(-0.75));
  const double expected = (1 - gate) * std::tanh(0.5 + gate * 0.25) + gate * 0.25;
  EXPECT_NEAR(y[0].ValueAt(0), expected, 1e-6);
}

TEST(ReferenceRecurrent, LstmCouplesForgetToInput) {
  // All weights 0: the gates are 1/2, or i = 1/2 and f = 1 - i; the cell halves and takes in
  // tanh(0) = 0. A bias on f shows which it is.
  std::vector<std::optional<Tensor>> operands = {Floats({1, 1, 1}, {0}),
                                                 Floats({1, 4, 1}, {0, 0, 0, 0}),
                                                 Floats({1, 4, 1}, {0, 0, 0, 0}),
                                                 Floats({1, 8}, {0, 0, 100, 0, 0, 0, 0, 0}),
                                                 std::nullopt,
                                                 std::nullopt,
                                                 Floats({1, 1, 1}, {8})};
  EXPECT_NEAR(All(Evaluate(Op::kLSTM, operands, {}, 3))[2].ValueAt(0), 8, 1e-6);
  EXPECT_NEAR(All(Evaluate(Op::kLSTM, operands, {{"input_forget", int64_t{1}}}, 3))[2].ValueAt(0),
              4, 1e-6);
}

}  // namespace
}  // namespace kiln
