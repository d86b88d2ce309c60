// Implements layout_sink.h: one plan per operator says which operands change layout and how the
// node's axes change with them.
#include "kiln/passes/layout_sink.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "kiln/passes/quantiser.h"
#include "kiln/passes/rewrite.h"

namespace kiln {
namespace {

constexpr int kRank = 4;

// Returns the position in NHWC of axis i of NCHW; negative axes count from the end.
int64_t NhwcAxis(int64_t nchw_axis) {
  static constexpr int64_t kMap[kRank] = {0, 3, 1, 2};
  return kMap[nchw_axis < 0 ? nchw_axis + kRank : nchw_axis];
}

bool IsAxis(int64_t axis) { return axis >= -kRank && axis < kRank; }

// Returns the type of a value transposed by `perm`.
TensorType PermutedType(TensorType type, const Permutation& perm) {
  if (type.shape.has_value()) type.shape = Permute(*type.shape, perm);
  return type;
}

// Returns the NHWC value that `value` is the transpose of; null if `value` is not the result of a
// Transpose from NHWC to NCHW. Such an operand is called lifted below.
Value* Lifted(const Value* value) {
  const Node* transpose = ProducedBy(value, Op::kTranspose);
  if (transpose == nullptr) return nullptr;
  return PermutationOf(*transpose) == ToNchw() ? transpose->operand(0) : nullptr;
}

// Returns true for a Transpose that a lifted result would cancel.
bool IsTransposeToNhwc(const Node& node) {
  return node.op() == Op::kTranspose && PermutationOf(node) == ToNhwc();
}

// The changes that let a node work on NHWC.
struct Plan {
  std::vector<int> data;           // the operands that change layout
  std::function<void()> rewrite;   // changes axes and similar attributes; may be empty
  Permutation results = ToNchw();  // transposes a new result to the old one
};

// Reorders a small constant operand with one entry per axis, from NCHW to NHWC order. Pads have two
// such blocks of entries, begins and ends; other operands have one.
void PermuteEntries(Graph& graph, Node& node, int operand, size_t block_offset_count) {
  const Tensor& old = node.operand(operand)->constant();
  Tensor fresh = old.Clone();
  const size_t width = static_cast<size_t>(SizeOf(old.type()));
  for (size_t block = 0; block < block_offset_count; ++block) {
    for (int64_t axis = 0; axis < kRank; ++axis) {
      const size_t from = (block * kRank + static_cast<size_t>(axis)) * width;
      const size_t to = (block * kRank + static_cast<size_t>(NhwcAxis(axis))) * width;
      std::copy_n(old.bytes() + from, width, fresh.mutable_bytes() + to);
    }
  }
  SetConstantOperand(graph, node, operand, std::move(fresh));
}

// Replaces operand `operand`, a list of axes in NCHW, by the same axes in NHWC.
void SetAxes(Graph& graph, Node& node, int operand, const std::vector<int64_t>& nchw_axes) {
  std::vector<int64_t> axes;
  for (const int64_t axis : nchw_axes) axes.push_back(NhwcAxis(axis));
  SetConstantOperand(graph, node, operand,
                     Tensor::Of<int64_t>(Shape{static_cast<int64_t>(axes.size())}, axes),
                     node.name() + ".axes");
}

// Returns a constant list of axes in its own order; nullopt if it is not constant or out of range.
std::optional<std::vector<int64_t>> AxesInOrder(const Value* value) {
  auto axes = IntConstant(value);
  if (!axes.has_value() || !std::all_of(axes->begin(), axes->end(), IsAxis)) return std::nullopt;
  return axes;
}

// Plans an operator with the attribute `axis`.
std::optional<Plan> PlanAxisAttribute(Node& root, int64_t fallback) {
  const int64_t axis = root.attributes().Int("axis", fallback);
  if (!IsAxis(axis)) return std::nullopt;
  Plan plan;
  plan.rewrite = [&root, axis] { root.attributes().Set("axis", NhwcAxis(axis)); };
  return plan;
}

// Plans a Slice. Without explicit axes it gets them, because the order of its entries changes.
std::optional<Plan> PlanSlice(Graph& graph, Node& root) {
  std::vector<int64_t> axes;
  if (root.operand(3) != nullptr) {
    const auto given = AxesInOrder(root.operand(3));
    if (!given.has_value()) return std::nullopt;
    axes = *given;
  } else {
    if (RankOf(root.operand(1)) != 1 || !HasKnownShape(root.operand(1))) return std::nullopt;
    const int64_t count = root.operand(1)->shape()[0];
    if (count > kRank) return std::nullopt;
    for (int64_t i = 0; i < count; ++i) axes.push_back(i);
  }
  Plan plan;
  plan.data = {0};
  plan.rewrite = [&graph, &root, axes] { SetAxes(graph, root, 3, axes); };
  return plan;
}

// Plans a Pad: changes its axes, or reorders its pads.
std::optional<Plan> PlanPad(Graph& graph, Node& root) {
  Plan plan;
  plan.data = {0};
  if (root.operand(3) != nullptr) {
    const auto axes = AxesInOrder(root.operand(3));
    if (!axes.has_value()) return std::nullopt;
    plan.rewrite = [&graph, &root, axes] { SetAxes(graph, root, 3, *axes); };
    return plan;
  }
  const auto pads = IntConstant(root.operand(1));
  if (!pads.has_value() || pads->size() != 2 * kRank) return std::nullopt;
  plan.rewrite = [&graph, &root] { PermuteEntries(graph, root, 1, 2); };
  return plan;
}

// Plans a reduction. If it drops the reduced axes, the others change their order, and a Transpose
// of fewer axes follows.
std::optional<Plan> PlanReduce(Graph& graph, Node& root) {
  const auto axes = AxesInOrder(root.operand(1));
  if (!axes.has_value() || axes->empty()) return std::nullopt;
  Plan plan;
  plan.data = {0};
  plan.rewrite = [&graph, &root, axes] { SetAxes(graph, root, 1, *axes); };
  if (root.attributes().Int("keepdims", 1) != 0) return plan;
  // The remaining axes as NHWC positions, in NCHW order and in the new order.
  std::vector<int64_t> old_order;
  for (int64_t axis = 0; axis < kRank; ++axis) {
    const bool reduced = std::any_of(axes->begin(), axes->end(),
                                     [&](int64_t a) { return (a < 0 ? a + kRank : a) == axis; });
    if (!reduced) old_order.push_back(NhwcAxis(axis));
  }
  std::vector<int64_t> new_order = old_order;
  std::sort(new_order.begin(), new_order.end());
  plan.results.clear();
  for (const int64_t axis : old_order) {
    plan.results.push_back(std::find(new_order.begin(), new_order.end(), axis) - new_order.begin());
  }
  return plan;
}

// Plans a Resize with constant scales or sizes for all four axes.
std::optional<Plan> PlanResize(Graph& graph, Node& root) {
  if (root.attributes().Has("axes")) return std::nullopt;
  const Value* roi = root.operand(1);
  if (roi != nullptr && (!roi->is_constant() || roi->constant().size() != 0)) return std::nullopt;
  std::vector<int> entries;
  for (const int i : {2, 3}) {
    const Value* sizes = root.operand(i);
    if (sizes == nullptr || (sizes->is_constant() && sizes->constant().size() == 0)) continue;
    if (!sizes->is_constant() || sizes->constant().size() != kRank) return std::nullopt;
    entries.push_back(i);
  }
  if (entries.empty()) return std::nullopt;
  Plan plan;
  plan.data = {0};
  plan.rewrite = [&graph, &root, entries] {
    for (const int i : entries) PermuteEntries(graph, root, i, 1);
  };
  return plan;
}

// Returns the plan of a node; nullopt if it cannot work on NHWC.
std::optional<Plan> PlanFor(Graph& graph, Node& root) {
  const auto all = [&](Plan plan) {
    for (int i = 0; i < root.num_operands(); ++i) plan.data.push_back(i);
    return plan;
  };
  const auto first = [](Plan plan) {
    plan.data = {0};
    return plan;
  };
  if (root.info().Has(kReduces)) return PlanReduce(graph, root);
  if (root.info().Has(kElementwise)) {
    return root.info().Has(kBroadcasts) || root.op() == Op::kPRelu ? all({}) : first({});
  }
  switch (root.op()) {
    case Op::kIdentity:
      return first({});
    case Op::kConcat: {
      auto plan = PlanAxisAttribute(root, 0);
      return plan.has_value() ? std::optional(all(*plan)) : std::nullopt;
    }
    case Op::kSplit: {
      auto plan = PlanAxisAttribute(root, 0);
      return plan.has_value() ? std::optional(first(*plan)) : std::nullopt;
    }
    case Op::kSoftmax:
    case Op::kLogSoftmax: {
      auto plan = PlanAxisAttribute(root, -1);
      return plan.has_value() ? std::optional(first(*plan)) : std::nullopt;
    }
    case Op::kSlice:
      return PlanSlice(graph, root);
    case Op::kPad:
      return PlanPad(graph, root);
    case Op::kResize:
      return PlanResize(graph, root);
    case Op::kQuantizeLinear:
    case Op::kDequantizeLinear:
    case Op::kQuant:
    case Op::kBipolarQuant:
    case Op::kTrunc:
      // Per-tensor scales do not depend on the layout.
      for (int i = 1; i < root.num_operands(); ++i) {
        const Value* setting = root.operand(i);
        if (setting != nullptr && (!HasKnownShape(setting) || setting->shape().NumElements() != 1))
          return std::nullopt;
      }
      return first({});
    default:
      return std::nullopt;
  }
}

// Returns a constant laid out for NHWC without leading axes of length 1: [1, 8, 1, 1] becomes [8].
Tensor RelaidConstant(const Tensor& constant) {
  if (constant.size() == 1 && constant.shape().rank() <= kRank) return constant;
  std::vector<int64_t> dims = constant.shape().dims();
  dims.insert(dims.begin(), static_cast<size_t>(kRank) - dims.size(), 1);
  const Tensor moved = TransposeTensor(constant.Reshaped(Shape(dims)), ToNhwc());
  dims = moved.shape().dims();
  while (dims.size() > 1 && dims[0] == 1) dims.erase(dims.begin());
  return moved.Reshaped(Shape(dims));
}

// Returns a constant in NHWC with all four axes, because Concat does not broadcast.
Tensor RelaidForConcat(const Tensor& constant) { return TransposeTensor(constant, ToNhwc()); }

}  // namespace

Value* TransposeBefore(Graph& graph, Node& node, Value* value, const Permutation& perm) {
  Attributes attributes;
  attributes.Set("perm", perm);
  Node* transpose = InsertNode(graph, &node, Op::kTranspose, node.name(), {value},
                               std::move(attributes), PermutedType(value->type(), perm));
  transpose->result()->set_quantisation(Permuted(value->quantisation(), perm));
  return transpose->result();
}

void TransposeAfter(Graph& graph, Value* result, const Permutation& perm, Node* next) {
  const TensorType old_type = result->type();
  const std::optional<Quantisation> old_quantisation = result->quantisation();
  graph.SetType(result, PermutedType(old_type, Invert(perm)));
  result->set_quantisation(Permuted(old_quantisation, Invert(perm)));
  if (IsIdentity(perm)) return;
  Attributes attributes;
  attributes.Set("perm", perm);
  Node* transpose = InsertNode(graph, next, Op::kTranspose, result->producer()->name(), {result},
                               std::move(attributes), old_type);
  transpose->result()->set_quantisation(old_quantisation);
  const std::string name = result->name();
  graph.ReplaceAllUses(result, transpose->result());
  if (result->name() != name) graph.Rename(result, name + ".nhwc");
  graph.SetOperand(transpose, 0, result);  // ReplaceAllUses has redirected this use as well
}

bool SinkThrough(Graph& graph, Node& root, Node* next) {
  const auto comes_lifted = [](const Value* v) { return v != nullptr && Lifted(v) != nullptr; };
  if (std::none_of(root.operands().begin(), root.operands().end(), comes_lifted)) return false;
  const std::optional<Plan> plan = PlanFor(graph, root);
  if (!plan.has_value()) return false;

  // Each operand that is not lifted costs a new Transpose. That pays if more operands are lifted
  // than not, or if a user transposes the result back to NHWC anyway.
  int lifted = 0, straight = 0;
  for (const int i : plan->data) {
    const Value* value = root.operand(i);
    if (value == nullptr) return false;
    if (comes_lifted(value)) {
      ++lifted;
    } else if (value->is_constant()) {
      if (value->shape().rank() > kRank) return false;
      if (value->quantisation().has_value() && value->quantisation()->axis >= 0) return false;
      if (value->element() == ElementType::kString) return false;
      if (root.op() == Op::kConcat && value->shape().rank() != kRank) return false;
    } else {
      if (RankOf(value) != kRank) return false;
      ++straight;
    }
  }
  if (lifted == 0) return false;
  // The transposes after the node need to know the rank of its results.
  for (const Value* result : root.results()) {
    if (result == nullptr ||
        (result->has_shape() && RankOf(result) != static_cast<int>(plan->results.size())))
      return false;
  }
  const bool meets_nhwc =
      std::any_of(root.results().begin(), root.results().end(), [](const Value* result) {
        return std::any_of(result->users().begin(), result->users().end(),
                           [](const Node* u) { return IsTransposeToNhwc(*u); });
      });
  if (straight > 0 && straight >= lifted && !meets_nhwc) return false;

  for (const int i : plan->data) {
    Value* value = root.operand(i);
    if (Value* inner = Lifted(value)) {
      Node* transpose = value->producer();
      graph.SetOperand(&root, i, inner);
      EraseUpwards(graph, transpose);
    } else if (value->is_constant()) {
      const Tensor& old = value->constant();
      const Tensor fresh = root.op() == Op::kConcat ? RelaidForConcat(old) : RelaidConstant(old);
      if (fresh == old) continue;
      const std::optional<Quantisation> annotation =
          value->quantisation();  // a single scale does not depend on the layout
      SetConstantOperand(graph, root, i, fresh);
      root.operand(i)->set_quantisation(annotation);
    } else {
      graph.SetOperand(&root, i, TransposeBefore(graph, root, value, ToNhwc()));
    }
  }
  if (plan->rewrite) plan->rewrite();
  for (Value* result : root.results()) TransposeAfter(graph, result, plan->results, next);
  return true;
}

}  // namespace kiln
