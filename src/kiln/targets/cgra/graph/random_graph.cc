// Draws graphs one instruction after the other; operands come from what was drawn before.

#include "kiln/targets/cgra/graph/random_graph.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "kiln/support/check.h"
#include "kiln/support/random.h"

namespace kiln::cgra {
namespace {

// Keeps the invariant that every instruction obeys the limits of RandomGraph's comment, so that the
// graph can be mapped and configured as far as single instructions are concerned.
class GraphDrawer {
 public:
  GraphDrawer(const RandomGraphOptions& options, uint64_t seed) : options_(options), random_(seed) {
    graph_.name = fmt::format("random-{}", seed);
    graph_.source = graph_.name;
  }

  ComputationGraph Draw() {
    for (int i = 0; i < options_.inputs; ++i) AddNode(fmt::format("x{}", i), Op::kInput);
    for (int i = 0; i < options_.variables; ++i) {
      graph_.nodes[AddNode(fmt::format("v{}", i), Op::kVariable)].literal = Small();
    }
    for (int i = 0; i < options_.instructions; ++i) AddInstruction(i);
    AddCarried();
    AddOutputs();
    RemoveUnread();
    const Status status = VerifyAndSort(&graph_);
    KILN_CHECK(status.ok());
    return std::move(graph_);
  }

 private:
  bool Chance(double share) { return random_.Uniform() < share; }
  int32_t Small() { return static_cast<int32_t>(random_.Between(-100, 100)); }
  template <typename T>
  const T& Any(const std::vector<T>& list) {
    return list[random_.Below(list.size())];
  }

  size_t AddNode(std::string name, Op op) {
    graph_.nodes.push_back({std::move(name), op, "", std::nullopt});
    consumers_.emplace_back();
    memory_reads_.emplace_back();
    reads_.push_back(0);
    return graph_.nodes.size() - 1;
  }

  Op DrawOp() {
    if (Chance(options_.memory)) return Chance(0.5) ? Op::kLoad : Op::kStore;
    if (options_.floats) {
      if (Chance(options_.multiply)) return Op::kFMul;
      return Chance(0.5) ? Op::kFAdd : Op::kFSub;
    }
    if (Chance(options_.multiply)) {
      return Any(std::vector{Op::kMul, Op::kMul, Op::kMul, Op::kShl, Op::kShr, Op::kSra});
    }
    if (Chance(options_.select)) return Op::kSelect;
    return Any(std::vector{Op::kAdd, Op::kAdd, Op::kAdd, Op::kSub, Op::kSub, Op::kMin, Op::kMax,
                           Op::kAnd, Op::kOr, Op::kXor, Op::kLt, Op::kEq, Op::kPass});
  }

  bool IsStored(size_t node) const {
    const Role role = RowOf(graph_.nodes[node].op).role;
    return role == Role::kValue || role == Role::kMemory;
  }

  // Whether an instruction can read a node as one more value.
  bool CanRead(size_t node, size_t reader) const {
    const std::set<size_t>& stored = memory_reads_[reader];
    const std::set<size_t>& users = consumers_[node];
    if (IsStored(node) && stored.size() >= 2 && !stored.contains(node)) return false;
    const int most = graph_.nodes[node].op == Op::kVariable ? options_.variable_readers
                     : graph_.nodes[node].op == Op::kInput  ? 1 << 30
                                                            : options_.most_consumers;
    return reads_[reader] < 3 && (users.contains(reader) || std::ssize(users) < most) &&
           graph_.nodes[node].op != Op::kStore;
  }

  void Connect(size_t node, size_t reader, GraphEdge edge) {
    edge.source = static_cast<int>(node);
    edge.target = static_cast<int>(reader);
    graph_.edges.push_back(edge);
    consumers_[node].insert(reader);
    ++reads_[reader];
    if (IsStored(node)) memory_reads_[reader].insert(node);
  }

  // Draws a node that an instruction can read, or returns -1.
  int64_t DrawSource(size_t reader, bool predicate) {
    std::vector<size_t> values, results, fresh;
    for (size_t n = 0; n < reader; ++n) {
      if (!CanRead(n, reader)) continue;
      if (RowOf(graph_.nodes[n].op).role == Role::kValue) {
        values.push_back(n);
      } else {
        results.push_back(n);
        if (consumers_[n].empty()) fresh.push_back(n);
      }
    }
    const bool stored = results.empty() || Chance(options_.stored);
    if (stored && !values.empty() && !predicate) return static_cast<int64_t>(Any(values));
    if (!fresh.empty() && Chance(0.5)) return static_cast<int64_t>(Any(fresh));
    if (!results.empty()) return static_cast<int64_t>(Any(results));
    return values.empty() ? -1 : static_cast<int64_t>(Any(values));
  }

