// Implements reference_plan.h: infers shapes, fuses nodes, assigns slots to values and finds the
// step after which each slot's memory is free.
#include "kiln/execute/reference_plan.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "kiln/execute/reference.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/support/check.h"

namespace kiln::reference {

// Builds a plan by visiting the nodes once, in order.
class PlanBuilder {
 public:
  PlanBuilder(const Graph& graph, bool observable, WeightCache& weights)
      : graph_(graph), observable_(observable), weights_(weights) {}

  // Builds the plan: types, fusions, steps in the graph's order, and the release of slots.
  StatusOr<std::unique_ptr<Plan>> Build(std::span<const Shape> inputs) {
    KILN_RETURN_IF_ERROR(InferTypes(inputs));
    for (const Value* input : graph_.inputs()) plan_->inputs_.push_back(SlotOf(input));
    // Fused values never exist as tensors, so an observable plan has no fusions.
    if (!observable_) FindFusions();
    for (const auto& node : graph_.nodes()) {
      const auto fused = fused_.find(node.get());
      if (fused == fused_.end()) {
        Append(*node);
        plan_->steps_.back().is_observed = observable_;
      } else if (fused->second->last == node.get()) {
        // A fusion is appended at its last node, when all its operands have been computed.
        AppendFast(*fused->second->heavy, fused->second->last->result(), fused->second->post,
                   fused->second->residual);
      }
    }
    for (const Value* output : graph_.outputs()) plan_->outputs_.push_back(SlotOf(output));
    FreeEarly();
    return std::move(plan_);
  }

 private:
  using Slot = Plan::Slot;
  using Step = Plan::Step;

  // Nodes that run as one step: a convolution or product, optionally an addition after a
  // convolution, optionally an activation.
  struct Fusion {
    const Node* heavy = nullptr;      // the convolution or product
    const Node* last = nullptr;       // the node whose result the step stores
    const Node* add = nullptr;        // null: no addition
    const Value* residual = nullptr;  // the other operand of `add`
    PostOperations post;
  };

  // Infers the types of all values for these input shapes, on a copy of the graph.
  Status InferTypes(std::span<const Shape> inputs) {
    Graph copy = graph_.Clone();
    for (size_t i = 0; i < inputs.size(); ++i) {
      Value* input = copy.inputs()[i];
      copy.SetType(input, {input->element(), inputs[i]});
    }
    // The declared types of results hold for the declared input shapes only.
    for (const auto& node : copy.nodes()) {
      for (Value* result : node->results()) {
        if (result != nullptr) copy.SetType(result, {result->element(), std::nullopt});
      }
    }
    KILN_RETURN_IF_ERROR(InferShapes(copy));
    const std::vector<Value*> from = copy.Values(), to = graph_.Values();
    KILN_CHECK(from.size() == to.size());
    for (size_t i = 0; i < to.size(); ++i) types_[to[i]] = from[i]->type();
    return OkStatus();
  }

  // Returns true if the value's shape is fully known for these inputs.
  bool IsKnown(const Value* value) const {
    const TensorType& type = types_.at(value);
    return type.shape.has_value() && type.shape->IsKnown();
  }

  // Returns the types of a node's operands and of `result`, or nullopt if one is unknown.
  std::optional<NodeShapes> ShapesOf(const Node& node, const Value* result) const {
    NodeShapes shapes;
    for (const Value* operand : node.operands()) {
      if (operand != nullptr && !IsKnown(operand)) return std::nullopt;
      shapes.operands.push_back(operand == nullptr ? std::nullopt
                                                   : std::optional(types_.at(operand)));
    }
    if (result == nullptr || !IsKnown(result)) return std::nullopt;
    shapes.result = types_.at(result);
    return shapes;
  }

  bool IsOutput(const Value* value) const {
    return std::find(graph_.outputs().begin(), graph_.outputs().end(), value) !=
           graph_.outputs().end();
  }
  // Returns the only user of a value, or null if it has several or is a graph output.
  const Node* OnlyUser(const Value* value) const {
    return value->users().size() == 1 && !IsOutput(value) ? value->users()[0] : nullptr;
  }

