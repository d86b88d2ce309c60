#include "kiln/targets/cgra/compile/computation.h"

#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <vector>

#include "kiln/execute/reference.h"
#include "kiln/ir/text.h"
#include "kiln/support/random.h"
#include "kiln/targets/cgra/graph/evaluate.h"

namespace kiln::cgra {
namespace {

Graph Parse(const std::string& text) {
  auto graph = ParseGraph(text, "test.kir");
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

std::vector<std::string> OperatorsIn(const ComputationGraph& graph) {
  std::vector<std::string> names;
  for (const GraphNode& node : graph.nodes) {
    if (RowOf(node.op).role == Role::kCompute) names.emplace_back(RowOf(node.op).name);
  }
  return names;
}

std::string MessageFor(const std::string& text) {
  const auto made = GraphOfNetwork(Parse(text));
  return made.ok() ? "" : MessageOf(made.status());
}

TEST(Computation, DistanceHasOneNodePerOperator) {
  const Graph network = Parse(R"(graph "distance" {
    input %dx : f32[1x16]
    input %dy : f32[1x16]
    input %dz : f32[1x16]
    const %two : f32[] = [2.0]
    %xx = mul %dx, %dx "square x" : f32[1x16]
    %yy = pow %dy, %two "square y" : f32[1x16]
    %zz = mul %dz, %dz "square z" : f32[1x16]
    %xy = add %xx, %yy "x and y" : f32[1x16]
    %sum = add %zz, %xy "all" : f32[1x16]
    output %sum
  })");
  const auto made = GraphOfNetwork(network);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(OperatorsIn(*made), (std::vector<std::string>{"fmul", "fmul", "fmul", "fadd", "fadd"}));
  EXPECT_EQ(InputsOf(*made).size(), 3u);
  EXPECT_EQ(OutputsOf(*made).size(), 1u);
  // The same bits as the reference level, element by element.
  Random random(3);
  std::vector<Tensor> tensors;
  std::vector<std::vector<Vector>> inputs(1);
  for (int i = 0; i < 3; ++i) {
    Tensor tensor(ElementType::kFloat32, Shape{1, 16});
    Vector lanes;
    for (float& v : tensor.data<float>()) {
      v = static_cast<float>(random.Uniform(-3, 3));
      lanes.push_back(std::bit_cast<int32_t>(v));
    }
    tensors.push_back(std::move(tensor));
    inputs[0].push_back(std::move(lanes));
  }
  const auto executor = ReferenceExecutor::Create(network);
  ASSERT_TRUE(executor.ok());
  const auto reference = (*executor)->Run(tensors);
  ASSERT_TRUE(reference.ok()) << reference.status();
  const Evaluation evaluated = Evaluate(*made, inputs, {.threads = 1, .lanes = 16});
  for (size_t lane = 0; lane < 16; ++lane) {
    EXPECT_EQ(evaluated.outputs[0][0][lane],
              std::bit_cast<int32_t>((*reference)[0].data<float>()[lane]));
  }
}

TEST(Computation, ViewsOfInputsAreStreamsOfTheirOwn) {
  const auto made = GraphOfNetwork(Parse(R"(graph "fir" {
    input %x : i32[1x18]
    const %a0 : i64[1] = [0]
    const %a1 : i64[1] = [1]
    const %a2 : i64[1] = [2]
    const %e0 : i64[1] = [16]
    const %e1 : i64[1] = [17]
    const %e2 : i64[1] = [18]
    const %c0 : i32[] = [3]
    const %c1 : i32[] = [-5]
    const %c2 : i32[] = [7]
    %x0 = slice %x, %a0, %e0, %a1 : i32[1x16]
    %x1 = slice %x, %a1, %e1, %a1 : i32[1x16]
    %x2 = slice %x, %a2, %e2, %a1 : i32[1x16]
    %p0 = mul %x0, %c0 "p0" : i32[1x16]
    %p1 = mul %x1, %c1 "p1" : i32[1x16]
    %p2 = mul %x2, %c2 "p2" : i32[1x16]
    %t = add %p0, %p1 "t" : i32[1x16]
    %s = add %t, %p2 "s" : i32[1x16]
    output %s
  })"));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(OperatorsIn(*made), (std::vector<std::string>{"mul", "mul", "mul", "add", "add"}));
  ASSERT_EQ(InputsOf(*made).size(), 3u);
  const std::vector<std::vector<Vector>> inputs = {{{1, 2}, {10, 20}, {100, 200}}};
  const Evaluation evaluated = Evaluate(*made, inputs, {.threads = 1, .lanes = 2});
  EXPECT_EQ(evaluated.outputs[0][0], (Vector{3 - 50 + 700, 6 - 100 + 1400}));
}

TEST(Computation, ConcatOfResultsBecomesAnOutputForEach) {
  const auto made = GraphOfNetwork(Parse(R"(graph "butterfly" {
    input %a : i32[1x8]
    input %b : i32[1x8]
    input %w : i32[1x8]
    %t = mul %b, %w "twiddle" : i32[1x8]
    %up = add %a, %t "up" : i32[1x8]
    %down = sub %a, %t "down" : i32[1x8]
    %both = concat %up, %down {axis=1} "both" : i32[1x16]
    output %both
  })"));
  ASSERT_TRUE(made.ok()) << made.status();
  const std::vector<std::vector<Vector>> inputs = {{{5, 1}, {2, 3}, {4, -1}}};
  const Evaluation evaluated = Evaluate(*made, inputs, {.threads = 1, .lanes = 2});
  ASSERT_EQ(evaluated.outputs[0].size(), 2u);
  EXPECT_EQ(evaluated.outputs[0][0], (Vector{13, -2}));
  EXPECT_EQ(evaluated.outputs[0][1], (Vector{-3, 4}));
}

TEST(Computation, IntegersCompareAndChoose) {
  const auto made = GraphOfNetwork(Parse(R"(graph "choose" {
    input %a : i32[1x4]
    input %b : i32[1x4]
    %g = greater %a, %b "g" : bool[1x4]
    %c = where %g, %a, %b "c" : i32[1x4]
    %n = neg %c "n" : i32[1x4]
    %r = relu %n "r" : i32[1x4]
    output %r
  })"));
  ASSERT_TRUE(made.ok()) << made.status();
  const std::vector<std::vector<Vector>> inputs = {{{5, -9, 0, 7}, {2, -3, 0, 9}}};
  const Evaluation evaluated = Evaluate(*made, inputs, {.threads = 1, .lanes = 4});
  EXPECT_EQ(evaluated.outputs[0][0], (Vector{0, 3, 0, 0}));
}

TEST(Computation, ErrorsNameTheNodeWithoutCounterpart) {
  const std::string head = "graph \"g\" { input %a : f32[1x4]\n";
  EXPECT_NE(MessageFor(head + "%y = sqrt %a \"root\" : f32[1x4]\n output %y }").find("node 'root'"),
            std::string::npos);
  EXPECT_NE(MessageFor(head + "%y = softmax %a {axis=-1} \"soft\" : f32[1x4]\n output %y }")
                .find("lanes do not meet"),
            std::string::npos);
  EXPECT_NE(MessageFor(head + "%y = add %a, %a \"twice\" : f32[1x4]\n"
                              "%z = transpose %y {perm=[1, 0]} \"turn\" : f32[4x1]\n"
                              "%u = add %z, %z \"u\" : f32[4x1]\n output %u }")
                .find("node 'turn'"),
            std::string::npos);
  EXPECT_NE(MessageFor(head + "%y = max %a, %a \"most\" : f32[1x4]\n output %y }")
                .find("lanes compare integers"),
            std::string::npos);
  EXPECT_NE(MessageFor(head + "output %a }").find("output 'a'"), std::string::npos);
}

}  // namespace
}  // namespace kiln::cgra
