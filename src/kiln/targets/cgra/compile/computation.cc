// Maps the operators of networks to those of computation graphs.

#include "kiln/targets/cgra/compile/computation.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <numbers>
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
#include "kiln/targets/lower/view_steps.h"

namespace kiln::cgra {
namespace {

constexpr int kNone = -1;             // an operand that is absent
constexpr int32_t kNan = 0x7fc00000;  // the bits of a NaN result

// Exponentials in binary32: the bounds of arguments, the number whose sum rounds to an integer, the
// two parts of ln 2, and 1 / n! from n = 7 to 0. The first part of ln 2 has few bits, so that its
// product with k is exact.
constexpr float kLeastExponent = -87.0F, kGreatestExponent = 88.0F;
constexpr float kRounder = 12582912.0F;
constexpr float kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;
constexpr float kExponentialTerms[] = {1.0F / 5040, 1.0F / 720, 1.0F / 120, 1.0F / 24,
                                       1.0F / 6,    0.5F,       1.0F,       1.0F};

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
    KILN_RETURN_IF_ERROR(CheckReductions());
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

  // Returns whether a value is streamed in: an input, a constant, or a view of one.
  bool IsStreamed(const Value* value) const {
    return value != nullptr && (value->producer() == nullptr || streamed_.contains(value));
  }

  // Returns whether an operator computes elements from elements in the same place.
  static bool Computes(const Node* node) {
    return node->info().Has(kElementwise) && node->op() != kiln::Op::kCast;
  }

  Status Translate(const Node& node) {
    const std::string name = node.name().empty() ? std::string(node.info().text) : node.name();
    if (node.op() == kiln::Op::kConcat) return Join(node);
    if (ReductionOf(node).has_value()) return Reduce(node, name);
    if (!Computes(&node)) return View(node);
    if (node.num_results() != 1 || node.result() == nullptr)
      return NoCounterpart(node, "it has several results", "one result");
    const Value& result = *node.result();
    const bool floats = IsFloat(result) && IsFloat(*node.operand(0));
    std::vector<int> operands;
    for (const Value* operand : node.operands()) {
      if (operand == nullptr && node.op() == kiln::Op::kClip) {
        operands.push_back(kNone);
        continue;
      }
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
      case kiln::Op::kMax: {
        const Op op = node.op() == kiln::Op::kMin ? Op::kMin : Op::kMax;
        if (!floats) return Chain(op, name, operands);
        int value = operands[0];
        for (size_t i = 1; i < operands.size(); ++i)
          value = FloatExtremum(op, name, value, operands[i]);
        return operands.size() == 1 ? graph_.Unary(Op::kPass, name, value) : value;
      }
      case kiln::Op::kClip: {
        int value = operands[0];
        for (size_t i = 1; i < operands.size(); ++i) {
          if (operands[i] == kNone) continue;
          const Op op = i == 1 ? Op::kMax : Op::kMin;
          value = floats ? FloatExtremum(op, name, value, operands[i])
                         : graph_.Add(op, name, value, operands[i]);
        }
        return value == operands[0] ? graph_.Unary(Op::kPass, name, value) : value;
      }
      case kiln::Op::kAbs:
        if (floats) return graph_.AddLiteral(Op::kAnd, name, operands[0], 0x7fffffff);
        return graph_.Add(Op::kMax, name, operands[0],
                          graph_.AddLiteral(Op::kMul, name + " negative", operands[0], -1));
      case kiln::Op::kExp:
        return Exponential(name, operands[0]);
      case kiln::Op::kLess:
      case kiln::Op::kGreater: {
        const bool less = node.op() == kiln::Op::kLess;
        const int low = operands[less ? 0 : 1], high = operands[less ? 1 : 0];
        return IsFloat(*node.operand(0)) ? FloatLess(name, low, high)
                                         : graph_.Add(Op::kLt, name, low, high);
      }
      case kiln::Op::kEqual:
        return IsFloat(*node.operand(0)) ? FloatEqual(name, operands[0], operands[1])
                                         : graph_.Add(Op::kEq, name, operands[0], operands[1]);
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
                             "Add, Sub, Mul, Sum, Neg, Abs, Pow 2 or 3, Exp of fp32, Relu, Clip, "
                             "comparisons, Min, Max, And, Or, Xor, Where");
    }
  }

