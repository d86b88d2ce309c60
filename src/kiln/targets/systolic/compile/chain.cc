// Translates element-wise operators to stages of the vector unit.
#include "kiln/targets/systolic/compile/chain.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "kiln/support/check.h"
#include "kiln/targets/lower/constant_codes.h"
#include "kiln/targets/lower/partition.h"
#include "kiln/targets/systolic/isa/stages.h"

namespace kiln::systolic {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Stage Simple(StageOp op) { return {.op = op}; }

// Builds on a copy of the chain, so that a failure leaves the original unchanged.
class Appender {
 public:
  Appender(const Chain& chain, const Config& config, int reserved)
      : chain_(chain), config_(config), reserved_(reserved) {}

  bool Add(Stage stage) {
    chain_.stages.push_back(stage);
    return PlaceStages(chain_.stages, config_, reserved_).has_value();
  }
  // Adds the stage "v op other".
  bool AddWith(StageOp op, const Value* other, const Shape& shape) {
    Stage stage{.op = op};
    return Bind(other, shape, &stage.a, &stage.immediate_a) && Add(stage);
  }
  bool Bind(const Value* other, const Shape& shape, Argument* argument, float* immediate) {
    if (other == nullptr || other->element() != ElementType::kFloat32 || !other->has_shape())
      return false;
    if (IsScalarConstant(other)) {
      *argument = Argument::kImmediate;
      *immediate = ScalarOf(other);
      return std::isfinite(*immediate);
    }
    const auto broadcast = BroadcastShapes(other->shape(), shape);
    if (!broadcast.has_value() || *broadcast != shape) return false;
    const auto known = std::find(chain_.operands.begin(), chain_.operands.end(), other);
    const int index = static_cast<int>(known - chain_.operands.begin());
    if (known == chain_.operands.end()) chain_.operands.push_back(other);
    if (chain_.first_operand + static_cast<int>(chain_.operands.size()) > kMaxOperands)
      return false;
    *argument =
        static_cast<Argument>(static_cast<int>(Argument::kOperand0) + chain_.first_operand + index);
    return true;
  }
  Chain& chain() { return chain_; }

