#include "tests/targets/conformance/annotate.h"

#include <unordered_map>

#include "kiln/numerics/codec.h"

namespace kiln::conformance {
namespace {

// The axis along which block scales of an activation lie, or -1 where a user wants one scale for
// all.
int BlockAxis(const Value& value) {
  for (const Node* user : value.users()) {
    if (user->op() == Op::kConv && user->operand(0) == &value &&
        user->attributes().Int("group", 1) > 1)
      return -1;
  }
  if (value.users().size() == 1 && value.users()[0]->op() == Op::kTranspose) {
    const Node& transpose = *value.users()[0];
    const std::vector<int64_t> perm = transpose.attributes().Ints("perm");
    const int axis = BlockAxis(*transpose.result());
    return axis < 0 || perm.empty() ? -1 : static_cast<int>(perm[static_cast<size_t>(axis)]);
  }
  return value.shape().rank() - 1;
}

// The axis of a constant that its node sums over, or -1.
int ReductionAxis(const Value& value) {
  if (value.users().size() != 1) return -1;
  const Node& user = *value.users()[0];
  if (user.op() == Op::kConv) return user.attributes().Int("group", 1) > 1 ? -1 : 1;
  const int rank = value.shape().rank();
  const bool transposed =
      user.attributes().Int(user.op() == Op::kGemm ? "transB" : "transpose_b", 0) != 0;
  return user.operand(1) == &value && rank >= 2 ? rank - (transposed ? 1 : 2) : -1;
}

// What the greatest magnitude of a range becomes as an element: the format's greatest value, or
// where it is finest.
double TargetOf(const Format& format) {
  if (format.kind == FormatKind::kPosit) return 4;
  if (format.name == "binary") return 2;  // weights lie evenly around 0
  return ToDouble(GreatestValue(format));
}

void Change(Value& value, const QuantType& type, int axis) {
  Quantisation q = *value.quantisation();
  q.type = type;
  q.zero_points.clear();
  if (type.scheme == Scheme::kPerBlock && axis >= 0) {
    q.axis = axis;
    q.scales.clear();
  } else {
    q.type.scheme = q.scales.size() > 1 ? Scheme::kPerChannel : Scheme::kPerTensor;
    q.type.block_size = 0;
    q.type.scale_format = *FindFormat("fp32");
    for (float& scale : q.scales) scale = static_cast<float>(scale * 127.0 / TargetOf(type.format));
    q.zero_points.assign(q.scales.size(), 0);
    if (type.format.bits > 8) {  // wide enough for values as they are
      q.type.scheme = Scheme::kNone;
      q.axis = -1;
      q.scales.clear();
      q.zero_points.clear();
    }
  }
  value.set_quantisation(std::move(q));
}

}  // namespace

void Retype(Graph& graph, const QuantType& activations, const QuantType& weights) {
  for (Value* value : graph.Values()) {
    if (!value->quantisation().has_value()) continue;
    if (value->is_constant()) {
      Change(*value, weights, ReductionAxis(*value));
    } else {
      Change(*value, activations, BlockAxis(*value));
    }
  }
}

void RetypeEverySecondProduct(Graph& graph, const QuantType& type) {
  std::unordered_map<const Value*, bool> changed;  // operands seen so far
  bool change = false;                             // the next product that is free to choose
  for (const auto& node : graph.nodes()) {
    if (node->op() != Op::kConv && node->op() != Op::kMatMul && node->op() != Op::kGemm) continue;
    Value* const operands[] = {node->operand(0), node->operand(1)};
    bool own = change;
    for (const Value* operand : operands) {
      if (const auto seen = changed.find(operand); seen != changed.end()) own = seen->second;
    }
    if (own == change) change = !change;
    for (Value* operand : operands) {
      const bool first = changed.emplace(operand, own).second;
      if (!first || !own || !operand->quantisation().has_value()) continue;
      Change(*operand, type,
             operand->is_constant() ? ReductionAxis(*operand) : BlockAxis(*operand));
    }
  }
}

}  // namespace kiln::conformance