  // Finds the nodes that run as one fast step.
  void FindFusions() {
    for (const auto& node : graph_.nodes()) {
      const Op op = node->op();
      if ((op != Op::kConv && op != Op::kGemm && op != Op::kMatMul) || node->result() == nullptr)
        continue;
      const auto shapes = ShapesOf(*node, node->result());
      // Only fast nodes can fuse, because their epilogue computes the fused nodes.
      if (!shapes.has_value() || !IsFast(*node, *shapes)) continue;
      auto fusion = std::make_shared<Fusion>();
      fusion->heavy = fusion->last = node.get();
      // An Add or activation is fused only if nobody else reads the value before it.
      const Node* user = OnlyUser(node->result());
      if (op == Op::kConv && user != nullptr && user->op() == Op::kAdd && fused_.count(user) == 0) {
        const Value* other = user->operand(user->operand(0) == node->result() ? 1 : 0);
        const Value* sum = user->result();
        // A residual must have the sum's type without broadcasting.
        if (other != node->result() && IsKnown(other) && IsKnown(sum) &&
            types_.at(other) == types_.at(sum) && types_.at(node->result()) == types_.at(sum)) {
          fusion->add = fusion->last = user;
          fusion->residual = other;
          fusion->post.adds_residual = true;
          user = OnlyUser(sum);
        }
      }
      if (user != nullptr && user != fusion->add && fused_.count(user) == 0 &&
          user->operand(0) == fusion->last->result()) {
        if (const auto activation = FindActivation(*user)) {
          fusion->post.activation = activation->activation;
          fusion->post.low = activation->low;
          fusion->post.high = activation->high;
          fusion->last = user;
        }
      }
      if (fusion->last == node.get()) continue;
      fused_[node.get()] = fusion;
      fused_[fusion->last] = fusion;
      if (fusion->add != nullptr) fused_[fusion->add] = fusion;
    }
  }

  // Returns the slot of a value, creating it on first use.
  int SlotOf(const Value* value) {
    const auto [it, is_new] = slots_.emplace(value, static_cast<int>(plan_->slots_.size()));
    if (is_new) {
      Slot slot;
      slot.value = value;
      slot.is_constant = value->is_constant();
      if (IsKnown(value)) slot.shape = *types_.at(value).shape;
      plan_->slots_.push_back(std::move(slot));
    }
    return it->second;
  }
  // Returns the slots of a list of values, -1 for absent ones.
  std::vector<int> SlotsOf(std::span<Value* const> values) {
    std::vector<int> slots;
    for (const Value* value : values) slots.push_back(value == nullptr ? -1 : SlotOf(value));
    return slots;
  }

  // Appends a fast step that writes `result`, the value of the last fused node.
  void AppendFast(const Node& node, const Value* result, const PostOperations& post,
                  const Value* residual) {
    Step step;
    step.node = &node;
    step.fast = MakeFast(node, *ShapesOf(node, result), post, weights_);
    step.operands = SlotsOf(node.operands());
    step.results = {SlotOf(result)};
    if (residual != nullptr) step.residual = SlotOf(residual);
    plan_->steps_.push_back(std::move(step));
  }

  // Appends a node that is not fused. A plain kernel may return views of its operands, so these
  // slots must not be overwritten.
  void Append(const Node& node) {
    const auto shapes = ShapesOf(node, node.result());
    if (shapes.has_value() && IsFast(node, *shapes)) {
      AppendFast(node, node.result(), {}, nullptr);
      return;
    }
    Step step;
    step.node = &node;
    step.operands = SlotsOf(node.operands());
    step.results = SlotsOf(node.results());
    for (const int slot : step.operands) {
      if (slot >= 0) plan_->slots_[static_cast<size_t>(slot)].may_be_shared = true;
    }
    plan_->steps_.push_back(std::move(step));
  }

  // Lists, for each step, the slots that no later step reads. Outputs are kept.
  void FreeEarly() {
    std::vector<int> last(plan_->slots_.size(), -1);
    for (size_t s = 0; s < plan_->steps_.size(); ++s) {
      const Step& step = plan_->steps_[s];
      const auto use = [&](int slot) {
        if (slot >= 0) last[static_cast<size_t>(slot)] = static_cast<int>(s);
      };
      std::for_each(step.operands.begin(), step.operands.end(), use);
      use(step.residual);
      std::for_each(step.results.begin(), step.results.end(), use);
    }
    // Outputs are returned, so no step may release them.
    for (int slot : plan_->outputs_) last[static_cast<size_t>(slot)] = -1;
    for (size_t slot = 0; slot < last.size(); ++slot) {
      if (last[slot] >= 0)
        plan_->steps_[static_cast<size_t>(last[slot])].done.push_back(static_cast<int>(slot));
    }
  }

