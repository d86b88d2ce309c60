// Tests of the ONNX importer: batch and symbolic dimensions, names, constants, functions, and
// errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/frontend/onnx_models.h"

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(OnnxImport, BindsTheBatchAndItsSymbol) {
  const std::string text = InputText("x", {"n", "3"}) + InputText("z", {"3", "n"}) +
                           InputText("w", {"", "k"}) + NodeToY("Relu");
  ImportOptions options;
  options.batch = 4;
  auto graph = Import(17, text, "", options);
  ASSERT_TRUE(graph.ok()) << MessageOf(graph.status());
  EXPECT_EQ(graph->FindValue("x")->shape(), (Shape{4, 3}));
  EXPECT_EQ(graph->FindValue("z")->shape(), (Shape{3, 4}));
  EXPECT_EQ(graph->FindValue("w")->shape(), (Shape{4, kUnknownDim}));
  EXPECT_EQ(graph->FindValue("y")->shape(), (Shape{4, 3}));
  options.batch = 0;
  graph = Import(17, text, "", options);
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->FindValue("y")->shape(), (Shape{kUnknownDim, 3}));
}

TEST(OnnxImport, TakesInputShapesFromTheCaller) {
  const std::string text = InputText("x", {"1", "3", "h", "w"}) + NodeToY("Relu");
  ImportOptions options;
  options.input_shapes["x"] = Shape{2, 3, 8, 9};
  auto graph = Import(17, text, "", options);
  ASSERT_TRUE(graph.ok()) << MessageOf(graph.status());
  EXPECT_EQ(graph->outputs()[0]->shape(), (Shape{2, 3, 8, 9}));
  options.input_shapes["nobody"] = Shape{1};
  ExpectError(Import(17, text, "", options), StatusCode::kInvalidArgument,
              "input 'nobody': is not an input");
}

// Other sizes than the declared ones are allowed if the network computes with them; if it does not,
// the error names the option and the dimension.
TEST(OnnxImport, NamesTheFixedDimensionThatShapeContradicts) {
  const std::string x = InputText("x", {"1", "3", "h"});
  const std::string model = x + FloatsText("w", {3, 1}, {1, 2, 3}) + NodeToY("Add", "input: 'w'");
  ImportOptions options;
  options.shapes = {{"x", Shape{1, 4, 9}}};
  EXPECT_TRUE(Import(17, x + NodeToY("Relu"), "", options).ok());
  ExpectError(
      Import(17, model, "", options), StatusCode::kInvalidArgument,
      "test.onnx: --shape x=1x4x9: the model fixes input 'x' to 1x3x?, where dimension 1 is "
      "3, and does not compute with other sizes (node 'Add_0' (Add): ");
  options.shapes = {{"x", Shape{3, 9}}};
  ExpectError(Import(17, x + NodeToY("Transpose", IntsAttribute("perm", {0, 2, 1})), "", options),
              StatusCode::kInvalidArgument,
              "--shape x=3x9: the model fixes input 'x' to 1x3x?, and does not compute with other");
  // Dimensions that the model leaves open are not named.
  options.shapes = {{"x", Shape{1, 3, 9}}};
  ExpectError(Import(17, x + NodeToY("Transpose", IntsAttribute("perm", {0, 1})), "", options),
              StatusCode::kInvalidArgument, "test.onnx: node 'Transpose_0' (Transpose): perm");
}

TEST(OnnxImport, InitialisersListedAsInputsAreConstants) {
  const auto graph = Import(8, InputText("x", {"1", "2"}) + InputText("c", {"2"}) +
                                   FloatsText("c", {2}, {3, 4}) + NodeToY("Add", "input: 'c'"));
  ASSERT_TRUE(graph.ok()) << MessageOf(graph.status());
  EXPECT_EQ(graph->inputs().size(), 1u);
  EXPECT_EQ(OutputOf(graph, {Tensor::Of<float>({1, 2}, {1, 1})}),
            Tensor::Of<float>({1, 2}, {4, 5}));
}

