// Finds blocked axes: demands of layers spread over the nodes that move data, then values lose
// their blocks again where a layer cannot use them.
#include "kiln/quantise/block_axes.h"

#include <algorithm>

#include <fmt/format.h>

#include "kiln/ir/window.h"
#include "kiln/quantise/channel_axes.h"

namespace kiln {
namespace {

// A sum shorter than this fraction of a block (1/4) does not justify a scale.
constexpr int kLeastShareOfBlock = 4;

bool IsActivation(const Value* value) { return value != nullptr && !value->is_constant(); }

// Returns whether each convolution group sums over a whole number of blocks.
bool SumsOverWholeGroups(const Node& conv, int block_size) {
  const auto geometry = ResolveConv(conv);
  if (!geometry.ok()) return false;
  return geometry->groups == 1 || geometry->in_channels / geometry->groups % block_size == 0;
}

// Finds the axes along which the members of one candidate are blocked. The result is empty if the
// layers that read the members demand different axes.
class AxisFinder {
 public:
  AxisFinder(const BlockCandidate& candidate, const FloatLayers& float_layers)
      : block_size_(candidate.block_size),
        members_(candidate.members.begin(), candidate.members.end()),
        float_layers_(float_layers) {}

  std::unordered_map<const Value*, int> Find() {
    for (const Value* member : members_) {
      for (const Node* user : member->users()) {
        if (IsLayer(*user) && !Demand(*user, member)) return {};
      }
    }
    while (!pending_.empty()) {
      const Value* value = pending_.back();
      pending_.pop_back();
      if (!Spread(value)) return {};
    }
    // A member that no axis reached holds its elements in another order, so it has no blocked axis.
    if (axes_.size() != members_.size()) return {};
    return std::move(axes_);
  }

 private:
  bool IsLayer(const Node& node) const {
    return node.info().Has(kMacs) && !float_layers_.contains(&node);
  }

  // Returns whether a Concat along the blocked axis itself keeps blocks whole: all operands but the
  // last must hold a whole number of blocks.
  bool JoinsWholeBlocks(const Node& concat, int axis) const {
    const int rank = concat.result()->has_shape() ? concat.result()->shape().rank() : 0;
    const int64_t along = concat.attributes().Int("axis", 0);
    if ((along < 0 ? along + rank : along) != axis) return false;
    return std::all_of(concat.operands().begin(), concat.operands().end() - 1,
                       [&](const Value* operand) {
                         return operand->has_shape() && operand->shape().rank() == rank &&
                                operand->shape()[axis] % block_size_ == 0;
                       });
  }
  // Carries an axis across a node, from operand to result if `forward`, else from result to
  // operand.
  std::optional<int> Across(const Node& node, int axis, bool forward) const {
    if (node.op() == Op::kConcat && JoinsWholeBlocks(node, axis)) return axis;
    return forward ? AxisBehind(node, axis) : AxisBefore(node, axis);
  }

  // Records the axis that a layer sums over for each use of `member`. False on a conflict.
  bool Demand(const Node& layer, const Value* member) {
    for (int i = 0; i < layer.num_operands(); ++i) {
      if (layer.operand(i) != member) continue;
      const std::optional<int> axis = i < 2 ? ReductionAxis(layer, i) : std::nullopt;
      if (!axis || !Set(member, *axis)) return false;
    }
    return true;
  }

  // Records an axis for a value and queues the value for spreading. False on a conflict.
  bool Set(const Value* value, int axis) {
    const auto [it, is_new] = axes_.emplace(value, axis);
    if (is_new) pending_.push_back(value);
    return it->second == axis;
  }

  // As Set, for a neighbour that may lie outside the candidate; such neighbours are ignored.
  bool SetOther(const Value* other, std::optional<int> axis) {
    if (!members_.contains(other)) return true;
    return axis.has_value() && Set(other, *axis);
  }

