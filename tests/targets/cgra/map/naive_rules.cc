#include "tests/targets/cgra/map/naive_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "kiln/support/check.h"
#include "kiln/support/random.h"

namespace kiln::cgra {
namespace {

int DistanceOf(const Config& config, int a, int b) {
  return std::abs(a / config.columns - b / config.columns) +
         std::abs(a % config.columns - b % config.columns);
}

bool Linked(const Config& config, int a, int b) {
  if (a == b) return config.feedback;
  if (config.relaxed_distance) return true;
  const bool straight =
      a / config.columns == b / config.columns || a % config.columns == b % config.columns;
  return straight && DistanceOf(config, a, b) <= config.reach;
}

std::string FaultOfDependence(const Problem& problem, int interval, const Dependence& d, Place from,
                              Place to) {
  const Config& config = problem.config;
  int least = from.issue + config.pipeline_latency;
  if (d.moves) {
    if (!Linked(config, from.tile, to.tile)) return fmt::format("{} -> {}: no link", d.from, d.to);
    least += DistanceOf(config, from.tile, to.tile) * config.hop_cycles;
  }
  const int wait = to.issue + d.distance * interval - least;
  if (wait < 0) return fmt::format("{} -> {}: {} cycles early", d.from, d.to, -wait);
  if (d.moves && config.wait_limit >= 0 && wait > config.wait_limit) {
    return fmt::format("{} -> {}: waits {}", d.from, d.to, wait);
  }
  return "";
}

std::string FaultOfTiles(const Problem& problem, std::span<const Place> places) {
  const auto tile = [&](int i) { return places[static_cast<size_t>(i)].tile; };
  const auto both = [&](int a, int b) { return a != b && tile(a) >= 0 && tile(b) >= 0; };
  for (const std::vector<int>& group : problem.groups) {
    for (const int a : group) {
      for (const int b : group) {
        if (both(a, b) && tile(a) != tile(b)) return fmt::format("group {} {}", a, b);
      }
    }
  }
  for (const int a : problem.starts) {
    for (const int b : problem.starts) {
      if (both(a, b) && tile(a) == tile(b)) return fmt::format("starts {} {}", a, b);
    }
  }
  for (const auto& [a, b] : problem.siblings) {
    if (both(a, b) && tile(a) == tile(b)) return fmt::format("siblings {} {}", a, b);
  }
  return "";
}

// Values on links, one hop after the other as a value with relaxed distance travels: first along
// the row, each time as far as a link reaches.
std::string FaultOfLinks(const Problem& problem, int period, std::span<const Place> places) {
  const Config& config = problem.config;
  if (!config.relaxed_distance || config.shared_links) return "";
  std::map<std::tuple<int, int, int>, int> users;
  for (const Dependence& d : problem.dependences) {
    const Place from = places[static_cast<size_t>(d.from)], to = places[static_cast<size_t>(d.to)];
    if (!d.moves || from.tile < 0 || to.tile < 0) continue;
    int row = from.tile / config.columns, column = from.tile % config.columns;
    int cycle = from.issue + config.pipeline_latency;
    while (row * config.columns + column != to.tile) {
      const int at = row * config.columns + column;
      int moved = 0;
      while (moved < config.reach && column != to.tile % config.columns) {
        column += column < to.tile % config.columns ? 1 : -1;
        ++moved;
      }
      while (moved < config.reach && at % config.columns == to.tile % config.columns &&
             row != to.tile / config.columns) {
        row += row < to.tile / config.columns ? 1 : -1;
        ++moved;
      }
      const auto [user, added] =
          users.emplace(std::tuple(at, row * config.columns + column, cycle % period), d.from);
      if (!added && user->second != d.from) return fmt::format("{} -> {}: link", d.from, d.to);
      cycle += moved * config.hop_cycles;
    }
  }
  return "";
}

std::string FaultOfOutputs(const Problem& problem, std::span<const Place> places) {
  if (!problem.config.one_output) return "";
  for (const Dependence& a : problem.dependences) {
    for (const Dependence& b : problem.dependences) {
      if (a.from != b.from || !a.moves || !b.moves) continue;
      const int from = places[static_cast<size_t>(a.from)].tile;
      const int first = places[static_cast<size_t>(a.to)].tile;
      const int second = places[static_cast<size_t>(b.to)].tile;
      if (from < 0 || first < 0 || second < 0 || first == from || second == from) continue;
      if (first != second) return fmt::format("{}: two outputs", a.from);
    }
  }
  return "";
}

}  // namespace

std::string NaiveFault(const Problem& problem, int interval, std::span<const Place> places) {
  const Config& config = problem.config;
  const int period = config.tile_period > 0 ? config.tile_period : interval;
  for (int v = 0; v < problem.size(); ++v) {
    const Place at = places[static_cast<size_t>(v)];
    if (at.tile < 0) continue;
    if (at.tile >= config.tiles() || at.issue < 0) return fmt::format("{}: no such cell", v);
    const auto beside = std::ranges::count(places, at.tile, &Place::tile);
    if (beside > config.instruction_depth) return fmt::format("{} on tile {}", beside, at.tile);
    for (int u = 0; u < v; ++u) {
      const Place other = places[static_cast<size_t>(u)];
      if (other.tile == at.tile && other.issue % period == at.issue % period) {
        return fmt::format("{} and {} share a cell", u, v);
      }
    }
    bool has_operand = false;
    int latest = 0;  // arrival
    for (const Dependence& d : problem.dependences) {
      if (d.to != v) continue;
      has_operand = has_operand || d.distance == 0;
      const Place from = places[static_cast<size_t>(d.from)];
      if (from.tile < 0) continue;
      const std::string fault = FaultOfDependence(problem, interval, d, from, at);
      if (!fault.empty()) return fault;
      const int hops = d.moves ? DistanceOf(config, from.tile, at.tile) * config.hop_cycles : 0;
      latest =
          std::max(latest, from.issue + config.pipeline_latency + hops - d.distance * interval);
    }
    if (!has_operand && !config.later_periods && at.issue >= interval) {
      return fmt::format("{}: not in the first period", v);
    }
    if (has_operand && !config.issue_later && at.issue > latest) {
      return fmt::format("{}: issues later", v);
    }
  }
  std::string fault = FaultOfTiles(problem, places);
  if (fault.empty()) fault = FaultOfLinks(problem, period, places);
  return fault.empty() ? FaultOfOutputs(problem, places) : fault;
}

ComputationGraph RandomTestGraph(uint64_t seed, const RandomShape& shape) {
  Random random(seed);
  ComputationGraph graph;
  graph.name = graph.source = fmt::format("random-{}", seed);
  const auto add = [&graph](Op op) {
    graph.nodes.push_back({.name = fmt::format("n{}", graph.nodes.size()),
                           .op = op,
                           .label = "",
                           .literal = std::nullopt});
    return static_cast<int>(graph.nodes.size()) - 1;
  };
  std::vector<int> variables;
  for (int i = 0; i < shape.variables; ++i) {
    variables.push_back(add(Op::kVariable));
    graph.nodes.back().literal = i;
  }
  const auto count = static_cast<int>(random.Between(shape.least_nodes, shape.most_nodes));
  const bool split = random.Uniform() < shape.two_flows;
  std::vector<int> flows[2];
  for (int i = 0; i < count; ++i) {
    std::vector<int>& flow = flows[split ? random.Below(2) : 0];
    const Op ops[] = {Op::kAdd, Op::kSub, Op::kMul, Op::kMin};
    const int node = add(ops[random.Below(4)]);
    std::set<int> used;
    for (int operand = 0; operand < 2; ++operand) {
      if (flow.empty() || random.Uniform() < 0.25) {
        if (!variables.empty() && random.Uniform() < 0.5) {
          const int variable = variables[random.Below(variables.size())];
          graph.edges.push_back({.source = variable, .target = node, .operand = operand});
        }
        continue;
      }
      const int from = flow[random.Below(flow.size())];
      if (!used.insert(from).second) continue;
      graph.edges.push_back({.source = from, .target = node, .operand = operand});
    }
    flow.push_back(node);
  }
  if (random.Uniform() < shape.loop_share) {
    const auto first = static_cast<int>(random.Below(static_cast<uint64_t>(count)));
    const auto last = static_cast<int>(random.Between(first, count - 1));
    bool taken = false;
    const int base = shape.variables;
    for (const GraphEdge& edge : graph.edges) {
      taken = taken || (edge.target == base + first && edge.operand == 1);
    }
    if (!taken) {
      graph.edges.push_back({.source = base + last,
                             .target = base + first,
                             .operand = 1,
                             .distance = static_cast<int>(random.Between(1, 3))});
    }
  }
  KILN_CHECK(VerifyAndSort(&graph).ok());
  return graph;
}

Config RandomTestConfig(uint64_t seed, int most_tiles) {
  Random random(seed);
  const auto flip = [&random](double share) { return random.Uniform() < share; };
  Config config;
  config.columns = static_cast<int>(random.Between(2, most_tiles));
  config.rows = 1;
  if (most_tiles >= 4 && flip(0.3)) {
    config.rows = 2;
    config.columns = static_cast<int>(random.Between(2, most_tiles / 2));
  }
  config.reach = static_cast<int>(random.Between(1, 2));
  config.hop_cycles = static_cast<int>(random.Between(1, 2));
  config.pipeline_latency = static_cast<int>(random.Between(1, 3));
  config.relaxed_distance = flip(0.3);
  config.feedback = flip(0.8);
  config.wait_limit = flip(0.3) ? static_cast<int>(random.Between(0, 3)) : -1;
  config.issue_later = flip(0.7);
  config.every_source_starts = flip(0.2);
  config.one_output = flip(0.2);
  config.shared_links = flip(0.3);
  config.later_periods = flip(0.2);
  config.cut_loops = flip(0.2);
  config.copies = flip(0.3);
  return config;
}

}  // namespace kiln::cgra
