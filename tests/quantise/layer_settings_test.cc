// Tests of the `layers` entries of recipes: which nodes they select, and the errors of entries that
// select none.
#include "kiln/quantise/layer_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/passes/pipeline.h"
#include "tests/frontend/onnx_models.h"

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Returns a network read from ONNX, after the standard passes:
//   file           x -> Conv "/stem/conv" -> BatchNormalization "/stem/norm" -> Relu "/stem/relu"
//                  -> Flatten "flatten" -> Gemm "/head/fc1" -> y
//   after passes   the normalisation is part of the Conv, and the Gemm is a MatMul and an Add
Graph FileNetwork() {
  const auto ones = [](const std::string& name, const std::vector<int64_t>& dims) {
    int64_t count = 1;
    for (const int64_t dim : dims) count *= dim;
    return FloatsText(name, dims, std::vector<float>(static_cast<size_t>(count), 0.5f));
  };
  const auto node = [](const std::string& op, const std::string& name, const std::string& inputs,
                       const std::string& output) {
    return fmt::format("node {{ op_type: '{}' name: '{}' {} output: '{}' }} ", op, name, inputs,
                       output);
  };
  const std::string text =
      InputText("x", {"1", "1", "2", "2"}) + ones("w", {2, 1, 1, 1}) + ones("s", {2}) +
      ones("b", {2}) + ones("m", {2}) + ones("v", {2}) + ones("k", {8, 3}) + ones("c", {3}) +
      node("Conv", "/stem/conv", "input: 'x' input: 'w'", "conv") +
      node("BatchNormalization", "/stem/norm",
           "input: 'conv' input: 's' input: 'b' input: 'm' input: 'v'", "norm") +
      node("Relu", "/stem/relu", "input: 'norm'", "relu") +
      node("Flatten", "flatten", "input: 'relu'", "flat") +
      node("Gemm", "/head/fc1", "input: 'flat' input: 'k' input: 'c'", "y") +
      "output { name: 'y' }";
  auto graph = Import(17, text);
  KILN_CHECK(graph.ok());
  PassContext context;
  KILN_CHECK(RunPasses(*graph, StandardPipeline(), context).ok());
  return *std::move(graph);
}

// Returns the operators after the passes of the nodes that an entry keeps float, or the error.
std::vector<std::string> Kept(const Graph& graph, const std::string& conditions) {
  const auto recipe = ParseRecipe("layers:\n  - {" + conditions + ", keep: float}\n", "r.yaml");
  if (!recipe.ok()) return {MessageOf(recipe.status())};
  const auto settings = SettingsOfNodes::Resolve(graph, *recipe);
  if (!settings.ok()) return {MessageOf(settings.status())};
  std::vector<std::string> kept;
  for (const auto& node : graph.nodes()) {
    if ((*settings)[node.get()].keep_float) kept.emplace_back(node->info().onnx_name);
  }
  return kept;
}

std::string ErrorOf(const Graph& graph, const std::string& conditions) {
  const std::vector<std::string> kept = Kept(graph, conditions);
  return kept.size() == 1 ? kept[0] : "no error";
}

TEST(LayerSettings, NodesAnswerToNamesAndOperatorsOfTheFile) {
  const Graph graph = FileNetwork();
  EXPECT_THAT(Kept(graph, "match: /head/fc1"), ElementsAre("MatMul", "Add"));
  EXPECT_THAT(Kept(graph, "operator: Gemm"), ElementsAre("MatMul", "Add"));
  EXPECT_THAT(Kept(graph, "operator: MatMul"), ElementsAre("MatMul"));
  EXPECT_THAT(Kept(graph, "match: /head/*, operator: Gemm, position: last"), ElementsAre("MatMul"));
  EXPECT_THAT(Kept(graph, "match: /stem/conv"), ElementsAre("Conv"));
  EXPECT_THAT(Kept(graph, "match: /stem/norm"), ElementsAre("Conv"));
  EXPECT_THAT(Kept(graph, "operator: BatchNormalization"), ElementsAre("Conv"));
  // A copy has the operators of the file, too.
  EXPECT_THAT(Kept(graph.Clone(), "operator: Gemm"), ElementsAre("MatMul", "Add"));
}

