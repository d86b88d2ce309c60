// Maps the operators of networks to those of computation graphs.

#include "kiln/targets/cgra/compile/computation.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "kiln/support/excerpt.h"
#include "kiln/targets/cgra/compile/graph_builder.h"
#include "kiln/targets/lower/partition.h"

namespace kiln::cgra {
namespace {

class Translation {
 public:
  explicit Translation(const Graph& network)
      : network_(network), graph_(network.name().empty() ? "network" : network.name()) {}

  StatusOr<ComputationGraph> Run() {
    // Inputs come in the network's order; those that are only read through views come later.
    for (const Value* input : network_.inputs()) {
      const auto reader = std::ranges::find_if(input->users(), &Translation::Computes);
      if (reader != input->users().end()) KILN_RETURN_IF_ERROR(Ref(**reader, input).status());
    }
    for (const auto& node : network_.nodes()) KILN_RETURN_IF_ERROR(Translate(*node));
    for (const Value* output : network_.outputs()) {
      const auto joined = joined_.find(output);
      if (joined == joined_.end()) {
        KILN_RETURN_IF_ERROR(AddOutput(*output));
        continue;
      }
      for (const Value* part : joined->second->operands()) KILN_RETURN_IF_ERROR(AddOutput(*part));
    }
    return graph_.Verified(network_.source());
  }

 private:
  Status NoCounterpart(const Node& node, const std::string& why, const std::string& right) const {
    return UnsupportedAt(network_.source(), node.Describe(), why, right);
  }

  static bool IsFloat(const Value& value) { return value.element() == ElementType::kFloat32; }
  static bool IsWhole(const Value& value) {
    return value.element() == ElementType::kInt32 || value.element() == ElementType::kInt16 ||
           value.element() == ElementType::kInt8 || value.element() == ElementType::kUint8 ||
           value.element() == ElementType::kBool;
  }

  Status AddOutput(const Value& output) {
    if (output.producer() == nullptr || !computed_.contains(&output)) {
      return UnsupportedAt(network_.source(), fmt::format("output '{}'", Excerpt(output.name())),
                           "is not computed by an operator", "an output behind one");
    }
    graph_.Output(refs_.at(&output), output.name() + " out");
    return OkStatus();
  }

  // Returns the number that a constant holds in all of its elements, as 32 bits.
  static std::optional<int32_t> NumberOf(const Value& value) {
    if (!value.is_constant() || value.constant().size() == 0) return std::nullopt;
    const Tensor& tensor = value.constant();
    if (tensor.size() != 1) return std::nullopt;
    if (IsFloat(value)) return std::bit_cast<int32_t>(tensor.data<float>()[0]);
    return static_cast<int32_t>(tensor.IntAt(0));
  }

  // Returns the node that provides a value, made where it is first used.
  StatusOr<int> Ref(const Node& reader, const Value* value) {
    if (value == nullptr) return NoCounterpart(reader, "an operand is absent", "all operands");
    if (const auto at = refs_.find(value); at != refs_.end()) return at->second;
    if (!IsFloat(*value) && !IsWhole(*value)) {
      return NoCounterpart(reader,
                           fmt::format("its operand '{}' has elements of type {}",
                                       Excerpt(value->name()), NameOf(value->element())),
                           "fp32, or integers of at most 32 bits");
    }
    const auto number = NumberOf(*value);
    const int ref = number ? graph_.Const(value->name(), *number) : graph_.Input(value->name());
    refs_.emplace(value, ref);
    return ref;
  }

  // Whether a value is streamed in: an input, a constant, or a view of one.
  bool IsStreamed(const Value* value) const {
    return value != nullptr && (value->producer() == nullptr || streamed_.contains(value));
  }

  // Whether an operator computes elements from elements in the same place.
  static bool Computes(const Node* node) {
    return node->info().Has(kElementwise) && node->op() != kiln::Op::kCast;
  }

  Status Translate(const Node& node) {
    const std::string name = node.name().empty() ? std::string(node.info().text) : node.name();
    if (node.op() == kiln::Op::kConcat) return Join(node);
    if (!Computes(&node)) return View(node);
    if (node.num_results() != 1 || node.result() == nullptr)
      return NoCounterpart(node, "it has several results", "one result");
    const Value& result = *node.result();
    const bool floats = IsFloat(result) && IsFloat(*node.operand(0));
    std::vector<int> operands;
    for (const Value* operand : node.operands()) {
      KILN_ASSIGN_OR_RETURN(const int ref, Ref(node, operand));
      operands.push_back(ref);
    }
    KILN_ASSIGN_OR_RETURN(const int computed, Compute(node, name, operands, floats));
    refs_[&result] = computed;
    computed_.insert(&result);
    return OkStatus();
  }

  // Combines all operands from the left.
  int Chain(Op op, const std::string& name, const std::vector<int>& operands) {
    int value = operands[0];
    if (operands.size() == 1) return graph_.Unary(Op::kPass, name, value);
    for (size_t i = 1; i < operands.size(); ++i) value = graph_.Add(op, name, value, operands[i]);
    return value;
  }

