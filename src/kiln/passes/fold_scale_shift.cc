// Implements fold-scale-shift with scale_shift.h.
#include "kiln/passes/fold_scale_shift.h"

#include <cmath>

#include "kiln/passes/rewrite.h"
#include "kiln/passes/scale_shift.h"

namespace kiln {
namespace {

// Returns one number per channel if the constant varies along the channel axis only and broadcasts
// to a value of `rank` axes without enlarging it. `axis_from_end` is the channel axis, e.g. -1.
std::optional<std::vector<double>> PerChannel(const Tensor& constant, int rank, int axis_from_end,
                                              int64_t channels) {
  const Shape& shape = constant.shape();
  if (shape.rank() > rank) return std::nullopt;
  for (int i = 0; i < shape.rank(); ++i) {
    const bool is_channel = i - shape.rank() == axis_from_end;
    if (shape[i] != 1 && !(is_channel && shape[i] == channels)) return std::nullopt;
  }
  std::vector<double> values;
  for (int64_t c = 0; c < channels; ++c)
    values.push_back(constant.ValueAt(constant.size() == 1 ? 0 : c));
  return values;
}

// An element-wise operator with a constant, result = scale * x + shift; the constant is either the
// scale or the shift.
struct Affine {
  Value* x = nullptr;
  const Tensor* constant = nullptr;
  bool is_scale = false;
  bool inverted = false;  // Div: scale = 1 / constant; Sub: shift = -constant
};

// Reads a Mul, Div, Add or Sub with an fp32 constant; Div and Sub need it on the right.
std::optional<Affine> AffineOf(const Node& node) {
  const bool commutes = node.op() == Op::kMul || node.op() == Op::kAdd;
  if (!commutes && node.op() != Op::kDiv && node.op() != Op::kSub) return std::nullopt;
  Affine affine;
  affine.is_scale = node.op() == Op::kMul || node.op() == Op::kDiv;
  affine.inverted = !commutes;
  affine.x = node.operand(0);
  affine.constant = FloatConstant(node.operand(1));
  if (affine.constant == nullptr && commutes) {
    affine.x = node.operand(1);
    affine.constant = FloatConstant(node.operand(0));
  }
  if (affine.constant == nullptr || affine.x == nullptr) return std::nullopt;
  return affine;
}

// Returns the operator as a scale and a shift per channel of `linear`; nullopt if it does not fit
// or a reciprocal is not finite.
std::optional<ScaleShift> PerChannelOf(const Affine& affine, const Node& linear, int64_t channels) {
  const bool is_conv = linear.op() == Op::kConv || linear.op() == Op::kConvTranspose;
  const int rank =
      is_conv ? linear.operand(1)->constant().shape().rank() : RankOf(linear.operand(0));
  auto values = PerChannel(*affine.constant, rank, ChannelAxisFromEnd(linear), channels);
  if (!values.has_value()) return std::nullopt;
  for (double& v : *values) {
    if (affine.inverted) v = affine.is_scale ? 1 / v : -v;
    if (!std::isfinite(v)) return std::nullopt;
  }
  const std::vector<double> ones(values->size(), 1.0), zeros(values->size(), 0.0);
  return affine.is_scale ? ScaleShift{*values, zeros} : ScaleShift{ones, *values};
}

// Folds an operator after matmul(x, w) + c: its scale goes into w and c, its shift into c.
bool FoldIntoMatMulAndAdd(Graph& g, Node& root, const Affine& outer) {
  Node* add = ComputedBy(outer.x, Op::kAdd);
  if (add == nullptr || !HasOneUse(g, outer.x)) return false;
  const std::optional<Affine> inner = AffineOf(*add);
  if (!inner.has_value()) return false;
  Node* linear = ComputedBy(inner->x, Op::kMatMul);
  if (linear == nullptr || !HasOneUse(g, inner->x)) return false;
  const int64_t channels = FoldableChannels(*linear);
  if (channels == 0) return false;
  const auto by = PerChannelOf(outer, *linear, channels),
             bias = PerChannelOf(*inner, *linear, channels);
  if (!by.has_value() || !bias.has_value()) return false;
  std::vector<float> merged;
  for (size_t c = 0; c < by->scale.size(); ++c) {
    merged.push_back(static_cast<float>(by->scale[c] * bias->shift[c] + by->shift[c]));
  }
  // The MatMul takes the scale; the Add's constant takes scale and shift.
  FoldInto(g, *linear, {by->scale, std::vector<double>(by->scale.size(), 0.0)});
  const int at = add->operand(1) == inner->x ? 0 : 1;
  SetConstantOperand(g, *add, at, Tensor::Of<float>(Shape{channels}, merged));
  add->set_name(JoinNames(add->name(), root.name()));
  Replace(g, root, outer.x);
  return true;
}

}  // namespace

StatusOr<Changed> FoldScaleShift::Run(Graph& graph, PassContext&) const {
  return ApplyRule(graph, [](Graph& g, Node& root) -> StatusOr<bool> {
    const std::optional<Affine> affine = AffineOf(root);
    if (!affine.has_value() || !CanReplace(g, root.result(), affine->x)) return false;
    Node* linear = affine->x->producer();
    if (linear == nullptr || !HasOneUse(g, affine->x) || affine->x->quantisation().has_value())
      return false;
    const int64_t channels = FoldableChannels(*linear);
    // Not a foldable linear operator itself; perhaps the Add of its bias.
    if (channels == 0) return FoldIntoMatMulAndAdd(g, root, *affine);
    const auto by = PerChannelOf(*affine, *linear, channels);
    if (!by.has_value() || (linear->op() == Op::kMatMul && !affine->is_scale)) return false;
    FoldInto(g, *linear, *by);
    linear->set_name(JoinNames(linear->name(), root.name()));
    Replace(g, root, affine->x);
    return true;
  });
}

}  // namespace kiln
