// Implements fold-constants on the reference executor.
#include "kiln/passes/fold_constants.h"

#include <algorithm>

#include "kiln/execute/reference.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/passes/rewrite.h"

namespace kiln {
namespace {

// Returns true if every result has a known size that is small enough. Infers it from the operands,
// before anything is allocated.
bool ResultsFit(const Graph& graph, const Node& node, const PassContext& context) {
  const auto types = InferResultTypes(node);
  if (!types.ok()) return false;
  for (int i = 0; i < node.num_results(); ++i) {
    if (node.result(i) == nullptr) continue;
    const TensorType& type = (*types)[static_cast<size_t>(i)];
    const auto count = type.shape.has_value() ? CheckedNumElements(*type.shape) : std::nullopt;
    if (!count.has_value()) return false;
    if (*count <= context.max_folded_elements) continue;
    if (node.op() != Op::kCast) return false;
    int64_t left = context.max_constant_bytes;
    for (const Value* constant : graph.Constants()) left -= constant->constant().num_bytes();
    if (*count > left / SizeOf(type.element)) return false;
  }
  return true;
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
