// Random mappings of small graphs on machines of every mode, checked twice: by the checker, and by
// the naive functions of this file, which follow the definitions of rules with loops over all
// pairs.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kiln/support/random.h"
#include "kiln/targets/cgra/check/check.h"

namespace kiln::cgra {
namespace {

// What the naive check knows of an instruction.
struct Item {
  int node, tile, issue;
  bool pass;
};
// Item `to` uses what item `from` gives, `distance` threads later.
struct Use {
  size_t from, to;
  int distance;
  bool value;
};

class NaiveCheck {
 public:
  NaiveCheck(const ComputationGraph& graph, const Config& config, const Mapping& mapping)
      : g_(graph), c_(config), m_(mapping), ii_(mapping.initiation_interval) {
    for (int n = 0; n < std::ssize(g_.nodes); ++n) {
      if (Slot(n) && m_.fused_into[static_cast<size_t>(n)] < 0) {
        items_.push_back({n, m_.places[static_cast<size_t>(n)].tile,
                          m_.places[static_cast<size_t>(n)].issue, false});
      }
    }
    for (const PassThrough& pass : m_.passes) {
      uses_.push_back(
          {pass.from < 0 ? ItemOf(pass.node) : PassItem(pass.from), items_.size(), 0, true});
      items_.push_back({pass.node, pass.place.tile, pass.place.issue, true});
    }
    for (size_t e = 0; e < g_.edges.size(); ++e) {
      const GraphEdge& edge = g_.edges[e];
      if (!OnFabric(edge)) continue;
      const size_t from = m_.provider[e] < 0 ? ItemOf(edge.source) : PassItem(m_.provider[e]);
      const size_t to = ItemOf(edge.target);
      if (from == to && edge.distance == 0) continue;
      uses_.push_back({from, to, edge.distance, edge.kind != EdgeKind::kOrder});
    }
  }

  std::set<Rule> Broken() {
    std::set<Rule> broken;
    const int period = c_.tile_period > 0 ? c_.tile_period : ii_;
    if (period > c_.spoke_depth) broken.insert(Rule::kInterval);
    if (ii_ % period != 0) return {Rule::kInterval};
    for (size_t a = 0; a < items_.size(); ++a) {
      int beside = 0;
      for (size_t b = 0; b < items_.size(); ++b) {
        if (items_[a].tile != items_[b].tile) continue;
        ++beside;
        if (a != b && items_[a].issue % period == items_[b].issue % period) {
          broken.insert(Rule::kCell);
        }
      }
      if (beside > c_.instruction_depth) broken.insert(Rule::kDepth);
      if (!c_.later_periods && items_[a].issue >= ii_ && !Waits(a)) broken.insert(Rule::kPeriod);
      if (!c_.issue_later && Waits(a) && items_[a].issue > Last(a)) broken.insert(Rule::kLate);
    }
    for (const Use& use : uses_) {
      const Item &u = items_[use.from], &v = items_[use.to];
      const int dr = std::abs(u.tile / c_.columns - v.tile / c_.columns);
      const int dc = std::abs(u.tile % c_.columns - v.tile % c_.columns);
      if (use.value && !c_.relaxed_distance && !(dr + dc <= c_.reach && (dr == 0 || dc == 0))) {
        broken.insert(Rule::kReach);
        continue;
      }
      if (use.value && dr + dc == 0 && !c_.feedback) broken.insert(Rule::kFeedback);
      const int slack = v.issue - There(use);
      if (slack < 0) broken.insert(use.value ? Rule::kArrival : Rule::kOrder);
      if (use.value && c_.wait_limit >= 0 && slack > c_.wait_limit) broken.insert(Rule::kWait);
    }
    CheckPairs(&broken);
    CheckLinks(period, &broken);
    return broken;
  }

