// Issues every instruction of every thread when its operands have come.

#include "kiln/targets/cgra/simulate/cycle/flows.h"

#include <algorithm>
#include <array>
#include <optional>

#include "kiln/targets/cgra/graph/timing.h"
#include "kiln/targets/cgra/simulate/cycle/units.h"

namespace kiln::cgra {
namespace {

using FlowLanes = std::vector<int32_t>;

// Returns what a node computes in one lane from its operands.
uint32_t NodeValue(Op op, uint32_t a, uint32_t b, uint32_t c) {
  switch (op) {
    case Op::kMul:
      return MultiplyUnit(MultiplyOp::kMultiply, a, b);
    case Op::kShl:
      return MultiplyUnit(MultiplyOp::kShiftLeft, a, b);
    case Op::kShr:
      return MultiplyUnit(MultiplyOp::kShiftRight, a, b);
    case Op::kSra:
      return MultiplyUnit(MultiplyOp::kShiftArithmetic, a, b);
    case Op::kFMul:
      return MultiplyUnit(MultiplyOp::kFloatMultiply, a, b);
    case Op::kAdd:
      return LogicUnit(LogicOp::kAdd, a, 0, b);
    case Op::kSub:
      return LogicUnit(LogicOp::kSubtract, a, 0, b);
    case Op::kAnd:
      return LogicUnit(LogicOp::kAnd, a, 0, b);
    case Op::kOr:
    case Op::kMerge:
      return LogicUnit(LogicOp::kOr, a, 0, b);
    case Op::kXor:
      return LogicUnit(LogicOp::kXor, a, 0, b);
    case Op::kMin:
      return LogicUnit(LogicOp::kLeast, a, 0, b);
    case Op::kMax:
      return LogicUnit(LogicOp::kGreatest, a, 0, b);
    case Op::kLt:
      return LogicUnit(LogicOp::kLess, a, 0, b);
    case Op::kEq:
      return LogicUnit(LogicOp::kEqual, a, 0, b);
    case Op::kFAdd:
      return LogicUnit(LogicOp::kFloatAdd, a, 0, b);
    case Op::kFSub:
      return LogicUnit(LogicOp::kFloatSubtract, a, 0, b);
    case Op::kSelect:
      return LogicUnit(LogicOp::kSelect, a, b, c);
    default:
      return a;
  }
}

// Executes thread after thread, node after node in topological order: the issue cycles of a thread
// depend only on earlier nodes and earlier threads. An instruction that finds its value late keeps
// its slot, so it waits for a whole number of intervals.
class FlowRunner {
 public:
  FlowRunner(const ComputationGraph& graph, const Mapping& mapping, const Config& config,
             std::span<const std::vector<std::vector<int32_t>>> inputs, const FlowOptions& options)
      : graph_(graph),
        mapping_(mapping),
        config_(config),
        inputs_(inputs),
        options_(options),
        into_(graph.EdgesInto()) {}

  StatusOr<FlowResult> Run() {
    KILN_RETURN_IF_ERROR(CheckPlaces());
    result_.held_cycles.assign(graph_.nodes.size(), 0);
    for (int thread = 0; thread < options_.threads; ++thread) {
      issues_.emplace_back(graph_.nodes.size(), 0);
      pass_issues_.emplace_back(mapping_.passes.size(), 0);
      values_.emplace_back(graph_.nodes.size());
      result_.outputs.emplace_back();
      Execute(thread);
    }
    CountThreads();
    return std::move(result_);
  }

 private:
  Status CheckPlaces() const {
    bool fits = mapping_.initiation_interval > 0 && mapping_.places.size() == graph_.nodes.size() &&
                mapping_.fused_into.size() == graph_.nodes.size() &&
                mapping_.provider.size() == graph_.edges.size();
    for (const PassThrough& pass : mapping_.passes) {
      fits = fits && pass.node >= 0 && pass.node < std::ssize(graph_.nodes) &&
             pass.place.tile >= 0 && pass.place.tile < config_.tiles() &&
             pass.from < &pass - mapping_.passes.data();
    }
    for (size_t n = 0; fits && n < graph_.nodes.size(); ++n) {
      const int into = mapping_.fused_into[n];
      fits = !graph_.TakesSlot(static_cast<int>(n)) ||
             (mapping_.places[n].tile >= 0 && mapping_.places[n].tile < config_.tiles() &&
              into < std::ssize(graph_.nodes) && (into < 0 || into > static_cast<int>(n)));
    }
    for (const int provider : mapping_.provider) {
      fits = fits && provider < std::ssize(mapping_.passes);
    }
    if (fits) return OkStatus();
    return ErrorAt(graph_.source, "mapping", "it is not one of this graph on this machine",
                   "places for all of its instructions");
  }

