// Tests of ONNX's own types for 8-bit floats, 4-bit integers and scales per block: a graph that is
// exported and imported again computes what its annotations say, as SimulateQuantisation does.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "kiln/execute/reference.h"
#include "kiln/frontend/onnx.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/ir/text.h"
#include "kiln/passes/pipeline.h"
#include "kiln/quantise/simulate.h"
#include "kiln/support/random.h"
#include "onnx/onnx_pb.h"

namespace kiln {
namespace {

Tensor RandomTensor(Shape shape, uint64_t seed, double low = -2, double high = 2) {
  Tensor tensor(ElementType::kFloat32, std::move(shape));
  Random random(seed);
  for (float& x : tensor.data<float>()) x = static_cast<float>(random.Uniform(low, high));
  return tensor;
}

std::vector<Tensor> Execute(const Graph& graph, const std::vector<Tensor>& inputs) {
  auto executor = ReferenceExecutor::Create(graph);
  EXPECT_TRUE(executor.ok()) << MessageOf(executor.status());
  auto outputs = (*executor)->Run(inputs);
  EXPECT_TRUE(outputs.ok()) << MessageOf(outputs.status());
  return *std::move(outputs);
}

void ExpectClose(const Tensor& a, const Tensor& b, double tolerance = 1e-5) {
  ASSERT_EQ(a.shape(), b.shape());
  for (int64_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a.ValueAt(i), b.ValueAt(i), tolerance) << "element " << i;
}

Graph ConvGraph() {
  Graph graph("conv");
  Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{1, 3, 5, 5}});
  Value* w = graph.AddConstant("w", RandomTensor({4, 3, 3, 3}, 1));
  Attributes attributes;
  attributes.Set("pads", std::vector<int64_t>{1, 1, 1, 1});
  graph.MarkOutput(graph.AddNode(Op::kConv, "conv", {x, w}, {"y"}, attributes)->result());
  EXPECT_TRUE(InferShapes(graph).ok());
  return graph;
}

// FP8 and INT4: stored as their own types, read again with the annotations they had.
TEST(NarrowExport, NarrowTypesAreTheirOwn) {
  struct Case {
    const char* type;
    int onnx_code;
    size_t bytes;  // of the 108 weights
  };
  for (const Case& c : {Case{"int4", 22, 54}, Case{"e4m3", 17, 108}, Case{"e5m2", 19, 108}}) {
    SCOPED_TRACE(c.type);
    Graph graph = ConvGraph();
    Value* w = graph.FindValue("w");
    Quantisation weights{
        .type = *FindQuantType(c.type), .axis = 0, .scales = {}, .zero_points = {0, 0, 0, 0}};
    weights.type.scheme = Scheme::kPerChannel;
    weights.type.symmetric = true;
    for (int channel = 0; channel < 4; ++channel)
      weights.scales.push_back(0.125f * static_cast<float>(channel + 1));
    w->set_quantisation(weights);
    Quantisation image{
        .type = *FindQuantType(c.type), .axis = -1, .scales = {0.25f}, .zero_points = {0}};
    image.type.scheme = Scheme::kPerTensor;
    image.type.symmetric = image.type.format.name != "int4";
    graph.FindValue("x")->set_quantisation(image);
    const auto bytes = ExportOnnxBytes(graph);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    onnx::ModelProto model;
    ASSERT_TRUE(model.ParseFromString(*bytes));
    int found = 0;
    for (const auto& tensor : model.graph().initializer()) {
      if (tensor.name() == "x/zero_point") {
        EXPECT_EQ(tensor.data_type(), c.onnx_code);
      }
      if (tensor.name() != "w/codes") continue;
      EXPECT_EQ(tensor.data_type(), c.onnx_code);
      EXPECT_EQ(tensor.raw_data().size(), c.bytes);
      ++found;
    }
    EXPECT_EQ(found, 1);
    // What is read again computes what the annotations say.
    auto again = ImportOnnxBytes(*bytes, "again.onnx", "");
    ASSERT_TRUE(again.ok()) << again.status();
    const std::vector<Tensor> inputs = {RandomTensor({1, 3, 5, 5}, 7)};
    const auto simulated = SimulateQuantisation(graph);
    ASSERT_TRUE(simulated.ok()) << simulated.status();
    ExpectClose(Execute(*again, inputs)[0], Execute(*simulated, inputs)[0], 2e-5);
    PassContext context;
    ASSERT_TRUE(RunPasses(*again, StandardPipeline(), context).ok());
    ASSERT_TRUE(RunPasses(*again, AnnotationPipeline(), context).ok());
    int annotated = 0;
    for (const Value* value : again->Values()) {
      if (!value->quantisation().has_value()) continue;
      ++annotated;
      EXPECT_EQ(value->quantisation()->scales,
                value->is_constant() ? weights.scales : image.scales);
    }
    EXPECT_EQ(annotated, 2) << PrintGraph(*again);
  }
}

