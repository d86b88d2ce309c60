// Implements spread-annotations: alternates a backward and a forward sweep until nothing changes.
#include "kiln/passes/spread_annotations.h"

#include <algorithm>
#include <vector>

#include "kiln/passes/data_movement.h"
#include "kiln/passes/quantiser.h"
#include "kiln/passes/rewrite.h"

namespace kiln {
namespace {

// Returns true if rounding the data operands equals rounding the results. The indices that a
// MaxPool may return besides its maxima are not values to round.
bool Picks(const Node& node) {
  return PicksElements(node) && (node.num_results() == 1 || node.info().Has(kMovesData));
}

// Returns the operands whose elements the result consists of.
std::vector<Value*> DataOperands(const Node& node) {
  if (node.op() == Op::kConcat) return node.operands();
  return {node.operand(0)};
}

// Returns true for annotations with one scale and integer codes, which can represent zero.
bool CanSpread(const std::optional<Quantisation>& q) {
  return q.has_value() && q->axis < 0 && q->type.format.is_integer() &&
         q->type.scheme == Scheme::kPerTensor;
}

// Returns true if the value is an fp32 activation without annotation that is not a graph output.
bool CanTake(const Graph& graph, const Value* value) {
  return value != nullptr && !value->is_constant() && value->element() == ElementType::kFloat32 &&
         !value->quantisation().has_value() && !IsOutput(graph, value);
}

// Annotates the results of a node whose data operands all have the same grid.
bool SpreadForward(const Graph& graph, const Node& node) {
  if (!Picks(node) && node.op() != Op::kRelu) return false;
  const std::vector<Value*> operands = DataOperands(node);
  const std::optional<Quantisation>& q = operands[0]->quantisation();
  if (!CanSpread(q) || !std::all_of(operands.begin(), operands.end(), [&](const Value* operand) {
        return SameGrid(operand->quantisation(), q);
      })) {
    return false;
  }
  bool changed = false;
  for (Value* result : node.results()) {
    if (!CanTake(graph, result)) continue;
    result->set_quantisation(q);
    changed = true;
  }
  return changed;
}

// Annotates the data operands of a node whose result is annotated, if they have no other user.
bool SpreadBack(const Graph& graph, const Node& node) {
  if (!Picks(node) || node.num_results() != 1 || !CanSpread(node.result()->quantisation()))
    return false;
  const std::vector<Value*> operands = DataOperands(node);
  const bool all = std::all_of(operands.begin(), operands.end(), [&](const Value* operand) {
    return SameGrid(operand->quantisation(), node.result()->quantisation()) ||
           (CanTake(graph, operand) && operand->users().size() == 1);
  });
  if (!all) return false;
  bool changed = false;
  for (Value* operand : operands) {
    if (!CanTake(graph, operand)) continue;
    operand->set_quantisation(node.result()->quantisation());
    changed = true;
  }
  return changed;
}

}  // namespace

StatusOr<Changed> SpreadAnnotations::Run(Graph& graph, PassContext&) const {
  bool any = false;
  const std::vector<Node*> nodes = graph.NodeList();
  for (bool changed = true; changed; any |= changed) {
    changed = false;
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node)
      changed |= SpreadBack(graph, **node);
    for (const Node* node : nodes) changed |= SpreadForward(graph, *node);
  }
  return any ? Changed::kYes : Changed::kNo;
}

}  // namespace kiln
