// Matchers, checks and errors that the lowering of all families uses.

#include "kiln/targets/lower/partition.h"

#include <algorithm>

#include "fmt/format.h"

namespace kiln {

std::function<bool(const Node&)> AnyOf(std::vector<Op> ops) {
  return [ops = std::move(ops)](const Node& node) {
    return std::find(ops.begin(), ops.end(), node.op()) != ops.end();
  };
}

std::function<bool(const Node&)> AnyNode() {
  return [](const Node&) { return true; };
}

bool IsConstantPerChannel(const Value* value, const Shape& product) {
  if (!value->is_constant() || value->element() != ElementType::kFloat32) return false;
  const Shape& shape = value->shape();
  if (shape.NumElements() == 1) return true;
  const int last = shape.rank() - 1;
  return product.rank() > 0 && shape.NumElements() == shape[last] &&
         shape[last] == product[product.rank() - 1];
}

bool IsGraphOutput(const Graph& graph, const Value* value) {
  return std::find(graph.outputs().begin(), graph.outputs().end(), value) != graph.outputs().end();
}

Status CheckKnownShapes(const Graph& graph) {
  for (const Value* value : graph.Values()) {
    if (value->has_shape() && value->shape().IsKnown()) continue;
    return ErrorAt(graph.source(), fmt::format("value '{}'", value->name()), "has no known shape",
                   "give the shapes of all inputs, batch 1");
  }
  return OkStatus();
}

Status NoHostFallback(const Graph& graph, const NodeGroup& group, const std::string& reason) {
  return UnsupportedAt(graph.source(), group.anchor->Describe(), reason,
                       "allow host fallback or change the network");
}

}  // namespace kiln
