// Makes names unique, and adds nodes and edges.

#include "kiln/targets/cgra/compile/graph_builder.h"

#include <utility>

#include "fmt/format.h"
#include "kiln/support/check.h"
#include "kiln/support/excerpt.h"

namespace kiln::cgra {

GraphBuilder::GraphBuilder(std::string_view name) {
  graph_.name = name;
  graph_.source = name;
}

int GraphBuilder::NewNode(Op op, std::string_view name) {
  GraphNode node;
  node.op = op;
  std::string wanted = Excerpt(name);
  if (wanted.empty()) wanted = RowOf(op).name;
  node.name = wanted;
  for (int i = 2; !names_.insert(node.name).second; ++i)
    node.name = fmt::format("{}.{}", wanted, i);
  graph_.nodes.push_back(std::move(node));
  const auto number = static_cast<int>(graph_.nodes.size()) - 1;
  if (graph_.TakesSlot(number)) ++instructions_;
  return number;
}

void GraphBuilder::Edge(int from, int to, int operand, int distance, int32_t initial) {
  GraphEdge edge;
  edge.source = from;
  edge.target = to;
  edge.operand = operand;
  edge.distance = distance;
  edge.initial = initial;
  graph_.edges.push_back(edge);
}

int GraphBuilder::Input(std::string_view name) { return NewNode(Op::kInput, name); }

void GraphBuilder::Output(int from, std::string_view name) {
  Edge(from, NewNode(Op::kOutput, name), 0);
}

int GraphBuilder::Add(Op op, std::string_view name, int a, int b) {
  const int node = NewNode(op, name);
  Edge(a, node, 0);
  Edge(b, node, 1);
  return node;
}

int GraphBuilder::AddLiteral(Op op, std::string_view name, int a, int32_t literal) {
  const int node = NewNode(op, name);
  Edge(a, node, 0);
  graph_.nodes.back().literal = literal;
  return node;
}

int GraphBuilder::Unary(Op op, std::string_view name, int a) {
  const int node = NewNode(op, name);
  Edge(a, node, 0);
  return node;
}

int GraphBuilder::Accumulate(Op op, std::string_view name, int a, int32_t initial) {
  const int node = NewNode(op, name);
  Edge(a, node, 0);
  Edge(node, node, 1, 1, initial);
  return node;
}

int GraphBuilder::Const(std::string_view name, int32_t value) {
  const int node = NewNode(Op::kConst, name);
  graph_.nodes.back().literal = value;
  return node;
}

int GraphBuilder::Select(std::string_view name, int condition, int a, int b) {
  const int node = NewNode(Op::kSelect, name);
  Edge(condition, node, 0);
  Edge(a, node, 1);
  Edge(b, node, 2);
  return node;
}

StatusOr<ComputationGraph> GraphBuilder::Verified(std::string_view source) {
  graph_.source = source;
  KILN_RETURN_IF_ERROR(VerifyAndSort(&graph_));
  return std::move(graph_);
}

ComputationGraph GraphBuilder::Finish() {
  const Status status = VerifyAndSort(&graph_);
  KILN_CHECK(status.ok());
  return std::move(graph_);
}

}  // namespace kiln::cgra
