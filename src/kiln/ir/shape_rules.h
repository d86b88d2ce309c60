// The interface between shape inference and the rules: a Context gives a rule access to its node
// and receives the result types. Private to shape_rules_*.cc and shape_inference.cc.
#ifndef KILN_IR_SHAPE_RULES_H_
#define KILN_IR_SHAPE_RULES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fmt/format.h"
#include "kiln/ir/graph.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/support/status.h"

namespace kiln::shape_rules {

using Ints = std::vector<int64_t>;

// A node under inference. Rules read operands and attributes and set result shapes; results without
// a set shape have an unknown rank.
class Context {
 public:
  Context(const Node& node, std::string_view source, const KnownTensors& known)
      : node_(node), source_(source), known_(known) {}

  const Node& node() const { return node_; }
  // The file of the graph, for errors.
  std::string_view source() const { return source_; }
  // Returns an error that names the node and the source.
  Status Error(std::string_view fault, std::string_view remedy = "") const {
    return ErrorAt(source_, node_.Describe(), fault, remedy);
  }

  // Operands. The signature has been checked: required operands are present, element types fit.
  bool Has(int i) const { return node_.operand(i) != nullptr; }
  // Returns null if the operand is absent or its shape is unknown.
  const Shape* ShapeOf(int i) const {
    return Has(i) && node_.operand(i)->has_shape() ? &node_.operand(i)->shape() : nullptr;
  }
  // Returns null if the operand is absent or its value is neither constant nor known to the caller.
  const Tensor* ConstantOf(int i) const;
  // Returns the numbers of a constant list, or nullopt if ConstantOf is null. Errors: not a list,
  // or more than `limit` numbers.
  StatusOr<std::optional<Ints>> ListOf(int i, int64_t limit = 16) const;
  // Returns the length of a list operand from its shape, or kUnknownDim.
  int64_t LengthOf(int i) const;

  // Attributes. Return the value, or the fallback if the attribute is absent.
  int64_t Int(std::string_view name, int64_t fallback) const {
    return node_.attributes().Int(name, fallback);
  }
  bool Flag(std::string_view name, bool fallback) const { return Int(name, fallback ? 1 : 0) != 0; }
  std::string String(std::string_view name, std::string fallback) const {
    return node_.attributes().String(name, std::move(fallback));
  }
  // Returns the axis in [0, rank) that `axis` denotes. Errors: outside [-rank, rank).
  StatusOr<int> Axis(int64_t axis, int rank) const;
  // Returns distinct axes in [0, rank) in ascending order. Errors: those of Axis, an axis twice.
  StatusOr<std::vector<int>> Axes(const Ints& axes, int rank) const;

  // Results. Setting a result that the node does not have does nothing.
  void SetShape(int result, std::optional<Shape> shape) {
    if (result < static_cast<int>(types.size()))
      types[static_cast<size_t>(result)].shape = std::move(shape);
  }
  void SetShape(int result, const Shape* shape) {
    if (shape != nullptr) SetShape(result, std::optional<Shape>(*shape));
  }
  // For operators whose signature leaves the element type of a result open.
  void SetElement(int result, ElementType element) {
    if (result < static_cast<int>(types.size()))
      types[static_cast<size_t>(result)].element = element;
  }
  // Sets result 0 to the broadcast shape of consecutive operands. Errors: they do not broadcast.
  Status SetBroadcast(int first_operand, int num_operands);

  std::vector<TensorType> types;  // one per result; element types come from the signature

 private:
  const Node& node_;
  std::string_view source_;
  const KnownTensors& known_;
};

// Gives result 0 the shape of operand 0.
Status SameShape(Context& c);

// Returns a shape of `rank` unknown dimensions.
inline Shape UnknownShape(int rank) { return Shape(Ints(static_cast<size_t>(rank), kUnknownDim)); }

// Returns whether `from` broadcasts to `to` without changing `to`.
bool BroadcastsTo(const Shape& from, const Shape& to);

// Returns the product of dimensions [begin, end), or kUnknownDim if one is unknown or the product
// is too large.
int64_t ProductOf(const Shape& shape, int begin, int end);

// The rules, one per operator. A missing rule is a link error. A rule checks the shapes of its
// operands and the attributes that shapes depend on, and sets the shapes of its results as far as
// they are known:
//
//   // Result: operand 0 without its last axis.
//   Status InferExample(Context& c) {
//     const Shape* x = c.ShapeOf(0);
//     if (x == nullptr) return OkStatus();  // unknown rank: the result's rank remains unknown
//     if (x->rank() == 0) return c.Error("the input is a scalar", "at least one axis");
//     c.SetShape(0, Shape(Ints(x->dims().begin(), x->dims().end() - 1)));
//     return OkStatus();
//   }
#define KILN_OPERATOR(id, text, domain, onnx, least, most, results, traits) \
  Status Infer##id(Context& c);
#include "kiln/ir/operators.def"
#undef KILN_OPERATOR

}  // namespace kiln::shape_rules

#endif  // KILN_IR_SHAPE_RULES_H_
