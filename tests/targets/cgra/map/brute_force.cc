#include "tests/targets/cgra/map/brute_force.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "kiln/support/check.h"
#include "kiln/targets/cgra/check/check.h"
#include "kiln/targets/cgra/graph/mapping.h"

namespace kiln::cgra {
namespace {

size_t N(int i) { return static_cast<size_t>(i); }

// An edge over links: both ends are instructions.
struct Link {
  int from = 0, to = 0, distance = 0;
};

// Pass-throughs of a mapping without their places, and what they hand on.
struct Copies {
  std::vector<PassThrough> passes;
  std::vector<int> provider;  // by edge
};

// What the rules say of a graph, by numbers of instructions: nodes, then pass-throughs.
struct Rules {
  std::vector<int> nodes;  // by instruction that is no pass-through: its node
  std::vector<Link> links;
  std::vector<std::vector<bool>> together, apart;  // by pair
  std::vector<bool> first_period;                  // by instruction
  int size() const { return static_cast<int>(first_period.size()); }
};

// Makes a relation transitive and symmetric.
void Close(std::vector<std::vector<bool>>* pairs) {
  const size_t count = pairs->size();
  for (size_t round = 0; round < count; ++round) {
    for (size_t a = 0; a < count; ++a) {
      for (size_t b = 0; b < count; ++b) {
        if ((*pairs)[a][b]) (*pairs)[b][a] = true;
        for (size_t c = 0; c < count; ++c) {
          if ((*pairs)[a][b] && (*pairs)[b][c]) (*pairs)[a][c] = true;
        }
      }
    }
  }
}

Rules RulesOf(const ComputationGraph& graph, const Config& config, const Copies& copies) {
  Rules rules;
  std::vector<int> number(graph.nodes.size(), -1);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].op == Op::kVariable) continue;
    number[n] = static_cast<int>(rules.nodes.size());
    rules.nodes.push_back(static_cast<int>(n));
  }
  const int nodes = static_cast<int>(rules.nodes.size());
  const size_t count = rules.nodes.size() + copies.passes.size();
  const std::vector<std::vector<bool>> none(count, std::vector<bool>(count, false));
  rules.together = rules.apart = none;
  std::vector<std::vector<bool>> flow = none;
  rules.first_period.assign(count, true);
  for (size_t e = 0; e < graph.edges.size(); ++e) {
    const GraphEdge& edge = graph.edges[e];
    KILN_CHECK(edge.kind == EdgeKind::kData && number[N(edge.target)] >= 0);
    const int from = number[N(edge.source)], to = number[N(edge.target)];
    if (from < 0) {
      // Rule 1: readers of a variable.
      for (const GraphEdge& other : graph.edges) {
        if (other.source != edge.source || config.copies) continue;
        rules.together[N(to)][N(number[N(other.target)])] = true;
      }
      continue;
    }
    if (config.cut_loops && edge.distance > 0) continue;
    const int provider = copies.provider[e];
    rules.links.push_back({provider < 0 ? from : nodes + provider, to, edge.distance});
    flow[N(from)][N(to)] = true;
    if (edge.distance == 0) rules.first_period[N(to)] = false;
  }
  for (size_t p = 0; p < copies.passes.size(); ++p) {
    const PassThrough& pass = copies.passes[p];
    const int to = nodes + static_cast<int>(p);
    rules.links.push_back({pass.from < 0 ? number[N(pass.node)] : nodes + pass.from, to, 0});
    rules.first_period[N(to)] = false;
  }
  Close(&rules.together);
  Close(&flow);
  // Rule 2: instructions that nothing of the same thread enters, the first of each flow or all.
  std::vector<size_t> starts;
  for (size_t i = 0; i < count; ++i) {
    if (!rules.first_period[i]) continue;
    const bool later = std::ranges::any_of(starts, [&](size_t s) { return flow[s][i]; });
    if (config.every_source_starts || !later) starts.push_back(i);
  }
  for (const size_t a : starts) {
    for (const size_t b : starts) rules.apart[a][b] = a != b;
  }
  // Rule 3: consumers of one result.
  for (const Link& a : rules.links) {
    for (const Link& b : rules.links) {
      if (a.from == b.from && a.to != b.to) rules.apart[N(a.to)][N(b.to)] = true;
    }
  }
  if (config.later_periods) rules.first_period.assign(count, false);
  return rules;
}

