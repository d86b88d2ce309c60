// Tests of export: imports the exported file again and runs both graphs.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "kiln/execute/reference.h"
#include "kiln/frontend/onnx.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/support/random.h"
#include "onnx/onnx_pb.h"
#include "tests/frontend/onnx_models.h"

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

Graph RoundTrip(const Graph& graph) {
  auto bytes = ExportOnnxBytes(graph);
  EXPECT_TRUE(bytes.ok()) << MessageOf(bytes.status());
  auto again = ImportOnnxBytes(*bytes, "again.onnx", "");
  EXPECT_TRUE(again.ok()) << MessageOf(again.status());
  return *std::move(again);
}

void ExpectClose(const Tensor& a, const Tensor& b, double tolerance = 1e-5) {
  ASSERT_EQ(a.shape(), b.shape());
  for (int64_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a.ValueAt(i), b.ValueAt(i), tolerance) << "element " << i;
}

// A convolution over [1, 3, 5, 5], in either layout.
Graph ConvGraph(bool nhwc) {
  Graph graph("conv");
  Value* x =
      graph.AddInput("x", {ElementType::kFloat32, nhwc ? Shape{1, 5, 5, 3} : Shape{1, 3, 5, 5}});
  Value* w = graph.AddConstant("w", RandomTensor({4, 3, 3, 3}, 1));
  Value* b = graph.AddConstant("b", RandomTensor({4}, 2));
  Attributes attributes;
  attributes.Set("pads", std::vector<int64_t>{1, 1, 1, 1});
  if (nhwc) attributes.Set("layout", std::string("nhwc"));
  Node* conv = graph.AddNode(Op::kConv, "conv", {x, w, b}, {"y"}, attributes);
  graph.MarkOutput(conv->result());
  EXPECT_TRUE(InferShapes(graph).ok());
  return graph;
}

TEST(OnnxExport, KeepsNamesTypesAndMetadata) {
  Graph graph = ConvGraph(false);
  graph.metadata()["kiln.recipe"] = "int8";
  const Graph again = RoundTrip(graph);
  EXPECT_EQ(again.name(), "conv");
  EXPECT_EQ(again.metadata(), graph.metadata());
  ASSERT_EQ(again.num_nodes(), 1);
  EXPECT_EQ(again.nodes().front()->name(), "conv");
  EXPECT_EQ(again.outputs()[0]->name(), "y");
  EXPECT_EQ(again.outputs()[0]->type(), graph.outputs()[0]->type());
  EXPECT_EQ(again.FindValue("w")->constant(), graph.FindValue("w")->constant());
}

// Passes leave one name to several nodes, as a Gemm's to its product and its sum; readers refuse
// equal names.
TEST(OnnxExport, GivesEveryNodeANameOfItsOwn) {
  Graph graph("gemm");
  Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{1, 2}});
  Value* w = graph.AddConstant("w", RandomTensor({2, 3}, 1));
  Value* b = graph.AddConstant("b", RandomTensor({3}, 2));
  Node* product = graph.AddNode(Op::kMatMul, "fc", {x, w}, {"p"});
  Node* sum = graph.AddNode(Op::kAdd, "fc", {product->result(), b}, {"fc.1"});
  Node* again = graph.AddNode(Op::kRelu, "fc", {sum->result()}, {"y"});
  graph.MarkOutput(again->result());
  ASSERT_TRUE(InferShapes(graph).ok());
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(*ExportOnnxBytes(graph)));
  std::vector<std::string> names;
  for (const auto& node : model.graph().node()) names.push_back(node.name());
  EXPECT_EQ(names, (std::vector<std::string>{"fc", "fc.1", "fc.2"}));
}

// ONNX has known 4-bit and 16-bit codes, and scales of blocks, since opset 21 and IR version 10;
// FP8 since 19.
TEST(OnnxExport, WritesTheOpsetThatItNeeds) {
  const std::vector<std::pair<const char*, int>> cases = {
      {"", 20}, {"int8", 20}, {"e4m3", 20}, {"int4", 21}, {"int16", 21}};
  for (const auto& [format, opset] : cases) {
    SCOPED_TRACE(format);
    Graph graph = ConvGraph(false);
    if (*format != '\0') {
      const QuantType type{*FindFormat(format), Scheme::kPerTensor, true, 0};
      graph.FindValue("w")->set_quantisation(Quantisation{type, -1, {0.5f}, {0}});
    }
    onnx::ModelProto model;
    ASSERT_TRUE(model.ParseFromString(*ExportOnnxBytes(graph)));
    EXPECT_EQ(model.ir_version(), opset == 21 ? 10 : 9);
    ASSERT_EQ(model.opset_import_size(), 1);
    EXPECT_EQ(model.opset_import(0).domain(), "");
    EXPECT_EQ(model.opset_import(0).version(), opset);
  }
}

