// Implements the helpers of pass tests.
#include "tests/passes/pass_testing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "kiln/execute/reference.h"
#include "kiln/ir/random_graph.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/ir/verifier.h"
#include "kiln/passes/pipeline.h"
#include "kiln/quantise/quantise.h"
#include "kiln/quantise/simulate.h"

namespace kiln {
namespace {

std::string DescribeAttribute(const Attribute& attribute) {
  return std::visit(
      [](const auto& value) -> std::string {
        using T = std::decay_t<decltype(value)>;
        std::string text;
        if constexpr (std::is_same_v<T, Tensor>) {
          return value.shape().ToString();
        } else if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, float> ||
                             std::is_same_v<T, std::string>) {
          return fmt::format("{}", value);
        } else {
          for (const auto& item : value) text += fmt::format("{},", item);
          return "[" + text + "]";
        }
      },
      attribute);
}

std::string DescribeValue(const Value* value) {
  if (value == nullptr) return "-";
  std::string text = fmt::format("%{}:{}{}", value->name(), NameOf(value->element()),
                                 value->has_shape() ? "[" + value->shape().ToString() + "]" : "");
  if (const auto& q = value->quantisation(); q.has_value()) {
    text += fmt::format(" {} axis {} of {} scales", q->type.format.name, q->axis, q->scales.size());
    for (const float scale : q->scales) text += fmt::format(" {:a}", scale);
    for (const int32_t zero : q->zero_points) text += fmt::format(" {}", zero);
  }
  return text;
}

// Small graphs run on plain loops: thousands of tiny graphs are no work for a thread pool.
bool IsSmall(const Graph& graph) {
  for (const Value* value : graph.Values()) {
    if (value->has_shape() && value->shape().IsKnown() && value->shape().NumElements() > 4096)
      return false;
  }
  return true;
}

StatusOr<std::vector<Tensor>> RunGraph(const Graph& graph, const std::vector<Tensor>& inputs) {
  if (!IsSmall(graph)) {
    KILN_ASSIGN_OR_RETURN(const auto executor, ReferenceExecutor::Create(graph));
    return executor->Run(inputs);
  }
  std::map<const Value*, Tensor> values;
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.inputs()[i]] = inputs[i];
  for (const Value* constant : graph.Constants()) values[constant] = constant->constant();
  for (const auto& node : graph.nodes()) {
    std::vector<const Tensor*> operands;
    for (const Value* operand : node->operands())
      operands.push_back(operand == nullptr ? nullptr : &values.at(operand));
    KILN_ASSIGN_OR_RETURN(std::vector<Tensor> results, EvaluateNode(*node, operands));
    for (int i = 0; i < node->num_results(); ++i) {
      if (node->result(i) != nullptr)
        values[node->result(i)] = std::move(results[static_cast<size_t>(i)]);
    }
  }
  std::vector<Tensor> outputs;
  for (const Value* output : graph.outputs()) outputs.push_back(values.at(output));
  return outputs;
}

// What annotations round is part of what a graph means.
StatusOr<std::vector<Tensor>> RunAnnotated(const Graph& graph, const std::vector<Tensor>& inputs) {
  if (const QuantisedCount count = CountQuantised(graph); count.activations + count.weights == 0) {
    return RunGraph(graph, inputs);
  }
  KILN_ASSIGN_OR_RETURN(const Graph simulated, SimulateQuantisation(graph));
  return RunGraph(simulated, inputs);
}

}  // namespace

std::string Describe(const Graph& graph) {
  std::string text;
  for (const Value* input : graph.inputs()) text += fmt::format("input {}\n", DescribeValue(input));
  for (const Value* constant : graph.Constants()) {
    const Tensor& t = constant->constant();
    const std::string_view bytes(reinterpret_cast<const char*>(t.bytes()),
                                 static_cast<size_t>(t.num_bytes()));
    text += fmt::format("constant {} #{:x}", DescribeValue(constant),
                        std::hash<std::string_view>{}(bytes));
    if (t.size() <= 8 && t.type() != ElementType::kString) {
      for (int64_t i = 0; i < t.size(); ++i) text += fmt::format(" {}", t.ValueAt(i));
    }
    text += "\n";
  }
  for (const auto& node : graph.nodes()) {
    for (const Value* result : node->results()) text += DescribeValue(result) + " ";
    text += fmt::format("= {}", node->info().text);
    for (const Value* operand : node->operands()) text += " " + DescribeValue(operand);
    for (const auto& [name, value] : node->attributes())
      text += fmt::format(" {}={}", name, DescribeAttribute(value));
    text += fmt::format(" '{}' '{}'\n", node->name(), node->region());
  }
  for (const Value* output : graph.outputs())
    text += fmt::format("output {}\n", DescribeValue(output));
  return text;
}