class Trial {
 public:
  Trial(const ComputationGraph& graph, const Config& config, const Copies& copies, int interval)
      : graph_(graph),
        config_(config),
        copies_(copies),
        rules_(RulesOf(graph, config, copies)),
        interval_(interval),
        places_(N(rules_.size())) {
    const int longest = config_.rows + config_.columns;
    int threads = 1;
    for (const Link& link : rules_.links) threads = std::max(threads, link.distance);
    horizon_ = interval + (rules_.size() + 1) * (config_.pipeline_latency +
                                                 longest * config_.hop_cycles + threads * interval);
  }

  std::optional<int> Run() {
    if (config_.tile_period > 0 && interval_ % config_.tile_period != 0) return std::nullopt;
    TryTiles(0);
    return least_;
  }

 private:
  Place& At(int i) { return places_[N(i)]; }

  // Returns the tiles that a value passes on its way, or -1 if no link leads there.
  int Tiles(int from, int to) const {
    const int rows = std::abs(from / config_.columns - to / config_.columns);
    const int columns = std::abs(from % config_.columns - to % config_.columns);
    if (from == to) return config_.feedback ? 0 : -1;
    if (config_.relaxed_distance) return rows + columns;
    return std::min(rows, columns) == 0 && rows + columns <= config_.reach ? rows + columns : -1;
  }
  int Hops(const Link& link) {
    return Tiles(At(link.from).tile, At(link.to).tile) * config_.hop_cycles;
  }

  // Tries all tiles that keep the rules of tiles.
  void TryTiles(int i) {
    if (i == rules_.size()) {
      if (config_.issue_later) {
        TrySlots(0);
      } else {
        for (Place& place : places_) place.issue = -1;
        TryArrivals(0);
      }
      return;
    }
    for (int tile = 0; tile < config_.tiles(); ++tile) {
      At(i).tile = tile;
      if (TilesFit(i)) TryTiles(i + 1);
    }
    At(i).tile = -1;
  }

  bool TilesFit(int i) {
    const int tile = At(i).tile;
    const auto here = std::count_if(places_.begin(), places_.begin() + i + 1,
                                    [tile](const Place& place) { return place.tile == tile; });
    if (here > config_.instruction_depth) return false;
    for (int other = 0; other < i; ++other) {
      const bool same = At(other).tile == tile;
      if (rules_.together[N(i)][N(other)] && !same) return false;
      if (same && (rules_.apart[N(i)][N(other)] || rules_.apart[N(other)][N(i)])) return false;
    }
    return std::ranges::all_of(rules_.links, [&](const Link& link) {
      if (std::max(link.from, link.to) != i) return true;
      return Tiles(At(link.from).tile, At(link.to).tile) >= 0;
    });
  }

  // Tries all slots; the least issue cycles in these slots follow.
  void TrySlots(int i) {
    if (i == rules_.size()) {
      Settle();
      return;
    }
    const int period = config_.tile_period > 0 ? config_.tile_period : interval_;
    for (int slot = 0; slot < interval_; ++slot) {
      At(i).issue = slot;
      bool free = true;
      for (int other = 0; other < i; ++other) {
        free = free && (At(other).tile != At(i).tile || At(other).issue % period != slot % period);
      }
      if (free) TrySlots(i + 1);
    }
  }

  void Settle() {
    const std::vector<Place> slots = places_;
    for (bool changed = true; changed;) {
      changed = false;
      for (const Link& link : rules_.links) {
        const int least =
            At(link.from).issue + config_.pipeline_latency + Hops(link) - link.distance * interval_;
        changed = Raise(link.to, least) || changed;
        if (config_.wait_limit >= 0) {
          const int wait = At(link.to).issue - least - config_.wait_limit;
          changed = Raise(link.from, At(link.from).issue + wait) || changed;
        }
        if (std::max(At(link.to).issue, At(link.from).issue) > horizon_) {
          places_ = slots;
          return;
        }
      }
    }
    Keep();
    places_ = slots;
  }

  bool Raise(int i, int least) {
    bool raised = false;
    for (; At(i).issue < least && At(i).issue <= horizon_; raised = true) At(i).issue += interval_;
    return raised;
  }