TEST(LayerSettings, AnEntryThatMatchesNothingNamesTheNearest) {
  const Graph graph = FileNetwork();
  EXPECT_EQ(ErrorOf(graph, "match: /head/fc2"),
            "r.yaml: line 2, layers[0] (match '/head/fc2'): matches no node of 'test.onnx'; the "
            "nearest is '/head/fc1'; `kiln inspect --shapes` lists all nodes");
  // A part of a name, also in capitals; a glob with a misspelt beginning; a word near no name.
  EXPECT_THAT(ErrorOf(graph, "match: '*HEAD*'"), HasSubstr("; the nearest is '/head/fc1'; "));
  EXPECT_THAT(ErrorOf(graph, "match: fc1"), HasSubstr("; the nearest is '/head/fc1'; "));
  EXPECT_THAT(ErrorOf(graph, "match: /haed/*"), HasSubstr("; the nearest is '/head/fc1'; "));
  EXPECT_EQ(ErrorOf(graph, "match: attention*"),
            "r.yaml: line 2, layers[0] (match 'attention*'): matches no node of 'test.onnx'; it "
            "has /stem/conv, /stem/norm, /stem/relu, ... (5 in all); `kiln inspect --shapes` lists "
            "all nodes");
  // Words of a name, in another order and with other separators.
  EXPECT_THAT(ErrorOf(graph, "match: model.head.linear.fc1"),
              HasSubstr("; the nearest is '/head/fc1'; "));
}

TEST(LayerSettings, AnEntryWithAWrongConditionNamesIt) {
  const Graph graph = FileNetwork();
  EXPECT_THAT(ErrorOf(graph, "match: flatten, operator: Gemm"),
              HasSubstr("; node 'flatten' has the operator "));
  EXPECT_THAT(ErrorOf(graph, "match: /stem/relu, position: first"),
              HasSubstr("; node '/stem/relu' does not multiply and accumulate"));
  EXPECT_THAT(ErrorOf(graph, "match: /stem/conv, position: last"),
              HasSubstr("; node '/stem/conv+/stem/norm' has position 0"));
  EXPECT_THAT(ErrorOf(graph, "operator: Conv, position: 1"),
              HasSubstr("; node '/head/fc1' at this position has the operator Gemm or MatMul"));
  EXPECT_THAT(ErrorOf(graph, "operator: Conv, position: last"),
              HasSubstr("; node '/head/fc1' at this position has the operator Gemm or MatMul"));
  EXPECT_THAT(ErrorOf(graph, "match: /stem/*, position: last"),
              HasSubstr("; the node at this position is '/head/fc1'"));
  EXPECT_THAT(ErrorOf(graph, "match: /stem/*, operator: Conv, position: 1"),
              HasSubstr("; node '/stem/conv+/stem/norm' has position 0"));
  EXPECT_THAT(ErrorOf(graph, "match: /stem/*, operator: Gemm, position: 5"),
              HasSubstr(" has the operator "));
  EXPECT_THAT(ErrorOf(graph, "match: /stem/*, position: 5"),
              HasSubstr("; the network has 2 nodes that multiply and accumulate"));
  EXPECT_THAT(ErrorOf(graph, "position: 2"),
              HasSubstr("; the network has 2 nodes that multiply and accumulate"));
  EXPECT_EQ(
      ErrorOf(graph, "operator: Softmax"),
      "r.yaml: line 2, layers[0] (operator Softmax): matches no node of 'test.onnx'; it has "
      "Add, BatchNormalization, Conv, Flatten, Gemm, MatMul, Relu, Reshape; or `optional: true`, "
      "which allows an entry to match nothing");
}

TEST(LayerSettings, AnOptionalEntryMayMatchNothing) {
  const Graph graph = FileNetwork();
  EXPECT_THAT(Kept(graph, "operator: Softmax, optional: true"), ElementsAre());
  EXPECT_THAT(Kept(graph, "match: nothing*, optional: true"), ElementsAre());
  EXPECT_THAT(Kept(graph, "operator: Conv, optional: true"), ElementsAre("Conv"));
}

// Two nodes of the file with one name: each answers to both operators, none is lost.
TEST(LayerSettings, NodesOfOneNameAnswerToAllItsOperators) {
  Graph graph("twins");
  Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{1, 2}});
  Node* relu = graph.AddNode(Op::kRelu, "twin", {x}, {"r"});
  graph.MarkOutput(graph.AddNode(Op::kNeg, "twin", {relu->result()}, {"y"})->result());
  graph.AddFileOperator("twin", "Selu");
  graph.AddFileOperator("twin", "Neg");
  EXPECT_THAT(Kept(graph, "operator: Neg"), ElementsAre("Relu", "Neg"));
  EXPECT_THAT(Kept(graph, "operator: Relu"), ElementsAre("Relu"));
}

}  // namespace
}  // namespace kiln