  // Whether two instructions or messages meet, or something is late, in some thread.
  bool Meets() {
    Config plain = c_;
    plain.tile_period = 0;
    std::set<Rule> broken = NaiveCheck(g_, plain, m_).Broken();
    for (const Rule rule : {Rule::kCell, Rule::kArrival, Rule::kOrder, Rule::kWait, Rule::kLink}) {
      if (broken.contains(rule)) return true;
    }
    return false;
  }

 private:
  bool Slot(int n) const {
    const Op op = g_.nodes[static_cast<size_t>(n)].op;
    return op != Op::kConst && op != Op::kInput && op != Op::kVariable && op != Op::kOutput;
  }
  // Whether a link carries the edge's value, or the fabric keeps its order.
  bool OnFabric(const GraphEdge& edge) const {
    const Op op = g_.nodes[static_cast<size_t>(edge.source)].op;
    if (!Slot(edge.source) || !Slot(edge.target)) return false;
    if (c_.asynchronous_loads && (op == Op::kLoad || op == Op::kStore || op == Op::kBranch)) {
      return false;
    }
    return !(c_.cut_loops && edge.distance > 0);
  }
  size_t ItemOf(int node) const {
    const int into = m_.fused_into[static_cast<size_t>(node)];
    for (size_t i = 0; i < items_.size(); ++i) {
      if (!items_[i].pass && items_[i].node == (into < 0 ? node : into)) return i;
    }
    ADD_FAILURE();
    return 0;
  }
  size_t PassItem(int pass) const {
    size_t first = 0;
    while (!items_[first].pass) ++first;
    return first + static_cast<size_t>(pass);
  }
  bool Waits(size_t item) const {
    return std::ranges::any_of(uses_,
                               [&](const Use& use) { return use.to == item && use.distance == 0; });
  }
  int There(const Use& use) const {
    const Item &u = items_[use.from], &v = items_[use.to];
    const int hops = std::abs(u.tile / c_.columns - v.tile / c_.columns) +
                     std::abs(u.tile % c_.columns - v.tile % c_.columns);
    return u.issue + c_.pipeline_latency + (use.value ? hops * c_.hop_cycles : 0) -
           use.distance * ii_;
  }
  int Last(size_t item) const {
    int last = std::numeric_limits<int>::min();
    for (const Use& use : uses_) {
      if (use.to == item && use.from != item) last = std::max(last, There(use));
    }
    return last;
  }

  // Rules 1 to 3, and one link for each result.
  void CheckPairs(std::set<Rule>* broken) const {
    for (const GraphEdge& a : g_.edges) {
      for (const GraphEdge& b : g_.edges) {
        if (!c_.copies && a.source == b.source && Slot(a.target) && Slot(b.target) &&
            g_.nodes[static_cast<size_t>(a.source)].op == Op::kVariable &&
            items_[ItemOf(a.target)].tile != items_[ItemOf(b.target)].tile) {
          broken->insert(Rule::kGroup);
        }
      }
    }
    for (const Use& a : uses_) {
      for (const Use& b : uses_) {
        if (!a.value || !b.value || a.from != b.from || a.to == b.to) continue;
        const int at = items_[a.from].tile, one = items_[a.to].tile, other = items_[b.to].tile;
        if (one == other) broken->insert(Rule::kSiblings);
        if (c_.one_output && one != other && one != at && other != at) {
          broken->insert(Rule::kFanOut);
        }
      }
    }
    // Nodes are connected if a chain of edges leads from one to the other in any direction.
    const size_t count = g_.nodes.size();
    std::vector<std::vector<bool>> joined(count, std::vector<bool>(count, false));
    for (size_t n = 0; n < count; ++n) joined[n][n] = true;
    for (const GraphEdge& edge : g_.edges) {
      if (!OnFabric(edge)) continue;
      const auto a = static_cast<size_t>(edge.source), b = static_cast<size_t>(edge.target);
      joined[a][b] = joined[b][a] = true;
    }
    for (size_t k = 0; k < count; ++k) {
      for (size_t a = 0; a < count; ++a) {
        for (size_t b = 0; b < count; ++b) {
          if (joined[a][k] && joined[k][b]) joined[a][b] = true;
        }
      }
    }
    std::vector<size_t> starts;
    for (size_t n = 0; n < count; ++n) {
      const bool entered = std::ranges::any_of(g_.edges, [&](const GraphEdge& edge) {
        return static_cast<size_t>(edge.target) == n && edge.distance == 0 && OnFabric(edge);
      });
      const bool taken = std::ranges::any_of(starts, [&](size_t s) { return joined[s][n]; });
      if (Slot(static_cast<int>(n)) && !entered && (c_.every_source_starts || !taken)) {
        starts.push_back(n);
      }
    }
    for (const size_t a : starts) {
      for (const size_t b : starts) {
        const size_t one = ItemOf(static_cast<int>(a)), other = ItemOf(static_cast<int>(b));
        if (one != other && items_[one].tile == items_[other].tile) {
          broken->insert(Rule::kStarts);
        }
      }
    }
  }

