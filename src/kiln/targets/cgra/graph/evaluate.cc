// Evaluates graphs node by node, one thread after another.

#include "kiln/targets/cgra/graph/evaluate.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "kiln/support/check.h"
#include "kiln/support/random.h"

namespace kiln::cgra {
namespace {

// The build forbids that a multiplication and an addition are contracted to one rounding.
int32_t BitsOf(float value) {
  constexpr int32_t kNan = 0x7fc00000;
  return std::isnan(value) ? kNan : std::bit_cast<int32_t>(value);
}

std::vector<int> NodesOf(const ComputationGraph& graph, Op op) {
  std::vector<int> nodes;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].op == op) nodes.push_back(static_cast<int>(n));
  }
  return nodes;
}

// Interprets a graph: threads in order, and in each the nodes in order, which is topological. Only
// the values of the last `furthest_` + 1 threads are kept, because no edge reaches further back.
// This is the definition that the mappers' and the machines' results are tested against.
class GraphEvaluator {
 public:
  GraphEvaluator(const ComputationGraph& graph, const EvaluateOptions& options)
      : graph_(graph), options_(options), into_(graph.EdgesInto()) {
    for (const GraphEdge& edge : graph.edges) furthest_ = std::max(furthest_, edge.distance);
    input_.assign(graph.nodes.size(), 0);
    const std::vector<int> inputs = InputsOf(graph);
    for (size_t i = 0; i < inputs.size(); ++i) input_[static_cast<size_t>(inputs[i])] = i;
  }

  Evaluation Run(std::span<const std::vector<Vector>> inputs) {
    Evaluation result;
    const std::vector<int> outputs = OutputsOf(graph_);
    window_.assign(static_cast<size_t>(furthest_) + 1,
                   std::vector<Vector>(graph_.nodes.size(), Vector(lanes())));
    for (int thread = 0; thread < options_.threads; ++thread) {
      for (size_t n = 0; n < graph_.nodes.size(); ++n) {
        Compute(thread, n, inputs[static_cast<size_t>(thread)], &result.stores);
      }
      const std::vector<Vector>& values = ValuesOf(thread);
      std::vector<Vector>& of_thread = result.outputs.emplace_back();
      for (const int node : outputs) of_thread.push_back(values[static_cast<size_t>(node)]);
      if (options_.keep_values) result.values.push_back(values);
    }
    return result;
  }

 private:
  size_t lanes() const { return static_cast<size_t>(options_.lanes); }

  // Returns the values of a thread, by node, until as many later threads as the greatest distance
  // were computed.
  std::vector<Vector>& ValuesOf(int thread) {
    return window_[static_cast<size_t>(thread) % window_.size()];
  }

  // Returns what an edge gives a thread in a lane.
  int32_t Read(const GraphEdge& edge, int thread, size_t lane) {
    if (thread < edge.distance) return edge.initial;
    return ValuesOf(thread - edge.distance)[static_cast<size_t>(edge.source)][lane];
  }

  void Compute(int thread, size_t n, const std::vector<Vector>& inputs,
               std::vector<StoreRecord>* stores) {
    const GraphNode& node = graph_.nodes[n];
    StoreRecord record{static_cast<int>(n), thread, {}, {}, {}};
    Vector& values = ValuesOf(thread)[n];
    for (size_t lane = 0; lane < lanes(); ++lane) {
      bool gated = false;
      std::array<std::optional<int32_t>, 3> given;
      for (const int e : into_[n]) {
        const GraphEdge& edge = graph_.edges[static_cast<size_t>(e)];
        if (edge.kind == EdgeKind::kOrder) continue;
        const int32_t value = Read(edge, thread, lane);
        if (edge.kind == EdgeKind::kPredicate) {
          gated |= value == 0;
        } else {
          given[static_cast<size_t>(edge.operand)] = value;
        }
      }
      if (node.op == Op::kStore && given[0] && !given[1]) std::swap(given[0], given[1]);
      std::array<int32_t, 3> operands{};
      std::optional<int32_t> literal = node.literal;
      for (size_t k = 0; k < operands.size(); ++k) {
        operands[k] = given[k] ? *given[k] : std::exchange(literal, std::nullopt).value_or(0);
      }
      values[lane] = gated ? 0 : Value(n, inputs, lane, operands);
      if (node.op != Op::kStore) continue;
      record.address.push_back(operands[0]);
      record.value.push_back(values[lane]);
      record.stored.push_back(!gated);
    }
    if (node.op == Op::kStore) stores->push_back(std::move(record));
  }

