// Implements recognise-layer-norm: one rule for the normalisation itself, one that absorbs scale
// and bias.
#include "kiln/passes/recognise_layer_norm.h"

#include <array>

#include "kiln/passes/pattern.h"
#include "kiln/passes/rewrite.h"

namespace kiln {
namespace {

// A mean over trailing axes that keeps its dimensions.
struct TrailingMean {
  Value* x;
  int first_axis;  // the reduced axes are first_axis ... rank - 1
};

// Matches a mean over trailing axes.
std::optional<TrailingMean> MatchMean(const Value* value) {
  const Node* mean = ComputedBy(value, Op::kReduceMean);
  if (mean == nullptr || mean->attributes().Int("keepdims", 1) != 1) return std::nullopt;
  Value* x = mean->operand(0);
  const int rank = RankOf(x);
  const auto axes = ConstantAxes(mean->operand(1), rank);
  if (!axes.has_value() || axes->empty()) return std::nullopt;
  const int first = rank - static_cast<int>(axes->size());
  for (int i = first; i < rank; ++i) {
    if ((*axes)[static_cast<size_t>(i - first)] != i) return std::nullopt;
  }
  return TrailingMean{x, first};
}

// Matches x - mean(x).
std::optional<TrailingMean> MatchCentred(const Value* value) {
  const auto difference = OperandsOf(value, Op::kSub);
  if (!difference.has_value()) return std::nullopt;
  const auto mean = MatchMean(difference->second);
  if (!mean.has_value() || mean->x != difference->first) return std::nullopt;
  return mean;
}

// Returns true if `value` is the same x - mean(x), possibly computed by another node.
bool SameCentring(const Value* value, const TrailingMean& centring) {
  const auto other = MatchCentred(value);
  return other.has_value() && other->x == centring.x && other->first_axis == centring.first_axis;
}

// Returns epsilon if value = mean((x - mean(x))^2) + epsilon over the same axes; otherwise nullopt.
std::optional<double> MatchVariance(const Value* value, const TrailingMean& centring) {
  const auto sum = OperandsOf(value, Op::kAdd);
  if (!sum.has_value()) return std::nullopt;
  for (const auto& [variance, constant] : {*sum, std::pair{sum->second, sum->first}}) {
    const auto epsilon = ScalarConstant(constant);
    const auto mean = MatchMean(variance);
    if (!epsilon.has_value() || *epsilon < 0 || !mean.has_value() ||
        mean->first_axis != centring.first_axis)
      continue;
    const Node* square = mean->x->producer();
    if (square == nullptr || mean->x->quantisation().has_value()) continue;
    const bool is_power = square->op() == Op::kPow && ScalarConstant(square->operand(1)) == 2.0;
    const bool is_product = square->op() == Op::kMul && SameCentring(square->operand(1), centring);
    if ((is_power || is_product) && SameCentring(square->operand(0), centring)) return epsilon;
  }
  return std::nullopt;
}

// A normalisation without scale and bias.
struct NormMatch {
  TrailingMean centring;
  double epsilon;
};

// Matches d / sqrt(variance + epsilon) and d * (1 / sqrt(..)).
std::optional<NormMatch> MatchLayerNorm(const Node& root) {
  if (root.num_operands() != 2 || root.result()->quantisation().has_value()) return std::nullopt;
  for (const int i : {0, 1}) {
    const auto centring = MatchCentred(root.operand(i));
    if (!centring.has_value()) continue;
    const Value* scale = root.operand(1 - i);
    const Value* under_root = nullptr;
    const auto power = OperandsOf(scale, Op::kPow);
    if (root.op() == Op::kDiv && i == 0) {
      if (const Node* sqrt = ComputedBy(scale, Op::kSqrt)) under_root = sqrt->operand(0);
      if (power.has_value() && ScalarConstant(power->second) == 0.5) under_root = power->first;
    } else if (root.op() == Op::kMul) {
      const Node* reciprocal = ComputedBy(scale, Op::kReciprocal);
      const Node* sqrt =
          reciprocal == nullptr ? nullptr : ComputedBy(reciprocal->operand(0), Op::kSqrt);
      if (sqrt != nullptr) under_root = sqrt->operand(0);
      if (power.has_value() && ScalarConstant(power->second) == -0.5) under_root = power->first;
    }
    if (under_root == nullptr) continue;
    if (const auto epsilon = MatchVariance(under_root, *centring))
      return NormMatch{*centring, *epsilon};
  }
  return std::nullopt;
}

// Replaces the pattern by LayerNormalization with scale 1.
bool RecogniseLayerNormCore(Graph& g, Node& root) {
  const auto match = MatchLayerNorm(root);
  if (!match.has_value()) return false;
  const auto& [x, first_axis] = match->centring;
  if (x->element() != ElementType::kFloat32 || x->type() != root.result()->type()) return false;
  std::vector<int64_t> dims(x->shape().dims().begin() + first_axis, x->shape().dims().end());
  // Bounds the constant of ones that is added.
  const auto count = CheckedNumElements(Shape(dims));
  if (!count.has_value() || *count > (int64_t{1} << 24)) return false;
  const std::string name = NamesOfPattern(g, root, std::array{x});
  Value* ones = g.AddConstant(
      root.name() + ".scale",
      Tensor::Of<float>(Shape(dims), std::vector<float>(static_cast<size_t>(*count), 1)));
  Attributes attributes;
  attributes.Set("axis", static_cast<int64_t>(first_axis - x->shape().rank()));
  attributes.Set("epsilon", static_cast<float>(match->epsilon));
  Node* norm = InsertNode(g, &root, Op::kLayerNormalization, name, {x, ones}, std::move(attributes),
                          root.result()->type());
  norm->set_region(root.region());
  Replace(g, root, norm->result());
  return true;
}

// Returns the constant as one number per normalised element; nullopt if it varies along other axes.
std::optional<std::vector<float>> OverNormalisedAxes(const Tensor& constant,
                                                     const Shape& normalised) {
  const Shape& shape = constant.shape();
  if (constant.size() == 1) {
    return std::vector<float>(static_cast<size_t>(normalised.NumElements()),
                              constant.data<float>()[0]);
  }
  if (shape.rank() < normalised.rank()) return std::nullopt;
  for (int i = 0; i < shape.rank(); ++i) {
    const int at = i - (shape.rank() - normalised.rank());
    if (shape[i] != (at < 0 ? 1 : normalised[at])) return std::nullopt;
  }
  return constant.ToFloats();
}

// Absorbs layer_norm(x) * c or + c into scale and bias, if c is constant over the other axes.
bool TakeInConstant(Graph& g, Node& root) {
  if (root.op() != Op::kMul && root.op() != Op::kAdd) return false;
  for (const int i : {0, 1}) {
    Node* norm = ComputedBy(root.operand(i), Op::kLayerNormalization);
    const Tensor* c = FloatConstant(root.operand(1 - i));
    if (norm == nullptr || c == nullptr || root.operand(1 - i)->quantisation().has_value() ||
        !HasOneUse(g, norm->result()))
      continue;
    if (norm->result()->type() != root.result()->type() ||
        !CanReplace(g, root.result(), norm->result()))
      continue;
    const Tensor* scale = FloatConstant(norm->operand(1));
    if (scale == nullptr) continue;
    const auto values = OverNormalisedAxes(*c, scale->shape());
    if (!values.has_value()) continue;
    std::vector<float> bias(values->size(), 0.0f);
    if (norm->operand(2) != nullptr) {
      const Tensor* old = FloatConstant(norm->operand(2));
      if (old == nullptr || old->shape() != scale->shape()) continue;
      bias = old->ToFloats();
    }
    std::vector<float> scales = scale->ToFloats();
    const Shape shape = scale->shape();
    // (x * scale + bias) * c scales the bias as well.
    for (size_t n = 0; n < values->size(); ++n) {
      if (root.op() == Op::kMul) {
        scales[n] *= (*values)[n];
        bias[n] *= (*values)[n];
      } else {
        bias[n] += (*values)[n];
      }
    }
    if (root.op() == Op::kMul) SetConstantOperand(g, *norm, 1, Tensor::Of<float>(shape, scales));
    if (root.op() == Op::kAdd || norm->operand(2) != nullptr) {
      SetConstantOperand(g, *norm, 2, Tensor::Of<float>(shape, bias), root.name() + ".bias");
    }
    norm->set_name(JoinNames(norm->name(), root.name()));
    Replace(g, root, norm->result());
    return true;
  }
  return false;
}

}  // namespace

StatusOr<Changed> RecogniseLayerNorm::Run(Graph& graph, PassContext&) const {
  return ApplyRule(graph, [](Graph& g, Node& root) -> StatusOr<bool> {
    return RecogniseLayerNormCore(g, root) || TakeInConstant(g, root);
  });
}

}  // namespace kiln