TEST(OnnxImport, KeepsNamesAndNamesTheUnnamed) {
  const auto graph = Import(
      17, InputText("x", {"1"}) +
              "node { op_type: 'Relu' input: 'x' output: 'a' } "
              "node { op_type: 'Neg' name: 'minus' input: 'a' output: 'y' } output { name: 'y' }");
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->nodes().front()->name(), "Relu_0");
  EXPECT_EQ(graph->nodes().back()->name(), "minus");
  EXPECT_NE(graph->FindValue("a"), nullptr);
}

TEST(OnnxImport, SortsNodes) {
  const auto graph =
      Import(17, InputText("x", {"1"}) +
                     "node { op_type: 'Neg' input: 'a' output: 'y' } "
                     "node { op_type: 'Relu' input: 'x' output: 'a' } output { name: 'y' }");
  ASSERT_TRUE(graph.ok()) << MessageOf(graph.status());
  EXPECT_THAT(OperatorsOf(*graph), ElementsAre("Relu", "Neg"));
}

TEST(OnnxImport, KeepsMetadataOfItsOwn) {
  const auto graph = Import(17, InputText("x", {"1"}) + NodeToY("Relu"),
                            "metadata_props { key: 'kiln.mean' value: '0.5' } metadata_props { "
                            "key: 'author' value: 'a' }");
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->metadata(), (std::map<std::string, std::string>{{"kiln.mean", "0.5"}}));
}

TEST(OnnxImport, ReadsConstantsOfEveryKind) {
  const auto constant = [](const std::string& attribute) {
    return Import(17, "node { op_type: 'Constant' output: 'y' attribute { " + attribute +
                          " } } output { name: 'y' }");
  };
  const auto value = [&](const std::string& attribute) {
    const auto graph = constant(attribute);
    EXPECT_TRUE(graph.ok()) << attribute << ": " << MessageOf(graph.status());
    return graph.ok() ? graph->outputs()[0]->constant() : Tensor();
  };
  EXPECT_EQ(value("name: 'value_int' type: INT i: -7"), Tensor::Scalar<int64_t>(-7));
  EXPECT_EQ(value("name: 'value_float' type: FLOAT f: 0.5"), Tensor::Scalar<float>(0.5f));
  EXPECT_EQ(value("name: 'value_ints' type: INTS ints: [1, 2]"), Tensor::Of<int64_t>({2}, {1, 2}));
  EXPECT_EQ(value("name: 'value_floats' type: FLOATS floats: [1, 2]"),
            Tensor::Of<float>({2}, {1, 2}));
  EXPECT_EQ(value("name: 'value_string' type: STRING s: 'k'").strings(),
            std::vector<std::string>{"k"});
  EXPECT_EQ(value("name: 'value' type: TENSOR t { data_type: 3 dims: 2 int32_data: [-1, 5] }"),
            Tensor::Of<int8_t>({2}, {-1, 5}));
  EXPECT_EQ(value("name: 'sparse_value' type: SPARSE_TENSOR sparse_tensor { dims: [2, 2] "
                  "values { data_type: 1 dims: 1 float_data: 9 } indices { data_type: 7 dims: [1, "
                  "2] int64_data: [1, 0] } }"),
            Tensor::Of<float>({2, 2}, {0, 0, 9, 0}));
  ExpectError(constant("name: 'sparse_value' type: SPARSE_TENSOR sparse_tensor { dims: [2, 2] "
                       "values { data_type: 1 dims: 1 float_data: 9 } indices { data_type: 7 dims: "
                       "1 int64_data: 4 } }"),
              StatusCode::kInvalidArgument, "lies outside");
}

