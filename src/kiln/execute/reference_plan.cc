#include "kiln/execute/reference_plan.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "kiln/execute/reference.h"
#include "kiln/ir/shape_inference.h"

namespace kiln::reference {

using dnnl::memory;

std::shared_ptr<const void> WeightCache::Get(const Value& constant, const memory::desc& from, const memory::desc& to) {
  std::vector<Entry>& entries = entries_[&constant];
  for (const Entry& entry : entries) {
    if (entry.desc == to) return entry.bytes;
  }
  const std::shared_ptr<void> bytes = AllocateBuffer(to.get_size());
  memory source(from, CpuEngine(), const_cast<std::byte*>(constant.constant().bytes()));
  memory target(to, CpuEngine(), bytes.get());
  dnnl::stream stream(CpuEngine());
  dnnl::reorder(source, target).execute(stream, source, target);
  stream.wait();
  entries.push_back({to, bytes});
  return bytes;
}

// Goes through the nodes once, in order, and appends steps.
class PlanBuilder {
 public:
  PlanBuilder(const Graph& graph, bool observable, WeightCache& weights)
      : graph_(graph), observable_(observable), weights_(weights) {}

  StatusOr<std::unique_ptr<Plan>> Build(std::span<const Shape> inputs) {
    KILN_RETURN_IF_ERROR(InferTypes(inputs));
    for (const Value* input : graph_.inputs()) plan_->inputs_.push_back(NewPlainSlot(input));
    if (!observable_) FindFusions();
    for (const auto& node : graph_.nodes()) {
      const auto fused = fused_.find(node.get());
      if (fused == fused_.end()) {
        Append(*node);
        if (observable_) Observe(*node);
      } else if (fused->second->last == node.get()) {
        AppendFused(*fused->second);
      }
    }
    for (const Value* output : graph_.outputs()) plan_->outputs_.push_back(PlainSlot(output));
    FreeEarly();
    return std::move(plan_);
  }

 private:
  using Slot = Plan::Slot;
  using Step = Plan::Step;

  // Nodes that run as one primitive: a convolution or product, then perhaps an addition, then perhaps an activation.
  struct Fusion {
    const Node* heavy = nullptr;
    const Node* last = nullptr;
    const Node* add = nullptr;
    const Value* residual = nullptr;
    PostOperations post;
  };

