// Nodes of graphs that tests build by hand.
#ifndef TESTS_TARGETS_INFERRED_NODE_H_
#define TESTS_TARGETS_INFERRED_NODE_H_

#include <string>
#include <utility>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/support/check.h"

namespace kiln {

// The result of a new node, which has the node's name, with its shape.
inline Value* AddInferred(Graph& graph, Op op, const std::string& name,
                          std::vector<Value*> operands, Attributes attributes = {}) {
  Node* node = graph.AddNode(op, name, std::move(operands), {name}, std::move(attributes));
  KILN_CHECK(InferNode(graph, *node).ok());
  return node->result();
}

}  // namespace kiln

#endif  // TESTS_TARGETS_INFERRED_NODE_H_
