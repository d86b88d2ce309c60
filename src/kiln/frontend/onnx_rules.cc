// Implements onnx_rules.h: builds the tables of rules from onnx_rules.def and applies them.
#include "kiln/frontend/onnx_rules.h"

#include <fmt/format.h>

#include <cstring>

#include "kiln/execute/reference.h"
#include "kiln/frontend/onnx_rule_functions.h"
#include "kiln/ir/shape_inference.h"

namespace kiln {
namespace {

// A row KILN_ONNX_UPGRADE.
struct Upgrade {
  std::string_view op_type;
  int first_opset;
  int last_opset;
  Status (*apply)(NodeImport&);
};

constexpr Upgrade kUpgrades[] = {
#define KILN_ONNX_UPGRADE(name, first, last, function) {#name, first, last, &onnx_rules::function},
#define KILN_ONNX_COMPOSITION(name, function)
#include "kiln/frontend/onnx_rules.def"
#undef KILN_ONNX_UPGRADE
#undef KILN_ONNX_COMPOSITION
};

// A row KILN_ONNX_COMPOSITION.
struct Composition {
  std::string_view op_type;
  Status (*apply)(NodeImport&);
};

constexpr Composition kCompositions[] = {
#define KILN_ONNX_UPGRADE(name, first, last, function)
#define KILN_ONNX_COMPOSITION(name, function) {#name, &onnx_rules::function},
#include "kiln/frontend/onnx_rules.def"
#undef KILN_ONNX_UPGRADE
#undef KILN_ONNX_COMPOSITION
};

// Shape arithmetic handles lists of dimensions; longer tensors are data.
constexpr int64_t kMaxKnownElements = 32;

// Returns true if a value's type and size make it a possible operand of shape arithmetic.
bool IsSmall(const Value* value) {
  if (value->element() == ElementType::kString || !value->has_shape()) return false;
  const std::optional<int64_t> count = CheckedNumElements(value->shape());
  return count && *count <= kMaxKnownElements;
}

// Evaluates a node with known operands and records its results, if all of them are small. The
// results of Shape and Size follow from the operand's shape alone.
void EvaluateIfKnown(const Node& node, KnownTensors& known) {
  for (const Value* result : node.results()) {
    if (result != nullptr && !IsSmall(result)) return;
  }
  std::vector<Tensor> shapes;
  std::vector<const Tensor*> operands;
  for (const Value* operand : node.operands()) {
    if (operand == nullptr) {
      operands.push_back(nullptr);
    } else if (node.op() == Op::kShape || node.op() == Op::kSize) {
      if (!operand->has_shape() || !CheckedNumElements(operand->shape())) return;
      shapes.push_back(Tensor::View(operand->element(), operand->shape(), nullptr, nullptr));
      operands.push_back(&shapes.back());  // both operators have one operand
    } else if (!IsSmall(operand)) {
      return;
    } else if (operand->is_constant()) {
      operands.push_back(&operand->constant());
    } else if (const auto it = known.find(operand); it != known.end()) {
      operands.push_back(&it->second);
    } else {
      return;
    }
  }
  auto results = EvaluateNode(node, operands);
  if (!results.ok()) return;  // the error is reported when the network runs, if the node is reached
  for (int i = 0; i < node.num_results(); ++i) {
    if (node.result(i) != nullptr)
      known[node.result(i)] = std::move((*results)[static_cast<size_t>(i)]);
  }
}

}  // namespace

void NodeImport::SetOperand(int i, Value* value) {
  if (i >= static_cast<int>(operands.size())) operands.resize(static_cast<size_t>(i) + 1, nullptr);
  operands[static_cast<size_t>(i)] = value;
}

const Shape* NodeImport::ShapeOf(int i) const {
  const Value* value = operand(i);
  return value != nullptr && value->has_shape() ? &value->shape() : nullptr;
}

const Tensor* NodeImport::ConstantOf(int i) const {
  const Value* value = operand(i);
  return value != nullptr && value->is_constant() ? &value->constant() : nullptr;
}

StatusOr<int> NodeImport::NormaliseAxis(int64_t axis, int rank) const {
  if (axis < -rank || axis >= rank) {
    return Invalid(fmt::format("axis {} lies outside a tensor of {} axes", axis, rank));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Status NodeImport::ClaimElements(int64_t count) {
  if (budget_.Take(count)) return OkStatus();
  return Refuse(fmt::format("needs a constant of {} elements", count),
                "the model's tensors are too large for this");
}

Value* NodeImport::Constant(std::string_view suffix, Tensor tensor) {
  return graph_.AddConstant(name + "/" + std::string(suffix), std::move(tensor));
}

Value* NodeImport::Ints(std::string_view suffix, const std::vector<int64_t>& values) {
  const Shape shape{static_cast<int64_t>(values.size())};
  return Constant(suffix, Tensor::Of<int64_t>(shape, values));
}

Value* NodeImport::ScalarLike(std::string_view suffix, double value, const Value* like) {
  Tensor tensor(like->element(), Shape{});
  switch (like->element()) {
    case ElementType::kFloat64:
      tensor.data<double>()[0] = value;
      break;
    case ElementType::kFloat16:
      tensor.data<uint16_t>()[0] = FloatToHalf(static_cast<float>(value));
      break;
    case ElementType::kBfloat16:
      tensor.data<uint16_t>()[0] = FloatToBfloat16(static_cast<float>(value));
      break;
    case ElementType::kFloat32:
      tensor.data<float>()[0] = static_cast<float>(value);
      break;
    default: {
      // Integers take the low bytes of the two's complement value (little endian), which wraps as
      // all of Kiln's integers do.
      const int64_t integer = static_cast<int64_t>(value);
      std::memcpy(tensor.mutable_bytes(), &integer, static_cast<size_t>(tensor.num_bytes()));
    }
  }
  return Constant(suffix, std::move(tensor));
}

StatusOr<Value*> NodeImport::Emit(std::string_view suffix, Op op, std::vector<Value*> emit_operands,
                                  Attributes emit_attributes) {
  const std::string full = name + "/" + std::string(suffix);
  auto node = Add(op, full, std::move(emit_operands), {full}, std::move(emit_attributes));
  if (!node.ok()) return node.status();
  return (*node)->result();
}

Status NodeImport::EmitResult(Op op, std::vector<Value*> emit_operands,
                              Attributes emit_attributes) {
  KILN_CHECK(!emitted_ && !results.empty());
  emitted_ = true;
  auto node = Add(op, name, std::move(emit_operands), results, std::move(emit_attributes));
  return node.status();
}

// Adds a node, infers its types and evaluates it if its operands are known.
StatusOr<Node*> NodeImport::Add(Op op, std::string_view node_name,
                                std::vector<Value*> node_operands,
                                const std::vector<std::string>& result_names,
                                Attributes node_attributes) {
  // Trailing absent operands are dropped; nodes do not store them.
  while (!node_operands.empty() && node_operands.back() == nullptr) node_operands.pop_back();
  Node* node = graph_.AddNode(op, node_name, std::move(node_operands), result_names,
                              std::move(node_attributes));
  KILN_RETURN_IF_ERROR(InferNode(graph_, *node, known_));
  EvaluateIfKnown(*node, known_);
  return node;
}

Status NodeImport::Refuse(std::string_view fault, std::string_view remedy) const {
  return UnsupportedAt(graph_.source(), Place(), fault, remedy);
}

Status NodeImport::Invalid(std::string_view fault, std::string_view remedy) const {
  return ErrorAt(graph_.source(), Place(), fault, remedy);
}

// Rules exist for ONNX's main domain only.
Status ApplyRules(NodeImport& node) {
  if (!node.domain.empty()) return OkStatus();
  // The upgrades of an operator are applied in table order; each may change the node further.
  for (const Upgrade& rule : kUpgrades) {
    if (node.emitted()) return OkStatus();
    if (rule.op_type != node.op_type || node.opset() < rule.first_opset ||
        node.opset() > rule.last_opset)
      continue;
    KILN_RETURN_IF_ERROR(rule.apply(node));
  }
  for (const Composition& rule : kCompositions) {
    if (rule.op_type != node.op_type) continue;
    // All formulas use operand 0, so they need not check it.
    if (node.operand(0) == nullptr) return node.Invalid("has no first operand");
    return rule.apply(node);
  }
  return OkStatus();
}

// The domains under which Brevitas and FINN export QONNX's operators.
std::string CanonicalDomain(const std::string& domain) {
  if (domain == "ai.onnx") return "";
  if (domain == "onnx.brevitas" || domain == "finn.custom_op.general")
    return std::string(kQonnxDomain);
  return domain;
}

std::string DescribeOperator(const std::string& domain, const std::string& op_type) {
  return domain.empty() ? op_type : domain + "." + op_type;
}

bool IsSupported(const std::string& domain, const std::string& op_type) {
  if (FindOpByOnnxName(domain, op_type).has_value()) return true;
  // Constant has no row in operators.def, because constants are values rather than nodes.
  return domain.empty() && (op_type == "Constant" || HasComposition(op_type));
}

bool HasComposition(std::string_view op_type) {
  for (const Composition& rule : kCompositions) {
    if (rule.op_type == op_type) return true;
  }
  return false;
}

Attributes Attrs(std::initializer_list<std::pair<std::string_view, Attribute>> list) {
  Attributes attributes;
  for (const auto& [name, value] : list) attributes.Set(name, value);
  return attributes;
}

}  // namespace kiln
