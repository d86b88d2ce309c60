// Implements recognise-rms-norm: one rule for the normalisation itself, one that absorbs its scale.
#include "kiln/passes/recognise_rms_norm.h"

#include <array>

#include "kiln/passes/pattern.h"
#include "kiln/passes/rewrite.h"

namespace kiln {
namespace {

// A normalisation without scale.
struct MeanSquareMatch {
  Value* x;
  int first_axis;  // the normalised axes are first_axis ... rank - 1
  double epsilon;
};

// Returns x if value = x^2, as a product or as a power; otherwise null.
Value* SquareRootOf(const Value* value) {
  if (value->quantisation().has_value()) return nullptr;
  if (const auto power = OperandsOf(value, Op::kPow)) {
    return ScalarConstant(power->second) == 2.0 ? power->first : nullptr;
  }
  const auto product = OperandsOf(value, Op::kMul);
  return product.has_value() && product->first == product->second ? product->first : nullptr;
}

// Matches mean(x^2) + epsilon over trailing axes that keep their dimensions.
std::optional<MeanSquareMatch> MatchMeanSquare(const Value* value) {
  const auto sum = OperandsOf(value, Op::kAdd);
  if (!sum.has_value()) return std::nullopt;
  for (const auto& [mean_value, constant] : {*sum, std::pair{sum->second, sum->first}}) {
    const auto epsilon = ScalarConstant(constant);
    const Node* mean = ComputedBy(mean_value, Op::kReduceMean);
    if (!epsilon.has_value() || *epsilon < 0 || mean == nullptr) continue;
    if (mean->attributes().Int("keepdims", 1) != 1) continue;
    Value* x = SquareRootOf(mean->operand(0));
    const int rank = RankOf(mean->operand(0));
    const auto axes = ConstantAxes(mean->operand(1), rank);
    if (x == nullptr || !axes.has_value() || axes->empty()) continue;
    const int first = rank - static_cast<int>(axes->size());
    bool trailing = true;
    for (int i = first; i < rank; ++i)
      trailing = trailing && (*axes)[static_cast<size_t>(i - first)] == i;
    if (trailing) return MeanSquareMatch{x, first, *epsilon};
  }
  return std::nullopt;
}

// Returns v if value = 1 / sqrt(v) in one of the exporters' spellings; otherwise null.
const Value* UnderInverseRoot(const Value* value) {
  if (const auto power = OperandsOf(value, Op::kPow)) {
    return ScalarConstant(power->second) == -0.5 ? power->first : nullptr;
  }
  const Value* root = nullptr;
  if (const Node* reciprocal = ComputedBy(value, Op::kReciprocal)) root = reciprocal->operand(0);
  if (const auto quotient = OperandsOf(value, Op::kDiv)) {
    if (ScalarConstant(quotient->first) == 1.0) root = quotient->second;
  }
  const Node* sqrt = root == nullptr ? nullptr : ComputedBy(root, Op::kSqrt);
  return sqrt == nullptr ? nullptr : sqrt->operand(0);
}

// Matches x / sqrt(mean(x^2) + epsilon).
std::optional<MeanSquareMatch> MatchRmsNorm(const Node& root) {
  if (root.num_operands() != 2 || root.result()->quantisation().has_value()) return std::nullopt;
  for (const int i : {0, 1}) {
    const Value* under_root = nullptr;
    if (root.op() == Op::kDiv && i == 0) {
      const Node* sqrt = ComputedBy(root.operand(1), Op::kSqrt);
      const auto power = OperandsOf(root.operand(1), Op::kPow);
      if (sqrt != nullptr) under_root = sqrt->operand(0);
      if (power.has_value() && ScalarConstant(power->second) == 0.5) under_root = power->first;
    } else if (root.op() == Op::kMul) {
      under_root = UnderInverseRoot(root.operand(1 - i));
    }
    if (under_root == nullptr) continue;
    const auto match = MatchMeanSquare(under_root);
    if (match.has_value() && match->x == root.operand(i)) return match;
  }
  return std::nullopt;
}

// Replaces the pattern by RmsNormalization with scale 1.
bool RecogniseRmsNormCore(Graph& g, Node& root) {
  const auto match = MatchRmsNorm(root);
  if (!match.has_value()) return false;
  const auto& [x, first_axis, epsilon] = *match;
  if (x->element() != ElementType::kFloat32 || !x->has_shape() ||
      x->type() != root.result()->type())
    return false;
  const std::vector<int64_t> dims(x->shape().dims().begin() + first_axis, x->shape().dims().end());
  // Bounds the constant of ones.
  const auto count = CheckedNumElements(Shape(dims));
  if (!count.has_value() || *count > (int64_t{1} << 24)) return false;
  Value* ones = g.AddConstant(
      root.name() + ".scale",
      Tensor::Of<float>(Shape(dims), std::vector<float>(static_cast<size_t>(*count), 1)));
  Attributes attributes;
  attributes.Set("axis", static_cast<int64_t>(first_axis - x->shape().rank()));
  attributes.Set("epsilon", static_cast<float>(epsilon));
  Node* norm = InsertNode(g, &root, Op::kRmsNormalization, NamesOfPattern(g, root, std::array{x}),
                          {x, ones}, std::move(attributes), root.result()->type());
  norm->set_region(root.region());
  Replace(g, root, norm->result());
  return true;
}

// Absorbs rms_norm(x) * c into the scale, if c has the normalised shape or is a single number.
bool TakeInScale(Graph& g, Node& root) {
  if (root.op() != Op::kMul) return false;
  for (const int i : {0, 1}) {
    Node* norm = ComputedBy(root.operand(i), Op::kRmsNormalization);
    const Value* other = root.operand(1 - i);
    const Tensor* c = FloatConstant(other);
    if (norm == nullptr || c == nullptr || other->quantisation().has_value() ||
        !HasOneUse(g, norm->result()))
      continue;
    if (norm->result()->type() != root.result()->type() ||
        !CanReplace(g, root.result(), norm->result()))
      continue;
    const Tensor* scale = FloatConstant(norm->operand(1));
    if (scale == nullptr || norm->operand(1)->quantisation().has_value()) continue;
    if (c->size() != 1 && c->shape() != scale->shape()) continue;
    std::vector<float> scales = scale->ToFloats();
    const std::vector<float> factors = c->ToFloats();
    for (size_t n = 0; n < scales.size(); ++n) scales[n] *= factors[factors.size() == 1 ? 0 : n];
    const Shape shape = scale->shape();
    SetConstantOperand(g, *norm, 1, Tensor::Of<float>(shape, scales));
    norm->set_name(JoinNames(norm->name(), root.name()));
    Replace(g, root, norm->result());
    return true;
  }
  return false;
}

}  // namespace

StatusOr<Changed> RecogniseRmsNorm::Run(Graph& graph, PassContext&) const {
  return ApplyRule(graph, [](Graph& g, Node& root) -> StatusOr<bool> {
    return RecogniseRmsNormCore(g, root) || TakeInScale(g, root);
  });
}

}  // namespace kiln