  // Types of all values for these input shapes, found on a copy of the graph.
  Status InferTypes(std::span<const Shape> inputs) {
    Graph copy = graph_.Clone();
    for (size_t i = 0; i < inputs.size(); ++i) {
      Value* input = copy.inputs()[i];
      copy.SetType(input, {input->element(), inputs[i]});
    }
    // Declared types of results are for the declared input shapes.
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

  bool IsKnown(const Value* value) const {
    const TensorType& type = types_.at(value);
    return type.shape.has_value() && type.shape->IsKnown();
  }

  // The types of a node's operands and result, when all are known.
  std::optional<NodeShapes> ShapesOf(const Node& node, const Value* result) const {
    NodeShapes shapes;
    for (const Value* operand : node.operands()) {
      if (operand != nullptr && !IsKnown(operand)) return std::nullopt;
      shapes.operands.push_back(operand == nullptr ? std::nullopt : std::optional(types_.at(operand)));
    }
    if (result == nullptr || !IsKnown(result)) return std::nullopt;
    shapes.result = types_.at(result);
    return shapes;
  }

  bool IsOutput(const Value* value) const {
    return std::find(graph_.outputs().begin(), graph_.outputs().end(), value) != graph_.outputs().end();
  }
  // The only user of a value that nobody else can see.
  const Node* OnlyUser(const Value* value) const {
    return value->users().size() == 1 && !IsOutput(value) ? value->users()[0] : nullptr;
  }

  void FindFusions() {
    for (const auto& node : graph_.nodes()) {
      const Op op = node->op();
      if ((op != Op::kConv && op != Op::kGemm && op != Op::kMatMul) || node->result() == nullptr) continue;
      auto fusion = std::make_shared<Fusion>();
      fusion->heavy = fusion->last = node.get();
      const Node* user = OnlyUser(node->result());
      if (op == Op::kConv && user != nullptr && user->op() == Op::kAdd && fused_.count(user) == 0) {
        const Value* other = user->operand(user->operand(0) == node->result() ? 1 : 0);
        const Value* sum = user->result();
        if (other != node->result() && IsKnown(other) && IsKnown(sum) && types_.at(other) == types_.at(sum) &&
            types_.at(node->result()) == types_.at(sum)) {
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
          fusion->post.alpha = activation->alpha;
          fusion->post.beta = activation->beta;
          fusion->last = user;
        }
      }
      if (fusion->last == node.get()) continue;
      // Only what oneDNN takes; the layouts do not matter to that.
      const auto shapes = ShapesOf(*node, fusion->last->result());
      if (!shapes.has_value()) continue;
      if (!MakeHeavy(*node, *shapes, KnownLayouts(node->operands().size()), fusion->post).has_value()) continue;
      fused_[node.get()] = fusion;
      fused_[fusion->last] = fusion;
      if (fusion->add != nullptr) fused_[fusion->add] = fusion;
    }
  }

  int NewSlot(Slot slot) {
    plan_->slots_.push_back(std::move(slot));
    return static_cast<int>(plan_->slots_.size()) - 1;
  }
  int NewPlainSlot(const Value* value) {
    Slot plain;
    plain.value = value;
    plain.is_constant = value->is_constant();
    if (IsKnown(value)) plain.shape = *types_.at(value).shape;
    const int slot = NewSlot(std::move(plain));
    plain_[value] = slot;
    return slot;
  }
  int NewLayoutSlot(const Value* value, const memory::desc& layout) {
    Slot in_layout;
    in_layout.value = value;
    in_layout.is_plain = false;
    in_layout.layout = layout;
    const int slot = NewSlot(std::move(in_layout));
    in_layout_[value].push_back(slot);
    return slot;
  }

  // The slot in which a value stands row-major, after a reorder if need be.
  int PlainSlot(const Value* value) {
    if (const auto it = plain_.find(value); it != plain_.end()) return it->second;
    if (value->is_constant()) return NewPlainSlot(value);
    const int source = in_layout_.at(value).front();
    const memory::desc plain = PlainDesc(plan_->slots_[static_cast<size_t>(source)].layout.dims());
    const int slot = NewPlainSlot(value);
    AppendReorder(source, plan_->slots_[static_cast<size_t>(source)].layout, slot, plain);
    return slot;
  }

  // The slot in which a value, row-major as `plain`, stands as `wanted`.
  int SlotFor(const Value* value, const memory::desc& plain, const memory::desc& wanted) {
    if (wanted == plain) return PlainSlot(value);
    for (int slot : in_layout_[value]) {
      if (plan_->slots_[static_cast<size_t>(slot)].layout == wanted) return slot;
    }
    if (value->is_constant()) {
      const int slot = NewLayoutSlot(value, wanted);
      plan_->slots_[static_cast<size_t>(slot)].weight = weights_.Get(*value, plain, wanted);
      plan_->slots_[static_cast<size_t>(slot)].is_constant = true;
      return slot;
    }
    const int source = PlainSlotOrLayout(value, plain);
    const bool from_plain = plan_->slots_[static_cast<size_t>(source)].is_plain;
    const memory::desc from = from_plain ? plain : plan_->slots_[static_cast<size_t>(source)].layout;
    const int slot = NewLayoutSlot(value, wanted);
    AppendReorder(source, from, slot, wanted);
    return slot;
  }
  // Where a value stands already, preferably row-major.
  int PlainSlotOrLayout(const Value* value, const memory::desc& plain) {
    if (plain_.count(value) != 0) return plain_.at(value);
    const auto& slots = in_layout_[value];
    if (!slots.empty() && plan_->slots_[static_cast<size_t>(slots[0])].layout.dims() == plain.dims()) return slots[0];
    return PlainSlot(value);
  }

  void AppendReorder(int from, const memory::desc& from_desc, int to, const memory::desc& to_desc) {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::reorder::primitive_desc pd(CpuEngine(), from_desc, CpuEngine(), to_desc, attr);
    plan_->scratchpad_bytes_ = std::max(plan_->scratchpad_bytes_, pd.scratchpad_desc().get_size());
    Step step;
    step.is_kernel = false;
    step.primitive = dnnl::reorder(pd);
    step.inputs = {{DNNL_ARG_FROM, from, from_desc}};
    step.results = {to};
    step.result_desc = to_desc;
    plan_->steps_.push_back(std::move(step));
  }

  KnownLayouts LayoutsOf(const Node& node) const {
    KnownLayouts layouts(node.operands().size());
    for (size_t i = 0; i < layouts.size(); ++i) {
      const auto it = in_layout_.find(node.operands()[i]);
      if (it == in_layout_.end() || it->second.empty() || node.operands()[i]->is_constant()) continue;
      layouts[i] = plan_->slots_[static_cast<size_t>(it->second[0])].layout;
    }
    return layouts;
  }

  void AppendOneDnn(const Node& node, const Value* result, const OneDnnNode& made, const Value* residual) {
    Step step;
    step.node = &node;
    step.is_kernel = false;
    step.primitive = made.primitive;
    for (const Argument& argument : made.arguments) {
      const int slot = SlotFor(node.operand(argument.operand), argument.plain, argument.wanted);
      step.inputs.push_back({argument.index, slot, argument.wanted});
    }
    if (residual != nullptr) step.residual = SlotFor(residual, made.plain_result, made.result);
    step.results = {made.result == made.plain_result ? NewPlainSlot(result) : NewLayoutSlot(result, made.result)};
    step.result_desc = made.result;
    plan_->scratchpad_bytes_ = std::max(plan_->scratchpad_bytes_, made.scratchpad_bytes);
    plan_->steps_.push_back(std::move(step));
  }

  void AppendFused(const Fusion& fusion) {
    const Value* result = fusion.last->result();
    const auto shapes = ShapesOf(*fusion.heavy, result);
    KILN_CHECK(shapes.has_value());
    const auto made = MakeHeavy(*fusion.heavy, *shapes, LayoutsOf(*fusion.heavy), fusion.post);
    KILN_CHECK(made.has_value());
    AppendOneDnn(*fusion.heavy, result, *made, fusion.residual);
  }

  void Append(const Node& node) {
    if (const auto shapes = ShapesOf(node, node.result())) {
      const KnownLayouts layouts = LayoutsOf(node);
      auto made = MakeHeavy(node, *shapes, layouts, {});
      if (!made.has_value()) made = MakeInLayout(node, *shapes, layouts);
      if (made.has_value()) {
        AppendOneDnn(node, node.result(), *made, nullptr);
        return;
      }
    }
    Step step;
    step.node = &node;
    for (const Value* operand : node.operands()) step.operands.push_back(operand == nullptr ? -1 : PlainSlot(operand));
    for (const Value* result : node.results()) step.results.push_back(result == nullptr ? -1 : NewPlainSlot(result));
    plan_->steps_.push_back(std::move(step));
  }

  void Observe(const Node& node) {
    std::vector<int> slots;
    for (const Value* result : node.results()) {
      if (result != nullptr) slots.push_back(PlainSlot(result));
    }
    plan_->steps_.back().observed = std::move(slots);
  }

  void FreeEarly() {
    std::vector<int> last(plan_->slots_.size(), -1);
    const auto use = [&](int slot, size_t step) {
      if (slot >= 0) last[static_cast<size_t>(slot)] = static_cast<int>(step);
    };
    for (size_t s = 0; s < plan_->steps_.size(); ++s) {
      const Step& step = plan_->steps_[s];
      for (int slot : step.operands) {
        use(slot, s);
        if (slot >= 0) plan_->slots_[static_cast<size_t>(slot)].may_be_shared = true;
      }
      for (const Plan::Input& input : step.inputs) use(input.slot, s);
      use(step.residual, s);
      for (int slot : step.results) use(slot, s);
      for (int slot : step.observed) use(slot, s);
    }
    for (int slot : plan_->outputs_) last[static_cast<size_t>(slot)] = -1;
    for (size_t slot = 0; slot < last.size(); ++slot) {
      if (last[slot] >= 0) plan_->steps_[static_cast<size_t>(last[slot])].done.push_back(static_cast<int>(slot));
    }
  }

  const Graph& graph_;
  const bool observable_;
  WeightCache& weights_;
  std::unique_ptr<Plan> plan_ = std::make_unique<Plan>();
  std::unordered_map<const Value*, TensorType> types_;
  std::unordered_map<const Value*, int> plain_;
  std::unordered_map<const Value*, std::vector<int>> in_layout_;
  std::unordered_map<const Node*, std::shared_ptr<Fusion>> fused_;
};

StatusOr<std::unique_ptr<Plan>> Plan::Build(const Graph& graph, std::span<const Shape> inputs, bool observable,
                                            WeightCache& weights) {
  try {
    return PlanBuilder(graph, observable, weights).Build(inputs);
  } catch (const dnnl::error& error) {
    return absl::InternalError(fmt::format("oneDNN: {}", error.what()));
  }
}

StatusOr<std::vector<Tensor>> Plan::Run(std::span<const Tensor> inputs, const ValueObserver& observer) const {
  // What slots hold; layouts of oneDNN's own as bytes. Constants are looked up.
  struct Cell {
    Tensor tensor;
    bool is_ours = false;  // memory of this run, which a residual addition may overwrite
  };
  std::vector<Cell> cells(slots_.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    cells[static_cast<size_t>(inputs_[i])].tensor = inputs[i];
    if (observer) observer(*slots_[static_cast<size_t>(inputs_[i])].value, inputs[i]);
  }
  const auto tensor_of = [&](int slot) -> const Tensor& {
    const Slot& s = slots_[static_cast<size_t>(slot)];
    return s.is_constant ? s.value->constant() : cells[static_cast<size_t>(slot)].tensor;
  };
  const auto bytes_of = [&](int slot) -> const void* {
    const Slot& s = slots_[static_cast<size_t>(slot)];
    return s.weight != nullptr ? s.weight.get() : static_cast<const void*>(tensor_of(slot).bytes());
  };
  const std::shared_ptr<void> scratchpad = AllocateBuffer(scratchpad_bytes_);
  const memory::desc scratchpad_desc({static_cast<int64_t>(scratchpad_bytes_)}, memory::data_type::u8,
                                     memory::format_tag::a);
  dnnl::stream stream(CpuEngine());
  std::vector<const Tensor*> operands;
  for (const Step& step : steps_) {
    if (step.is_kernel) {
      operands.clear();
      for (int slot : step.operands) operands.push_back(slot < 0 ? nullptr : &tensor_of(slot));
      KILN_ASSIGN_OR_RETURN(std::vector<Tensor> results, EvaluateNode(*step.node, operands));
      for (size_t i = 0; i < step.results.size(); ++i) {
        if (step.results[i] >= 0) cells[static_cast<size_t>(step.results[i])] = {std::move(results[i]), false};
      }
    } else {
      const int result = step.results[0];
      const size_t bytes = step.result_desc.get_size();
      std::shared_ptr<void> buffer;
      Cell taken;
      if (step.residual >= 0) {
        const bool is_last = std::find(step.done.begin(), step.done.end(), step.residual) != step.done.end();
        const bool is_read = std::any_of(step.inputs.begin(), step.inputs.end(),
                                         [&](const Input& input) { return input.slot == step.residual; });
        Cell& residual = cells[static_cast<size_t>(step.residual)];
        if (is_last && !is_read && residual.is_ours && !slots_[static_cast<size_t>(step.residual)].may_be_shared) {
          taken = std::move(residual);
        } else {
          buffer = AllocateBuffer(bytes);
          std::memcpy(buffer.get(), bytes_of(step.residual), bytes);
        }
      } else {
        buffer = AllocateBuffer(bytes);
      }
      void* target = buffer != nullptr ? buffer.get() : const_cast<std::byte*>(taken.tensor.bytes());
      std::unordered_map<int, memory> arguments;
      for (const Input& input : step.inputs) {
        arguments.emplace(input.argument, memory(input.desc, CpuEngine(), const_cast<void*>(bytes_of(input.slot))));
      }
      arguments.emplace(DNNL_ARG_DST, memory(step.result_desc, CpuEngine(), target));
      arguments.emplace(DNNL_ARG_SCRATCHPAD, memory(scratchpad_desc, CpuEngine(), scratchpad.get()));
      try {
        step.primitive.execute(stream, arguments);
      } catch (const dnnl::error& error) {
        return absl::InternalError(
            fmt::format("{}: oneDNN: {}", step.node != nullptr ? step.node->Describe() : "reorder", error.what()));
      }
      const Slot& slot = slots_[static_cast<size_t>(result)];
      Cell& cell = cells[static_cast<size_t>(result)];
      cell.is_ours = true;
      if (buffer == nullptr) {
        cell.tensor = std::move(taken.tensor);
      } else {
        const std::byte* data = static_cast<const std::byte*>(buffer.get());
        cell.tensor = slot.is_plain
                          ? Tensor::View(ElementType::kFloat32, slot.shape, std::move(buffer), data)
                          : Tensor::View(ElementType::kUint8, {static_cast<int64_t>(bytes)}, std::move(buffer), data);
      }
    }
    if (observer) {
      for (int slot : step.observed) observer(*slots_[static_cast<size_t>(slot)].value, tensor_of(slot));
    }
    for (int slot : step.done) cells[static_cast<size_t>(slot)] = {};
  }
  std::vector<Tensor> out;
  for (int slot : outputs_) out.push_back(tensor_of(slot));
  return out;
}

}  // namespace kiln::reference
