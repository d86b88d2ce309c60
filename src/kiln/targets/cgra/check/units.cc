// Finds the instructions of a mapping and what they wait for.

#include <algorithm>
#include <set>
#include <tuple>

#include "fmt/format.h"
#include "kiln/support/excerpt.h"
#include "kiln/targets/cgra/check/parts.h"

namespace kiln::cgra::check {
namespace {

constexpr int kMostMemoryReads = 2;  // two memories with one port each

// Reads a mapping that may have any faults. A fault is reported and then treated so that later
// rules still have something to check: an impossible fusion is ignored, and a tile or cycle out of
// range makes a unit unusable.
class UnitFinder {
 public:
  UnitFinder(const ComputationGraph& graph, const Config& config, const Mapping& mapping,
             Findings* findings)
      : graph_(graph),
        config_(config),
        mapping_(mapping),
        findings_(findings),
        into_(graph.EdgesInto()) {}

  Units Find() {
    CheckPlaces();
    FindFusions();
    AddNodes();
    AddPasses();
    AddWaits();
    return std::move(units_);
  }

 private:
  const GraphNode& Node(int node) const { return graph_.nodes[static_cast<size_t>(node)]; }
  std::string Name(int node) const { return QuotedExcerpt(Node(node).name); }
  int64_t tiles() const { return Array(config_).tiles(); }

  void CheckPlaces() {
    for (int n = 0; n < std::ssize(graph_.nodes); ++n) {
      const Place& place = mapping_.places[static_cast<size_t>(n)];
      if (graph_.TakesSlot(n) == (place.tile >= 0)) continue;
      findings_->Add(Rule::kPlaced, {Node(n).name},
                     graph_.TakesSlot(n)
                         ? fmt::format("{} has no place", Name(n))
                         : fmt::format("{} has a place, but no instruction computes it", Name(n)));
    }
  }

  // Fills fused_ with those fusions that can be meant, and reports what is not right.
  void FindFusions() {
    fused_.assign(graph_.nodes.size(), -1);
    std::set<int> taken;
    for (int n = 0; n < std::ssize(graph_.nodes); ++n) {
      const int into = mapping_.fused_into[static_cast<size_t>(n)];
      if (into == -1) continue;
      const auto fail = [&](const std::string& why, int with) {
        std::vector<std::string> nodes = {Node(n).name};
        if (with >= 0) nodes.push_back(Node(with).name);
        findings_->Add(Rule::kFusion, nodes, why);
      };
      if (into == n) {
        fail(fmt::format("{} is fused into itself", Name(n)), -1);
        continue;
      }
      if (into < 0 || into >= std::ssize(graph_.nodes)) {
        fail(fmt::format("{} is fused into node {}, which is none", Name(n), into), -1);
        continue;
      }
      const std::string pair =
          fmt::format("{} and {} cannot share an instruction: ", Name(n), Name(into));
      if (RowOf(Node(n).op).unit != cgra::Unit::kMultiply ||
          RowOf(Node(into).op).unit != cgra::Unit::kLogic || Node(into).op == Op::kSelect) {
        fail(pair + "one multiplies or shifts, the other is a logic operator of two operands",
             into);
        continue;
      }
      if (mapping_.fused_into[static_cast<size_t>(into)] != -1 || !taken.insert(into).second) {
        fail(pair + "the instruction has a product already", into);
        continue;
      }
      fused_[static_cast<size_t>(n)] = into;
      const std::string why = WhyNotFused(n, into);
      if (!why.empty()) fail(pair + why, into);
      const Place &a = mapping_.places[static_cast<size_t>(n)],
                  &b = mapping_.places[static_cast<size_t>(into)];
      if (a != b) {
        fail(fmt::format("{} shares the instruction of {}, but is on tile {} in cycle {}, and {} "
                         "on tile {} in cycle {}",
                         Name(n), Name(into), a.tile, a.issue, Name(into), b.tile, b.issue),
             into);
      }
    }
  }

  std::string WhyNotFused(int multiply, int logic) const {
    int uses = 0;
    bool inside = false, gated = false;
    for (const GraphEdge& edge : graph_.edges) {
      if (edge.source == multiply) {
        ++uses;
        inside |= edge.target == logic && edge.kind == EdgeKind::kData && edge.distance == 0;
      }
      gated |= edge.target == multiply && edge.kind != EdgeKind::kData;
    }
    if (!inside) return "the second does not use the product in the same thread";
    if (uses > 1) return "the product has another use";
    if (gated) return "the product has a predicate or an order of its own";
    const Op op = Node(logic).op;
    const bool is_float = op == Op::kFAdd || op == Op::kFSub;
    const bool is_any = op == Op::kPass || op == Op::kMerge;
    if (!is_any && is_float != (Node(multiply).op == Op::kFMul)) {
      return "one computes with floats, the other with integers";
    }
    return "";
  }