  void Execute(int thread) {
    const auto k = static_cast<size_t>(thread);
    size_t input = 0;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const auto node = static_cast<int>(n);
      const GraphNode& at = graph_.nodes[n];
      if (at.op == Op::kInput) {
        values_[k][n] = inputs_[k][input++];
        continue;
      }
      if (graph_.TakesSlot(node) && mapping_.fused_into[n] < 0) Issue(node, thread);
      values_[k][n] = Compute(node, thread);
      if (at.op == Op::kOutput) result_.outputs[k].push_back(values_[k][n]);
      if (!graph_.TakesSlot(node)) continue;
      for (size_t p = 0; p < mapping_.passes.size(); ++p) {
        if (mapping_.passes[p].node == node) IssuePass(p, thread);
      }
    }
  }

  // Returns the first cycle from `ready` on that is the place's in a period, not before its nominal
  // cycle in the thread, and after the thread before.
  int64_t Turn(const Place& place, int64_t ready, int thread, int64_t before) const {
    const int64_t interval = mapping_.initiation_interval;
    int64_t cycle = place.issue + thread * interval;
    if (thread > 0) cycle = std::max(cycle, before + interval);
    if (ready > cycle) cycle += (ready - cycle + interval - 1) / interval * interval;
    return cycle;
  }

  // Returns when an edge's value is at its target in a thread.
  int64_t Arrival(size_t e, int thread) const {
    const GraphEdge& edge = graph_.edges[e];
    const EdgeTiming timing = TimingOf(graph_, config_, edge);
    const int from = thread - edge.distance;
    if (from < 0 || timing == EdgeTiming::kStored || timing == EdgeTiming::kResult) return 0;
    const auto source = static_cast<size_t>(edge.source);
    const auto k = static_cast<size_t>(from);
    const int provider = mapping_.provider[e];
    if (timing == EdgeTiming::kLink && provider >= 0) {
      const auto p = static_cast<size_t>(provider);
      return pass_issues_[k][p] + config_.pipeline_latency +
             std::max(0, HopCycles(config_, mapping_.passes[p].place.tile, TileOf(edge.target)));
    }
    int64_t arrival = IssueOf(edge.source, from) + config_.pipeline_latency;
    if (timing == EdgeTiming::kAsynchronous) arrival += config_.async_latency;
    if (timing == EdgeTiming::kLink) {
      arrival += std::max(0, HopCycles(config_, mapping_.places[source].tile, TileOf(edge.target)));
    }
    return arrival;
  }

  int TileOf(int node) const { return mapping_.places[static_cast<size_t>(node)].tile; }
  // A fused node issues with the one that ends its instruction.
  int64_t IssueOf(int node, int thread) const {
    const int into = mapping_.fused_into[static_cast<size_t>(node)];
    return issues_[static_cast<size_t>(thread)][static_cast<size_t>(into < 0 ? node : into)];
  }

  void Issue(int node, int thread) {
    const auto n = static_cast<size_t>(node);
    int64_t ready = 0;
    for (size_t m = 0; m <= n; ++m) {
      if (m != n && mapping_.fused_into[m] != node) continue;
      for (const int e : into_[m]) {
        const GraphEdge& edge = graph_.edges[static_cast<size_t>(e)];
        const bool inside = mapping_.fused_into[static_cast<size_t>(edge.source)] == node;
        if (inside && edge.distance == 0) continue;
        ready = std::max(ready, Arrival(static_cast<size_t>(e), thread));
      }
    }
    const int64_t before = thread > 0 ? issues_[static_cast<size_t>(thread) - 1][n] : 0;
    const int64_t cycle = Turn(mapping_.places[n], ready, thread, before);
    issues_[static_cast<size_t>(thread)][n] = cycle;
    result_.held_cycles[n] += cycle - mapping_.places[n].issue -
                              static_cast<int64_t>(thread) * mapping_.initiation_interval;
    result_.cycles = std::max(result_.cycles, cycle + config_.pipeline_latency);
  }

  void IssuePass(size_t p, int thread) {
    const PassThrough& pass = mapping_.passes[p];
    const auto k = static_cast<size_t>(thread);
    const int64_t from = pass.from >= 0 ? pass_issues_[k][static_cast<size_t>(pass.from)]
                                        : IssueOf(pass.node, thread);
    const int tile = pass.from >= 0 ? mapping_.passes[static_cast<size_t>(pass.from)].place.tile
                                    : TileOf(pass.node);
    const int64_t ready =
        from + config_.pipeline_latency + std::max(0, HopCycles(config_, tile, pass.place.tile));
    const int64_t before = thread > 0 ? pass_issues_[k - 1][p] : 0;
    pass_issues_[k][p] = Turn(pass.place, ready, thread, before);
    result_.cycles = std::max(result_.cycles, pass_issues_[k][p] + config_.pipeline_latency);
  }