  // Tries issue cycles in topological order, where operands of the same thread set the cycle unless
  // those of earlier threads come later.
  void TryArrivals(int count) {
    if (count == rules_.size()) {
      Keep();
      return;
    }
    int i = 0;
    while (At(i).issue >= 0 || !HasOperands(i)) ++i;
    int first = 0, last = horizon_;
    bool enters = false, looped = false;
    for (const Link& link : rules_.links) {
      if (link.to != i) continue;
      looped = looped || (link.distance > 0 && link.from != i);
      if (link.distance > 0) continue;
      enters = true;
      first = std::max(first, At(link.from).issue + config_.pipeline_latency + Hops(link));
    }
    if (enters && !looped) last = first;
    if (!enters && rules_.first_period[N(i)]) last = interval_ - 1;
    for (int issue = first; issue <= last; ++issue) {
      At(i).issue = issue;
      TryArrivals(count + 1);
    }
    At(i).issue = -1;
  }

  // Returns whether all operands of the same thread have their cycles.
  bool HasOperands(int i) {
    return std::ranges::all_of(rules_.links, [&](const Link& link) {
      return link.to != i || link.distance > 0 || At(link.from).issue >= 0;
    });
  }

  void Keep() {
    int latency = 0;
    for (const Place& place : places_) {
      latency = std::max(latency, place.issue + config_.pipeline_latency);
    }
    if (least_ && *least_ <= latency) return;
    Mapping mapping;
    mapping.initiation_interval = interval_;
    mapping.places.assign(graph_.nodes.size(), {});
    mapping.fused_into.assign(graph_.nodes.size(), -1);
    mapping.provider = copies_.provider;
    mapping.passes = copies_.passes;
    const size_t nodes = rules_.nodes.size();
    for (size_t i = 0; i < nodes; ++i) mapping.places[N(rules_.nodes[i])] = places_[i];
    for (size_t p = 0; p < mapping.passes.size(); ++p) mapping.passes[p].place = places_[nodes + p];
    if (CheckMapping(graph_, config_, mapping).legal()) least_ = latency;
  }

  const ComputationGraph& graph_;
  const Config& config_;
  const Copies& copies_;
  const Rules rules_;
  int interval_;
  int horizon_ = 0;
  std::vector<Place> places_;
  std::optional<int> least_;
};

// Lists all choices of pass-throughs, and of what each of them hands on.
class CopyChoices {
 public:
  CopyChoices(const ComputationGraph& graph, const Config& config, int count)
      : graph_(graph), config_(config), count_(count) {
    copies_.provider.assign(graph.edges.size(), -1);
    AddPass();
  }
  const std::vector<Copies>& all() const { return all_; }

 private:
  bool OnLinks(const GraphEdge& edge) const {
    return graph_.nodes[N(edge.source)].op != Op::kVariable &&
           !(config_.cut_loops && edge.distance > 0);
  }

  void AddPass() {
    if (std::ssize(copies_.passes) == count_) {
      Provide(0);
      return;
    }
    const int before = copies_.passes.empty() ? 0 : copies_.passes.back().node;
    for (int node = before; node < std::ssize(graph_.nodes); ++node) {
      for (int from = -1; from < std::ssize(copies_.passes); ++from) {
        if (from >= 0 && copies_.passes[N(from)].node != node) continue;
        copies_.passes.push_back({.node = node, .from = from, .place = {}});
        AddPass();
        copies_.passes.pop_back();
      }
    }
  }

  // Lets each edge have the value from its node or from one of the pass-throughs.
  void Provide(size_t edge) {
    if (edge == graph_.edges.size()) {
      // A pass-through that nothing uses only takes a cell.
      for (int p = 0; p < count_; ++p) {
        const bool used = std::ranges::find(copies_.provider, p) != copies_.provider.end() ||
                          std::ranges::any_of(copies_.passes, [p](const PassThrough& pass) {
                            return pass.from == p;
                          });
        if (!used) return;
      }
      all_.push_back(copies_);
      return;
    }
    for (int p = -1; p < count_; ++p) {
      const GraphEdge& from = graph_.edges[edge];
      if (p >= 0 && (!OnLinks(from) || copies_.passes[N(p)].node != from.source)) continue;
      copies_.provider[edge] = p;
      Provide(edge + 1);
    }
    copies_.provider[edge] = -1;
  }

  const ComputationGraph& graph_;
  const Config& config_;
  const int count_;
  Copies copies_;
  std::vector<Copies> all_;
};

}  // namespace

std::optional<int> LeastLatencyByTrial(const ComputationGraph& graph, const Config& config,
                                       int initiation_interval, int passes) {
  std::optional<int> least;
  const CopyChoices choices(graph, config, passes);
  for (const Copies& copies : choices.all()) {
    const std::optional<int> latency = Trial(graph, config, copies, initiation_interval).Run();
    if (latency && (!least || *latency < *least)) least = latency;
  }
  return least;
}

}  // namespace kiln::cgra