  void AddNodes() {
    units_.of_node.assign(graph_.nodes.size(), -1);
    for (int n = 0; n < std::ssize(graph_.nodes); ++n) {
      if (!graph_.TakesSlot(n) || fused_[static_cast<size_t>(n)] >= 0) continue;
      check::Unit unit;
      for (int m = 0; m < std::ssize(graph_.nodes); ++m) {
        if (fused_[static_cast<size_t>(m)] == n) unit.nodes.push_back(m);
      }
      unit.nodes.push_back(n);
      unit.name = QuotedExcerpt(Node(unit.nodes[0]).name +
                                (unit.nodes.size() > 1 ? "+" + Node(n).name : ""));
      SetPlace(mapping_.places[static_cast<size_t>(n)], &unit);
      for (const int m : unit.nodes) {
        units_.of_node[static_cast<size_t>(m)] = static_cast<int>(units_.units.size());
      }
      CheckReads(unit);
      units_.units.push_back(std::move(unit));
    }
  }

  void SetPlace(const Place& place, check::Unit* unit) {
    unit->tile = place.tile;
    unit->issue = place.issue;
    unit->usable = place.tile >= 0 && place.tile < tiles() && place.issue >= 0;
    if (place.tile >= tiles() || (unit->pass >= 0 && place.tile < 0)) {
      findings_->Add(Rule::kTile, NamesOf(graph_, *unit),
                     fmt::format("{} is on tile {}, but the tiles are 0 to {}", unit->name,
                                 place.tile, tiles() - 1));
    }
    if (place.tile >= 0 && place.issue < 0) {
      findings_->Add(Rule::kIssue, NamesOf(graph_, *unit),
                     fmt::format("{} issues in cycle {}", unit->name, place.issue));
    }
  }

  // Checks that a unit reads no more than two values of tile memories, and has an operand that its
  // predicate can take: two read ports and three operands are all that a tile has.
  void CheckReads(const check::Unit& unit) {
    std::set<std::pair<int, int>> memory, predicates;  // source and distance
    std::set<int32_t> literals;
    for (const int node : unit.nodes) {
      int operands = 0;
      for (const int e : into_[static_cast<size_t>(node)]) {
        const GraphEdge& edge = graph_.edges[static_cast<size_t>(e)];
        if (edge.kind == EdgeKind::kOrder) continue;
        if (edge.kind == EdgeKind::kData) ++operands;
        if (edge.distance == 0 && std::ranges::find(unit.nodes, edge.source) != unit.nodes.end()) {
          continue;
        }
        if (edge.kind == EdgeKind::kPredicate) predicates.emplace(edge.source, edge.distance);
        const GraphNode& source = Node(edge.source);
        if (source.op == Op::kConst) {
          literals.insert(source.literal.value_or(0));
        } else if (WayOf(graph_, config_, edge) != Way::kLinks) {
          memory.emplace(edge.source, edge.distance);
        }
      }
      if (Node(node).literal && operands < RowOf(Node(node).op).operands) {
        literals.insert(*Node(node).literal);
      }
    }
    // An instruction has one literal; a tile memory holds the others.
    const auto stored = std::ssize(memory) + std::max<int64_t>(std::ssize(literals) - 1, 0);
    if (stored > kMostMemoryReads) {
      findings_->Add(Rule::kReads, NamesOf(graph_, unit),
                     fmt::format("{} reads {} values from tile memories", unit.name, stored));
    }
    if (predicates.size() > 1) {
      findings_->Add(Rule::kReads, NamesOf(graph_, unit),
                     fmt::format("{} has {} predicates", unit.name, predicates.size()));
    }
    if (predicates.size() == 1 && !HasRoomFor(*predicates.begin(), unit.nodes)) {
      findings_->Add(Rule::kReads, NamesOf(graph_, unit),
                     fmt::format("{} uses all its operands, and none is its predicate", unit.name));
    }
  }

  // Whether a unit has a free operand for a predicate, or the predicate is the value of its second
  // one anyway. Fused pairs and selects use all; the operands of a multiplication may be exchanged.
  bool HasRoomFor(const std::pair<int, int>& predicate, const std::vector<int>& nodes) const {
    const Op op = Node(nodes[0]).op;
    if (nodes.size() < 2 && op != Op::kSelect) return true;
    for (const int e : into_[static_cast<size_t>(nodes[0])]) {
      const GraphEdge& edge = graph_.edges[static_cast<size_t>(e)];
      if (edge.kind != EdgeKind::kData) continue;
      if (predicate != std::pair(edge.source, edge.distance)) continue;
      const bool exchangeable = edge.operand == 0 && (op == Op::kMul || op == Op::kFMul);
      if (edge.operand == 1 || exchangeable) return true;
    }
    return false;
  }

