// The rules that import applies to a node before it enters the graph: upgrades of older forms, and
// formulas for operators that Kiln lacks. The table is onnx_rules.def.
#ifndef KILN_FRONTEND_ONNX_RULES_H_
#define KILN_FRONTEND_ONNX_RULES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/frontend/onnx_tensor.h"
#include "kiln/ir/graph.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/support/excerpt.h"
#include "kiln/support/status.h"

namespace kiln {

// One ONNX node during import. Rules change its operands and attributes, or emit nodes in its
// place.
class NodeImport {
 public:
  // `opset` is the version of the node's domain; `known` collects evaluated shape arithmetic.
  NodeImport(Graph& graph, int opset, ElementBudget& budget, KnownTensors& known)
      : graph_(graph), opset_(opset), budget_(budget), known_(known) {}

  std::string domain;  // "" for ai.onnx
  std::string op_type;
  std::string name;
  std::vector<Value*> operands;      // null if absent
  std::vector<std::string> results;  // names in the graph; "" for a result that is not requested
  std::vector<bool> result_used;     // whether a node or a graph output reads the result
  Attributes attributes;

  Graph& graph() const { return graph_; }
  // Returns the opset that the node was written for.
  int opset() const { return opset_; }
  int num_results() const { return static_cast<int>(results.size()); }

  // Returns operand i, null if it is absent.
  Value* operand(int i) const {
    return i < static_cast<int>(operands.size()) ? operands[static_cast<size_t>(i)] : nullptr;
  }
  void SetOperand(int i, Value* value);
  // Returns the shape of an operand, null if it is not known.
  const Shape* ShapeOf(int i) const;
  // Returns the operand's value if it is a constant, otherwise null.
  const Tensor* ConstantOf(int i) const;
  // Returns an axis as 0 .. rank - 1, or an error if it is outside a tensor of that rank.
  StatusOr<int> NormaliseAxis(int64_t axis, int rank) const;

  // Claims memory for a constant that the file does not contain. Error: the model's budget is
  // spent.
  Status ClaimElements(int64_t count);
  // Adds a constant named "<name>/<suffix>".
  Value* Constant(std::string_view suffix, Tensor tensor);
  Value* Ints(std::string_view suffix, const std::vector<int64_t>& values);  // i64, rank 1
  // Adds a scalar of the element type of `like`.
  Value* ScalarLike(std::string_view suffix, double value, const Value* like);

  // Adds a helper node "<name>/<suffix>" with one result and infers its type. If the operands are
  // small and known, the result is evaluated and recorded as known as well: old exporters compute
  // shapes with nodes, and rules need shapes.
  StatusOr<Value*> Emit(std::string_view suffix, Op op, std::vector<Value*> operands,
                        Attributes attributes = {});
  // Adds the node that carries this node's name and results. No further rule applies, and no other
  // node is added.
  Status EmitResult(Op op, std::vector<Value*> operands, Attributes attributes = {});
  // Returns true after EmitResult.
  bool emitted() const { return emitted_; }

  // Returns the node's description for messages.
  std::string Place() const {
    return "node " + QuotedExcerpt(name) + " (" + Excerpt(op_type) + ")";
  }
  // Returns an error for a feature that Kiln does not support.
  Status Refuse(std::string_view fault, std::string_view remedy) const;
  // Returns an error for a mistake in the model.
  Status Invalid(std::string_view fault, std::string_view remedy = "") const;

 private:
  StatusOr<Node*> Add(Op op, std::string_view node_name, std::vector<Value*> node_operands,
                      const std::vector<std::string>& result_names, Attributes node_attributes);

  Graph& graph_;
  int opset_;
  ElementBudget& budget_;
  KnownTensors& known_;
  bool emitted_ = false;
};

// Applies all rules of the node's operator and opset. Afterwards the node is emitted, or its
// operands and attributes are those of the operator of the same name at opset 21.
Status ApplyRules(NodeImport& node);

// Returns one spelling per domain: "" for ai.onnx, and kQonnxDomain for all domains under which
// QONNX's operators have been published.
inline constexpr std::string_view kQonnxDomain = "qonnx.custom_op.general";
std::string CanonicalDomain(const std::string& domain);
// Returns the name of an operator for messages, with its domain unless that is ai.onnx.
std::string DescribeOperator(const std::string& domain, const std::string& op_type);
// Returns true if import accepts nodes of this operator, of a canonical domain. Does not consider
// the model's functions.
bool IsSupported(const std::string& domain, const std::string& op_type);

// Returns true if onnx_rules.def has a formula for an operator that operators.def lacks.
bool HasComposition(std::string_view op_type);

// Returns Attributes from a list, for rules: Attrs({{"axis", int64_t{1}}}).
Attributes Attrs(std::initializer_list<std::pair<std::string_view, Attribute>> list);

}  // namespace kiln

#endif  // KILN_FRONTEND_ONNX_RULES_H_
