// The plain kernels against oneDNN, over random shapes.
#include "kiln/execute/reference_onednn.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kiln/support/random.h"
#include "tests/execute/evaluate.h"

namespace kiln {
namespace {

Tensor RandomTensor(const Shape& shape, Random& random) {
  Tensor t(ElementType::kFloat32, shape);
  for (float& v : t.data<float>()) v = static_cast<float>(random.Uniform(-1, 1));
  return t;
}

// Runs the node through the executor and through its kernel. Also makes sure that oneDNN is what the executor uses.
void ExpectAgreement(Op op, const std::vector<std::optional<Tensor>>& operands, const AttributeList& attributes,
                     bool on_onednn = true) {
  const OneNode one(op, operands, attributes);
  std::vector<const Tensor*> pointers;
  std::vector<Tensor> inputs;
  reference::NodeShapes shapes;
  for (const auto& operand : operands) {
    pointers.push_back(operand.has_value() ? &*operand : nullptr);
    shapes.operands.push_back(std::nullopt);
    if (!operand.has_value()) continue;
    inputs.push_back(*operand);
    shapes.operands.back() = TensorType{operand->type(), operand->shape()};
  }
  const auto expected = EvaluateNode(*one.node, pointers);
  const auto executor = ReferenceExecutor::Create(one.graph);
  ASSERT_TRUE(executor.ok());
  const auto actual = (*executor)->Run(inputs);
  ASSERT_EQ(expected.ok(), actual.ok()) << MessageOf(expected.status()) << " / " << MessageOf(actual.status());
  if (!expected.ok()) return;
  const Tensor &e = (*expected)[0], &a = (*actual)[0];
  ASSERT_EQ(e.shape(), a.shape());
  shapes.result = {e.type(), e.shape()};
  EXPECT_EQ(reference::MakeHeavy(*one.node, shapes, reference::KnownLayouts(operands.size()), {}).has_value(),
            on_onednn);
  for (int64_t i = 0; i < e.size(); ++i) ASSERT_NEAR(a.ValueAt(i), e.ValueAt(i), 2e-5 * (1 + std::abs(e.ValueAt(i))));
}

TEST(ReferenceOneDnn, RandomConvolutions) {
  Random random(11);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const int64_t axes = random.Between(1, 2), groups = random.Below(2) == 0 ? 1 : random.Between(1, 4);
    const bool depthwise = random.Below(4) == 0;
    const int64_t in = groups * (depthwise ? 1 : random.Between(1, 9)), out = groups * random.Between(1, 17);
    const bool nhwc = random.Below(3) == 0;
    std::vector<int64_t> x = {random.Between(1, 2)}, w = {out, in / groups};
    Ints strides, dilations, begins, ends;
    std::vector<int64_t> spatial;
    for (int64_t a = 0; a < axes; ++a) {
      spatial.push_back(random.Between(7, 14));
      w.push_back(random.Between(1, 4));
      strides.push_back(random.Between(1, 3));
      dilations.push_back(random.Between(1, 2));
      begins.push_back(random.Between(0, 2));
      ends.push_back(random.Between(0, 2));
    }
    if (!nhwc) x.push_back(in);
    x.insert(x.end(), spatial.begin(), spatial.end());
    if (nhwc) x.push_back(in);
    begins.insert(begins.end(), ends.begin(), ends.end());
    std::optional<Tensor> bias;
    if (random.Below(2) == 0) bias = RandomTensor({out}, random);
    ExpectAgreement(Op::kConv, {RandomTensor(Shape(x), random), RandomTensor(Shape(w), random), bias},
                    {{"group", groups},
                     {"strides", strides},
                     {"dilations", dilations},
                     {"pads", begins},
                     {"layout", std::string(nhwc ? "nhwc" : "nchw")}});
  }
}

TEST(ReferenceOneDnn, RandomPools) {
  Random random(12);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const bool average = random.Below(2) == 0, nhwc = random.Below(3) == 0;
    const int64_t c = random.Between(1, 20), h = random.Between(5, 11), w = random.Between(5, 11);
    const Ints kernel = {random.Between(2, 4), random.Between(2, 4)};
    AttributeList attributes = {
        {"kernel_shape", kernel},
        {"strides", Ints{random.Between(1, 3), random.Between(1, 3)}},
        {"pads", Ints{random.Between(0, 1), random.Between(0, 1), random.Between(0, 1), random.Between(0, 1)}},
        {"layout", std::string(nhwc ? "nhwc" : "nchw")}};
    if (average) attributes.push_back({"count_include_pad", random.Between(0, 1)});
    ExpectAgreement(average ? Op::kAveragePool : Op::kMaxPool,
                    {RandomTensor(nhwc ? Shape{2, h, w, c} : Shape{2, c, h, w}, random)}, attributes);
  }
}

TEST(ReferenceOneDnn, CeilModeIsPaddingThatDoesNotCount) {
  Random random(13);
  const Tensor x = RandomTensor({1, 3, 6, 7}, random);
  for (int64_t include : {0, 1}) {
    SCOPED_TRACE(include);
    // With the padding counted, a window that leaves it has a divisor that oneDNN does not know.
    ExpectAgreement(Op::kAveragePool, {x},
                    {{"kernel_shape", Ints{3, 3}},
                     {"strides", Ints{2, 2}},
                     {"ceil_mode", int64_t{1}},
                     {"count_include_pad", include}},
                    include == 0);
  }
  ExpectAgreement(Op::kMaxPool, {x},
                  {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"ceil_mode", int64_t{1}}});
}

TEST(ReferenceOneDnn, RandomProducts) {
  Random random(14);
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(round);
    const int64_t m = random.Between(1, 9), k = random.Between(1, 9), n = random.Between(1, 9);
    const int64_t trans_a = random.Between(0, 1), trans_b = random.Between(0, 1);
    const std::vector<Shape> biases = {Shape{n}, Shape{1, n}};
    std::optional<Tensor> bias;
    if (random.Below(2) == 0) bias = RandomTensor(biases[random.Below(2)], random);
    ExpectAgreement(Op::kGemm,
                    {RandomTensor(trans_a != 0 ? Shape{k, m} : Shape{m, k}, random),
                     RandomTensor(trans_b != 0 ? Shape{n, k} : Shape{k, n}, random), bias},
                    {{"transA", trans_a}, {"transB", trans_b}, {"alpha", bias.has_value() ? 1.0f : 0.5f}});
    const int64_t batch = random.Between(1, 3);
    const std::vector<Shape> left = {Shape{m, k}, Shape{batch, m, k}, Shape{2, batch, m, k}};
    const auto right = [&](Shape lead) {
      std::vector<int64_t> dims = lead.dims();
      dims.insert(dims.end(), {trans_b != 0 ? n : k, trans_b != 0 ? k : n});
      return Shape(dims);
    };
    const std::vector<Shape> leads = {Shape{}, Shape{1}, Shape{batch}, Shape{2, 1}};
    ExpectAgreement(Op::kMatMul,
                    {RandomTensor(left[random.Below(3)], random), RandomTensor(right(leads[random.Below(4)]), random)},
                    {{"transpose_b", trans_b}, {"alpha", 0.25f}});
  }
}

}  // namespace
}  // namespace kiln
