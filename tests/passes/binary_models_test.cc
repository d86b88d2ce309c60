// Tests of the networks with weights of -1 and +1 that come with Kiln (models/README.md): after the
// standard and the annotation pipeline they have the form that accelerators for such weights match.
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <string>

#include "kiln/frontend/onnx.h"
#include "kiln/passes/pipeline.h"
#include "tests/passes/pass_testing.h"

namespace kiln {
namespace {

// Prints as its file.
struct BinaryModel {
  friend void PrintTo(const BinaryModel& model, std::ostream* out) { *out << model.model; }
  const char* model;
  int binary;         // products whose weights are -1 and +1
  int wide;           // products whose weights have 8 bits
  const char* codes;  // the format of activations
};

class BinaryModels : public testing::TestWithParam<BinaryModel> {};

// Expects one scale for each output channel, which lies along `axis`, and no weight of 0.
void ExpectSigns(const Value& weights, int axis) {
  const Quantisation& q = *weights.quantisation();
  EXPECT_EQ(q.type.scheme, Scheme::kPerChannel);
  EXPECT_EQ(q.axis, axis);
  const Shape& shape = weights.shape();
  int64_t inner = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  for (int64_t i = 0; i < weights.constant().size(); ++i) {
    const float scale = q.scales[static_cast<size_t>(i / inner % shape[axis])];
    ASSERT_EQ(std::abs(weights.constant().ValueAt(i)), scale) << weights.name() << ", weight " << i;
  }
}

// Returns the value behind the bias: the result itself for a convolution, which has it as operand.
const Value* AfterBias(const Node& product, int64_t channels) {
  const Value* result = product.result();
  const Value* bias = product.op() == Op::kConv ? product.operand(2) : nullptr;
  if (product.op() == Op::kMatMul) {
    EXPECT_EQ(result->users().size(), 1u);
    const Node* add = result->users()[0];
    EXPECT_EQ(add->op(), Op::kAdd);
    bias = add->operand(1);
    result = add->result();
  }
  EXPECT_TRUE(bias != nullptr && bias->is_constant() && bias->constant().size() == channels)
      << product.Describe();
  return result;
}

TEST_P(BinaryModels, HaveTheFormThatAcceleratorsMatch) {
  StatusOr<Graph> graph = ImportOnnx(std::string("models/") + GetParam().model + ".onnx");
  ASSERT_TRUE(graph.ok()) << MessageOf(graph.status());
  PassContext context;
  ASSERT_TRUE(RunPasses(*graph, StandardPipeline(), context).ok());
  ASSERT_TRUE(RunPasses(*graph, AnnotationPipeline(), context).ok());
  ASSERT_EQ(graph->inputs().size(), 1u);
  ASSERT_TRUE(graph->inputs()[0]->quantisation().has_value());
  EXPECT_EQ(graph->inputs()[0]->quantisation()->type.format.name, "uint8");
  int binary = 0, wide = 0;
  for (const auto& node : graph->nodes()) {
    EXPECT_NE(node->op(), Op::kQuant) << node->Describe();
    EXPECT_NE(node->op(), Op::kBipolarQuant) << node->Describe();
    if (node->op() != Op::kConv && node->op() != Op::kMatMul) continue;
    SCOPED_TRACE(node->Describe());
    const Value& weights = *node->operand(1);
    ASSERT_TRUE(weights.is_constant() && weights.quantisation().has_value());
    const int axis = node->op() == Op::kConv ? 0 : 1;
    if (weights.quantisation()->type.format.name == "int2") {
      ++binary;
      ExpectSigns(weights, axis);
    } else {
      ++wide;
      EXPECT_EQ(weights.quantisation()->type.format.name, "int8");
    }
    const Value* result = AfterBias(*node, weights.shape()[axis]);
    if (result == graph->outputs()[0] || std::string(GetParam().codes) == "int2") continue;
    ASSERT_EQ(result->users().size(), 1u);
    const Node* relu = result->users()[0];
    ASSERT_EQ(relu->op(), Op::kRelu);
    ASSERT_TRUE(relu->result()->quantisation().has_value());
    const Quantisation& codes = *relu->result()->quantisation();
    EXPECT_EQ(codes.type.format.name, GetParam().codes);
    EXPECT_EQ(codes.type.scheme, Scheme::kPerTensor);
    EXPECT_EQ(codes.zero_points, std::vector<int32_t>{0});
  }
  EXPECT_EQ(binary, GetParam().binary);
  EXPECT_EQ(wide, GetParam().wide);
}

// The counts follow from the training scripts: the hourglass has ten blocks of three convolutions.
INSTANTIATE_TEST_SUITE_P(Trained, BinaryModels,
                         testing::Values(BinaryModel{"hourglass", 30, 3, "uint8"},
                                         BinaryModel{"fashion_mlp_w1a8", 3, 0, "uint8"},
                                         BinaryModel{"fashion_mlp_w1a1", 3, 0, "int2"},
                                         BinaryModel{"fashion_cnn_w1a4", 4, 1, "uint4"},
                                         BinaryModel{"fashion_cnn_w1a1", 4, 1, "int2"},
                                         BinaryModel{"binary_resnet20", 18, 2, "uint8"}),
                         [](const auto& info) { return std::string(info.param.model); });

}  // namespace
}  // namespace kiln