TEST(OnnxExport, PutsTransposesRoundNhwc) {
  const Graph graph = ConvGraph(true);
  const Graph again = RoundTrip(graph);
  EXPECT_EQ(OperatorsOf(again), (std::vector<std::string>{"Transpose", "Conv", "Transpose"}));
  const std::vector<Tensor> inputs = {RandomTensor({1, 5, 5, 3}, 3)};
  ExpectClose(Execute(again, inputs)[0], Execute(graph, inputs)[0]);
}

TEST(OnnxExport, SpellsOutTransposedAndScaledMatMul) {
  Graph graph("matmul");
  Value* a = graph.AddInput("a", {ElementType::kFloat32, Shape{2, 3, 4}});
  Value* b = graph.AddInput("b", {ElementType::kFloat32, Shape{2, 5, 4}});
  Attributes attributes;
  attributes.Set("transpose_b", int64_t{1});
  attributes.Set("alpha", 0.5f);
  graph.MarkOutput(graph.AddNode(Op::kMatMul, "m", {a, b}, {"y"}, attributes)->result());
  ASSERT_TRUE(InferShapes(graph).ok());
  const Graph again = RoundTrip(graph);
  EXPECT_EQ(OperatorsOf(again), (std::vector<std::string>{"Transpose", "MatMul", "Mul"}));
  EXPECT_EQ(again.outputs()[0]->name(), "y");
  const std::vector<Tensor> inputs = {RandomTensor({2, 3, 4}, 4), RandomTensor({2, 5, 4}, 5)};
  ExpectClose(Execute(again, inputs)[0], Execute(graph, inputs)[0]);
}

Quantisation PerTensor(std::string_view format, float scale, int32_t zero_point, bool symmetric) {
  return {
      QuantType{*FindFormat(format), Scheme::kPerTensor, symmetric, 0}, -1, {scale}, {zero_point}};
}

// What an annotated fp32 value is after quantisation.
double Quantised(double x, double scale, int zero_point, int low, int high) {
  const double code = std::nearbyint(x / scale) + zero_point;
  return (std::min<double>(std::max<double>(code, low), high) - zero_point) * scale;
}

TEST(OnnxExport, QuantisesAnnotatedValues) {
  Graph graph("relu");
  Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{1, 64}});
  Value* y = graph.AddNode(Op::kRelu, "relu", {x}, {"y"})->result();
  graph.MarkOutput(y);
  ASSERT_TRUE(InferShapes(graph).ok());
  x->set_quantisation(PerTensor("uint8", 0.015625f, 100, false));
  y->set_quantisation(PerTensor("int4", 0.125f, 0, true));
  const Graph again = RoundTrip(graph);
  EXPECT_EQ(OperatorsOf(again),
            (std::vector<std::string>{"QuantizeLinear", "DequantizeLinear", "Relu", "Max", "Min",
                                      "Quantise", "Identity"}));
  EXPECT_EQ(again.inputs()[0]->name(), "x");
  EXPECT_EQ(again.outputs()[0]->name(), "y");
  const Tensor input = RandomTensor({1, 64}, 6, -3, 3);
  const Tensor output = Execute(again, {input})[0];
  for (int64_t i = 0; i < 64; ++i) {
    const double held = std::max(0.0, Quantised(input.ValueAt(i), 0.015625, 100, 0, 255));
    EXPECT_EQ(output.ValueAt(i), Quantised(held, 0.125, 0, -7, 7)) << "input " << input.ValueAt(i);
  }
}

TEST(OnnxExport, StoresAnnotatedConstantsAsCodes) {
  Graph graph = ConvGraph(false);
  Value* w = graph.FindValue("w");
  Quantisation q{QuantType{*FindFormat("int8"), Scheme::kPerChannel, true, 0}, 0, {}, {0, 0, 0, 0}};
  for (int channel = 0; channel < 4; ++channel)
    q.scales.push_back(0.03125f * static_cast<float>(channel + 1));
  w->set_quantisation(q);
  graph.FindValue("b")->set_quantisation(PerTensor("int32", 0x1p-20f, 0, true));
  const auto bytes = ExportOnnxBytes(graph);
  ASSERT_TRUE(bytes.ok()) << MessageOf(bytes.status());
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(*bytes));
  int codes = 0;
  for (const auto& tensor : model.graph().initializer()) {
    EXPECT_NE(tensor.name(), "w");
    if (tensor.name() != "w/codes") continue;
    EXPECT_EQ(tensor.raw_data().size(), 108u);
    ++codes;
  }
  EXPECT_EQ(codes, 1);
  // The reference: the same network with weights rounded by hand.
  Graph rounded = ConvGraph(false);
  Tensor weights = rounded.FindValue("w")->constant().Clone();
  for (size_t i = 0; i < 108; ++i) {
    weights.data<float>()[i] =
        static_cast<float>(Quantised(weights.data<float>()[i], q.scales[i / 27], 0, -127, 127));
  }
  Value* exact = rounded.AddConstant("exact", weights);
  rounded.ReplaceAllUses(rounded.FindValue("w"), exact);
  const std::vector<Tensor> inputs = {RandomTensor({1, 3, 5, 5}, 7)};
  ExpectClose(Execute(RoundTrip(graph), inputs)[0], Execute(rounded, inputs)[0], 2e-5);
}