// Sizes of symbols by name, everywhere the symbol stands; an input's whole shape by the input's
// name.
TEST(OnnxImport, SymbolicDimensionsAreSetByName) {
  const std::string model = InputText("ids", {"batch", "seq"}) +
                            InputText("mask", {"batch", "seq", "heads"}) +
                            "node { op_type: 'Relu' input: 'ids' output: 'y' } "
                            "node { op_type: 'Relu' input: 'mask' output: 'z' } output { name: 'y' "
                            "} output { name: 'z' }";
  ImportOptions options;
  options.known_inputs = true;
  ExpectError(Import(17, model, "", options), StatusCode::kInvalidArgument,
              "symbolic dimensions without a size: seq, heads (inputs ids batch x seq, mask batch "
              "x seq x heads); set "
              "each with --shape, as in --shape seq=128");
  options.shapes = {{"seq", Shape{7}}};
  ExpectError(Import(17, model, "", options), StatusCode::kInvalidArgument,
              "symbolic dimensions without a size: heads (inputs mask batch x seq x heads)");
  options.shapes = {{"seq", Shape{7}}, {"heads", Shape{2}}};
  const auto graph = Import(17, model, "", options);
  ASSERT_TRUE(graph.ok()) << MessageOf(graph.status());
  EXPECT_EQ(graph->inputs()[0]->shape(), (Shape{1, 7}));
  EXPECT_EQ(graph->outputs()[1]->shape(), (Shape{1, 7, 2}));
  options.shapes = {{"seq", Shape{7}}, {"mask", Shape{1, 7, 3}}, {"batch", Shape{2}}};
  const auto whole = Import(17, model, "", options);
  ASSERT_TRUE(whole.ok()) << MessageOf(whole.status());
  EXPECT_EQ(whole->inputs()[0]->shape(), (Shape{2, 7}));
  EXPECT_EQ(whole->inputs()[1]->shape(), (Shape{1, 7, 3}));
  // The shape of an input also sizes its symbols in other inputs.
  options.shapes = {{"mask", Shape{3, 9, 2}}};
  const auto bound = Import(17, model, "", options);
  ASSERT_TRUE(bound.ok()) << MessageOf(bound.status());
  EXPECT_EQ(bound->inputs()[0]->shape(), (Shape{3, 9}));
  options.shapes = {{"mask", Shape{1, 9, 2}}, {"ids", Shape{1, 8}}};
  ExpectError(Import(17, model, "", options), StatusCode::kInvalidArgument,
              "--shape mask: seq is 9 here and 8 in input 'ids'; a symbol has one size");
  options.shapes = {{"sek", Shape{7}}};
  ExpectError(Import(17, model, "", options), StatusCode::kInvalidArgument,
              "--shape sek: names no symbolic dimension and no input of the model; symbols: batch, "
              "heads, seq; inputs: "
              "ids, mask");
  options.shapes = {{"seq", Shape{1, 7}}};
  ExpectError(Import(17, model, "", options), StatusCode::kInvalidArgument,
              "--shape seq: 1x7 is no size of one");
}

TEST(OnnxImport, InlinesFunctions) {
  const std::string function =
      "functions { domain: 'local' name: 'ScaledRelu' input: 'a' output: 'b' attribute: 'slope' "
      "opset_import { version: 17 } "
      "node { op_type: 'LeakyRelu' input: 'a' output: 't' attribute { name: 'alpha' type: FLOAT "
      "ref_attr_name: 'slope' "
      "} } "
      "node { op_type: 'Add' input: 't' input: 't' output: 'b' } } opset_import { domain: 'local' "
      "version: 1 }";
  const std::string call =
      "node { op_type: 'ScaledRelu' domain: 'local' name: 'call' input: 'x' output: 'y' " +
      FloatAttribute("slope", 0.5) + "} output { name: 'y' }";
  const auto graph = Import(17, InputText("x", {"2"}) + call, function);
  ASSERT_TRUE(graph.ok()) << MessageOf(graph.status());
  EXPECT_EQ(graph->nodes().front()->name(), "call/LeakyRelu_0");
  EXPECT_NE(graph->FindValue("call/t"), nullptr);
  EXPECT_EQ(graph->outputs()[0]->name(), "y");
  EXPECT_EQ(OutputOf(graph, {Tensor::Of<float>({2}, {-4, 3})}), Tensor::Of<float>({2}, {-4, 6}));
}

TEST(OnnxImport, RefusesFunctionsThatCallThemselves) {
  const std::string function =
      "functions { domain: 'local' name: 'F' input: 'a' output: 'b' "
      "node { op_type: 'F' domain: 'local' input: 'a' output: 'b' } } opset_import { domain: "
      "'local' version: 1 }";
  ExpectError(
      Import(17,
             InputText("x", {"2"}) + "node { op_type: 'F' domain: 'local' input: 'x' output: 'y' } "
                                     "output { name: 'y' }",
             function),
      StatusCode::kUnimplemented, "call each other too deeply");
}

