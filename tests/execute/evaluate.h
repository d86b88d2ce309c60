// Evaluates one operator in a test without writing out a graph.
#ifndef KILN_TESTS_EXECUTE_EVALUATE_H_
#define KILN_TESTS_EXECUTE_EVALUATE_H_

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kiln/execute/reference.h"
#include "kiln/ir/graph.h"

namespace kiln {

using AttributeList = std::vector<std::pair<std::string, Attribute>>;

// Returns a graph of one node. Operand i is a graph input of the tensor's type and shape, or absent
// (nullopt).
struct OneNode {
  OneNode(Op op, const std::vector<std::optional<Tensor>>& operands,
          const AttributeList& attributes, int results = 1) {
    std::vector<Value*> values;
    for (const auto& operand : operands) {
      values.push_back(operand.has_value() ? graph.AddInput("", {operand->type(), operand->shape()})
                                           : nullptr);
    }
    Attributes map;
    for (const auto& [name, value] : attributes) map.Set(name, value);
    std::vector<std::string> names(static_cast<size_t>(results), "r");
    node = graph.AddNode(op, "n", values, names, map);
    for (Value* result : node->results()) graph.MarkOutput(result);
  }
  Graph graph;
  Node* node = nullptr;
};

inline StatusOr<std::vector<Tensor>> Evaluate(Op op,
                                              const std::vector<std::optional<Tensor>>& operands,
                                              const AttributeList& attributes = {},
                                              int results = 1) {
  const OneNode one(op, operands, attributes, results);
  std::vector<const Tensor*> pointers;
  for (const auto& operand : operands)
    pointers.push_back(operand.has_value() ? &*operand : nullptr);
  return EvaluateNode(*one.node, pointers);
}

using Ints = std::vector<int64_t>;

inline Tensor Floats(Shape shape, const std::vector<float>& values) {
  return Tensor::Of<float>(std::move(shape), values);
}
inline Tensor IntList(const Ints& values) {
  return Tensor::Of<int64_t>({static_cast<int64_t>(values.size())}, values);
}

// Return all results, or the first, of a node that must evaluate.
inline std::vector<Tensor> All(StatusOr<std::vector<Tensor>> results) {
  EXPECT_TRUE(results.ok()) << results.status();
  return results.ok() ? *std::move(results) : std::vector<Tensor>(3);
}
inline Tensor First(StatusOr<std::vector<Tensor>> results) { return All(std::move(results))[0]; }

// Returns 0, 1, 2, ... in the given shape.
inline Tensor Iota(const Shape& shape) {
  Tensor t(ElementType::kFloat32, shape);
  for (int64_t i = 0; i < t.size(); ++i)
    t.data<float>()[static_cast<size_t>(i)] = static_cast<float>(i);
  return t;
}

}  // namespace kiln

#endif  // KILN_TESTS_EXECUTE_EVALUATE_H_