  // Returns the value of a node in a lane without its predicates.
  int32_t Value(size_t n, const std::vector<Vector>& inputs, size_t lane,
                const std::array<int32_t, 3>& operands) {
    const GraphNode& node = graph_.nodes[n];
    switch (node.op) {
      case Op::kConst:
      case Op::kVariable:
        return node.literal.value_or(0);
      case Op::kInput:
        return inputs[input_[n]][lane];
      case Op::kLoad:
        return options_.memory ? options_.memory(operands[0]) : MixedMemory(operands[0]);
      case Op::kStore:
        return operands[1];
      default:
        return ValueOf(node.op, operands[0], operands[1], operands[2]);
    }
  }

  const ComputationGraph& graph_;
  const EvaluateOptions& options_;
  const std::vector<std::vector<int>> into_;
  int furthest_ = 0;                         // greatest distance of an edge
  std::vector<size_t> input_;                // by node: its number among the inputs
  std::vector<std::vector<Vector>> window_;  // of the last threads, by thread modulo its size
};

}  // namespace

std::vector<int> InputsOf(const ComputationGraph& graph) { return NodesOf(graph, Op::kInput); }
std::vector<int> OutputsOf(const ComputationGraph& graph) { return NodesOf(graph, Op::kOutput); }

int32_t MixedMemory(int32_t address) {
  return static_cast<int32_t>(static_cast<uint32_t>(MixBits(static_cast<uint32_t>(address))));
}

int32_t ValueOf(Op op, int32_t a, int32_t b, int32_t c) {
  const auto x = static_cast<uint32_t>(a), y = static_cast<uint32_t>(b);
  const auto f = std::bit_cast<float>(a), g = std::bit_cast<float>(b);
  const uint32_t shift = y & 31;
  switch (op) {
    case Op::kMul:
      return static_cast<int32_t>(x * y);
    case Op::kShl:
      return static_cast<int32_t>(x << shift);
    case Op::kShr:
      return static_cast<int32_t>(x >> shift);
    case Op::kSra:
      return a >> shift;
    case Op::kFMul:
      return BitsOf(f * g);
    case Op::kAdd:
      return static_cast<int32_t>(x + y);
    case Op::kSub:
      return static_cast<int32_t>(x - y);
    case Op::kAnd:
      return a & b;
    case Op::kOr:
    case Op::kMerge:
      return a | b;
    case Op::kXor:
      return a ^ b;
    case Op::kMin:
      return std::min(a, b);
    case Op::kMax:
      return std::max(a, b);
    case Op::kLt:
      return a < b ? 1 : 0;
    case Op::kEq:
      return a == b ? 1 : 0;
    case Op::kFAdd:
      return BitsOf(f + g);
    case Op::kFSub:
      return BitsOf(f - g);
    case Op::kSelect:
      return a != 0 ? b : c;
    case Op::kPass:
    case Op::kOutput:
    case Op::kBranch:
      return a;
    case Op::kConst:
    case Op::kInput:
    case Op::kVariable:
    case Op::kLoad:
    case Op::kStore:
      break;
  }
  KILN_CHECK(false);
  return 0;
}

Evaluation Evaluate(const ComputationGraph& graph, std::span<const std::vector<Vector>> inputs,
                    const EvaluateOptions& options) {
  KILN_CHECK(std::ssize(inputs) >= options.threads || InputsOf(graph).empty());
  const std::vector<std::vector<Vector>> none(static_cast<size_t>(options.threads));
  return GraphEvaluator(graph, options).Run(InputsOf(graph).empty() ? none : inputs);
}

}  // namespace kiln::cgra