  // Adds a < b for fp32. Different numbers never have the difference 0, because lanes round to
  // subnormal numbers. Adding +0 turns the difference -0 of -0 and +0 into +0. The
  // difference of equal infinities is NaN, whose sign bit is clear.
  int FloatLess(const std::string& name, int a, int b) {
    int difference = graph_.Add(Op::kFSub, name + " difference", a, b);
    difference = graph_.AddLiteral(Op::kFAdd, name + " without -0", difference, 0);
    return graph_.AddLiteral(Op::kLt, name, difference, 0);
  }

  // Adds a == b for fp32. Adding +0 turns -0 into +0 and every NaN into kNan, the greatest sum as
  // an integer, and keeps all other bits, so that equal numbers have equal bits. NaN equals
  // nothing.
  int FloatEqual(const std::string& name, int a, int b) {
    a = graph_.AddLiteral(Op::kFAdd, name + " without -0", a, 0);
    b = graph_.AddLiteral(Op::kFAdd, name + " without -0", b, 0);
    const int same = graph_.Add(Op::kEq, name + " same bits", a, b);
    const int is_number = graph_.AddLiteral(Op::kLt, name + " is number", a, kNan);
    return graph_.Add(Op::kAnd, name, same, is_number);
  }

  // Adds the lesser or the greater of two fp32 numbers. Where they do not compare, it is `a`.
  int FloatExtremum(Op op, const std::string& name, int a, int b) {
    const int take_b =
        op == Op::kMin ? FloatLess(name + " less", b, a) : FloatLess(name + " less", a, b);
    return graph_.Select(name, take_b, b, a);
  }

  // Adds the exponential of an fp32 number, which is held to [-87, 88] so that the result is a
  // normal number: with k = x log2(e) to the nearest integer and r = x - k ln 2,
  //   exp(x) = 2^k (1 + r + r^2 / 2 + ... ), by a polynomial of degree 7, and k is added to the
  // bits of the exponent. Adding 1.5 * 2^23 rounds to an integer, in the low bits of the sum.
  int Exponential(const std::string& name, int x) {
    const auto number = [&](float value) {
      return graph_.Const(name + " constant", std::bit_cast<int32_t>(value));
    };
    // Numbers of the same sign compare as their bits do, negative ones in reverse.
    const int low = graph_.Add(Op::kMin, name + " low", x, number(kLeastExponent));
    const int negative = graph_.AddLiteral(Op::kLt, name + " negative", x, 0);
    const int held = graph_.Select(name + " held low", negative, low, x);
    x = graph_.Add(Op::kMin, name + " held", held, number(kGreatestExponent));
    const int scaled =
        graph_.Add(Op::kFMul, name + " scaled", x, number(static_cast<float>(std::numbers::log2e)));
    const int rounded = graph_.Add(Op::kFAdd, name + " rounded", scaled, number(kRounder));
    const int k = graph_.Add(Op::kFSub, name + " power", rounded, number(kRounder));
    const int high_part = graph_.Add(Op::kFMul, name + " high part", k, number(kLn2High));
    int r = graph_.Add(Op::kFSub, name + " rest", x, high_part);
    const int low_part = graph_.Add(Op::kFMul, name + " low part", k, number(kLn2Low));
    r = graph_.Add(Op::kFSub, name + " rest", r, low_part);
    int value = graph_.Add(Op::kFMul, name + " term", r, number(kExponentialTerms[0]));
    for (size_t i = 1; i < std::size(kExponentialTerms); ++i) {
      if (i > 1) value = graph_.Add(Op::kFMul, name + " term", value, r);
      value = graph_.Add(Op::kFAdd, name + " sum", value, number(kExponentialTerms[i]));
    }
    const int power = graph_.AddLiteral(Op::kShl, name + " exponent", rounded, 23);
    return graph_.Add(Op::kAdd, name, value, power);
  }

  // Returns the operator of a running value that reduces axes, or nothing for other nodes.
  static std::optional<Op> ReductionOf(const Node& node) {
    switch (node.op()) {
      case kiln::Op::kReduceMax:
        return Op::kMax;
      case kiln::Op::kReduceMin:
        return Op::kMin;
      case kiln::Op::kReduceSum:
        return Op::kAdd;
      default:
        return std::nullopt;
    }
  }

