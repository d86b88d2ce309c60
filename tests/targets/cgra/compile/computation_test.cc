#include "kiln/targets/cgra/compile/computation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
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

// Runs a graph of one output, one lane and one input a thread, on the bits of fp32 numbers.
std::vector<float> RunFloats(const std::string& text, const std::vector<std::vector<float>>& all) {
  const auto made = GraphOfNetwork(Parse(text));
  EXPECT_TRUE(made.ok()) << made.status();
  if (!made.ok()) return {};
  std::vector<std::vector<Vector>> inputs;
  for (const std::vector<float>& thread : all) {
    inputs.emplace_back();
    for (const float value : thread) inputs.back().push_back({std::bit_cast<int32_t>(value)});
  }
  const Evaluation evaluated =
      Evaluate(*made, inputs, {.threads = static_cast<int>(all.size()), .lanes = 1});
  std::vector<float> results;
  for (const std::vector<Vector>& thread : evaluated.outputs)
    results.push_back(std::bit_cast<float>(thread[0][0]));
  return results;
}

TEST(Computation, ExponentialsAreCloseToTheExactOnes) {
  std::vector<std::vector<float>> inputs;
  for (float x = -87; x <= 88; x += 0.0371F) inputs.push_back({x});
  for (const float x : {0.0F, -0.0F, 1.0F, 1e-20F, -1e-6F}) inputs.push_back({x});
  const std::vector<float> results = RunFloats(
      "graph \"g\" { input %x : f32[1x8]\n %y = exp %x \"e\" : f32[1x8]\n output %y }", inputs);
  ASSERT_EQ(results.size(), inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const long double exact = std::exp(static_cast<long double>(inputs[i][0]));
    EXPECT_LE(std::abs(results[i] - exact), exact * 0x1p-22L) << inputs[i][0];
  }
  // Arguments beyond the bounds have the results of the bounds.
  const std::vector<float> held =
      RunFloats("graph \"g\" { input %x : f32[1x8]\n %y = exp %x \"e\" : f32[1x8]\n output %y }",
                {{-87}, {-1000}, {88}, {1e30F}});
  EXPECT_EQ(held[0], held[1]);
  EXPECT_EQ(held[2], held[3]);
  EXPECT_LT(held[0], 2e-38F);
  EXPECT_GT(held[2], 1e38F);
}

TEST(Computation, FloatsCompareByTheirDifferences) {
  const std::vector<float> values = {-3, -1, -0.5F, 0, 0.25F, 1, 7, 1e-40F, -1e-40F};
  std::vector<std::vector<float>> pairs;
  for (const float a : values) {
    for (const float b : values) pairs.push_back({a, b});
  }
  const auto run = [&](const std::string& nodes) {
    return RunFloats(
        "graph \"g\" { input %a : f32[1x8]\n input %b : f32[1x8]\n" + nodes + "output %y }", pairs);
  };
  const auto most = run("%y = max %a, %b \"m\" : f32[1x8]\n");
  const auto least = run("%y = min %a, %b \"m\" : f32[1x8]\n");
  const auto less =
      run("%l = less %a, %b \"l\" : bool[1x8]\n"
          "%y = where %l, %a, %b \"w\" : f32[1x8]\n");
  const auto held =
      run("const %low : f32[] = [-1.0]\n const %high : f32[] = [0.5]\n"
          "%c = clip %a, %low, %high \"c\" : f32[1x8]\n"
          "%y = add %c, %b \"s\" : f32[1x8]\n");
  const auto sizes = run("%c = abs %a \"c\" : f32[1x8]\n %y = sub %c, %b \"s\" : f32[1x8]\n");
  for (size_t i = 0; i < pairs.size(); ++i) {
    const float a = pairs[i][0], b = pairs[i][1];
    EXPECT_EQ(most[i], std::max(a, b));
    EXPECT_EQ(least[i], std::min(a, b));
    EXPECT_EQ(less[i], std::min(a, b));
    EXPECT_EQ(held[i], std::clamp(a, -1.0F, 0.5F) + b);
    EXPECT_EQ(sizes[i], std::abs(a) - b);
  }
}

