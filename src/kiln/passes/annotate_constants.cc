// Implements annotate-constants: evaluates quantising nodes on constants and keeps their parameters
// as the annotation of the result.
#include "kiln/passes/annotate_constants.h"

#include <algorithm>
#include <cmath>

#include "kiln/execute/reference.h"
#include "kiln/ir/indexing.h"
#include "kiln/numerics/quantise.h"
#include "kiln/passes/data_movement.h"
#include "kiln/passes/quantiser.h"
#include "kiln/passes/rewrite.h"

namespace kiln {
namespace {

// Returns the values after quantising and dequantising by the annotation, with zeros unsigned.
// Returns nullopt if a value would change (a NaN, or an overflow).
std::optional<Tensor> ThereAndBack(const Tensor& values, const Quantisation& q) {
  Tensor result(values.type(), values.shape());
  int64_t inner = 1;
  for (int axis = q.axis + 1; q.axis >= 0 && axis < values.shape().rank(); ++axis)
    inner *= values.shape()[axis];
  const CodeRange range = CodesOf(q.type.format, q.type.symmetric);
  for (int64_t i = 0; i < values.size(); ++i) {
    const auto at = q.axis < 0 ? size_t{0} : static_cast<size_t>(i / inner % std::ssize(q.scales));
    const float value = values.data<float>()[static_cast<size_t>(i)];
    const int64_t code =
        QuantiseToCode(value, InverseScale(q.scales[at]), q.zero_points[at], range);
    const float back = DequantiseCode(code, q.scales[at], q.zero_points[at]);
    if (!(back == value) || !std::isfinite(back)) return std::nullopt;
    result.data<float>()[static_cast<size_t>(i)] = back;
  }
  return result;
}

// Replaces the node's result by a constant of the same name.
void ReplaceByConstant(Graph& graph, Node& root, Tensor tensor,
                       std::optional<Quantisation> annotation) {
  const std::string name = root.result()->name();
  graph.Rename(root.result(), name + ".computed");
  Value* constant = graph.AddConstant(name, std::move(tensor));
  constant->set_quantisation(std::move(annotation));
  graph.ReplaceAllUses(root.result(), constant);
  EraseUpwards(graph, &root);
}

// Returns true if all operands of a node are constant and its single result may become a constant.
bool IsConstantNode(const Graph& graph, const Node& root) {
  const auto is_constant = [](const Value* operand) {
    return operand == nullptr || operand->is_constant();
  };
  return root.num_results() == 1 && !IsOutput(graph, root.result()) &&
         !root.result()->quantisation().has_value() &&
         std::all_of(root.operands().begin(), root.operands().end(), is_constant);
}

// Evaluates a node with constant operands on the reference level; nullopt on an error.
std::optional<Tensor> ValueOf(const Node& root) {
  std::vector<const Tensor*> operands;
  for (const Value* operand : root.operands())
    operands.push_back(operand == nullptr ? nullptr : &operand->constant());
  auto results = EvaluateNode(root, operands);
  return results.ok() ? std::optional((*results)[0]) : std::nullopt;
}

// Replaces a DequantizeLinear with scales per block by its constant result.
bool FoldBlocks(Graph& graph, Node& root) {
  std::optional<Tensor> value = ValueOf(root);
  if (!value.has_value() || value->type() != ElementType::kFloat32) return false;
  const auto axis = NormaliseAxis(root.attributes().Int("axis", 1), value->shape().rank());
  if (!axis.has_value()) return false;
  constexpr BlockFormats kFormats[] = {{"fixed8_6", "e8m0"}, {"int8", "fp32"}};
  const std::optional<Quantisation> annotation = FindBlockRule(
      *value, static_cast<int>(*axis), root.attributes().Int("block_size", 0), kFormats);
  ReplaceByConstant(graph, root, *std::move(value), annotation);
  return true;
}

// Replaces a quantising node by its constant result. QuantizeLinear becomes codes and a
// DequantizeLinear of 32-bit codes (a bias) becomes plain floats; every other node needs an
// annotation.
bool FoldQuantiser(Graph& graph, Node& root) {
  if (root.op() == Op::kDequantizeLinear && root.attributes().Int("block_size", 0) > 0)
    return FoldBlocks(graph, root);
  const bool plain =
      root.op() == Op::kQuantizeLinear ||
      (root.op() == Op::kDequantizeLinear && root.operand(0)->element() == ElementType::kInt32);
  std::optional<Quantisation> annotation = plain ? std::nullopt : AnnotationOf(root);
  if (!plain && !annotation.has_value()) return false;
  std::optional<Tensor> value = ValueOf(root);
  // Quantise computes by its annotation, so there is nothing to check.
  const bool computes_itself = root.op() == Op::kQuantise;
  if (value.has_value() && annotation.has_value() && !computes_itself)
    value = ThereAndBack(*value, *annotation);
  if (!value.has_value()) return false;
  ReplaceByConstant(graph, root, *std::move(value), std::move(annotation));
  return true;
}

// Returns the annotation after a move of an annotated constant; nullopt if the move does not
// preserve the annotation's axis.
std::optional<Quantisation> MovedAnnotation(const Node& root) {
  const std::optional<Quantisation>& q = root.operand(0)->quantisation();
  if (!q.has_value()) return std::nullopt;
  // Scales of blocks that follow from the values move with them.
  const bool blocks = q->type.scheme == Scheme::kPerBlock;
  if (blocks && (!q->scales.empty() || root.op() != Op::kTranspose)) return std::nullopt;
  if (q->axis < 0) return IsReshape(root.op()) || root.op() == Op::kTranspose ? q : std::nullopt;
  const auto perm = root.op() == Op::kTranspose ? PermutationOf(root) : std::nullopt;
  return perm.has_value() ? Permuted(q, *perm) : std::nullopt;
}

// Replaces a Transpose or reshape of an annotated constant by the moved constant.
bool FoldMove(Graph& graph, Node& root) {
  std::optional<Quantisation> annotation = MovedAnnotation(root);
  if (!annotation.has_value()) return false;
  std::optional<Tensor> value = ValueOf(root);
  if (!value.has_value()) return false;
  ReplaceByConstant(graph, root, *std::move(value), std::move(annotation));
  return true;
}

}  // namespace

StatusOr<Changed> AnnotateConstants::Run(Graph& graph, PassContext&) const {
  return ApplyRule(graph, [](Graph& g, Node& root) -> StatusOr<bool> {
    if (root.num_operands() == 0 || !IsConstantNode(g, root)) return false;
    switch (root.op()) {
      case Op::kQuantizeLinear:
      case Op::kDequantizeLinear:
      case Op::kQuant:
      case Op::kBipolarQuant:
      case Op::kQuantise:
        return FoldQuantiser(g, root);
      case Op::kTranspose:
      case Op::kReshape:
      case Op::kFlatten:
      case Op::kSqueeze:
      case Op::kUnsqueeze:
        return FoldMove(g, root);
      default:
        return false;
    }
  });
}

}  // namespace kiln
