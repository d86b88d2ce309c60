// The rules of mappings, one function each.

#include "kiln/targets/cgra/check/check.h"

#include <algorithm>
#include <climits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "fmt/format.h"
#include "kiln/support/excerpt.h"
#include "kiln/targets/cgra/check/parts.h"

namespace kiln::cgra {
namespace {

using check::Wait;
using check::Way;
using check::WayOf;

// Applies the rules to the units and waits that FindUnits found. Units without a usable place are
// skipped by every rule after the ones that report the place.
class RuleChecker {
 public:
  RuleChecker(const ComputationGraph& graph, const Config& config, const Mapping& mapping)
      : graph_(graph),
        config_(config),
        mapping_(mapping),
        array_(config),
        interval_(mapping.initiation_interval),
        period_(config.tile_period > 0 ? config.tile_period : interval_) {}

  Verdict Check() {
    if (CheckInterval()) {
      parts_ = FindUnits(graph_, config_, mapping_, &findings_);
      CheckCells();
      for (const Wait& wait : parts_.waits) CheckWait(wait);
      CheckIssues();
      CheckGroups();
      CheckStarts();
      CheckConsumers();
      if (config_.relaxed_distance && !config_.shared_links) CheckLinks();
      Replay(graph_, config_, interval_, parts_, &findings_);
    }
    Verdict verdict{findings_.Take(), 0};
    for (const check::Unit& unit : parts_.units) {
      if (!unit.usable) continue;
      verdict.latency = std::max(
          verdict.latency,
          static_cast<int>(std::min<int64_t>(unit.issue + config_.pipeline_latency, INT_MAX)));
    }
    return verdict;
  }

 private:
  const check::Unit& UnitAt(int unit) const { return parts_.units[static_cast<size_t>(unit)]; }
  const std::string& Name(int unit) const { return UnitAt(unit).name; }
  std::vector<std::string> NodesOf(std::initializer_list<int> units) const {
    std::vector<std::string> names;
    for (const int unit : units) {
      for (std::string& name : NamesOf(graph_, UnitAt(unit))) names.push_back(std::move(name));
    }
    return names;
  }
  std::vector<std::string> NodesOf(const std::vector<int>& units) const {
    std::vector<std::string> names;
    for (const int unit : units) {
      for (std::string& name : NamesOf(graph_, UnitAt(unit))) names.push_back(std::move(name));
    }
    return names;
  }
  // Returns the names of units for a sentence: "'a', 'b', 'c'".
  std::string Joined(const std::vector<int>& units) const {
    std::vector<std::string> names;
    for (const int unit : units) names.push_back(Name(unit));
    return ListExcerpt(names, ", ");
  }
  bool Usable(const Wait& wait) const { return UnitAt(wait.from).usable && UnitAt(wait.to).usable; }

  // Returns whether the mapping can be read at all.
  bool CheckInterval() {
    const auto fail = [&](const std::string& sentence) {
      findings_.Add(Rule::kInterval, {}, sentence);
      return false;
    };
    if (mapping_.places.size() != graph_.nodes.size() ||
        mapping_.fused_into.size() != graph_.nodes.size() ||
        mapping_.provider.size() != graph_.edges.size()) {
      return fail(
          fmt::format("the mapping is one of {} nodes and {} edges, the graph has {} and {}",
                      mapping_.places.size(), mapping_.provider.size(), graph_.nodes.size(),
                      graph_.edges.size()));
    }
    if (interval_ < 1) return fail(fmt::format("the initiation interval is {}", interval_));
    if (interval_ % period_ != 0) {
      return fail(fmt::format("the tiles' period of {} cycles does not divide the interval of {}",
                              period_, interval_));
    }
    if (period_ > config_.spoke_depth) {
      fail(fmt::format("{} slots do not fit the spoke RAM's {} entries", period_,
                       config_.spoke_depth));
    }
    return true;
  }

  void CheckCells() {
    std::map<std::pair<int64_t, int64_t>, std::vector<int>> cells;  // by tile and slot
    std::map<int64_t, std::vector<int>> tiles;
    for (int u = 0; u < std::ssize(parts_.units); ++u) {
      const check::Unit& unit = UnitAt(u);
      if (!unit.usable) continue;
      cells[{unit.tile, unit.issue % period_}].push_back(u);
      tiles[unit.tile].push_back(u);
    }
    for (const auto& [cell, units] : cells) {
      if (units.size() < 2) continue;
      findings_.Add(Rule::kCell, NodesOf(units),
                    fmt::format("{} all issue on tile {} in slot {}", Joined(units), cell.first,
                                cell.second));
    }
    for (const auto& [tile, units] : tiles) {
      if (std::ssize(units) <= config_.instruction_depth) continue;
      findings_.Add(Rule::kDepth, NodesOf(units),
                    fmt::format("tile {} has {} instructions, its instruction RAM {} entries: {}",
                                tile, units.size(), config_.instruction_depth, Joined(units)));
    }
  }