// The results themselves, against the comparisons of C++.
TEST(Computation, FloatsCompareWithSignedZerosAndInfinities) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> values = {-kInfinity, -1,   -1e-40F,    -0.0F,  0.0F,
                                     1e-40F,     1,    3e38F,      -3e38F, kInfinity,
                                     nan,        -nan, 1.0000001F, -1e-45F};
  std::vector<std::vector<float>> pairs;
  for (const float a : values) {
    for (const float b : values) pairs.push_back({a, b});
  }
  const auto run = [&](const std::string& op) {
    return RunFloats("graph \"g\" { input %a : f32[1x8]\n input %b : f32[1x8]\n %y = " + op +
                         " %a, %b \"y\" : bool[1x8]\n output %y }",
                     pairs);
  };
  const auto less = run("less"), greater = run("greater"), equal = run("equal");
  ASSERT_EQ(less.size(), pairs.size());
  ASSERT_EQ(greater.size(), pairs.size());
  ASSERT_EQ(equal.size(), pairs.size());
  for (size_t i = 0; i < pairs.size(); ++i) {
    const float a = pairs[i][0], b = pairs[i][1];
    EXPECT_EQ(std::bit_cast<int32_t>(less[i]), a < b ? 1 : 0) << a << " " << b;
    EXPECT_EQ(std::bit_cast<int32_t>(greater[i]), a > b ? 1 : 0) << a << " " << b;
    EXPECT_EQ(std::bit_cast<int32_t>(equal[i]), a == b ? 1 : 0) << a << " " << b;
  }
}

// The pieces of a soft-max: the greatest element, and for one that is known, exponentials and their
// sum.
TEST(Computation, ReductionsAreRunningValues) {
  const std::string head = "graph \"g\" { input %x : f32[4x8]\n const %axes : i64[1] = [0]\n";
  const std::vector<std::vector<float>> inputs = {{-3}, {-1.5F}, {-2}, {-1.75F}};
  EXPECT_EQ(
      RunFloats(head + "%y = reduce_max %x, %axes {keepdims=1} \"m\" : f32[1x8]\n output %y }",
                inputs),
      (std::vector<float>{-3, -1.5F, -1.5F, -1.5F}));
  EXPECT_EQ(
      RunFloats(head + "%y = reduce_min %x, %axes {keepdims=1} \"m\" : f32[1x8]\n output %y }",
                inputs),
      (std::vector<float>{-3, -3, -3, -3}));
  EXPECT_EQ(
      RunFloats(head + "%y = reduce_sum %x, %axes {keepdims=1} \"m\" : f32[1x8]\n output %y }",
                inputs),
      (std::vector<float>{-3, -4.5F, -6.5F, -8.25F}));
  const std::string pieces =
      "graph \"g\" { input %x : f32[4x8]\n input %m : f32[1x8]\n const %axes : i64[1] = [0]\n"
      "%d = sub %x, %m \"d\" : f32[4x8]\n %e = exp %d \"e\" : f32[4x8]\n"
      "%y = reduce_sum %e, %axes {keepdims=1} \"s\" : f32[1x8]\n output %y }";
  const std::vector<float> sums =
      RunFloats(pieces, {{-3, -1.5F}, {-1.5F, -1.5F}, {-2, -1.5F}, {-1.75F, -1.5F}});
  ASSERT_EQ(sums.size(), 4u);
  EXPECT_NEAR(sums[3], std::exp(-1.5) + 1 + std::exp(-0.5) + std::exp(-0.25), 1e-6);
  const std::string used = head +
                           "%m = reduce_max %x, %axes {keepdims=1} \"m\" : f32[1x8]\n"
                           "%y = sub %x, %m \"y\" : f32[4x8]\n output %y }";
  EXPECT_NE(MessageFor(used).find("only its last thread has the result"), std::string::npos);
  const std::string two =
      head +
      "const %other : i64[1] = [1]\n"
      "%m = reduce_max %x, %axes {keepdims=1} \"m\" : f32[1x8]\n"
      "%n = reduce_max %x, %other {keepdims=1} \"n\" : f32[4x1]\n output %m\n output %n }";
  EXPECT_NE(MessageFor(two).find("axes of another reduction"), std::string::npos);
}