  // A reduction is a running value: threads take the elements along the reduced axes, lanes and
  // further runs the others, and the last thread has the result.
  Status Reduce(const Node& node, const std::string& name) {
    const Value* operand = node.operand(0);
    const int rank = operand->shape().rank();
    std::vector<int64_t> axes;
    if (node.operand(1) != nullptr) {
      const auto given = ConstantInts(node.operand(1));
      if (!given.has_value())
        return NoCounterpart(node, "its axes are not constant", "axes in the model");
      axes = *given;
    }
    if (axes.empty()) {
      if (node.attributes().Int("noop_with_empty_axes", 0) != 0) return Keep(node, name);
      for (int axis = -rank; axis < 0; ++axis) axes.push_back(axis);
    }
    if (!IsGraphOutput(network_, node.result()) || !node.result()->users().empty()) {
      return NoCounterpart(node, "only its last thread has the result, which other operators read",
                           "a reduction whose result is an output, and an input in its place");
    }
    // Broadcasts join the last axes of their operands, so that axes count from the last one.
    for (int64_t& axis : axes) axis -= axis < 0 ? 0 : rank;
    std::ranges::sort(axes);
    if (reduced_.has_value() && *reduced_ != axes) {
      return NoCounterpart(node, "threads run along the axes of another reduction",
                           "the same axes in all reductions");
    }
    reduced_ = axes;
    reductions_.push_back(&node);
    KILN_ASSIGN_OR_RETURN(const int value, Ref(node, operand));
    const Op op = *ReductionOf(node);
    int running = 0;
    if (IsFloat(*operand) && op != Op::kAdd) {
      const bool least = op == Op::kMin;
      const float beyond = std::numeric_limits<float>::infinity() * (least ? 1.0F : -1.0F);
      const auto initial = std::bit_cast<int32_t>(beyond);
      // The value so far stays where it is better than the new one.
      const int difference = graph_.NewNode(Op::kFSub, name + " difference");
      graph_.Edge(value, difference, least ? 1 : 0);
      const int stays = graph_.AddLiteral(Op::kLt, name + " stays", difference, 0);
      running = graph_.NewNode(Op::kSelect, name);
      graph_.Edge(stays, running, 0);
      graph_.Edge(running, running, 1, 1, initial);
      graph_.Edge(value, running, 2);
      graph_.Edge(running, difference, least ? 0 : 1, 1, initial);
    } else {
      const int32_t initial = op == Op::kMax   ? std::numeric_limits<int32_t>::min()
                              : op == Op::kMin ? std::numeric_limits<int32_t>::max()
                                               : 0;
      running = graph_.Accumulate(IsFloat(*operand) ? Op::kFAdd : op, name, value, initial);
    }
    refs_[node.result()] = running;
    computed_.insert(node.result());
    return OkStatus();
  }

  // Translates a reduction along no axis.
  Status Keep(const Node& node, const std::string& name) {
    KILN_ASSIGN_OR_RETURN(const int value, Ref(node, node.operand(0)));
    refs_[node.result()] = graph_.Unary(Op::kPass, name, value);
    computed_.insert(node.result());
    return OkStatus();
  }

  // Refuses a reduction whose operand is the same in several threads, because each of them would
  // take it.
  Status CheckReductions() const {
    for (const int64_t axis : reduced_.value_or(std::vector<int64_t>{})) {
      int64_t threads = 1;
      for (const auto& [value, ref] : refs_) {
        const bool is_reduced =
            std::ranges::find(reductions_, value->producer()) != reductions_.end();
        if (!is_reduced) threads = std::max(threads, ExtentAt(*value, axis));
      }
      for (const Node* node : reductions_) {
        const int64_t own = ExtentAt(*node->operand(0), axis);
        if (own == threads) continue;
        return NoCounterpart(
            *node,
            fmt::format("threads run along {} elements of the reduced axis, its operand has {}",
                        threads, own),
            "operands of the same extent along the reduced axes");
      }
    }
    return OkStatus();
  }

  // Returns the extent of an axis, counted from the last one at -1.
  static int64_t ExtentAt(const Value& value, int64_t axis) {
    const int64_t at = value.shape().rank() + axis;
    return at < 0 ? 1 : value.shape()[static_cast<int>(at)];
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
  // Axes along which threads run, counted from the last one at -1.
  std::optional<std::vector<int64_t>> reduced_;
  std::vector<const Node*> reductions_;
};

}  // namespace

StatusOr<ComputationGraph> GraphOfNetwork(const Graph& network) {
  return Translation(network).Run();
}

}  // namespace kiln::cgra
