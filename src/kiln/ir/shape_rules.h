// What a shape rule sees of its node. Private to the shape_rules_*.cc files and shape_inference.cc.
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

class Context {
 public:
  Context(const Node& node, std::string_view source, const KnownTensors& known)
      : node_(node), source_(source), known_(known) {}

  const Node& node() const { return node_; }
  std::string_view source() const { return source_; }
  Status Error(std::string_view fault, std::string_view remedy = "") const {
    return ErrorAt(source_, node_.Describe(), fault, remedy);
  }

  // Operands. The signature has been checked: required ones are there, element types fit.
  bool Has(int i) const { return node_.operand(i) != nullptr; }
  // Null when the operand is absent or its shape unknown.
  const Shape* ShapeOf(int i) const {
    return Has(i) && node_.operand(i)->has_shape() ? &node_.operand(i)->shape() : nullptr;
  }
  // Null when the operand is absent or its value neither a constant nor known to the caller.
  const Tensor* ConstantOf(int i) const;
  // The numbers of a constant list of at most kMaxRank (or `limit`) numbers; nullopt where ConstantOf is
  // null.
  StatusOr<std::optional<Ints>> ListOf(int i, int64_t limit = 16) const;
  // The length of a list operand, from its shape; kUnknownDim when not known.
  int64_t LengthOf(int i) const;

  int64_t Int(std::string_view name, int64_t fallback) const {
    return node_.attributes().Int(name, fallback);
  }
  bool Flag(std::string_view name, bool fallback) const { return Int(name, fallback ? 1 : 0) != 0; }
  std::string String(std::string_view name, std::string fallback) const {
    return node_.attributes().String(name, std::move(fallback));
  }
  // An axis in [0, rank).
  StatusOr<int> Axis(int64_t axis, int rank) const;
  // Distinct axes in [0, rank), in ascending order.
  StatusOr<std::vector<int>> Axes(const Ints& axes, int rank) const;

  // Results.
  void SetShape(int result, std::optional<Shape> shape) {
    if (result < static_cast<int>(types.size()))
      types[static_cast<size_t>(result)].shape = std::move(shape);
  }
  void SetShape(int result, const Shape* shape) {
    if (shape != nullptr) SetShape(result, std::optional<Shape>(*shape));
  }
  void SetElement(int result, ElementType element) {
    if (result < static_cast<int>(types.size()))
      types[static_cast<size_t>(result)].element = element;
  }
  Status SetBroadcast(int first_operand, int num_operands);

  std::vector<TensorType> types;  // one a result; element types filled in from the signature

 private:
  const Node& node_;
  std::string_view source_;
  const KnownTensors& known_;
};

// Result 0 has the shape of operand 0.
Status SameShape(Context& c);

// Shape of `rank` unknown dimensions.
inline Shape UnknownShape(int rank) { return Shape(Ints(static_cast<size_t>(rank), kUnknownDim)); }

// Whether `from` broadcasts to `to` without changing it.
bool BroadcastsTo(const Shape& from, const Shape& to);

// Product of dimensions [begin, end); kUnknownDim when one is unknown or the product is too large.
int64_t ProductOf(const Shape& shape, int begin, int end);

// The rules. One that is missing does not link.
#define KILN_OPERATOR(id, text, domain, onnx, least, most, results, traits) \
  Status Infer##id(Context& c);
#include "kiln/ir/operators.def"
#undef KILN_OPERATOR

}  // namespace kiln::shape_rules

#endif  // KILN_IR_SHAPE_RULES_H_