  // Carries the axis of a value to the members that produce it or are computed from it by one node.
  // False on a conflict.
  bool Spread(const Value* value) {
    const int axis = axes_.at(value);
    for (const Node* user : value->users()) {
      if (user->info().Has(kMacs) || user->num_results() == 0) continue;
      if (user->op() != Op::kConcat && user->operand(0) != value) continue;
      for (const Value* result : user->results()) {
        if (result != nullptr && !SetOther(result, Across(*user, axis, true))) return false;
      }
    }
    const Node* producer = value->producer();
    if (producer == nullptr || producer->info().Has(kMacs)) return true;
    const size_t operands = producer->op() == Op::kConcat ? producer->operands().size() : 1;
    for (size_t i = 0; i < std::min(operands, producer->operands().size()); ++i) {
      const Value* operand = producer->operands()[i];
      if (operand != nullptr && !SetOther(operand, Across(*producer, axis, false))) return false;
    }
    return true;
  }

  int block_size_;
  std::unordered_set<const Value*> members_;
  const FloatLayers& float_layers_;
  // The axes found so far, and the values that Spread has not visited yet.
  std::unordered_map<const Value*, int> axes_;
  std::vector<const Value*> pending_;
};

}  // namespace

QuantType ElementQuantType(const QuantType& type, Scheme scheme) {
  if (type.scheme != Scheme::kPerBlock) return type;
  QuantType element{.format = type.format, .scheme = scheme};
  if (element.format.is_integer() && !element.format.is_whole()) {
    // The rounding and overflow modifiers follow the first dot of the name and are kept.
    const std::string& name = element.format.name;
    const std::string modifiers = name.substr(std::min(name.find('.'), name.size()));
    const auto whole = FindFormat(fmt::format("{}int{}{}", element.format.is_signed ? "" : "u",
                                              element.format.bits, modifiers));
    KILN_CHECK(whole.ok());
    element.format = *whole;
  }
  return element;
}

bool CanBeBlocked(const Node& layer, int block_size) {
  if (layer.op() != Op::kConv && layer.op() != Op::kGemm && layer.op() != Op::kMatMul) return false;
  if (layer.op() == Op::kConv && !SumsOverWholeGroups(layer, block_size)) return false;
  const bool both_activations = IsActivation(layer.operand(0)) && IsActivation(layer.operand(1));
  for (int i : {0, 1}) {
    const Value* operand = layer.operand(i);
    const std::optional<int> axis = ReductionAxis(layer, i);
    if (!axis ||
        operand->shape()[*axis] < (block_size + kLeastShareOfBlock - 1) / kLeastShareOfBlock)
      return false;
    if (both_activations && *axis != operand->shape().rank() - 1) return false;
  }
  return true;
}

BlockPlan BlockPlan::Make(const Graph& graph, std::span<const BlockCandidate> candidates,
                          const FloatLayers& float_layers) {
  BlockPlan plan;
  std::unordered_map<const Value*, const BlockCandidate*> candidate_of;
  for (const BlockCandidate& candidate : candidates) {
    for (const auto& [value, axis] : AxisFinder(candidate, float_layers).Find()) {
      plan.axes_[value] = axis;
      candidate_of[value] = &candidate;
    }
  }
  // If a layer cannot be blocked, the values that it reads lose their blocks. The other layers that
  // read these values then lose them for their second operand too. Repeat until nothing changes.
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& node : graph.nodes()) {
      if (!node->info().Has(kMacs) || float_layers.contains(node.get())) continue;
      for (const Value* operand : node->operands()) {
        const auto it = candidate_of.find(operand);
        if (it == candidate_of.end()) continue;
        const BlockCandidate& candidate = *it->second;
        if (CanBeBlocked(*node, candidate.block_size) && plan.HasBlockedInputs(node.get()))
          continue;
        for (const Value* member : candidate.members) {
          plan.axes_.erase(member);
          candidate_of.erase(member);
        }
        changed = true;
      }
    }
  }
  return plan;
}

std::optional<int> BlockPlan::AxisOf(const Value* value) const {
  const auto it = axes_.find(value);
  return it == axes_.end() ? std::nullopt : std::optional(it->second);
}

bool BlockPlan::HasBlockedInputs(const Node* layer) const {
  bool any = false;
  for (int i : {0, 1}) {
    const Value* operand = layer->operand(i);
    if (!IsActivation(operand)) continue;
    if (!AxisOf(operand)) return false;
    any = true;
  }
  return any;
}

}  // namespace kiln