void ExpectSameOutputs(const Graph& expected, const Graph& actual, uint64_t seed) {
  ASSERT_EQ(actual.outputs().size(), expected.outputs().size());
  ASSERT_EQ(actual.inputs().size(), expected.inputs().size());
  for (size_t i = 0; i < expected.outputs().size(); ++i) {
    EXPECT_EQ(actual.outputs()[i]->name(), expected.outputs()[i]->name());
    // A pass may find out more about a type, but never less.
    const TensorType &known = expected.outputs()[i]->type(), &now = actual.outputs()[i]->type();
    EXPECT_EQ(MergeTypes(now, known), now) << expected.outputs()[i]->name();
    EXPECT_TRUE(Compatible(now, known)) << expected.outputs()[i]->name();
  }
  Graph sized = expected.Clone();  // unknown dimensions become 2
  for (Value* input : sized.inputs()) {
    std::vector<int64_t> dims = input->shape().dims();
    std::replace(dims.begin(), dims.end(), kUnknownDim, int64_t{2});
    sized.SetType(input, {input->element(), Shape(dims)});
  }
  const std::vector<Tensor> inputs = RandomInputs(sized, seed);
  const auto want = RunAnnotated(expected, inputs), got = RunAnnotated(actual, inputs);
  ASSERT_TRUE(want.ok()) << MessageOf(want.status());
  ASSERT_TRUE(got.ok()) << MessageOf(got.status());
  for (size_t i = 0; i < want->size(); ++i) {
    const Tensor &w = (*want)[i], &g = (*got)[i];
    ASSERT_EQ(g.shape(), w.shape()) << expected.outputs()[i]->name();
    ASSERT_EQ(g.type(), w.type()) << expected.outputs()[i]->name();
    double largest = 1e-3, worst = 0;
    for (int64_t n = 0; n < w.size(); ++n) {
      largest = std::max(largest, std::abs(w.ValueAt(n)));
      worst = std::max(worst, std::abs(w.ValueAt(n) - g.ValueAt(n)));
    }
    EXPECT_LE(worst, 1e-4 * largest) << expected.outputs()[i]->name();
  }
}

Changed CheckPass(Graph& graph, std::string_view pass, uint64_t seed) {
  const Graph original = graph.Clone();
  const std::string before = Describe(graph);
  PassContext context;
  const auto run = [&] { return FindPass(pass)->create()->Run(graph, context); };
  const StatusOr<Changed> first = run();
  EXPECT_TRUE(first.ok()) << MessageOf(first.status());
  if (!first.ok()) return Changed::kNo;
  const std::string after = Describe(graph);
  EXPECT_EQ(*first == Changed::kYes, after != before)
      << pass << " does not tell the truth; after:\n"
      << after;

  const Status verified = Verify(graph);
  EXPECT_TRUE(verified.ok()) << MessageOf(verified) << "; after:\n" << after;
  if (!verified.ok()) return *first;
  ExpectSameOutputs(original, graph, seed);
  if (testing::Test::HasFailure()) ADD_FAILURE() << "after " << pass << ":\n" << after;

  const StatusOr<Changed> second = run();
  EXPECT_TRUE(second.ok()) << MessageOf(second.status());
  const std::string again = Describe(graph);
  EXPECT_EQ(again, after) << "a second run of " << pass << " changes the graph";
  EXPECT_TRUE(!second.ok() || *second == Changed::kNo)
      << "a second run of " << pass << " claims a change";
  return *first;
}

}  // namespace kiln