  const Graph& graph_;
  const bool observable_;
  WeightCache& weights_;
  std::unique_ptr<Plan> plan_ = std::make_unique<Plan>();
  std::unordered_map<const Value*, TensorType> types_;
  std::unordered_map<const Value*, int> slots_;
  std::unordered_map<const Node*, std::shared_ptr<Fusion>> fused_;
};

StatusOr<std::unique_ptr<Plan>> Plan::Build(const Graph& graph, std::span<const Shape> inputs,
                                            bool observable, WeightCache& weights) {
  return PlanBuilder(graph, observable, weights).Build(inputs);
}

// Constants are read from the graph; all other values from the run's cells.
const Tensor& Plan::TensorOf(int slot, const std::vector<Cell>& cells) const {
  const Slot& s = slots_[static_cast<size_t>(slot)];
  return s.is_constant ? s.value->constant() : cells[static_cast<size_t>(slot)].tensor;
}

// Runs a fast step. Its result overwrites the residual's memory if nothing else needs it.
Status Plan::RunFast(const Step& step, bool parallel, std::vector<Cell>& cells) const {
  std::vector<const float*> operands;
  for (const int slot : step.operands) {
    operands.push_back(slot < 0 ? nullptr : TensorOf(slot, cells).data<float>().data());
  }
  const float* residual = nullptr;
  Cell result;
  if (step.residual >= 0) {
    residual = TensorOf(step.residual, cells).data<float>().data();
    // Reuses the residual's memory if this run allocated it, this step is its last reader, it is
    // not an operand of the same step and no view shares it.
    Cell& cell = cells[static_cast<size_t>(step.residual)];
    const bool is_last =
        std::find(step.done.begin(), step.done.end(), step.residual) != step.done.end();
    const bool is_read =
        std::find(step.operands.begin(), step.operands.end(), step.residual) != step.operands.end();
    if (is_last && !is_read && cell.is_ours &&
        !slots_[static_cast<size_t>(step.residual)].may_be_shared) {
      result = std::move(cell);
    }
  }
  float* target = nullptr;
  if (result.is_ours) {
    target = const_cast<float*>(residual);  // the memory belongs to this run: RunFast allocated it
  } else {
    const Shape& shape = slots_[static_cast<size_t>(step.results[0])].shape;
    KILN_ASSIGN_OR_RETURN(std::shared_ptr<void> buffer,
                          AllocateBuffer(static_cast<size_t>(shape.NumElements()) * sizeof(float)));
    target = static_cast<float*>(buffer.get());
    const auto* bytes = static_cast<const std::byte*>(buffer.get());
    result = {Tensor::View(ElementType::kFloat32, shape, std::move(buffer), bytes), true};
  }
  KILN_RETURN_IF_ERROR(step.fast->Run(operands, residual, target, parallel));
  cells[static_cast<size_t>(step.results[0])] = std::move(result);
  return OkStatus();
}

// Runs the steps in order; everything that changes is in `cells`, so runs do not disturb each
// other.
StatusOr<std::vector<Tensor>> Plan::Run(std::span<const Tensor> inputs, bool parallel,
                                        const ValueObserver& observer) const {
  std::vector<Cell> cells(slots_.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    cells[static_cast<size_t>(inputs_[i])].tensor = inputs[i];
    if (observer) observer(*slots_[static_cast<size_t>(inputs_[i])].value, inputs[i]);
  }
  std::vector<const Tensor*> operands;
  for (const Step& step : steps_) {
    if (step.fast != nullptr) {
      if (Status status = RunFast(step, parallel, cells); !status.ok()) {
        return WithContext(step.node->Describe(), status);
      }
    } else {
      operands.clear();
      for (int slot : step.operands)
        operands.push_back(slot < 0 ? nullptr : &TensorOf(slot, cells));
      KILN_ASSIGN_OR_RETURN(std::vector<Tensor> results, EvaluateNode(*step.node, operands));
      for (size_t i = 0; i < step.results.size(); ++i) {
        if (step.results[i] >= 0)
          cells[static_cast<size_t>(step.results[i])] = {std::move(results[i]), false};
      }
    }
    if (observer && step.is_observed) {
      for (const int slot : step.results) {
        if (slot >= 0) observer(*slots_[static_cast<size_t>(slot)].value, TensorOf(slot, cells));
      }
    }
    for (int slot : step.done) cells[static_cast<size_t>(slot)] = {};
  }
  std::vector<Tensor> out;
  for (int slot : outputs_) out.push_back(TensorOf(slot, cells));
  return out;
}

}  // namespace kiln::reference