// Threads run along the four rows of y: each of them would add the one row of x.
TEST(Computation, ReductionsOfWhatThreadsShareAreRefused) {
  const std::string head =
      "graph \"g\" { input %x : f32[1x8]\n input %y : f32[4x8]\n const %axes : i64[1] = [0]\n"
      "const %one : f32[1x1] = [2.0]\n";
  const auto sums = [&](const std::string& operand, const std::string& result) {
    return head + "%a = reduce_sum %" + operand + ", %axes {keepdims=1} \"shared\" : f32" + result +
           "\n%b = reduce_sum %y, %axes {keepdims=1} \"all\" : f32[1x8]\n" +
           "output %a\n output %b }";
  };
  const std::string message = MessageFor(sums("x", "[1x8]"));
  EXPECT_NE(message.find("'shared'"), std::string::npos) << message;
  EXPECT_NE(message.find("threads run along 4 elements of the reduced axis, its operand has 1"),
            std::string::npos)
      << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_NE(MessageFor(sums("one", "[1x1]")).find("'shared'"), std::string::npos);
  // Another axis of the same number from the front.
  EXPECT_NE(MessageFor("graph \"g\" { input %x : f32[4x8]\n input %y : f32[4x4x8]\n"
                       "const %axes : i64[1] = [0]\n"
                       "%a = reduce_sum %x, %axes {keepdims=1} \"a\" : f32[1x8]\n"
                       "%b = reduce_sum %y, %axes {keepdims=1} \"b\" : f32[1x4x8]\n"
                       "output %a\n output %b }")
                .find("axes of another reduction"),
            std::string::npos);
  EXPECT_EQ(MessageFor(sums("y", "[1x8]")), "");
}

TEST(Computation, ReductionsWithoutAxesAreOverAllOrNone) {
  const std::vector<std::vector<float>> inputs = {{1}, {2}, {4}};
  EXPECT_EQ(RunFloats("graph \"g\" { input %x : f32[3]\n const %none : i64[0] = []\n"
                      "%y = reduce_sum %x, %none {keepdims=1} \"y\" : f32[1]\n output %y }",
                      inputs),
            (std::vector<float>{1, 3, 7}));
  EXPECT_EQ(RunFloats("graph \"g\" { input %x : f32[3]\n const %none : i64[0] = []\n"
                      "%y = reduce_sum %x, %none {keepdims=1, noop_with_empty_axes=1} \"y\" : "
                      "f32[3]\n%z = add %y, %y \"z\" : f32[3]\n output %z }",
                      inputs),
            (std::vector<float>{2, 4, 8}));
  EXPECT_EQ(MessageFor("graph \"g\" { input %x : f32[3x4]\n const %none : i64[0] = []\n"
                       "const %all : i64[2] = [1, 0]\n"
                       "%y = reduce_sum %x, %none {keepdims=1} \"y\" : f32[1x1]\n"
                       "%z = reduce_max %x, %all {keepdims=1} \"z\" : f32[1x1]\n"
                       "output %y\n output %z }"),
            "");
}

TEST(Computation, IntegersTakeExtremaAndMagnitudes) {
  const auto made = GraphOfNetwork(Parse(R"(graph "sizes" {
    input %a : i32[3x4]
    const %axes : i64[1] = [0]
    %m = abs %a "m" : i32[3x4]
    %s = reduce_max %m, %axes {keepdims=1} "s" : i32[1x4]
    %t = reduce_sum %m, %axes {keepdims=1} "t" : i32[1x4]
    output %s
    output %t
  })"));
  ASSERT_TRUE(made.ok()) << made.status();
  const std::vector<std::vector<Vector>> inputs = {{{5, -9}}, {{-7, 2}}, {{1, -1}}};
  const Evaluation evaluated = Evaluate(*made, inputs, {.threads = 3, .lanes = 2});
  EXPECT_EQ(evaluated.outputs[2][0], (Vector{7, 9}));
  EXPECT_EQ(evaluated.outputs[2][1], (Vector{13, 12}));
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
  EXPECT_NE(MessageFor(head + "output %a }").find("output 'a'"), std::string::npos);
}

}  // namespace
}  // namespace kiln::cgra