  // Follows every value tile by tile: along the row first, then along the column, `reach` tiles at
  // once as long as that many are left.
  void CheckLinks(int period, std::set<Rule>* broken) const {
    if (!c_.relaxed_distance || c_.shared_links) return;
    std::map<std::vector<int>, size_t> carries;  // by both ends and slot: the item
    for (const Use& use : uses_) {
      if (!use.value) continue;
      int at = items_[use.from].tile;
      const int to = items_[use.to].tile;
      int cycle = items_[use.from].issue + c_.pipeline_latency;
      while (at != to) {
        const bool along_row = at % c_.columns != to % c_.columns;
        const int step = along_row ? (at % c_.columns < to % c_.columns ? 1 : -1)
                                   : (at < to ? c_.columns : -c_.columns);
        int next = at, length = 0;
        while (length < c_.reach &&
               (along_row ? next % c_.columns != to % c_.columns : next != to)) {
          next += step;
          ++length;
        }
        const auto [found, added] =
            carries.emplace(std::vector{at, next, cycle % period}, use.from);
        if (!added && found->second != use.from) broken->insert(Rule::kLink);
        cycle += length * c_.hop_cycles;
        at = next;
      }
    }
  }

  const ComputationGraph& g_;
  const Config c_;
  const Mapping& m_;
  const int ii_;
  std::vector<Item> items_;
  std::vector<Use> uses_;
};

ComputationGraph Graph(const std::vector<std::pair<const char*, Op>>& nodes,
                       std::vector<GraphEdge> edges) {
  ComputationGraph graph{"g", "g", {}, std::move(edges)};
  for (const auto& [name, op] : nodes) graph.nodes.push_back({name, op, "", std::nullopt});
  EXPECT_TRUE(VerifyAndSort(&graph).ok());
  return graph;
}

GraphEdge Carried(int source, int target, int operand, int distance) {
  return {.source = source, .target = target, .operand = operand, .distance = distance};
}

// Small graphs that have everything that a rule is about.
std::vector<ComputationGraph> Graphs() {
  std::vector<ComputationGraph> graphs;
  graphs.push_back(Graph({{"a", Op::kPass}, {"b", Op::kPass}, {"c", Op::kPass}, {"d", Op::kAdd}},
                         {{0, 1, 0}, {0, 2, 0}, {1, 3, 0}, {2, 3, 1}}));
  graphs.push_back(
      Graph({{"v", Op::kVariable}, {"a", Op::kAdd}, {"b", Op::kAdd}, {"o", Op::kOutput}},
            {{0, 1, 0}, {0, 2, 0}, Carried(1, 1, 1, 1), Carried(1, 2, 1, 2), {2, 3, 0}}));
  graphs.push_back(Graph({{"x", Op::kInput}, {"l", Op::kLoad}, {"a", Op::kPass}, {"s", Op::kStore}},
                         {{0, 1, 0}, {1, 2, 0}, {2, 3, 1}, {1, 3, 0, EdgeKind::kOrder}}));
  graphs.push_back(Graph({{"a", Op::kPass}, {"m", Op::kMul}, {"s", Op::kAdd}, {"b", Op::kPass}},
                         {{0, 1, 0}, {0, 1, 1}, {1, 2, 0}, Carried(2, 2, 1, 1), {2, 3, 0}}));
  graphs.push_back(Graph({{"a", Op::kPass}, {"b", Op::kPass}, {"c", Op::kMerge}},
                         {{0, 2, 0}, {1, 2, 1}, Carried(2, 0, 0, 2)}));
  return graphs;
}

struct Machine {
  const char* name;
  std::function<void(Config*)> change;
};

const std::vector<Machine>& Machines() {
  static const std::vector<Machine> machines = {
      {"default", [](Config*) {}},
      {"relaxed", [](Config* c) { c->relaxed_distance = true; }},
      {"relaxed, short links",
       [](Config* c) {
         c->relaxed_distance = true;
         c->reach = 1;
       }},
      {"relaxed, shared links",
       [](Config* c) {
         c->relaxed_distance = true;
         c->shared_links = true;
       }},
      {"relaxed array",
       [](Config* c) {
         c->relaxed_distance = true;
         c->rows = 2;
         c->columns = 3;
         c->reach = 1;
       }},
      {"array",
       [](Config* c) {
         c->rows = 2;
         c->columns = 3;
       }},
      {"column",
       [](Config* c) {
         c->rows = 6;
         c->columns = 1;
         c->relaxed_distance = true;
       }},
      {"no feedback", [](Config* c) { c->feedback = false; }},
      {"no waiting", [](Config* c) { c->wait_limit = 0; }},
      {"short waiting", [](Config* c) { c->wait_limit = 2; }},
      {"latest", [](Config* c) { c->issue_later = false; }},
      {"all starts", [](Config* c) { c->every_source_starts = true; }},
      {"periods of 1", [](Config* c) { c->tile_period = 1; }},
      {"periods of 2",
       [](Config* c) {
         c->tile_period = 2;
         c->relaxed_distance = true;
       }},
      {"one output", [](Config* c) { c->one_output = true; }},
      {"later periods", [](Config* c) { c->later_periods = true; }},
      {"synchronous loads", [](Config* c) { c->asynchronous_loads = false; }},
      {"cut loops", [](Config* c) { c->cut_loops = true; }},
      {"copies", [](Config* c) { c->copies = true; }},
      {"short links", [](Config* c) { c->reach = 1; }},
      {"free hops", [](Config* c) { c->hop_cycles = 0; }},
      {"slow hops",
       [](Config* c) {
         c->hop_cycles = 2;
         c->relaxed_distance = true;
       }},
      {"short pipeline", [](Config* c) { c->pipeline_latency = 1; }},
      {"small memories",
       [](Config* c) {
         c->instruction_depth = 1;
         c->spoke_depth = 2;
       }},
  };
  return machines;
}

// Returns a mapping in which most instructions are near the ones before them, and issue about when
// their operands come.
Mapping RandomMapping(const ComputationGraph& graph, const Config& config, bool fuse,
                      Random* random) {
  Mapping mapping;
  mapping.initiation_interval = static_cast<int>(random->Between(1, 4));
  mapping.places.resize(graph.nodes.size());
  mapping.fused_into.assign(graph.nodes.size(), -1);
  mapping.provider.assign(graph.edges.size(), -1);
  const auto tiles = static_cast<uint64_t>(config.tiles());
  int earliest = 0;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!graph.TakesSlot(static_cast<int>(n))) continue;
    mapping.places[n] = {static_cast<int>(random->Below(tiles)),
                         earliest + static_cast<int>(random->Below(4))};
    earliest = random->Below(4) == 0 ? 0 : mapping.places[n].issue + 3;
  }
  for (size_t n = 0; n + 1 < graph.nodes.size() && fuse; ++n) {
    if (graph.nodes[n].op != Op::kMul) continue;
    mapping.fused_into[n] = static_cast<int>(n) + 1;
    mapping.places[n] = mapping.places[n + 1];
  }
  if (random->Below(3) == 0 && graph.nodes[0].op == Op::kPass) {
    const Place place = {static_cast<int>(random->Below(tiles)),
                         mapping.places[0].issue + 3 + static_cast<int>(random->Below(3))};
    mapping.passes.push_back({0, -1, place});
    for (size_t e = 0; e < graph.edges.size(); ++e) {
      if (graph.edges[e].source == 0 && random->Below(2) == 0) mapping.provider[e] = 0;
    }
  }
  return mapping;
}

