// Implements rewrite.h.
#include "kiln/passes/rewrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "kiln/passes/quantiser.h"

namespace kiln {
namespace {

// Bounds rules that do not terminate; see ApplyRule.
constexpr int kMaxRounds = 10'000;

}  // namespace

StatusOr<Changed> ApplyRule(Graph& graph, const Rule& rule) {
  bool any = false;
  for (int round = 0; round < kMaxRounds; ++round) {
    bool changed = false;
    const auto& nodes = graph.nodes();
    for (auto it = nodes.begin(); it != nodes.end();) {
      Node& root = **it++;  // advanced first, because the rule may erase the root
      KILN_ASSIGN_OR_RETURN(const bool applied, rule(graph, root));
      changed |= applied;
    }
    any |= changed;
    if (!changed) {
      if (any) graph.EraseUnusedConstants();
      return any ? Changed::kYes : Changed::kNo;
    }
  }
  return absl::InternalError("a rewrite rule does not come to rest");
}

bool IsOutput(const Graph& graph, const Value* value) {
  return std::find(graph.outputs().begin(), graph.outputs().end(), value) != graph.outputs().end();
}

Node* ProducedBy(const Value* value, Op op) {
  if (value == nullptr || value->producer() == nullptr || value->producer()->op() != op)
    return nullptr;
  return value->producer();
}

Node* ComputedBy(const Value* value, Op op) {
  return value == nullptr || value->quantisation().has_value() ? nullptr : ProducedBy(value, op);
}

bool HasOneUse(const Graph& graph, const Value* value) {
  return value->users().size() == 1 && !IsOutput(graph, value);
}

bool CanReplace(const Graph& graph, const Value* from, const Value* to) {
  // To the hardware, a value in other codes than its copy is not a copy.
  return !from->quantisation().has_value() && CanReplaceMove(graph, from, to);
}

bool CanReplaceMove(const Graph& graph, const Value* from, const Value* to) {
  if (from->quantisation().has_value() && !SameGrid(from->quantisation(), to->quantisation()))
    return false;
  // An output keeps its name, so the name must be free to move to `to`.
  return !IsOutput(graph, from) || (to->producer() != nullptr && !IsOutput(graph, to));
}

const Tensor* FloatConstant(const Value* value) {
  if (value == nullptr || !value->is_constant() || value->element() != ElementType::kFloat32)
    return nullptr;
  return &value->constant();
}

std::optional<std::vector<int64_t>> IntConstant(const Value* value) {
  if (value == nullptr || !value->is_constant()) return std::nullopt;
  if (value->element() != ElementType::kInt64 && value->element() != ElementType::kInt32)
    return std::nullopt;
  return value->constant().ToInts();
}

std::optional<double> ScalarConstant(const Value* value) {
  if (value == nullptr || !value->is_constant() || !IsFloat(value->element())) return std::nullopt;
  if (value->constant().size() != 1) return std::nullopt;
  return value->constant().ValueAt(0);
}

bool Near(double a, double b, double relative) { return std::abs(a - b) <= relative * std::abs(b); }

bool HasKnownShape(const Value* value) {
  return value != nullptr && value->has_shape() && value->shape().IsKnown();
}

int RankOf(const Value* value) {
  return value != nullptr && value->has_shape() ? value->shape().rank() : -1;
}

std::optional<std::vector<int64_t>> ConstantAxes(const Value* axes, int rank) {
  std::optional<std::vector<int64_t>> list = IntConstant(axes);
  if (!list.has_value() || rank < 0) return std::nullopt;
  for (int64_t& axis : *list) {
    if (axis < -rank || axis >= rank) return std::nullopt;
    if (axis < 0) axis += rank;
  }
  std::sort(list->begin(), list->end());
  return list;
}

// Compares whole names between '+' signs, so "conv1" is not found in "conv10".
std::string JoinNames(std::string_view a, std::string_view b) {
  if (a.empty() || a == b) return std::string(b);
  if (b.empty() || fmt::format("+{}+", a).find(fmt::format("+{}+", b)) != std::string::npos)
    return std::string(a);
  return fmt::format("{}+{}", a, b);
}

Node* InsertNode(Graph& graph, Node* before, Op op, std::string_view name,
                 std::vector<Value*> operands, Attributes attributes, TensorType type,
                 std::string_view result_name) {
  Node* node = graph.AddNode(op, name, std::move(operands), {std::string(result_name)},
                             std::move(attributes), before);
  graph.SetType(node->result(), std::move(type));
  return node;
}

Value* AddIntConstant(Graph& graph, std::string_view name, const std::vector<int64_t>& values) {
  return graph.AddConstant(name,
                           Tensor::Of<int64_t>(Shape{static_cast<int64_t>(values.size())}, values));
}

void SetConstantOperand(Graph& graph, Node& node, int i, Tensor tensor,
                        std::string_view fresh_name) {
  Value* old = node.operand(i);
  std::string name(fresh_name);
  // The new constant takes over the name if nobody else uses the old one.
  if (old != nullptr && old->is_constant()) {
    name = old->name();
    if (HasOneUse(graph, old)) graph.Rename(old, name + ".old");
  }
  graph.SetOperand(&node, i, graph.AddConstant(name, std::move(tensor)));
}

void Replace(Graph& graph, Node& node, Value* by) {
  KILN_CHECK(CanReplaceMove(graph, node.result(), by));
  graph.ReplaceAllUses(node.result(), by);
  EraseUpwards(graph, &node);
}

void EraseUpwards(Graph& graph, Node* node) {
  const auto is_used = [&](const Value* result) {
    return result != nullptr && (!result->users().empty() || IsOutput(graph, result));
  };
  // A work list instead of recursion: chains of nodes can be as long as the graph.
  std::vector<Node*> waiting = {node};
  std::unordered_set<const Node*> erased;
  while (!waiting.empty()) {
    Node* candidate = waiting.back();
    waiting.pop_back();
    if (erased.count(candidate) != 0) continue;
    if (std::any_of(candidate->results().begin(), candidate->results().end(), is_used)) continue;
    for (Value* operand : candidate->operands()) {
      if (operand != nullptr && operand->producer() != nullptr)
        waiting.push_back(operand->producer());
    }
    erased.insert(candidate);
    graph.EraseNode(candidate);
  }
}

}  // namespace kiln