 private:
  Chain chain_;
  const Config& config_;
  int reserved_;
};

std::optional<NonlinearFunction> FunctionOf(const Node& node) {
  switch (node.op()) {
    case Op::kExp:
      return NonlinearFunction::kExp;
    case Op::kSigmoid:
      return NonlinearFunction::kSigmoid;
    case Op::kTanh:
      return NonlinearFunction::kTanh;
    case Op::kErf:
      return NonlinearFunction::kErf;
    case Op::kSoftplus:
      return NonlinearFunction::kSoftplus;
    case Op::kHardSwish:
      return NonlinearFunction::kHardSwish;
    case Op::kLog:
      return NonlinearFunction::kLog;
    case Op::kSqrt:
      return NonlinearFunction::kSqrt;
    case Op::kGelu:
      return node.attributes().String("approximate", "none") == "tanh"
                 ? NonlinearFunction::kGeluTanh
                 : NonlinearFunction::kGelu;
    case Op::kElu:
      if (node.attributes().Float("alpha", 1.0f) != 1.0f) return std::nullopt;
      return NonlinearFunction::kElu;
    default:
      return std::nullopt;
  }
}

bool AppendPower(Appender& to, const Value* exponent) {
  if (!IsScalarConstant(exponent)) return false;
  const float e = ScalarOf(exponent);
  if (e == 1) return true;
  if (e == 2) return to.Add(Simple(StageOp::kSquare));
  if (e == 3) {
    return to.Add(Simple(StageOp::kSave0)) && to.Add(Simple(StageOp::kSquare)) &&
           to.Add({.op = StageOp::kMultiply, .a = Argument::kSaved0});
  }
  if (e == 0.5f) return to.Add(Call(NonlinearFunction::kSqrt));
  if (e == -0.5f) return to.Add(Simple(StageOp::kReciprocalSquareRoot));
  if (e == -1) return to.Add(Simple(StageOp::kReciprocal));
  return false;
}

bool AppendClip(Appender& to, const Node& node) {
  // max(min(v, high), low) and min(max(v, low), high) differ only for low > high; ONNX defines
  // min(max(v, low), high).
  const Value* low = node.operand(1);
  const Value* high = node.operand(2);
  if (low != nullptr) {
    if (!IsScalarConstant(low)) return false;
    if (ScalarOf(low) > -kInfinity && !to.Add(WithImmediate(StageOp::kMax, ScalarOf(low))))
      return false;
  }
  if (high != nullptr) {
    if (!IsScalarConstant(high)) return false;
    if (ScalarOf(high) < kInfinity && !to.Add(WithImmediate(StageOp::kMin, ScalarOf(high))))
      return false;
  }
  return true;
}

// Appends an operator of several operands, which are combined from left to right.
bool AppendFold(Appender& to, const Node& node, const Value* v, StageOp op, const Shape& shape) {
  bool seen = false;
  for (const Value* operand : node.operands()) {
    if (operand == v && !seen) {
      seen = true;
      continue;
    }
    if (operand == v) return false;
    if (!to.AddWith(op, operand, shape)) return false;
  }
  return true;
}

bool AppendBinary(Appender& to, const Node& node, const Value* v, const Shape& shape) {
  const bool first = node.operand(0) == v;
  const Value* other = node.operand(first ? 1 : 0);
  if (other == v) {
    if (node.op() == Op::kMul) return to.Add(Simple(StageOp::kSquare));
    return node.op() == Op::kAdd && to.Add(WithImmediate(StageOp::kMultiply, 2.0f));
  }
  switch (node.op()) {
    case Op::kAdd:
      return to.AddWith(StageOp::kAdd, other, shape);
    case Op::kSub:
      return to.AddWith(first ? StageOp::kSubtract : StageOp::kReverseSubtract, other, shape);
    case Op::kMul:
      return to.AddWith(StageOp::kMultiply, other, shape);
    case Op::kDiv:
      if (first) return to.AddWith(StageOp::kDivide, other, shape);
      return to.Add(Simple(StageOp::kReciprocal)) && to.AddWith(StageOp::kMultiply, other, shape);
    default:
      return false;
  }
}

bool AppendNode(Appender& to, const Node& node, const Value* v) {
  const Shape& shape = node.result()->shape();
  const Attributes& attributes = node.attributes();
  if (const auto function = FunctionOf(node)) return to.Add(Call(*function));
  switch (node.op()) {
    case Op::kRelu:
      return to.Add(WithImmediate(StageOp::kMax, 0.0f));
    case Op::kLeakyRelu:
      return to.Add(WithImmediate(StageOp::kSelectNegative, attributes.Float("alpha", 0.01f)));
    case Op::kPRelu:
      return node.operand(0) == v && to.AddWith(StageOp::kSelectNegative, node.operand(1), shape);
    case Op::kHardSigmoid:
      return to.Add({.op = StageOp::kFma,
                     .a = Argument::kImmediate,
                     .b = Argument::kImmediate,
                     .immediate_a = attributes.Float("alpha", 0.2f),
                     .immediate_b = attributes.Float("beta", 0.5f)}) &&
             to.Add(WithImmediate(StageOp::kMax, 0.0f)) &&
             to.Add(WithImmediate(StageOp::kMin, 1.0f));
    case Op::kClip:
      return node.operand(0) == v && AppendClip(to, node);
    case Op::kNeg:
      return to.Add(WithImmediate(StageOp::kMultiply, -1.0f));
    case Op::kAbs:
      return to.Add(Simple(StageOp::kAbsolute));
    case Op::kReciprocal:
      return to.Add(Simple(StageOp::kReciprocal));
    case Op::kPow:
      return node.operand(0) == v && node.operand(1) != v && AppendPower(to, node.operand(1));
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kDiv:
      return AppendBinary(to, node, v, shape);
    case Op::kMax:
      return AppendFold(to, node, v, StageOp::kMax, shape);
    case Op::kMin:
      return AppendFold(to, node, v, StageOp::kMin, shape);
    case Op::kSum:
      return AppendFold(to, node, v, StageOp::kAdd, shape);
    case Op::kMean:
      return AppendFold(to, node, v, StageOp::kAdd, shape) &&
             to.Add(
                 WithImmediate(StageOp::kMultiply, 1.0f / static_cast<float>(node.num_operands())));
    default:
      return false;
  }
}

// v is an operand of f and of the product of v and f's result: x * sigmoid(x) and similar patterns.
struct Gate {
  const Node* function;
  const Node* product;
};
std::optional<Gate> FindGate(const Graph& graph, const Value* v) {
  if (v->users().size() != 2) return std::nullopt;
  for (int i = 0; i < 2; ++i) {
    const Node* function = v->users()[static_cast<size_t>(i)];
    const Node* product = v->users()[static_cast<size_t>(1 - i)];
    if (product->op() != Op::kMul || function == product || function->num_results() != 1) continue;
    const Value* gated = function->result();
    if (gated == nullptr || gated->users().size() != 1 || gated->users()[0] != product) continue;
    if (IsGraphOutput(graph, gated)) continue;
    return Gate{function, product};
  }
  return std::nullopt;
}

bool SameShape(const Value* a, const Value* b) {
  return a->has_shape() && b->has_shape() && a->shape() == b->shape() &&
         b->element() == ElementType::kFloat32;
}

}  // namespace