TEST(CheckRandomTest, AgreesWithTheNaiveCheckInEveryMode) {
  Random random(7);
  const std::vector<ComputationGraph> graphs = Graphs();
  std::map<Rule, int> seen;
  for (const Machine& machine : Machines()) {
    int legal = 0;
    for (int i = 0; i < 1500; ++i) {
      const ComputationGraph& graph = graphs[random.Below(graphs.size())];
      Config config;
      config.columns = 6;
      machine.change(&config);
      const Mapping mapping = RandomMapping(graph, config, random.Below(2) == 0, &random);
      NaiveCheck naive(graph, config, mapping);
      std::set<Rule> expected = naive.Broken();
      const bool stops = mapping.initiation_interval % std::max(config.tile_period, 1) != 0;
      if (!stops && naive.Meets()) expected.insert(Rule::kReplay);
      const Verdict verdict = CheckMapping(graph, config, mapping);
      std::set<Rule> found;
      for (const Broken& broken : verdict.broken) found.insert(broken.rule);
      ASSERT_EQ(found, expected) << machine.name << ", graph of " << graph.nodes[0].name << " "
                                 << graph.nodes[1].name << "\n"
                                 << PrintVerdict(verdict);
      legal += found.empty() ? 1 : 0;
      for (const Rule rule : found) ++seen[rule];
    }
    EXPECT_GT(legal, 2) << machine.name;
  }
  for (const Rule rule :
       {Rule::kInterval, Rule::kCell, Rule::kDepth, Rule::kReach, Rule::kFeedback, Rule::kArrival,
        Rule::kOrder, Rule::kWait, Rule::kLate, Rule::kPeriod, Rule::kGroup, Rule::kStarts,
        Rule::kSiblings, Rule::kFanOut, Rule::kLink, Rule::kReplay}) {
    EXPECT_GT(seen[rule], 20) << RuleName(rule);
  }
}