  StatusOr<int> Compute(const Node& node, const std::string& name, const std::vector<int>& operands,
                        bool floats) {
    const auto integers_only = [&]() -> Status {
      if (!floats) return OkStatus();
      return NoCounterpart(node, "lanes compare integers, not fp32", "integer operands");
    };
    switch (node.op()) {
      case kiln::Op::kAdd:
      case kiln::Op::kSum:
        return Chain(floats ? Op::kFAdd : Op::kAdd, name, operands);
      case kiln::Op::kSub:
        return Chain(floats ? Op::kFSub : Op::kSub, name, operands);
      case kiln::Op::kMul:
        return Chain(floats ? Op::kFMul : Op::kMul, name, operands);
      case kiln::Op::kNeg:
        return graph_.Add(floats ? Op::kFSub : Op::kSub, name, graph_.Const(name + " zero", 0),
                          operands[0]);
      case kiln::Op::kPow:
        return Power(node, name, operands[0], floats);
      case kiln::Op::kRelu:
        return graph_.AddLiteral(Op::kMax, name, operands[0], 0);
      case kiln::Op::kMin:
      case kiln::Op::kMax:
        KILN_RETURN_IF_ERROR(integers_only());
        return Chain(node.op() == kiln::Op::kMin ? Op::kMin : Op::kMax, name, operands);
      case kiln::Op::kLess:
      case kiln::Op::kGreater: {
        KILN_RETURN_IF_ERROR(integers_only());
        if (IsFloat(*node.operand(0)))
          return NoCounterpart(node, "lanes compare integers, not fp32", "integer operands");
        const bool less = node.op() == kiln::Op::kLess;
        return graph_.Add(Op::kLt, name, operands[less ? 0 : 1], operands[less ? 1 : 0]);
      }
      case kiln::Op::kEqual:
        if (IsFloat(*node.operand(0)))
          return NoCounterpart(node, "lanes compare integers, not fp32", "integer operands");
        return graph_.Add(Op::kEq, name, operands[0], operands[1]);
      case kiln::Op::kAnd:
        return graph_.Add(Op::kAnd, name, operands[0], operands[1]);
      case kiln::Op::kOr:
        return graph_.Add(Op::kOr, name, operands[0], operands[1]);
      case kiln::Op::kXor:
        return graph_.Add(Op::kXor, name, operands[0], operands[1]);
      case kiln::Op::kWhere:
        return graph_.Select(name, operands[0], operands[1], operands[2]);
      default:
        return NoCounterpart(node, "lanes have no such operation",
                             "Add, Sub, Mul, Sum, Neg, Pow 2 or 3, Relu, and on integers "
                             "comparisons, Min, Max, And, Or, Xor, Where");
    }
  }

  StatusOr<int> Power(const Node& node, const std::string& name, int base, bool floats) {
    const Value* exponent = node.operand(1);
    const bool known = exponent->is_constant() && exponent->constant().size() == 1;
    const double power = known ? exponent->constant().ValueAt(0) : 0;
    if (power != 2 && power != 3)
      return NoCounterpart(node, "its exponent is not the constant 2 or 3", "a product");
    const Op op = floats ? Op::kFMul : Op::kMul;
    const int square = graph_.Add(op, name, base, base);
    return power == 2 ? square : graph_.Add(op, name, square, base);
  }

  // A view of what is streamed in is streamed in another order.
  Status View(const Node& node) {
    if (node.op() == kiln::Op::kIdentity && computed_.contains(node.operand(0))) {
      refs_[node.result()] = refs_.at(node.operand(0));
      computed_.insert(node.result());
      return OkStatus();
    }
    if (!node.info().Has(kMovesData)) {
      return NoCounterpart(node, "it is not element-wise: lanes do not meet",
                           "element-wise operators on views of inputs");
    }
    if (!IsStreamed(node.operand(0)))
      return NoCounterpart(node, "it moves elements of a computed value between lanes",
                           "views of inputs and constants only");
    for (const Value* result : node.results()) {
      if (result != nullptr) streamed_.insert(result);
    }
    return OkStatus();
  }

  Status Join(const Node& node) {
    const bool is_output = IsGraphOutput(network_, node.result()) && node.result()->users().empty();
    if (!is_output) {
      return NoCounterpart(node, "it joins values that other operators read",
                           "a Concat whose result is an output");
    }
    joined_.emplace(node.result(), &node);
    return OkStatus();
  }

  const Graph& network_;
  GraphBuilder graph_;
  std::unordered_map<const Value*, int> refs_;
  std::unordered_set<const Value*> computed_;  // results of operators
  std::unordered_set<const Value*> streamed_;  // views of inputs and constants
  std::unordered_map<const Value*, const Node*> joined_;
};

}  // namespace

StatusOr<ComputationGraph> GraphOfNetwork(const Graph& network) {
  return Translation(network).Run();
}

}  // namespace kiln::cgra
