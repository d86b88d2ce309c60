// What import does to a node before it enters the graph: upgrades of older forms, and formulas for operators that Kiln
// does not have. The table is onnx_rules.def.
#ifndef KILN_FRONTEND_ONNX_RULES_H_
#define KILN_FRONTEND_ONNX_RULES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/frontend/onnx_tensor.h"
#include "kiln/ir/graph.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/support/status.h"

namespace kiln {

// One ONNX node on its way into the graph. Rules change its operands and attributes, or emit nodes in its place.
class NodeImport {
 public:
  NodeImport(Graph& graph, int opset, ElementBudget& budget, KnownTensors& known)
      : graph_(graph), opset_(opset), budget_(budget), known_(known) {}

  std::string domain;  // "" for ai.onnx
  std::string op_type;
  std::string name;
  std::vector<Value*> operands;      // null where absent
  std::vector<std::string> results;  // names in the graph; "" where nobody asked for the result
  std::vector<bool> result_used;     // whether a node or a graph output reads the result
  Attributes attributes;

  Graph& graph() const { return graph_; }
  int opset() const { return opset_; }
  int num_results() const { return static_cast<int>(results.size()); }

  Value* operand(int i) const {
    return i < static_cast<int>(operands.size()) ? operands[static_cast<size_t>(i)] : nullptr;
  }
  void SetOperand(int i, Value* value);
  // Null where the shape of the operand is not known.
  const Shape* ShapeOf(int i) const;
  // The operand's value where it is a constant, else null.
  const Tensor* ConstantOf(int i) const;
  // The number that an axis attribute or operand means for a tensor of that rank, or an error.
  StatusOr<int> NormaliseAxis(int64_t axis, int rank) const;

  // Asks for room for a constant that the file does not hold.
  Status ClaimElements(int64_t count);
  // A new constant named after the node.
  Value* Constant(std::string_view suffix, Tensor tensor);
  Value* Ints(std::string_view suffix, const std::vector<int64_t>& values);  // i64, one axis
  // A scalar of the element type of `like`.
  Value* ScalarLike(std::string_view suffix, double value, const Value* like);

  // Adds a helper node "<name>/<suffix>" with one result and infers its type. Where the operands are small and known,
  // so is the result, and it goes to the known values: old exporters compute shapes by nodes, and rules ask for shapes.
  StatusOr<Value*> Emit(std::string_view suffix, Op op, std::vector<Value*> operands,
                        Attributes attributes = {});
  // Adds the node that carries this node's name and results; no further rule applies and no other node is added.
  Status EmitResult(Op op, std::vector<Value*> operands, Attributes attributes = {});
  bool emitted() const { return emitted_; }

  std::string Place() const { return "node '" + name + "' (" + op_type + ")"; }
  Status Refuse(std::string_view fault,
                std::string_view remedy) const;  // a feature that Kiln does not support
  Status Invalid(std::string_view fault,
                 std::string_view remedy = "") const;  // a mistake of the model

 private:
  StatusOr<Node*> Add(Op op, std::string_view node_name, std::vector<Value*> node_operands,
                      const std::vector<std::string>& result_names, Attributes node_attributes);

  Graph& graph_;
  int opset_;
  ElementBudget& budget_;
  KnownTensors& known_;
  bool emitted_ = false;
};

// Applies all rules of the node's operator and opset. Afterwards the node is emitted, or its operands and attributes
// are those of the operator of the same name at opset 21.
Status ApplyRules(NodeImport& node);

// One spelling a domain: "" is ai.onnx, and QONNX's operators, which have lived under several names, are kQonnxDomain.
inline constexpr std::string_view kQonnxDomain = "qonnx.custom_op.general";
std::string CanonicalDomain(const std::string& domain);
// How messages call an operator: by its name, and its domain where that is not ai.onnx.
std::string DescribeOperator(const std::string& domain, const std::string& op_type);
// Whether import takes nodes of this operator, of a canonical domain. Functions of a model are not looked at.
bool IsSupported(const std::string& domain, const std::string& op_type);

// Whether onnx_rules.def has a formula for an operator that operators.def lacks.
bool HasComposition(std::string_view op_type);

// An Attributes from a list, for rules: Attrs({{"axis", int64_t{1}}}).
Attributes Attrs(std::initializer_list<std::pair<std::string_view, Attribute>> list);

}  // namespace kiln

#endif  // KILN_FRONTEND_ONNX_RULES_H_