TEST(OnnxImport, NamesAllUnsupportedOperators) {
  const auto graph =
      Import(17, InputText("x", {"2"}) +
                     "node { op_type: 'Bernoulli' name: 'e' input: 'x' output: 'a' } "
                     "node { op_type: 'Bernoulli' name: 'f' input: 'a' output: 'b' } "
                     "node { op_type: 'Magic' domain: 'my' name: 'm' input: 'b' output: 'c' } "
                     "node { op_type: 'If' input: 'c' output: 'y' } output { name: 'y' }");
  ExpectError(graph, StatusCode::kUnimplemented,
              "Bernoulli (node 'e'), my.Magic (node 'm'), If (node 'If_3')");
}

TEST(OnnxImport, NamesWhatIsWrongWithAGraph) {
  const auto invalid = StatusCode::kInvalidArgument;
  const std::string x = InputText("x", {"1", "2"});
  ExpectError(Import(17, x + NodeToY("Add", "input: 'w'")), invalid,
              "node 'Add_0' (Add): reads value 'w', which nothing");
  ExpectError(
      Import(17, x + "node { op_type: 'Add' input: 'x' input: 'b' output: 'a' } "
                     "node { op_type: 'Relu' input: 'a' output: 'b' } output { name: 'b' }"),
      invalid, "node 'Add_0' (Add): is in or behind a cycle");
  ExpectError(
      Import(17, x + "node { op_type: 'Relu' input: 'x' output: 'x' } output { name: 'x' }"),
      invalid, "defines value 'x' a second time");
  ExpectError(Import(17, x + NodeToY("Relu") + NodeToY("Neg")), invalid,
              "defines value 'y' a second time");
  ExpectError(
      Import(17, x + "node { op_type: 'Relu' input: 'x' output: 'z' } output { name: 'y' }"),
      invalid, "output 'y': is not defined");
  ExpectError(Import(17, x + FloatsText("w", {3}, {1, 2, 3}) + NodeToY("Add", "input: 'w'")),
              invalid, "node 'Add_0' (Add)");
  ExpectError(Import(17, x + FloatsText("w", {3}, {1, 2}) + NodeToY("Add", "input: 'w'")), invalid,
              "initialiser 'w': holds 2 elements where shape 3 of f32 needs 3");
  ExpectError(Import(17, x + "initializer { name: 'w' data_type: 1 dims: -3 } " +
                             NodeToY("Add", "input: 'w'")),
              invalid, "initialiser 'w': shape");
  ExpectError(
      Import(17, x + "initializer { name: 'w' data_type: 1 dims: 4611686018427387904 dims: 4 } " +
                     NodeToY("Relu")),
      invalid, "initialiser 'w': shape");
  ExpectError(Import(17, x), invalid, "has no outputs");
  ExpectError(Import(17, x + "node { op_type: 'Relu' input: 'x' output: 'y' } " +
                             ValueText("output", "y", {"1", "5"})),
              invalid, "value 'y' is declared f32 1x5 and comes out as f32 1x2");
  ExpectError(Import(17, x + "node { op_type: 'MatMul' input: 'x' input: 'x' output: 'y' " +
                             IntAttribute("transpose_b", 1) + "} output { name: 'y' }"),
              invalid, "has no attribute 'transpose_b' in ONNX");
}

TEST(OnnxImport, NamesWhatKilnDoesNotSupport) {
  const auto unsupported = StatusCode::kUnimplemented;
  const std::string x = InputText("x", {"1", "2"});
  ExpectError(Import(22, x + NodeToY("Relu")), unsupported, "opset 22 of ai.onnx is not supported");
  ExpectError(Import(17, InputText("x", {"1"}, 14) + NodeToY("Relu")), unsupported, "complex64");
  ExpectError(Import(17, x + "initializer { name: 'w' data_type: 15 dims: 0 } " + NodeToY("Relu")),
              unsupported, "complex128");
  ExpectError(Import(17, x + "initializer { name: 'w' data_type: 18 dims: 1 raw_data: 'a' } " +
                             NodeToY("Relu")),
              unsupported, "float8e4m3fnuz");
  ExpectError(Import(17, "input { name: 'x' type { sequence_type { } } } " + NodeToY("Relu")),
              unsupported, "is not a tensor");
}