bool IsScalarConstant(const Value* value) {
  return value != nullptr && value->is_constant() && value->constant().size() == 1 &&
         value->element() == ElementType::kFloat32;
}

float ScalarOf(const Value* value) {
  const float x = value->constant().data<float>()[0];
  if (!value->quantisation().has_value()) return x;
  return RoundToAnnotation(value->constant(), *value->quantisation()).data<float>()[0];
}

bool Append(const Node& node, const Value* v, const Config& config, int reserved_stages,
            Chain* chain) {
  if (node.num_results() != 1 || node.result() == nullptr || !node.result()->has_shape())
    return false;
  if (node.result()->element() != ElementType::kFloat32 || v->element() != ElementType::kFloat32)
    return false;
  Appender to(*chain, config, reserved_stages);
  if (!AppendNode(to, node, v)) return false;
  to.chain().nodes.push_back(&node);
  to.chain().text += " + " + std::string(node.info().text);
  *chain = std::move(to.chain());
  return true;
}

const Value* AppendFollowers(const Graph& graph, const Value* v, const Config& config,
                             int reserved_stages, const std::function<bool(const Node*)>& is_taken,
                             Chain* chain) {
  while (!IsGraphOutput(graph, v)) {
    if (v->users().size() == 1) {
      const Node* next = v->users()[0];
      if (is_taken(next) || next->num_results() != 1 || next->result() == nullptr ||
          !SameShape(v, next->result()))
        return v;
      if (!Append(*next, v, config, reserved_stages, chain)) return v;
      v = next->result();
      continue;
    }
    const auto gate = FindGate(graph, v);
    if (!gate.has_value() || !SameShape(v, gate->function->result()) ||
        !SameShape(v, gate->product->result()))
      return v;
    if (is_taken(gate->function) || is_taken(gate->product)) return v;
    Chain trial = *chain;
    trial.stages.push_back(Simple(StageOp::kSave0));
    // The function may neither use the saved value itself nor read v a second time.
    const size_t begin = trial.stages.size();
    if (!Append(*gate->function, v, config, reserved_stages, &trial)) return v;
    for (size_t i = begin; i < trial.stages.size(); ++i) {
      if (trial.stages[i].op == StageOp::kSave0) return v;
    }
    trial.stages.push_back({.op = StageOp::kMultiply, .a = Argument::kSaved0});
    if (!PlaceStages(trial.stages, config, reserved_stages).has_value()) return v;
    trial.nodes.push_back(gate->product);
    trial.text += " + mul";
    *chain = std::move(trial);
    v = gate->product->result();
  }
  return v;
}

}  // namespace kiln::systolic