// Every way to move one instruction of a legal mapping.
TEST(CheckRandomTest, AgreesOnEveryMoveOfOneInstruction) {
  const ComputationGraph graph =
      Graph({{"a", Op::kPass}, {"b", Op::kPass}, {"c", Op::kPass}, {"d", Op::kAdd}},
            {{0, 1, 0}, {0, 2, 0}, {1, 3, 0}, {2, 3, 1}});
  Mapping legal{2, {{2, 0}, {1, 4}, {3, 4}, {2, 9}}, {-1, -1, -1, -1}, {}, {-1, -1, -1, -1}};
  Config config;
  config.columns = 6;
  ASSERT_TRUE(CheckMapping(graph, config, legal).legal());
  int still_legal = 0, moves = 0;
  for (size_t n = 0; n < 4; ++n) {
    for (int tile = 0; tile < 6; ++tile) {
      for (int issue = 0; issue < 16; ++issue, ++moves) {
        Mapping moved = legal;
        moved.places[n] = {tile, issue};
        NaiveCheck naive(graph, config, moved);
        std::set<Rule> expected = naive.Broken();
        if (naive.Meets()) expected.insert(Rule::kReplay);
        std::set<Rule> found;
        for (const Broken& broken : CheckMapping(graph, config, moved).broken) {
          found.insert(broken.rule);
        }
        ASSERT_EQ(found, expected) << n << " to tile " << tile << ", cycle " << issue;
        still_legal += found.empty() ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(moves, 384);
  EXPECT_GT(still_legal, 10);
}

}  // namespace
}  // namespace kiln::cgra
