// Tests of the passes that edit a graph without computing, on graphs built in code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/ir/text.h"
#include "kiln/passes/pipeline.h"
#include "kiln/passes/rewrite.h"
#include "kiln/support/file.h"

namespace kiln {
namespace {

TensorType F32(Shape shape) { return {ElementType::kFloat32, std::move(shape)}; }

Changed RunOne(Graph& graph, std::string_view pass) {
  PassContext context;
  const Status status = RunPasses(graph, std::array{pass}, context);
  EXPECT_TRUE(status.ok()) << MessageOf(status);
  EXPECT_EQ(context.log.size(), 1u);
  return context.log.empty() ? Changed::kNo : context.log[0].changed;
}

Node* Unary(Graph& graph, Op op, std::string_view name, Value* x, Attributes attributes = {}) {
  return InsertNode(graph, nullptr, op, name, {x}, std::move(attributes), x->type(), name);
}

TEST(EliminateDeadCode, DropsChainsAndConstants) {
  Graph graph;
  Value* x = graph.AddInput("x", F32({2, 3}));
  graph.MarkOutput(Unary(graph, Op::kRelu, "kept", x)->result());
  Value* unused = graph.AddConstant("c", Tensor::Of<float>({3}, {1, 2, 3}));
  Node* dead = InsertNode(graph, nullptr, Op::kAdd, "dead", {x, unused}, {}, x->type());
  Unary(graph, Op::kExp, "deader", dead->result());
  EXPECT_EQ(RunOne(graph, "eliminate-dead-code"), Changed::kYes);
  ASSERT_EQ(graph.num_nodes(), 1);
  EXPECT_EQ(graph.nodes().front()->name(), "kept");
  EXPECT_TRUE(graph.Constants().empty());
  EXPECT_EQ(RunOne(graph, "eliminate-dead-code"), Changed::kNo);
}

// A Cast of stored weights is folded though it is large, while the bytes of all constants stay
// within their limit. An Expand of the same size is not.
TEST(FoldConstants, FoldsALargeCastWithinTheLimit) {
  const auto fold = [](Op op, int64_t most_bytes) {
    Graph graph;
    Value* x = graph.AddInput("x", F32({1000}));
    Node* node = nullptr;
    if (op == Op::kCast) {
      Value* stored = graph.AddConstant("w", Tensor(ElementType::kInt8, {1000}));
      Attributes to;
      to.Set("to", OnnxCodeOf(ElementType::kFloat32));
      node = InsertNode(graph, nullptr, op, "large", {stored}, std::move(to), F32({1000}), "large");
    } else {
      Value* stored = graph.AddConstant("w", Tensor(ElementType::kFloat32, {1}));
      Value* shape = graph.AddConstant("shape", Tensor::Of<int64_t>({1}, {1000}));
      node = InsertNode(graph, nullptr, op, "large", {stored, shape}, {}, F32({1000}), "large");
    }
    graph.MarkOutput(
        InsertNode(graph, nullptr, Op::kAdd, "sum", {x, node->result()}, {}, x->type())->result());
    PassContext context;
    context.max_folded_elements = 999;
    context.max_constant_bytes = most_bytes;
    const Status status =
        RunPasses(graph, std::array<std::string_view, 1>{"fold-constants"}, context);
    EXPECT_TRUE(status.ok()) << MessageOf(status);
    return graph.num_nodes() == 1;
  };
  EXPECT_TRUE(fold(Op::kCast, 1000 + 4000));
  EXPECT_FALSE(fold(Op::kCast, 1000 + 3999));
  EXPECT_FALSE(fold(Op::kExpand, 1000000));
}

TEST(EliminateCommonSubexpressions, MergesEqualNodesAndKeepsOutputNames) {
  Graph graph;
  Value* x = graph.AddInput("x", F32({2}));
  Value* a = Unary(graph, Op::kRelu, "a", x)->result();
  Value* b = Unary(graph, Op::kRelu, "b", x)->result();
  Value* c1 = graph.AddConstant("c1", Tensor::Of<float>({2}, {1, 2}));
  Value* c2 = graph.AddConstant("c2", Tensor::Of<float>({2}, {1, 2}));
  Value* p = InsertNode(graph, nullptr, Op::kAdd, "p", {a, c1}, {}, x->type(), "p")->result();
  Value* q = InsertNode(graph, nullptr, Op::kAdd, "q", {b, c2}, {}, x->type(), "q")->result();
  graph.MarkOutput(p);
  graph.MarkOutput(q);
  EXPECT_EQ(RunOne(graph, "eliminate-common-subexpressions"), Changed::kYes);
  // relu and constant are shared; both adds stay, for both make outputs.
  EXPECT_EQ(graph.num_nodes(), 3);
  EXPECT_EQ(graph.Constants().size(), 1u);
  EXPECT_EQ(graph.outputs()[0]->name(), "p");
  EXPECT_EQ(graph.outputs()[1]->name(), "q");
  EXPECT_EQ(RunOne(graph, "eliminate-common-subexpressions"), Changed::kNo);
}

// Constants that agree at their ends and in the middle differ elsewhere.
TEST(EliminateCommonSubexpressions, MergesEqualConstantsOnly) {
  for (const int64_t size : {1, 2, 15, 16, 17, 40, 100, 1000, 4096}) {
    SCOPED_TRACE(size);
    for (int64_t changed = 0; changed < size; changed += 1 + size / 50) {
      Graph graph;
      Value* x = graph.AddInput("x", F32({size}));
      std::vector<float> numbers(static_cast<size_t>(size), 0.5f);
      const auto add = [&](const std::string& name) {
        Value* c = graph.AddConstant(name, Tensor::Of<float>({size}, numbers));
        Value* sum = InsertNode(graph, nullptr, Op::kAdd, "add_" + name, {x, c}, {}, x->type(),
                                "sum_" + name)
                         ->result();
        graph.MarkOutput(sum);
      };
      add("a");
      add("b");
      numbers[static_cast<size_t>(changed)] = 1;
      add("c");
      add("d");
      numbers[static_cast<size_t>(changed)] = -0.5f;
      add("e");
      RunOne(graph, "eliminate-common-subexpressions");
      ASSERT_EQ(graph.Constants().size(), 3u) << changed;
    }
  }
}

// The bytes of all three constants are equal.
TEST(EliminateCommonSubexpressions, KeepsConstantsOfOtherShapesAndTypes) {
  Graph graph;
  const auto use = [&](const std::string& name, const Tensor& tensor) {
    Value* c = graph.AddConstant(name, tensor);
    graph.MarkOutput(
        InsertNode(graph, nullptr, Op::kNeg, "neg_" + name, {c}, {}, c->type(), "y_" + name)
            ->result());
  };
  use("a", Tensor::Of<float>({2}, {0, 0}));
  use("b", Tensor::Of<float>({1, 2}, {0, 0}));
  use("c", Tensor::Of<int32_t>({2}, {0, 0}));
  RunOne(graph, "eliminate-common-subexpressions");
  EXPECT_EQ(graph.Constants().size(), 3u);
}

TEST(EliminateIdentities, MergesTransposesAwayAndKeepsTheOutputName) {
  Graph graph;
  Value* x = graph.AddInput("x", F32({2, 3, 4}));
  Value* r = Unary(graph, Op::kRelu, "relu", x)->result();
  Attributes forth, back;
  forth.Set("perm", std::vector<int64_t>{1, 2, 0});
  back.Set("perm", std::vector<int64_t>{2, 0, 1});
  Value* t = InsertNode(graph, nullptr, Op::kTranspose, "t", {r}, forth, F32({3, 4, 2}))->result();
  Value* u =
      InsertNode(graph, nullptr, Op::kTranspose, "u", {t}, back, F32({2, 3, 4}), "out")->result();
  graph.MarkOutput(u);
  EXPECT_EQ(RunOne(graph, "eliminate-identities"), Changed::kYes);
  ASSERT_EQ(graph.num_nodes(), 1);
  EXPECT_EQ(graph.outputs()[0]->name(), "out");
  EXPECT_EQ(graph.outputs()[0]->producer()->name(), "relu");
  EXPECT_EQ(RunOne(graph, "eliminate-identities"), Changed::kNo);
}

TEST(EliminateIdentities, AnInputCannotTakeAnOutputsName) {
  Graph graph;
  Value* x = graph.AddInput("x", F32({2}));
  graph.MarkOutput(Unary(graph, Op::kIdentity, "y", x)->result());
  EXPECT_EQ(RunOne(graph, "eliminate-identities"), Changed::kNo);
  EXPECT_EQ(graph.outputs()[0]->name(), "y");
}

TEST(FoldBatchNorm, ScalesWeightsAndMakesABias) {
  Graph graph;
  Value* x = graph.AddInput("x", F32({1, 1, 2, 2}));
  Value* w = graph.AddConstant("w", Tensor::Of<float>({2, 1, 1, 1}, {2, 3}));
  Value* y = InsertNode(graph, nullptr, Op::kConv, "conv", {x, w}, {}, F32({1, 2, 2, 2}))->result();
  Value* gamma = graph.AddConstant("gamma", Tensor::Of<float>({2}, {4, 6}));
  Value* beta = graph.AddConstant("beta", Tensor::Of<float>({2}, {10, 20}));
  Value* mean = graph.AddConstant("mean", Tensor::Of<float>({2}, {1, -1}));
  Value* variance = graph.AddConstant("variance", Tensor::Of<float>({2}, {4, 9}));
  Attributes attributes;
  attributes.Set("epsilon", 0.0f);
  Value* z = InsertNode(graph, nullptr, Op::kBatchNormalization, "bn",
                        {y, gamma, beta, mean, variance}, attributes, y->type(), "z")
                 ->result();
  graph.MarkOutput(z);
  EXPECT_EQ(RunOne(graph, "fold-batch-norm"), Changed::kYes);
  ASSERT_EQ(graph.num_nodes(), 1);
  const Node& conv = *graph.nodes().front();
  EXPECT_EQ(conv.name(), "conv+bn");
  EXPECT_EQ(graph.outputs()[0]->name(), "z");
  EXPECT_EQ(conv.operand(1)->constant().ToFloats(), (std::vector<float>{4, 6}));  // s = 4/2, 6/3
  EXPECT_EQ(conv.operand(2)->constant().ToFloats(),
            (std::vector<float>{8, 22}));  // 10 - 2*1, 20 + 2*1
  EXPECT_EQ(graph.Constants().size(), 2u);
  EXPECT_EQ(RunOne(graph, "fold-batch-norm"), Changed::kNo);
}

TEST(RunPasses, RefusesUnknownNamesAndSkipsOnRequest) {
  Graph graph;
  Value* x = graph.AddInput("x", F32({2}));
  Unary(graph, Op::kRelu, "dead", x);
  graph.MarkOutput(Unary(graph, Op::kExp, "y", x)->result());
  PassContext context;
  EXPECT_THAT(
      MessageOf(RunPasses(graph, std::array<std::string_view, 1>{"fold-everything"}, context)),
      testing::HasSubstr("there is no pass 'fold-everything'"));
  context.skip = {"eliminate-dead-code"};
  EXPECT_TRUE(RunPasses(graph, CleanUpPipeline(), context).ok());
  EXPECT_EQ(graph.num_nodes(), 2);
  EXPECT_TRUE(context.log[0].skipped);
  context.skip = {"no-such"};
  EXPECT_FALSE(RunPasses(graph, CleanUpPipeline(), context).ok());
}

TEST(RunPasses, DumpsEachStepThatChangedTheGraph) {
  const auto folder = std::filesystem::temp_directory_path() / "kiln_pass_dump_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  Graph graph("dumped");
  Value* x = graph.AddInput("x", F32({2}));
  Unary(graph, Op::kRelu, "dead", x);
  graph.MarkOutput(Unary(graph, Op::kExp, "y", x)->result());
  PassContext context;
  context.on_step = DumpStepsTo(folder);
  ASSERT_TRUE(RunPasses(graph, CleanUpPipeline(), context).ok());
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files.push_back(entry.path().filename());
  EXPECT_EQ(files, std::vector<std::string>{"00-eliminate-dead-code.kir"});
  const auto text = ReadFile(folder / files.at(0));
  ASSERT_TRUE(text.ok());
  EXPECT_TRUE(ParseGraph(*text, "dump").ok());
  std::filesystem::remove_all(folder);
}

TEST(RunPasses, RefusesAGraphThatDoesNotVerify) {
  Graph graph;
  Value* x = graph.AddInput("x", F32({2}));
  graph.MarkOutput(Unary(graph, Op::kRelu, "y", x)->result());
  graph.SetType(graph.outputs()[0], F32({3}));
  PassContext context;
  EXPECT_FALSE(RunPasses(graph, CleanUpPipeline(), context).ok());
  EXPECT_TRUE(context.log.empty());
}

}  // namespace
}  // namespace kiln