  void AddInstruction(int i) {
    const Op op = DrawOp();
    const size_t node = AddNode(fmt::format("n{}", i), op);
    const int operands = RowOf(op).operands;
    const bool literal = operands > 1 && op != Op::kStore && Chance(options_.literal);
    const int last = literal ? operands - 1 : operands;
    for (int operand = 0; operand < last; ++operand) {
      const int64_t source = DrawSource(node, false);
      if (source < 0) break;
      Connect(static_cast<size_t>(source), node, {.operand = operand});
    }
    if (literal && reads_[node] < 3) {
      graph_.nodes[node].literal = Small();
      ++reads_[node];
    }
    if (Chance(options_.predicate)) {
      const int64_t source = DrawSource(node, true);
      if (source >= 0) {
        Connect(static_cast<size_t>(source), node, {.kind = EdgeKind::kPredicate});
      }
    }
    if (i > 0 && Chance(options_.order)) {
      const size_t before = node - 1 - random_.Below(static_cast<uint64_t>(i));
      graph_.edges.push_back(
          {static_cast<int>(before), static_cast<int>(node), 0, EdgeKind::kOrder});
    }
  }

  // Gives instructions results of earlier threads in place of one of their operands. The new source
  // is the instruction itself or a later one, so that the edge needs its distance of at least 1 and
  // no cycle of edges with distance 0 appears.
  void AddCarried() {
    for (int i = 0; i < options_.carried; ++i) {
      std::vector<size_t> edges;
      for (size_t e = 0; e < graph_.edges.size(); ++e) {
        const GraphEdge& edge = graph_.edges[e];
        if (edge.kind == EdgeKind::kData && edge.distance == 0 &&
            RowOf(graph_.nodes[static_cast<size_t>(edge.target)].op).role == Role::kCompute) {
          edges.push_back(e);
        }
      }
      if (edges.empty()) return;
      GraphEdge& edge = graph_.edges[Any(edges)];
      const auto target = static_cast<size_t>(edge.target);
      std::vector<size_t> sources;
      for (size_t n = target; n < graph_.nodes.size(); ++n) {
        if (RowOf(graph_.nodes[n].op).role == Role::kCompute &&
            std::ssize(consumers_[n]) < options_.most_consumers) {
          sources.push_back(n);
        }
      }
      if (sources.empty()) continue;
      const size_t source = Any(sources);
      // The old source keeps its reader where another edge still leads to it.
      const int old = edge.source;
      edge.source = static_cast<int>(source);
      edge.distance = static_cast<int>(random_.Between(1, std::max(options_.most_distance, 1)));
      edge.initial = Small();
      consumers_[source].insert(target);
      const bool still_read = std::ranges::any_of(graph_.edges, [&](const GraphEdge& other) {
        return other.source == old && other.target == edge.target && other.kind != EdgeKind::kOrder;
      });
      if (!still_read) consumers_[static_cast<size_t>(old)].erase(target);
    }
  }

  void AddOutputs() {
    std::vector<size_t> unused;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (graph_.TakesSlot(static_cast<int>(n)) && graph_.nodes[n].op != Op::kStore &&
          consumers_[n].empty()) {
        unused.push_back(n);
      }
    }
    const auto first = std::max<int64_t>(std::ssize(unused) - options_.outputs, 0);
    for (int64_t i = first; i < std::ssize(unused); ++i) {
      const size_t node = AddNode(fmt::format("y{}", i - first), Op::kOutput);
      graph_.edges.push_back(
          {static_cast<int>(unused[static_cast<size_t>(i)]), static_cast<int>(node), 0});
    }
  }

  void RemoveUnread() {
    std::vector<bool> read(graph_.nodes.size(), false);
    for (const GraphEdge& edge : graph_.edges) read[static_cast<size_t>(edge.source)] = true;
    std::vector<GraphNode> nodes;
    std::vector<int> number(graph_.nodes.size(), -1);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (RowOf(graph_.nodes[n].op).role == Role::kValue && !read[n]) continue;
      number[n] = static_cast<int>(nodes.size());
      nodes.push_back(std::move(graph_.nodes[n]));
    }
    graph_.nodes = std::move(nodes);
    for (GraphEdge& edge : graph_.edges) {
      edge.source = number[static_cast<size_t>(edge.source)];
      edge.target = number[static_cast<size_t>(edge.target)];
    }
  }

  const RandomGraphOptions& options_;
  Random random_;
  ComputationGraph graph_;
  std::vector<std::set<size_t>> consumers_;     // by node: who reads it
  std::vector<std::set<size_t>> memory_reads_;  // by node: what it reads from tile memories
  std::vector<int> reads_;                      // by node: how many values it reads
};

}  // namespace

ComputationGraph RandomGraph(const RandomGraphOptions& options, uint64_t seed) {
  KILN_CHECK(options.instructions >= 1 && options.inputs >= 1);
  return GraphDrawer(options, seed).Draw();
}

}  // namespace kiln::cgra
