// Implements canonicalise-windows.
#include "kiln/passes/canonicalise_windows.h"

#include "kiln/ir/window.h"
#include "kiln/passes/rewrite.h"

namespace kiln {
namespace {

bool IsPool(Op op) { return op == Op::kMaxPool || op == Op::kAveragePool; }
bool IsGlobalPool(Op op) { return op == Op::kGlobalAveragePool || op == Op::kGlobalMaxPool; }

// Returns the window of each spatial axis of a convolution or pool.
StatusOr<std::vector<WindowAxis>> AxesOf(const Node& node, std::string_view source) {
  if (IsPool(node.op())) {
    KILN_ASSIGN_OR_RETURN(const PoolGeometry pool, ResolvePool(node, source));
    return pool.axes;
  }
  KILN_ASSIGN_OR_RETURN(const ConvGeometry conv, ResolveConv(node, source));
  return conv.axes;
}

// Returns true if the input and output lengths of all axes are known.
bool IsKnown(const std::vector<WindowAxis>& axes) {
  for (const WindowAxis& axis : axes) {
    if (axis.input == kUnknownDim || axis.output == kUnknownDim) return false;
  }
  return true;
}

// Replaces auto_pad by explicit pads.
StatusOr<bool> SpellOutPads(Graph& g, Node& node) {
  if (!node.attributes().Has("auto_pad")) return false;
  const std::string auto_pad = node.attributes().String("auto_pad", "NOTSET");
  if (auto_pad == "NOTSET") {
    node.attributes().Remove("auto_pad");
    return true;
  }
  const Value* weights = node.operand(1);
  if (!node.operand(0)->has_shape() || (!IsPool(node.op()) && !HasKnownShape(weights)))
    return false;
  // The pads of a transposed convolution may follow from output_shape, which has no other spelling.
  if (node.attributes().Has("output_shape")) return false;
  KILN_ASSIGN_OR_RETURN(const std::vector<WindowAxis> axes, AxesOf(node, g.source()));
  if (!IsKnown(axes)) return false;
  std::vector<int64_t> pads;
  for (const WindowAxis& axis : axes) pads.push_back(axis.pad_begin);
  for (const WindowAxis& axis : axes) pads.push_back(axis.pad_end);
  // Replaces the attributes and checks that the window is the same; restores them if it is not.
  const Attributes before = node.attributes();
  node.attributes().Remove("auto_pad");
  // SAME_* yields ceil(input / stride) positions with or without ceil_mode; explicit pads yield
  // them without.
  if (auto_pad != "VALID") node.attributes().Remove("ceil_mode");
  node.attributes().Set("pads", pads);
  KILN_ASSIGN_OR_RETURN(const std::vector<WindowAxis> after, AxesOf(node, g.source()));
  if (after == axes) return true;
  node.attributes() = before;  // explicit pads cannot express this window
  return false;
}

// Extends an attribute from one axis to two: [begin, end] becomes [0, begin, 0, end], and [k]
// becomes [fill, k].
void Widen(Attributes& attributes, const char* name, int64_t fill) {
  const std::vector<int64_t> one = attributes.Ints(name);
  if (one.size() == 1) attributes.Set(name, std::vector<int64_t>{fill, one[0]});
  if (one.size() == 2) attributes.Set(name, std::vector<int64_t>{fill, one[0], fill, one[1]});
}

// Turns an operator over [N, C, L] into one over [N, C, 1, L] between two Reshapes.
bool MakeTwoDimensional(Graph& g, Node& node) {
  if (RankOf(node.operand(0)) != 3 || !HasKnownShape(node.operand(0)) ||
      !HasKnownShape(node.result()))
    return false;
  if (node.num_results() != 1 || node.attributes().Has("auto_pad") || IsNhwc(node)) return false;
  const Shape x = node.operand(0)->shape(), y = node.result()->shape();
  if (x.NumElements() == 0 || y.NumElements() == 0) return false;
  Value* weights = nullptr;
  if (node.op() == Op::kConv) {
    weights = node.operand(1);
    if (!weights->is_constant() || weights->shape().rank() != 3) return false;
  }
  const std::string name = node.name();
  const TensorType type = node.result()->type();
  const auto plane = [](const Shape& s) { return Shape{s[0], s[1], 1, s[2]}; };

  Node* widen = InsertNode(g, &node, Op::kReshape, name,
                           {node.operand(0), AddIntConstant(g, name + ".plane", plane(x).dims())},
                           {}, {node.operand(0)->element(), plane(x)});
  Attributes attributes = node.attributes();
  Widen(attributes, "kernel_shape", 1);
  Widen(attributes, "strides", 1);
  Widen(attributes, "dilations", 1);
  Widen(attributes, "pads", 0);
  std::vector<Value*> operands = node.operands();
  operands[0] = widen->result();
  Node* wide = InsertNode(g, &node, node.op(), name, operands, std::move(attributes),
                          {type.element, plane(y)});
  wide->set_region(node.region());
  g.ReplaceNode(&node, Op::kReshape, {wide->result(), AddIntConstant(g, name + ".line", y.dims())},
                {});
  if (weights != nullptr)
    SetConstantOperand(g, *wide, 1, weights->constant().Reshaped(plane(weights->shape())));
  return true;
}

}  // namespace

StatusOr<Changed> CanonicaliseWindows::Run(Graph& graph, PassContext&) const {
  return ApplyRule(graph, [](Graph& g, Node& root) -> StatusOr<bool> {
    const bool is_conv = root.op() == Op::kConv;
    if (is_conv || root.op() == Op::kConvTranspose || IsPool(root.op())) {
      KILN_ASSIGN_OR_RETURN(const bool changed, SpellOutPads(g, root));
      if (changed) return true;
    }
    return (is_conv || IsPool(root.op()) || IsGlobalPool(root.op())) && MakeTwoDimensional(g, root);
  });
}

}  // namespace kiln