  // Returns when what `wait` waits for is there, in cycles of the consumer's thread.
  int64_t ThereAt(const Wait& wait) const {
    const check::Unit &from = UnitAt(wait.from), &to = UnitAt(wait.to);
    const int64_t hops = wait.moves ? array_.Cycles(from.tile, to.tile) : 0;
    return from.issue + config_.pipeline_latency + hops - wait.distance * interval_;
  }

  void CheckWait(const Wait& wait) {
    if (!Usable(wait)) return;
    const check::Unit &from = UnitAt(wait.from), &to = UnitAt(wait.to);
    std::string earlier;
    if (wait.distance == 1) earlier = " of the thread before";
    if (wait.distance > 1) earlier = fmt::format(" of {} threads before", wait.distance);
    const auto add = [&](Rule rule, const std::string& sentence) {
      findings_.Add(rule, NodesOf({wait.from, wait.to}), sentence);
    };
    if (wait.moves && !array_.Reaches(from.tile, to.tile)) {
      add(Rule::kReach, fmt::format("no link leads from tile {} of {} to tile {} of {}", from.tile,
                                    from.name, to.tile, to.name));
      return;
    }
    if (wait.moves && !config_.feedback && from.tile == to.tile) {
      add(Rule::kFeedback,
          fmt::format("{} and its producer {} are both on tile {}", to.name, from.name, to.tile));
    }
    const int64_t there = ThereAt(wait);
    if (to.issue < there) {
      add(wait.moves ? Rule::kArrival : Rule::kOrder,
          fmt::format("{} issues in cycle {}, but {} of {}{} is there in cycle {}", to.name,
                      to.issue, wait.moves ? "the value" : "the end", from.name, earlier, there));
    }
    if (wait.moves && config_.wait_limit >= 0 && to.issue - there > config_.wait_limit) {
      add(Rule::kWait,
          fmt::format("the value of {}{} waits {} cycles for {}, the limit is {}", from.name,
                      earlier, to.issue - there, to.name, config_.wait_limit));
    }
  }

  // Checks when units issue that wait for nothing, and that none waits longer than it has to.
  void CheckIssues() {
    std::vector<bool> waits(parts_.units.size(), false);  // for something of its own thread
    std::vector<int64_t> last(parts_.units.size(), INT64_MIN);
    std::vector<bool> known(parts_.units.size(), true);
    for (const Wait& wait : parts_.waits) {
      const auto to = static_cast<size_t>(wait.to);
      if (wait.distance == 0) waits[to] = true;
      if (!Usable(wait)) {
        known[to] = false;
        continue;
      }
      // Its own earlier result arrives with it and does not say when it issues.
      if (wait.from != wait.to) last[to] = std::max(last[to], ThereAt(wait));
    }
    for (int u = 0; u < std::ssize(parts_.units); ++u) {
      const check::Unit& unit = UnitAt(u);
      if (!unit.usable) continue;
      const auto at = static_cast<size_t>(u);
      if (!waits[at] && !config_.later_periods && unit.issue >= interval_) {
        findings_.Add(Rule::kPeriod, NodesOf({u}),
                      fmt::format("{} waits for nothing, but issues in cycle {}, after the first "
                                  "period of {} cycles",
                                  unit.name, unit.issue, interval_));
      }
      if (waits[at] && known[at] && !config_.issue_later && unit.issue > last[at]) {
        findings_.Add(Rule::kLate, NodesOf({u}),
                      fmt::format("{} issues in cycle {}, but all that it waits for is there in "
                                  "cycle {}",
                                  unit.name, unit.issue, last[at]));
      }
    }
  }

  void CheckGroups() {
    if (config_.copies) return;
    std::map<int, std::set<int>> readers;  // by variable
    for (const GraphEdge& edge : graph_.edges) {
      const int unit = parts_.of_node[static_cast<size_t>(edge.target)];
      if (graph_.nodes[static_cast<size_t>(edge.source)].op == Op::kVariable && unit >= 0 &&
          UnitAt(unit).usable) {
        readers[edge.source].insert(unit);
      }
    }
    for (const auto& [variable, units] : readers) {
      std::set<int64_t> tiles;
      for (const int unit : units) tiles.insert(UnitAt(unit).tile);
      if (tiles.size() < 2) continue;
      const std::vector<int> list(units.begin(), units.end());
      findings_.Add(Rule::kGroup, NodesOf(list),
                    fmt::format("{} read the variable {}, but are on the tiles {}", Joined(list),
                                QuotedExcerpt(graph_.nodes[static_cast<size_t>(variable)].name),
                                ListExcerpt(tiles, ", ")));
    }
  }