  void AddPasses() {
    for (size_t i = 0; i < mapping_.passes.size(); ++i) {
      const PassThrough& pass = mapping_.passes[i];
      check::Unit unit;
      unit.pass = static_cast<int>(i);
      pass_unit_.push_back(-1);
      const auto fail = [&](const std::string& why) {
        findings_->Add(Rule::kPass, NamesOf(graph_, unit),
                       fmt::format("pass-through {}{} {}", i,
                                   unit.nodes.empty() ? "" : " of " + Name(pass.node), why));
      };
      if (pass.node < 0 || pass.node >= std::ssize(graph_.nodes)) {
        fail(fmt::format("copies node {}, which is none", pass.node));
        continue;
      }
      unit.nodes = {pass.node};
      unit.name = fmt::format("pass-through {} of {}", i, Name(pass.node));
      int from = -1;
      if (!IsOnLinks(pass.node)) {
        fail("copies a value that does not travel over links");
      } else if (pass.from == -1) {
        from = units_.of_node[static_cast<size_t>(pass.node)];
      } else if (pass.from < 0 || pass.from >= static_cast<int>(i) ||
                 pass_unit_[static_cast<size_t>(pass.from)] < 0) {
        fail(fmt::format("gets its value from pass-through {}, which is not before it", pass.from));
      } else if (mapping_.passes[static_cast<size_t>(pass.from)].node != pass.node) {
        fail(fmt::format("gets its value from pass-through {}, which copies another", pass.from));
      } else {
        from = pass_unit_[static_cast<size_t>(pass.from)];
      }
      SetPlace(pass.place, &unit);
      pass_unit_.back() = static_cast<int>(units_.units.size());
      if (from >= 0) units_.waits.push_back({from, pass_unit_.back(), 0, true});
      units_.units.push_back(std::move(unit));
    }
  }

  // Whether the result of a node is on links for others to copy.
  bool IsOnLinks(int node) const {
    const Role role = RowOf(Node(node).op).role;
    const bool computed =
        role == Role::kCompute ||
        (role != Role::kValue && role != Role::kResult && !config_.asynchronous_loads);
    return computed && fused_[static_cast<size_t>(node)] < 0;
  }

  void AddWaits() {
    std::set<std::tuple<int, int, int, bool>> seen;
    for (size_t e = 0; e < graph_.edges.size(); ++e) {
      const GraphEdge& edge = graph_.edges[e];
      const Way way = WayOf(graph_, config_, edge);
      const int provider = mapping_.provider[e];
      int from = units_.of_node[static_cast<size_t>(edge.source)];
      const int to = units_.of_node[static_cast<size_t>(edge.target)];
      if (provider != -1) {
        const auto fail = [&](const std::string& why) {
          findings_->Add(
              Rule::kPass, {Node(edge.source).name, Node(edge.target).name},
              fmt::format("the edge from {} to {} {}", Name(edge.source), Name(edge.target), why));
        };
        if (provider < 0 || provider >= std::ssize(mapping_.passes)) {
          fail(fmt::format("has pass-through {}, which is none", provider));
        } else if (way != Way::kLinks) {
          fail("has a pass-through, but its value does not travel over links");
        } else if (mapping_.passes[static_cast<size_t>(provider)].node != edge.source) {
          fail(fmt::format("has pass-through {}, which copies another value", provider));
        } else if (pass_unit_[static_cast<size_t>(provider)] >= 0) {
          from = pass_unit_[static_cast<size_t>(provider)];
        }
      }
      if (way != Way::kLinks && way != Way::kOrder) continue;
      if (from < 0 || to < 0 || (from == to && edge.distance == 0)) continue;
      const bool moves = way == Way::kLinks;
      if (seen.emplace(from, to, edge.distance, moves).second) {
        units_.waits.push_back({from, to, edge.distance, moves});
      }
    }
  }

  const ComputationGraph& graph_;
  const Config& config_;
  const Mapping& mapping_;
  Findings* findings_;
  const std::vector<std::vector<int>> into_;
  Units units_;
  std::vector<int> fused_;      // by node: the node whose instruction computes it, too, or -1
  std::vector<int> pass_unit_;  // by pass-through: its unit, or -1
};

}  // namespace

Way WayOf(const ComputationGraph& graph, const Config& config, const GraphEdge& edge) {
  const Role source = RowOf(graph.nodes[static_cast<size_t>(edge.source)].op).role;
  const Role target = RowOf(graph.nodes[static_cast<size_t>(edge.target)].op).role;
  if (target == Role::kResult) return Way::kOut;
  if (source == Role::kValue) return Way::kMemory;
  const bool is_slow = source == Role::kMemory || source == Role::kControl;
  if (is_slow && config.asynchronous_loads) return Way::kMessage;
  if (edge.distance > 0 && config.cut_loops) return Way::kMessage;
  return edge.kind == EdgeKind::kOrder ? Way::kOrder : Way::kLinks;
}

std::vector<std::string> NamesOf(const ComputationGraph& graph, const Unit& unit) {
  std::vector<std::string> names;
  for (const int node : unit.nodes) names.push_back(graph.nodes[static_cast<size_t>(node)].name);
  return names;
}

Units FindUnits(const ComputationGraph& graph, const Config& config, const Mapping& mapping,
                Findings* findings) {
  return UnitFinder(graph, config, mapping, findings).Find();
}

}  // namespace kiln::cgra::check
