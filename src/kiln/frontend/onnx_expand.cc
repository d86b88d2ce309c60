// Implements onnx_expand.h.
#include "kiln/frontend/onnx_expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "kiln/ir/shape_inference.h"

namespace kiln {
namespace {

// Returns true for the only operator that needs expansion.
bool IsRmsNorm(const Node& node) { return node.op() == Op::kRmsNormalization; }

// Returns a scalar of a float type.
Tensor ScalarOf(ElementType type, float value) {
  Tensor scalar(type, Shape{});
  if (type == ElementType::kFloat64) {
    scalar.data<double>()[0] = value;
  } else if (type == ElementType::kFloat16) {
    scalar.data<uint16_t>()[0] = FloatToHalf(value);
  } else if (type == ElementType::kBfloat16) {
    scalar.data<uint16_t>()[0] = FloatToBfloat16(value);
  } else {
    scalar.data<float>()[0] = value;
  }
  return scalar;
}

// Writes one RmsNormalization out as x / sqrt(mean(x * x) + epsilon) * scale. The node itself
// becomes the last Mul and keeps its name and result.
Status ExpandRmsNorm(Graph& graph, Node& node) {
  Value* x = node.operand(0);
  Value* scale = node.operand(1);
  int64_t axis = node.attributes().Int("axis", -1);
  if (axis >= 0) {
    if (!x->has_shape()) {
      return ErrorAt(graph.source(), node.Describe(),
                     "normalises a tensor of unknown rank from a leading axis on",
                     "infer shapes first");
    }
    axis -= x->shape().rank();
  }
  // Negative axes do not depend on the rank.
  std::vector<int64_t> axes;
  for (int64_t i = axis; i < 0; ++i) axes.push_back(i);
  const std::string name = node.name();
  const auto emit = [&](Op op, std::string_view suffix,
                        std::vector<Value*> operands) -> StatusOr<Value*> {
    const std::string full = name + "/" + std::string(suffix);
    Node* added = graph.AddNode(op, full, std::move(operands), {full}, {}, &node);
    KILN_RETURN_IF_ERROR(InferNode(graph, *added));
    return added->result();
  };
  Value* list = graph.AddConstant(
      name + "/axes", Tensor::Of<int64_t>(Shape{static_cast<int64_t>(axes.size())}, axes));
  Value* epsilon = graph.AddConstant(
      name + "/epsilon", ScalarOf(x->element(), node.attributes().Float("epsilon", 1e-5f)));
  KILN_ASSIGN_OR_RETURN(Value * squares, emit(Op::kMul, "squares", {x, x}));
  KILN_ASSIGN_OR_RETURN(Value * mean, emit(Op::kReduceMean, "mean", {squares, list}));
  KILN_ASSIGN_OR_RETURN(Value * shifted, emit(Op::kAdd, "shifted", {mean, epsilon}));
  KILN_ASSIGN_OR_RETURN(Value * root, emit(Op::kSqrt, "root", {shifted}));
  KILN_ASSIGN_OR_RETURN(Value * normal, emit(Op::kDiv, "normal", {x, root}));
  graph.ReplaceNode(&node, Op::kMul, {normal, scale}, {});
  return OkStatus();
}

}  // namespace

bool NeedsExpansion(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const auto& node) { return IsRmsNorm(*node); });
}

Status ExpandForOnnx(Graph& graph) {
  for (Node* node : graph.NodeList()) {
    if (IsRmsNorm(*node)) KILN_RETURN_IF_ERROR(ExpandRmsNorm(graph, *node));
  }
  return OkStatus();
}

}  // namespace kiln
