// Implements fold-constants on the reference executor.
#include "kiln/passes/fold_constants.h"

#include <algorithm>
#include <optional>
#include <span>

#include "kiln/execute/reference.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/passes/rewrite.h"

namespace kiln {
namespace {

// Returns the elements of all results; nullopt if a shape is unknown or too large to count. Infers
// them from the operands, before anything is allocated.
std::optional<int64_t> ElementsOfResults(const Node& node) {
  const auto types = InferResultTypes(node);
  if (!types.ok()) return std::nullopt;
  int64_t elements = 0;
  for (int i = 0; i < node.num_results(); ++i) {
    if (node.result(i) == nullptr) continue;
    const TensorType& type = (*types)[static_cast<size_t>(i)];
    const auto count = type.shape.has_value() ? CheckedNumElements(*type.shape) : std::nullopt;
    if (!count.has_value() || __builtin_add_overflow(elements, *count, &elements))
      return std::nullopt;
  }
  return elements;
}

int64_t ElementsOf(std::span<Value* const> values) {
  int64_t elements = 0;
  for (const Value* value : values) {
    if (value != nullptr && value->is_constant()) elements += value->shape().NumElements();
  }
  return elements;
}

// Returns true if the results of a node whose operands are constants are small enough.
bool ResultsFit(const Graph& graph, const Node& node, const PassContext& context) {
  const std::optional<int64_t> results = ElementsOfResults(node);
  if (!results.has_value()) return false;
  if (*results <= context.max_folded_elements) return true;
  return *results <= ElementsOf(node.operands()) &&
         *results <= context.max_constant_elements - ElementsOf(graph.Constants());
}

// Returns true if all operands are constant and no result is an output or annotated.
bool CanFold(const Graph& graph, const Node& node) {
  // The weights of quantised networks stay in codes, because the quantising nodes say how they are
  // stored.
  if (node.info().Has(kQuantises)) return false;
  const auto is_constant = [](const Value* operand) {
    return operand == nullptr || operand->is_constant();
  };
  if (!std::all_of(node.operands().begin(), node.operands().end(), is_constant)) return false;
  const auto is_pinned = [&](const Value* result) {
    return result != nullptr && (IsOutput(graph, result) || result->quantisation().has_value());
  };
  return std::none_of(node.results().begin(), node.results().end(), is_pinned);
}

}  // namespace

StatusOr<Changed> FoldConstants::Run(Graph& graph, PassContext& context) const {
  const auto fold = [&](Graph& g, Node& root) -> StatusOr<bool> {
    if (!CanFold(g, root) || !ResultsFit(g, root, context)) return false;
    std::vector<const Tensor*> operands;
    for (const Value* operand : root.operands())
      operands.push_back(operand == nullptr ? nullptr : &operand->constant());
    StatusOr<std::vector<Tensor>> results = EvaluateNode(root, operands);
    if (!results.ok())
      return false;  // the error is reported when the network runs, if the node is reached
    for (int i = 0; i < root.num_results(); ++i) {
      Value* result = root.result(i);
      if (result == nullptr) continue;
      const std::string name = result->name();
      g.Rename(result, name + ".folded");
      g.ReplaceAllUses(result, g.AddConstant(name, (*results)[static_cast<size_t>(i)]));
    }
    g.EraseNode(&root);
    return true;
  };
  KILN_ASSIGN_OR_RETURN(const Changed changed, ApplyRule(graph, fold));
  // A constant operand may determine the shape of its user's result.
  if (changed == Changed::kYes) KILN_RETURN_IF_ERROR(InferShapes(graph));
  return changed;
}

}  // namespace kiln