TEST(OnnxImport, RefusesWhatIsNoModel) {
  for (const std::string& bytes : {std::string(), std::string("not a model"),
                                   std::string("\x08\x07"), std::string(100, '\xff')}) {
    ExpectError(ImportOnnxBytes(bytes, "test.onnx", ""), StatusCode::kInvalidArgument,
                "is not an ONNX model");
  }
  EXPECT_EQ(ImportOnnx("/nonexistent/net.onnx").status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(ImportOnnx("/").ok());
}

// x [N, 8, 4, 4] becomes r [N, 4, 32] by the detour of old exporters: the target of Reshape is
// computed from Shape, with one number cast from a float.
std::string ReshapedByNodes() {
  return InputText("x", {"N", "8", "4", "4"}) +
         "initializer { name: 'zero' data_type: 7 int64_data: 0 } "
         "initializer { name: 'axes' data_type: 7 dims: 1 int64_data: 0 } "
         "initializer { name: 'four' data_type: 1 dims: 1 float_data: 4 } "
         "initializer { name: 'rest' data_type: 7 dims: 1 int64_data: -1 } "
         "node { op_type: 'Shape' input: 'x' output: 's' } "
         "node { op_type: 'Gather' input: 's' input: 'zero' output: 'n' } "
         "node { op_type: 'Unsqueeze' input: 'n' input: 'axes' output: 'n1' } "
         "node { op_type: 'Cast' input: 'four' output: 'four_int' attribute { name: 'to' type: INT "
         "i: 7 } } "
         "node { op_type: 'Concat' input: 'n1' input: 'four_int' input: 'rest' output: 'target' "
         "attribute { name: 'axis' type: INT i: 0 } } "
         "node { op_type: 'Reshape' input: 'x' input: 'target' output: 'r' } ";
}

TEST(OnnxImport, ShapesBehindShapeArithmeticAreKnown) {
  const auto graph =
      Import(13, ReshapedByNodes() +
                     "node { op_type: 'Relu' input: 'r' output: 'y' } output { name: 'y' }");
  ASSERT_TRUE(graph.ok()) << MessageOf(graph.status());
  EXPECT_EQ(graph->outputs()[0]->shape(), (Shape{1, 4, 32}));
  EXPECT_EQ(graph->num_nodes(), 7) << "import keeps the nodes of the file; folding them is a pass";
  ImportOptions any_batch;
  any_batch.batch = 0;
  const auto open = Import(
      13,
      ReshapedByNodes() + "node { op_type: 'Relu' input: 'r' output: 'y' } output { name: 'y' }",
      "", any_batch);
  ASSERT_TRUE(open.ok()) << MessageOf(open.status());
  EXPECT_EQ(open->outputs()[0]->shape(), (Shape{kUnknownDim, kUnknownDim, kUnknownDim}));
}

TEST(OnnxImport, RulesKnowShapesBehindShapeArithmetic) {
  // One scale a group in opset 18: the rule must know that r has 4 channels.
  const auto graph = Import(
      18, ReshapedByNodes() + FloatsText("g", {2}, {1, 2}) + FloatsText("b", {2}, {0, 0}) +
              "node { op_type: 'GroupNormalization' input: 'r' input: 'g' input: 'b' output: 'y' " +
              IntAttribute("num_groups", 2) + "} output { name: 'y' }");
  Tensor x(ElementType::kFloat32, Shape{1, 8, 4, 4});
  for (int i = 0; i < 128; ++i) x.data<float>()[static_cast<size_t>(i)] = static_cast<float>(i % 2);
  const Tensor y = OutputOf(graph, {x});
  ASSERT_EQ(y.shape(), (Shape{1, 4, 32}));
  // Zeros and ones in equal parts normalise to -1 and 1 (but for epsilon), times the group's scale.
  EXPECT_NEAR(y.ValueAt(0), -1, 1e-3);
  EXPECT_NEAR(y.ValueAt(63), 1, 1e-3);
  EXPECT_NEAR(y.ValueAt(64), -2, 1e-3);
  EXPECT_NEAR(y.ValueAt(127), 2, 1e-3);
}

}  // namespace
}  // namespace kiln
