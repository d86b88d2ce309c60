// Values of graphs, against values worked out by hand and against an evaluator in one recursive
// function.

#include "kiln/targets/cgra/graph/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace kiln::cgra {
namespace {

using testing::ElementsAre;

constexpr int32_t kNan = 0x7fc00000;

int32_t Bits(float value) { return std::bit_cast<int32_t>(value); }

int Add(ComputationGraph* graph, Op op, std::optional<int32_t> literal = std::nullopt) {
  const auto n = static_cast<int>(graph->nodes.size());
  graph->nodes.push_back({"n" + std::to_string(n), op, "", literal});
  return n;
}

// A graph of one output behind one operator, whose operands are the inputs.
ComputationGraph OneOperator(Op op, int operands, std::optional<int32_t> literal = std::nullopt) {
  ComputationGraph graph{"one", "one", {}, {}};
  for (int k = 0; k < operands; ++k) Add(&graph, Op::kInput);
  const int node = Add(&graph, op, literal);
  for (int k = 0; k < operands; ++k) graph.edges.push_back({k, node, k});
  const int output = Add(&graph, Op::kOutput);
  graph.edges.push_back({node, output, 0});
  EXPECT_TRUE(VerifyAndSort(&graph).ok());
  return graph;
}

int32_t Result(Op op, std::vector<int32_t> operands,
               std::optional<int32_t> literal = std::nullopt) {
  const ComputationGraph graph = OneOperator(op, static_cast<int>(operands.size()), literal);
  std::vector<std::vector<Vector>> inputs(1);
  for (const int32_t operand : operands) inputs[0].push_back({operand});
  return Evaluate(graph, inputs, {.threads = 1, .lanes = 1}).outputs[0][0][0];
}

TEST(EvaluateTest, IntegersWrapAndShiftByFiveBits) {
  constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(Result(Op::kAdd, {kMost, 1}), kLeast);
  EXPECT_EQ(Result(Op::kSub, {kLeast, 1}), kMost);
  EXPECT_EQ(Result(Op::kMul, {65536, 65536}), 0);
  EXPECT_EQ(Result(Op::kMul, {-3, 7}), -21);
  EXPECT_EQ(Result(Op::kShl, {1, 33}), 2);
  EXPECT_EQ(Result(Op::kShr, {-1, 28}), 15);
  EXPECT_EQ(Result(Op::kSra, {-16, 34}), -4);
  EXPECT_EQ(Result(Op::kAnd, {12, 10}), 8);
  EXPECT_EQ(Result(Op::kOr, {12, 10}), 14);
  EXPECT_EQ(Result(Op::kXor, {12, 10}), 6);
  EXPECT_EQ(Result(Op::kMin, {-1, 1}), -1);
  EXPECT_EQ(Result(Op::kMax, {-1, 1}), 1);
  EXPECT_EQ(Result(Op::kLt, {-1, 1}), 1);
  EXPECT_EQ(Result(Op::kLt, {1, 1}), 0);
  EXPECT_EQ(Result(Op::kEq, {1, 1}), 1);
  EXPECT_EQ(Result(Op::kEq, {0, 1}), 0);
  EXPECT_EQ(Result(Op::kSelect, {5, 7, 9}), 7);
  EXPECT_EQ(Result(Op::kSelect, {0, 7, 9}), 9);
  EXPECT_EQ(Result(Op::kPass, {7}), 7);
  EXPECT_EQ(Result(Op::kBranch, {7, 0}), 7);
  EXPECT_EQ(Result(Op::kMerge, {0, 9}), 9);
}

TEST(EvaluateTest, FloatsRoundToEvenAndHaveOneNan) {
  EXPECT_EQ(Result(Op::kFAdd, {Bits(1.5F), Bits(2.25F)}), Bits(3.75F));
  EXPECT_EQ(Result(Op::kFSub, {Bits(1.0F), Bits(1.0F)}), 0);
  EXPECT_EQ(Result(Op::kFMul, {Bits(-0.0F), Bits(3.0F)}), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(Result(Op::kFAdd, {Bits(16777216.0F), Bits(1.0F)}), Bits(16777216.0F));  // a tie
  EXPECT_EQ(Result(Op::kFAdd, {Bits(16777216.0F), Bits(3.0F)}), Bits(16777220.0F));  // a tie
  EXPECT_EQ(Result(Op::kFMul, {1, Bits(0.5F)}), 0);  // half the least subnormal
  EXPECT_EQ(Result(Op::kFMul, {3, Bits(0.5F)}), 2);  // rounds up to even
  EXPECT_EQ(Result(Op::kFMul, {0x7f7fffff, Bits(2.0F)}), 0x7f800000);
  EXPECT_EQ(Result(Op::kFSub, {0x7f800000, 0x7f800000}), kNan);
  EXPECT_EQ(Result(Op::kFAdd, {static_cast<int32_t>(0xffc12345U), Bits(1.0F)}), kNan);
  EXPECT_EQ(Result(Op::kPass, {static_cast<int32_t>(0xffc12345U)}),
            static_cast<int32_t>(0xffc12345U));  // no arithmetic
}

TEST(EvaluateTest, MissingOperandsAreTheLiteralThenZero) {
  EXPECT_EQ(Result(Op::kAdd, {5}, 3), 8);
  EXPECT_EQ(Result(Op::kAdd, {5}), 5);
  EXPECT_EQ(Result(Op::kAdd, {}, 3), 3);
  EXPECT_EQ(Result(Op::kMul, {5}), 0);
  EXPECT_EQ(Result(Op::kSelect, {1}, 4), 4);     // the literal is operand 1
  EXPECT_EQ(Result(Op::kSelect, {0, 3}, 4), 4);  // the literal is operand 2
  EXPECT_EQ(Result(Op::kAdd, {5, 6}, 3), 11);    // no operand is missing
  // The literal is operand 0 where the edge is operand 1.
  ComputationGraph graph = OneOperator(Op::kSub, 1, 10);
  graph.edges[0].operand = 1;
  const std::vector<std::vector<Vector>> inputs = {{{4}}};
  EXPECT_EQ(Evaluate(graph, inputs, {.threads = 1, .lanes = 1}).outputs[0][0][0], 6);
}

TEST(EvaluateTest, PredicatesClearLanesOfAnyOperator) {
  ComputationGraph graph{"gate", "gate", {}, {}};
  const int x = Add(&graph, Op::kInput), p = Add(&graph, Op::kInput), q = Add(&graph, Op::kInput);
  const int sum = Add(&graph, Op::kAdd, 100), out = Add(&graph, Op::kOutput);
  graph.edges = {{x, sum, 0},
                 {p, sum, 0, EdgeKind::kPredicate},
                 {q, sum, 0, EdgeKind::kPredicate},
                 {sum, out, 0}};
  ASSERT_TRUE(VerifyAndSort(&graph).ok());
  const std::vector<std::vector<Vector>> inputs = {{{1, 2, 3, 4}, {1, 0, 5, 0}, {-1, 1, 0, 0}}};
  EXPECT_THAT(Evaluate(graph, inputs, {.threads = 1, .lanes = 4}).outputs[0][0],
              ElementsAre(101, 0, 0, 0));
}

TEST(EvaluateTest, DistancesReadEarlierThreads) {
  // sum(t) = x(t) + sum(t - 2), from 1000 and 1000.
  ComputationGraph graph{"sum", "sum", {}, {}};
  const int x = Add(&graph, Op::kInput), sum = Add(&graph, Op::kAdd);
  const int out = Add(&graph, Op::kOutput);
  graph.edges = {{x, sum, 0},
                 {.source = sum, .target = sum, .operand = 1, .distance = 2, .initial = 1000},
                 {sum, out, 0}};
  ASSERT_TRUE(VerifyAndSort(&graph).ok());
  std::vector<std::vector<Vector>> inputs;
  for (int t = 1; t <= 5; ++t) inputs.push_back({{t}});
  const Evaluation result = Evaluate(graph, inputs, {.threads = 5, .lanes = 1});
  std::vector<int32_t> sums;
  for (const std::vector<Vector>& thread : result.outputs) sums.push_back(thread[0][0]);
  EXPECT_THAT(sums, ElementsAre(1001, 1002, 1004, 1006, 1009));
}

TEST(EvaluateTest, DistancesOfInputsAndBackwardEdges) {
  // The node `first` reads a later node of the earlier thread.
  ComputationGraph graph{"back", "back", {}, {}};
  const int x = Add(&graph, Op::kInput);
  const int first = Add(&graph, Op::kAdd), second = Add(&graph, Op::kAdd, 10);
  const int out = Add(&graph, Op::kOutput);
  graph.edges = {{.source = x, .target = first, .operand = 0, .distance = 1, .initial = -5},
                 {.source = second, .target = first, .operand = 1, .distance = 1, .initial = 7},
                 {first, second, 0},
                 {second, out, 0}};
  ASSERT_TRUE(VerifyAndSort(&graph).ok());
  const std::vector<std::vector<Vector>> inputs = {{{1}}, {{2}}, {{3}}};
  const Evaluation result = Evaluate(graph, inputs, {.threads = 3, .lanes = 1});
  EXPECT_EQ(result.outputs[0][0][0], -5 + 7 + 10);
  EXPECT_EQ(result.outputs[1][0][0], 1 + 12 + 10);
  EXPECT_EQ(result.outputs[2][0][0], 2 + 23 + 10);
}

TEST(EvaluateTest, LoadsReadTheMemoryAndStoresAreRecorded) {
  ComputationGraph graph{"memory", "memory", {}, {}};
  const int x = Add(&graph, Op::kInput), p = Add(&graph, Op::kInput);
  const int load = Add(&graph, Op::kLoad), fixed = Add(&graph, Op::kLoad, 77);
  const int store = Add(&graph, Op::kStore), other = Add(&graph, Op::kStore, 500);
  graph.edges = {{x, load, 0},
                 {x, store, 0},
                 {load, store, 1},
                 {p, store, 0, EdgeKind::kPredicate},
                 {fixed, other, 0}};
  ASSERT_TRUE(VerifyAndSort(&graph).ok());
  const std::vector<std::vector<Vector>> inputs = {{{10, 20}, {1, 0}}};
  const Evaluation result =
      Evaluate(graph, inputs,
               {.threads = 1, .lanes = 2, .memory = [](int32_t address) { return address * 3; }});
  ASSERT_EQ(result.stores.size(), 2U);
  EXPECT_EQ(result.stores[0], (StoreRecord{store, 0, {10, 20}, {30, 0}, {true, false}}));
  EXPECT_EQ(result.stores[1], (StoreRecord{other, 0, {500, 500}, {231, 231}, {true, true}}));
  // SplitMix64 of the seeds 0 and 1, from the published generator: 0xe220a8397b1dcdaf and
  // 0x910a2dec89025cc1.
  EXPECT_EQ(MixedMemory(0), 0x7b1dcdaf);
  EXPECT_EQ(MixedMemory(1), static_cast<int32_t>(0x89025cc1U));
}

TEST(EvaluateTest, KeepsValuesOfAllNodesIfAsked) {
  const ComputationGraph graph = OneOperator(Op::kAdd, 2);
  const std::vector<std::vector<Vector>> inputs = {{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}};
  EXPECT_TRUE(Evaluate(graph, inputs, {.threads = 2, .lanes = 2}).values.empty());
  const Evaluation kept =
      Evaluate(graph, inputs, {.threads = 2, .lanes = 2, .memory = {}, .keep_values = true});
  ASSERT_EQ(kept.values.size(), 2U);
  EXPECT_EQ(kept.values[1][2], (Vector{12, 14}));
  EXPECT_EQ(kept.values[0][0], (Vector{1, 2}));
}

}  // namespace
}  // namespace kiln::cgra