  FlowLanes ValueOf(const GraphEdge& edge, int thread) const {
    const int from = thread - edge.distance;
    if (from < 0) return FlowLanes(static_cast<size_t>(options_.lanes), edge.initial);
    return values_[static_cast<size_t>(from)][static_cast<size_t>(edge.source)];
  }

  FlowLanes Compute(int node, int thread) {
    const GraphNode& at = graph_.nodes[static_cast<size_t>(node)];
    const auto lanes = static_cast<size_t>(options_.lanes);
    const bool fixed = at.op == Op::kConst || at.op == Op::kVariable;
    if (fixed) return FlowLanes(lanes, at.literal.value_or(0));
    std::array<std::optional<FlowLanes>, 3> operands;
    FlowLanes enabled(lanes, 1);
    int data = 0;
    for (const int e : into_[static_cast<size_t>(node)]) {
      const GraphEdge& edge = graph_.edges[static_cast<size_t>(e)];
      if (edge.kind == EdgeKind::kOrder) continue;
      const FlowLanes value = ValueOf(edge, thread);
      if (edge.kind == EdgeKind::kData) {
        operands[static_cast<size_t>(edge.operand)] = value;
        ++data;
        continue;
      }
      for (size_t lane = 0; lane < lanes; ++lane) enabled[lane] &= value[lane] != 0 ? 1 : 0;
    }
    if (at.op == Op::kStore && data == 1) {
      // The one edge is the value, wherever it is.
      if (!operands[1]) operands[1] = operands[0];
      operands[0].reset();
    }
    bool literal_used = false;
    for (std::optional<FlowLanes>& operand : operands) {
      if (operand) continue;
      operand = FlowLanes(lanes, literal_used ? 0 : at.literal.value_or(0));
      literal_used = true;
    }
    FlowLanes result(lanes);
    for (size_t lane = 0; lane < lanes; ++lane) {
      const auto bits = [&](size_t i) { return static_cast<uint32_t>((*operands[i])[lane]); };
      uint32_t value = NodeValue(at.op, bits(0), bits(1), bits(2));
      if (at.op == Op::kStore) value = bits(1);
      if (at.op == Op::kLoad) {
        value = static_cast<uint32_t>(options_.memory(static_cast<int32_t>(bits(0))));
      }
      result[lane] = enabled[lane] != 0 ? static_cast<int32_t>(value) : 0;
    }
    if (at.op == Op::kStore) {
      result_.stores.push_back(
          {node, thread, *operands[0], result, std::vector<bool>(enabled.begin(), enabled.end())});
    }
    return result;
  }

  // Finds the most threads that are between their first issue and their last result.
  void CountThreads() {
    std::vector<std::pair<int64_t, int>> events;
    for (size_t k = 0; k < issues_.size(); ++k) {
      int64_t first = -1, last = -1;
      for (size_t n = 0; n < graph_.nodes.size(); ++n) {
        if (!graph_.TakesSlot(static_cast<int>(n)) || mapping_.fused_into[n] >= 0) continue;
        const int64_t issue = issues_[k][n];
        first = first < 0 ? issue : std::min(first, issue);
        last = std::max(last, issue + config_.pipeline_latency);
      }
      if (first < 0) continue;
      events.emplace_back(first, 1);
      events.emplace_back(last, -1);
    }
    std::ranges::sort(events);
    int now = 0;
    for (const auto& [cycle, change] : events) {
      now += change;
      result_.threads_in_flight = std::max(result_.threads_in_flight, now);
    }
  }

  const ComputationGraph& graph_;
  const Mapping& mapping_;
  const Config& config_;
  const std::span<const std::vector<std::vector<int32_t>>> inputs_;
  const FlowOptions& options_;
  const std::vector<std::vector<int>> into_;
  std::vector<std::vector<int64_t>> issues_, pass_issues_;  // by thread
  std::vector<std::vector<FlowLanes>> values_;              // by thread and node
  FlowResult result_;
};

}  // namespace

StatusOr<FlowResult> RunFlows(const ComputationGraph& graph, const Mapping& mapping,
                              const Config& config,
                              std::span<const std::vector<std::vector<int32_t>>> inputs,
                              const FlowOptions& options) {
  return FlowRunner(graph, mapping, config, inputs, options).Run();
}

}  // namespace kiln::cgra