  // Returns the nodes that start flows. A flow is what links and orders connect; its first node
  // that no link or order of its own thread enters starts it, or with every_source_starts each of
  // them does.
  std::vector<int> Starts() const {
    const size_t count = graph_.nodes.size();
    std::vector<std::vector<int>> beside(count);
    std::vector<bool> entered(count, false);
    for (const GraphEdge& edge : graph_.edges) {
      const Way way = WayOf(graph_, config_, edge);
      if (way != Way::kLinks && way != Way::kOrder) continue;
      beside[static_cast<size_t>(edge.source)].push_back(edge.target);
      beside[static_cast<size_t>(edge.target)].push_back(edge.source);
      if (edge.distance == 0) entered[static_cast<size_t>(edge.target)] = true;
    }
    std::vector<int> flow(count, -1), starts;
    std::set<int> started;
    for (int n = 0; n < static_cast<int>(count); ++n) {
      if (!graph_.TakesSlot(n)) continue;
      std::vector<int> reached;
      if (flow[static_cast<size_t>(n)] < 0) reached.push_back(n);
      while (!reached.empty()) {
        const auto at = static_cast<size_t>(reached.back());
        reached.pop_back();
        if (flow[at] >= 0) continue;
        flow[at] = n;
        for (const int next : beside[at]) reached.push_back(next);
      }
      if (entered[static_cast<size_t>(n)]) continue;
      const bool first = started.insert(flow[static_cast<size_t>(n)]).second;
      if (first || config_.every_source_starts) starts.push_back(n);
    }
    return starts;
  }

  void CheckStarts() {
    std::map<int64_t, std::set<int>> tiles;  // units by tile
    for (const int node : Starts()) {
      const int unit = parts_.of_node[static_cast<size_t>(node)];
      if (unit >= 0 && UnitAt(unit).usable) tiles[UnitAt(unit).tile].insert(unit);
    }
    for (const auto& [tile, units] : tiles) {
      if (units.size() < 2) continue;
      const std::vector<int> list(units.begin(), units.end());
      findings_.Add(Rule::kStarts, NodesOf(list),
                    fmt::format("{} start flows on tile {}", Joined(list), tile));
    }
  }

  // Checks rule 3, and that a result leaves by one link.
  void CheckConsumers() {
    std::map<int, std::set<int>> consumers;  // by the unit whose result they use
    for (const Wait& wait : parts_.waits) {
      if (wait.moves && Usable(wait)) consumers[wait.from].insert(wait.to);
    }
    for (const auto& [from, all] : consumers) {
      std::map<int64_t, std::vector<int>> tiles;
      std::vector<int> outside;
      for (const int unit : all) {
        tiles[UnitAt(unit).tile].push_back(unit);
        if (UnitAt(unit).tile != UnitAt(from).tile) outside.push_back(unit);
      }
      for (const auto& [tile, units] : tiles) {
        if (units.size() < 2) continue;
        findings_.Add(Rule::kSiblings, NodesOf(units),
                      fmt::format("{} all use {} on tile {}", Joined(units), Name(from), tile));
      }
      const bool one_tile = tiles.size() - (tiles.contains(UnitAt(from).tile) ? 1 : 0) <= 1;
      if (config_.one_output && !one_tile) {
        findings_.Add(Rule::kFanOut, NodesOf({from}),
                      fmt::format("the result of {} on tile {} goes to {} on several other tiles",
                                  Name(from), UnitAt(from).tile, Joined(outside)));
      }
    }
  }

  void CheckLinks() {
    // By tile, offset and slot: the units whose values a link carries.
    std::map<std::tuple<int64_t, int64_t, int64_t>, std::set<int>> links;
    for (const Wait& wait : parts_.waits) {
      if (!wait.moves || !Usable(wait)) continue;
      const check::Unit& from = UnitAt(wait.from);
      for (const check::Hop& hop : array_.Route(from.tile, UnitAt(wait.to).tile)) {
        const int64_t cycle = from.issue + config_.pipeline_latency + hop.departs;
        links[{hop.tile, hop.offset, cycle % period_}].insert(wait.from);
      }
    }
    for (const auto& [link, units] : links) {
      if (units.size() < 2) continue;
      const auto& [tile, offset, slot] = link;
      const std::vector<int> list(units.begin(), units.end());
      findings_.Add(Rule::kLink, NodesOf(list),
                    fmt::format("the values of {} leave tile {} for tile {} in slot {}",
                                Joined(list), tile, tile + offset, slot));
    }
  }

  const ComputationGraph& graph_;
  const Config& config_;
  const Mapping& mapping_;
  const check::Array array_;
  const int64_t interval_, period_;
  check::Units parts_;
  check::Findings findings_;
};

constexpr std::string_view kRuleNames[] = {
    "interval", "placed", "tile",     "issue",   "fusion", "reads", "pass-through", "cell",
    "depth",    "reach",  "feedback", "arrival", "order",  "wait",  "late",         "period",
    "rule 1",   "rule 2", "rule 3",   "fan-out", "link",   "replay"};

}  // namespace

std::string_view RuleName(Rule rule) { return kRuleNames[static_cast<size_t>(rule)]; }

Verdict CheckMapping(const ComputationGraph& graph, const Config& config, const Mapping& mapping) {
  return RuleChecker(graph, config, mapping).Check();
}

std::string PrintVerdict(const Verdict& verdict) {
  std::string text;
  for (const Broken& broken : verdict.broken) {
    text += fmt::format("{}: {}\n", RuleName(broken.rule), broken.sentence);
  }
  return text;
}

}  // namespace kiln::cgra