// Scales per block along the input channels: one for two of them here, the last block is shorter.
TEST(NarrowExport, ConstantsMayHaveScalesPerBlock) {
  for (const char* type : {"mxint8", "mxfp8_e4m3", "mxfp8_e5m2"}) {
    SCOPED_TRACE(type);
    Graph graph = ConvGraph();
    Value* w = graph.FindValue("w");
    Quantisation q{.type = *FindQuantType(type), .axis = 1, .scales = {}, .zero_points = {}};
    q.type.block_size = 2;
    w->set_quantisation(q);
    const auto bytes = ExportOnnxBytes(graph);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    onnx::ModelProto model;
    ASSERT_TRUE(model.ParseFromString(*bytes));
    for (const auto& tensor : model.graph().initializer()) {
      if (tensor.name() != "w/scale") continue;
      EXPECT_EQ((std::vector<int64_t>{tensor.dims().begin(), tensor.dims().end()}),
                (std::vector<int64_t>{4, 2, 3, 3}));
    }
    const auto again = ImportOnnxBytes(*bytes, "again.onnx", "");
    ASSERT_TRUE(again.ok()) << again.status();
    const std::vector<Tensor> inputs = {RandomTensor({1, 3, 5, 5}, 7)};
    const auto simulated = SimulateQuantisation(graph);
    ASSERT_TRUE(simulated.ok()) << simulated.status();
    ExpectClose(Execute(*again, inputs)[0], Execute(*simulated, inputs)[0], 2e-5);
  }
}

// What ONNX forbids or Kiln does not read is refused by node.
TEST(NarrowExport, AnotherUseOfNarrowValuesIsRefused) {
  Graph graph = ConvGraph();
  Quantisation image{
      .type = *FindQuantType("e4m3"), .axis = -1, .scales = {0.25f}, .zero_points = {0}};
  image.type.scheme = Scheme::kPerTensor;
  graph.FindValue("x")->set_quantisation(image);
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(*ExportOnnxBytes(graph)));
  const auto message_with = [&](auto&& change) {
    onnx::ModelProto changed = model;
    for (auto& node : *changed.mutable_graph()->mutable_node()) {
      if (node.op_type() == "DequantizeLinear") change(changed, node);
    }
    return MessageOf(ImportOnnxBytes(changed.SerializeAsString(), "net.onnx", "").status());
  };
  EXPECT_NE(message_with([](auto&, auto& node) {
              node.set_op_type("Relu");
              node.mutable_input()->DeleteSubrange(1, 2);
            })
                .find("reads 'x/codes', which is e4m3; values of this type are read by "
                      "DequantizeLinear alone"),
            std::string::npos);
  EXPECT_NE(message_with([](auto& changed, auto& node) {
              auto* scale = changed.mutable_graph()->add_initializer();
              scale->set_name("other");
              scale->set_data_type(onnx::TensorProto::FLOAT);
              scale->add_float_data(0.5f);
              node.set_input(1, "other");
            }).find("has another scale or zero point than the QuantizeLinear before it"),
            std::string::npos);
}

}  // namespace
}  // namespace kiln
