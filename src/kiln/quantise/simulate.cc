// Inserts Quantise nodes after annotated values, except where rounding would change nothing or
// where families do not round.
#include "kiln/quantise/simulate.h"

#include <algorithm>
#include <vector>

#include "kiln/execute/codes.h"
#include "kiln/ir/text.h"
#include "kiln/ir/verifier.h"

namespace kiln {
namespace {

// Returns whether values on grid a are values on grid b. Never for blocks: moved elements form
// other blocks.
bool SameGrid(const Quantisation& a, const Quantisation& b) {
  return a.type.scheme != Scheme::kPerBlock && a == b;
}

// Returns whether all elements of the value are zero or are elements of operands that are on its
// grid already.
bool StandsOnGrid(const Graph& graph, const Value& value) {
  const Node* node = value.producer();
  if (node == nullptr) return false;
  const bool moves =
      node->info().Has(kMovesData) || node->op() == Op::kMaxPool || node->op() == Op::kRelu;
  if (!moves || node->op() == Op::kPad) return false;
  const size_t data_operands = node->op() == Op::kConcat ? node->operands().size() : 1;
  return std::all_of(node->operands().begin(),
                     node->operands().begin() + static_cast<std::ptrdiff_t>(data_operands),
                     [&](const Value* operand) {
                       return operand != nullptr && !operand->is_constant() &&
                              operand->quantisation() && !IsInsideKernel(graph, *operand) &&
                              SameGrid(*operand->quantisation(), *value.quantisation());
                     });
}

// Inserts a Quantise node after a value, redirects all users and outputs of the value to the result
// and returns the result.
Value* AppendRounding(Graph& graph, Value* value) {
  const bool is_output = std::count(graph.outputs().begin(), graph.outputs().end(), value) > 0;
  // Copied before the node is added, because the node becomes a user too.
  const std::vector<Node*> users = value->users();
  Attributes attributes;
  attributes.Set("type", PrintQuantisation(*value->quantisation()));
  Node* quant = graph.AddNode(Op::kQuantise, value->name() + "_quantise", {value},
                              {value->name() + "_rounded"}, std::move(attributes));
  Value* rounded = quant->result();
  graph.SetType(rounded, value->type());
  for (Node* user : users) {
    for (int i = 0; i < user->num_operands(); ++i) {
      if (user->operand(i) == value) graph.SetOperand(user, i, rounded);
    }
  }
  if (!is_output) return rounded;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    if (graph.outputs()[i] == value) graph.SetOutput(static_cast<int>(i), rounded);
  }
  return rounded;
}

}  // namespace

bool IsInsideKernel(const Graph& graph, const Value& value) {
  const Node* node = value.producer();
  if (node == nullptr || value.users().size() != 1 || !value.users()[0]->info().Has(kElementwise))
    return false;
  if (std::count(graph.outputs().begin(), graph.outputs().end(), &value) > 0) return false;
  if (node->info().Has(kMacs)) return true;
  return node->info().Has(kElementwise) &&
         std::any_of(node->operands().begin(), node->operands().end(), [&](const Value* operand) {
           return operand != nullptr && IsInsideKernel(graph, *operand);
         });
}

StatusOr<Graph> SimulateQuantisation(const Graph& quantised,
                                     std::vector<SimulatedRounding>* roundings) {
  Graph graph = quantised.Clone();
  std::vector<Value*> rounded;
  for (Value* value : graph.Values()) {
    if (!value->quantisation()) continue;
    KILN_RETURN_IF_ERROR(VerifyQuantisation(*value->quantisation(), value->type(), graph.source(),
                                            "value '" + value->name() + "'"));
    if (value->is_constant()) {
      const Quantisation& q = *value->quantisation();
      graph.ReplaceAllUses(
          value, graph.AddConstant(value->name() + "_rounded", RoundTensor(value->constant(), q)));
    } else if (!StandsOnGrid(graph, *value) && !IsInsideKernel(graph, *value)) {
      rounded.push_back(value);
    }
  }
  for (Value* value : rounded) {
    const Value* result = AppendRounding(graph, value);
    if (roundings != nullptr) roundings->push_back({quantised.FindValue(value->name()), result});
  }
  for (Value* value : graph.Values()) value->set_quantisation(std::nullopt);
  graph.EraseUnusedConstants();
  KILN_CHECK(graph.SortTopologically());
  return graph;
}

}  // namespace kiln