TEST(OnnxExport, RefusesWhatOnnxCannotSay) {
  Graph graph = ConvGraph(false);
  Quantisation blocks = PerTensor("int8", 1, 0, true);
  blocks.type.scheme = Scheme::kPerBlock;
  graph.FindValue("w")->set_quantisation(blocks);
  auto bytes = ExportOnnxBytes(graph);
  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.status().code(), StatusCode::kUnimplemented);
  EXPECT_NE(MessageOf(bytes.status()).find("value 'w': ONNX cannot say these scales per block"),
            std::string::npos);

  graph.FindValue("w")->set_quantisation(std::nullopt);
  graph.FindValue("x")->set_quantisation(PerTensor("int32", 1, 0, true));
  bytes = ExportOnnxBytes(graph);
  ASSERT_FALSE(bytes.ok());
  EXPECT_NE(MessageOf(bytes.status()).find("32-bit codes"), std::string::npos);
}

// Whatever would be another network is an error, for activations as for constants; only fp32 itself
// rounds nothing.
TEST(OnnxExport, LeavesNoRoundingOut) {
  for (const char* format : {"e4m3.toward_zero", "e4m3_fnuz", "posit8_1", "bf16", "nf4", "fixed8_6",
                             "int20", "int8.toward_zero", "int8.wrap"}) {
    for (const char* name : {"x", "w"}) {
      Graph graph = ConvGraph(false);
      const QuantType type = *FindQuantType(format);
      Quantisation q{type, -1, {}, {}};
      if (type.scheme != Scheme::kNone) q = PerTensor(format, 1, 0, true);
      graph.FindValue(name)->set_quantisation(q);
      const auto bytes = ExportOnnxBytes(graph);
      ASSERT_FALSE(bytes.ok()) << format << " of " << name;
      EXPECT_EQ(bytes.status().code(), StatusCode::kUnimplemented);
      EXPECT_NE(MessageOf(bytes.status())
                    .find(std::string("value '") + name + "': ONNX cannot say format " + format),
                std::string::npos)
          << MessageOf(bytes.status());
    }
  }
  Graph graph = ConvGraph(false);
  const std::string plain = *ExportOnnxBytes(graph);
  for (const char* name : {"x", "w"})
    graph.FindValue(name)->set_quantisation(Quantisation{*FindQuantType("fp32")});
  const auto bytes = ExportOnnxBytes(graph);
  ASSERT_TRUE(bytes.ok()) << MessageOf(bytes.status());
  EXPECT_EQ(*bytes, plain);
}

TEST(OnnxExport, EveryOperatorHasAForm) {
  for (const OpInfo& info : AllOps()) {
    EXPECT_TRUE(HasExporter(info.op)) << info.id;
    EXPECT_TRUE(HasImporter(info.op)) << info.id;
  }
}

// 100,000 nodes of one name, and one that has a name of theirs already. To try all suffixes for
// each would take minutes.
TEST(ExportOnnx, GivesAnyNumberOfEqualNamesSuffixes) {
  constexpr int kNodes = 100'000;
  Graph graph("g");
  Value* value = graph.AddInput("x", {ElementType::kFloat32, Shape{1}});
  for (int i = 0; i < kNodes; ++i) {
    const std::string name = i == 0 ? "n.3" : "n";
    value = graph.AddNode(Op::kRelu, name, {value}, {"v" + std::to_string(i)})->result();
    graph.SetType(value, graph.inputs()[0]->type());
  }
  graph.MarkOutput(value);
  const auto bytes = ExportOnnxBytes(graph);
  ASSERT_TRUE(bytes.ok()) << MessageOf(bytes.status());
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(*bytes));
  ASSERT_EQ(model.graph().node_size(), kNodes);
  const auto name = [&](int i) { return model.graph().node(i).name(); };
  EXPECT_EQ(name(0), "n.3");
  EXPECT_EQ(name(1), "n");
  EXPECT_EQ(name(2), "n.1");
  EXPECT_EQ(name(3), "n.2");
  EXPECT_EQ(name(4), "n.4");
  EXPECT_EQ(name(kNodes - 1), "n." + std::to_string(kNodes - 1));
}

}  // namespace
}  // namespace kiln
