// The rules of the mapping problem, checked for one instruction beside those that are placed.

#include "kiln/targets/cgra/map/placement.h"

#include <algorithm>
#include <utility>

namespace kiln::cgra {
namespace {

// No schedule of a graph of the budget's size is longer.
constexpr int kMostIssue = 1 << 24;

}  // namespace

Placement::Placement(const Problem& problem, int initiation_interval)
    : problem_(&problem),
      interval_(initiation_interval),
      period_(SlotsOf(problem.config, initiation_interval)),
      check_links_(problem.config.relaxed_distance && !problem.config.shared_links) {
  const auto count = static_cast<size_t>(problem.size());
  const auto tiles = static_cast<size_t>(problem.tiles());
  into_.resize(count);
  from_.resize(count);
  siblings_.resize(count);
  starts_.assign(count, false);
  for (size_t d = 0; d < problem.dependences.size(); ++d) {
    from_[static_cast<size_t>(problem.dependences[d].from)].push_back(static_cast<int>(d));
    into_[static_cast<size_t>(problem.dependences[d].to)].push_back(static_cast<int>(d));
  }
  for (const auto& [a, b] : problem.siblings) {
    siblings_[static_cast<size_t>(a)].push_back(b);
    siblings_[static_cast<size_t>(b)].push_back(a);
  }
  for (const int start : problem.starts) starts_[static_cast<size_t>(start)] = true;
  hops_.resize(tiles * tiles);
  for (size_t a = 0; a < tiles; ++a) {
    for (size_t b = 0; b < tiles; ++b) {
      const bool own = a == b && !problem.config.feedback;
      hops_[a * tiles + b] =
          own ? -1 : HopCycles(problem.config, static_cast<int>(a), static_cast<int>(b));
    }
  }
  places_.assign(count, {});
  cells_.assign(tiles * static_cast<size_t>(period_), -1);
  on_tile_.assign(tiles, 0);
  if (check_links_) links_.assign(tiles * tiles * static_cast<size_t>(interval_), {});
}

// Rules 1 to 3 and the depth of the instruction RAM, which do not depend on the issue cycle.
bool Placement::TileAllowed(int instruction, int tile) const {
  if (on_tile_[static_cast<size_t>(tile)] >= problem_->config.instruction_depth) return false;
  const auto on_tile = [&](int other) { return places_[static_cast<size_t>(other)].tile == tile; };
  const auto i = static_cast<size_t>(instruction);
  if (problem_->group[i] >= 0) {
    for (const int member : problem_->groups[static_cast<size_t>(problem_->group[i])]) {
      if (placed(member) && !on_tile(member)) return false;
    }
  }
  if (std::ranges::any_of(siblings_[i], on_tile)) return false;
  return !starts_[i] || std::ranges::none_of(problem_->starts, on_tile);
}

// Returns the issue cycles that dependences on placed instructions leave on a tile, or nothing.
// Each placed producer bounds them from below and each placed consumer from above; a wait limit
// also bounds them from the other side.
std::optional<Placement::Window> Placement::WindowOf(int instruction, int tile) const {
  const Config& config = problem_->config;
  const auto tiles = static_cast<size_t>(problem_->tiles());
  const auto i = static_cast<size_t>(instruction);
  Window window{0, kMostIssue};
  if (problem_->source[i] && !config.later_periods) window.high = interval_ - 1;
  int latest = -1;  // arrival of operands of the same thread
  for (const int d : into_[i]) {
    const Dependence& dependence = problem_->dependences[static_cast<size_t>(d)];
    const bool own = dependence.from == instruction;
    if (!own && !placed(dependence.from)) continue;
    const Place from = own ? Place{tile, 0} : places_[static_cast<size_t>(dependence.from)];
    int hops = 0;
    if (dependence.moves) {
      hops = hops_[static_cast<size_t>(from.tile) * tiles + static_cast<size_t>(tile)];
      if (hops < 0) return std::nullopt;
    }
    // What a dependence on itself asks for does not depend on the issue.
    const int arrival =
        from.issue + config.pipeline_latency + hops - dependence.distance * interval_;
    if (own) {
      if (arrival > 0) return std::nullopt;
      if (config.wait_limit >= 0 && -arrival > config.wait_limit) return std::nullopt;
      continue;
    }
    window.low = std::max(window.low, arrival);
    if (dependence.distance == 0) latest = std::max(latest, arrival);
    if (dependence.moves && config.wait_limit >= 0) {
      window.high = std::min(window.high, arrival + config.wait_limit);
    }
  }
  if (!config.issue_later && latest >= 0) window.high = std::min(window.high, window.low);
  for (const int d : from_[i]) {
    const Dependence& dependence = problem_->dependences[static_cast<size_t>(d)];
    if (dependence.to == instruction || !placed(dependence.to)) continue;
    const Place to = places_[static_cast<size_t>(dependence.to)];
    int hops = 0;
    if (dependence.moves) {
      hops = hops_[static_cast<size_t>(tile) * tiles + static_cast<size_t>(to.tile)];
      if (hops < 0) return std::nullopt;
    }
    const int last = to.issue + dependence.distance * interval_ - config.pipeline_latency - hops;
    window.high = std::min(window.high, last);
    if (dependence.moves && config.wait_limit >= 0) {
      window.low = std::max(window.low, last - config.wait_limit);
    }
  }
  if (window.low > window.high) return std::nullopt;
  return window;
}

// Returns the (link, slot) numbers that a value uses on its way between two tiles if its producer
// issues at `issue`. The slot is the cycle in which the value enters the link, modulo the period.
std::vector<size_t> Placement::RouteCells(int from_tile, int to_tile, int issue) const {
  const Config& config = problem_->config;
  const auto tiles = static_cast<size_t>(problem_->tiles());
  std::vector<size_t> cells;
  for (const LinkUse& use : RouteOf(config, from_tile, to_tile)) {
    const int cycle = issue + config.pipeline_latency + use.delay;
    const size_t link = static_cast<size_t>(use.from) * tiles + static_cast<size_t>(use.to);
    cells.push_back(link * static_cast<size_t>(period_) + static_cast<size_t>(cycle % period_));
  }
  return cells;
}

// Calls `use(cell, producer)` for each link and slot that values from and to an instruction at a
// place use on their ways from and to placed instructions.
template <typename Use>
void Placement::ForLinks(int instruction, Place place, const Use& use) const {
  const auto at = [&](int i) { return i == instruction ? place : places_[static_cast<size_t>(i)]; };
  const auto visit = [&](int d) {
    const Dependence& dependence = problem_->dependences[static_cast<size_t>(d)];
    const Place from = at(dependence.from), to = at(dependence.to);
    if (!dependence.moves || from.tile < 0 || to.tile < 0) return;
    for (const size_t cell : RouteCells(from.tile, to.tile, from.issue)) use(cell, dependence.from);
  };
  for (const int d : from_[static_cast<size_t>(instruction)]) visit(d);
  for (const int d : into_[static_cast<size_t>(instruction)]) {
    // A dependence on itself was visited.
    if (problem_->dependences[static_cast<size_t>(d)].from != instruction) visit(d);
  }
}

bool Placement::LinksFree(int instruction, Place place) const {
  // One value may go to several consumers over a link.
  std::vector<std::pair<size_t, int>> own;
  bool free = true;
  ForLinks(instruction, place, [&](size_t cell, int producer) {
    free = free && (links_[cell].count == 0 || links_[cell].producer == producer);
    free = free && std::ranges::none_of(own, [&](const std::pair<size_t, int>& other) {
             return other.first == cell && other.second != producer;
           });
    own.emplace_back(cell, producer);
  });
  return free;
}

bool Placement::OutputsAgree(int instruction, int tile) const {
  // The offset at which each producer that this instruction touches sends its result.
  const auto agrees = [&](int producer) {
    const int from = producer == instruction ? tile : places_[static_cast<size_t>(producer)].tile;
    if (from < 0) return true;
    std::optional<int> target;
    for (const int d : from_[static_cast<size_t>(producer)]) {
      const Dependence& dependence = problem_->dependences[static_cast<size_t>(d)];
      const int to =
          dependence.to == instruction ? tile : places_[static_cast<size_t>(dependence.to)].tile;
      if (!dependence.moves || to < 0 || to == from) continue;
      if (target && *target != to) return false;
      target = to;
    }
    return true;
  };
  if (!agrees(instruction)) return false;
  return std::ranges::all_of(into_[static_cast<size_t>(instruction)], [&](int d) {
    return agrees(problem_->dependences[static_cast<size_t>(d)].from);
  });
}

std::optional<int> Placement::FirstIssue(int instruction, int tile, int from) const {
  if (!TileAllowed(instruction, tile)) return std::nullopt;
  const std::optional<Window> window = WindowOf(instruction, tile);
  if (!window) return std::nullopt;
  if (problem_->config.one_output && !OutputsAgree(instruction, tile)) return std::nullopt;
  // After a period, the same slots come again; links may be free in another slot of the interval.
  const int low = std::max(window->low, from);
  const int high = std::min(window->high, low + interval_ - 1);
  for (int issue = low; issue <= high; ++issue) {
    if (cells_[CellOf(tile, issue)] >= 0) continue;
    if (check_links_ && !LinksFree(instruction, {tile, issue})) continue;
    return issue;
  }
  return std::nullopt;
}

void Placement::Put(int instruction, Place place) {
  places_[static_cast<size_t>(instruction)] = place;
  cells_[CellOf(place.tile, place.issue)] = instruction;
  ++on_tile_[static_cast<size_t>(place.tile)];
  ++count_;
  if (!check_links_) return;
  ForLinks(instruction, place, [&](size_t cell, int producer) {
    links_[cell].producer = producer;
    ++links_[cell].count;
  });
}

// The reverse of Put. Links count their users, because several ways of one value may share a link.
void Placement::Remove(int instruction) {
  Place& place = places_[static_cast<size_t>(instruction)];
  if (check_links_) {
    ForLinks(instruction, place, [&](size_t cell, int /*producer*/) { --links_[cell].count; });
  }
  cells_[CellOf(place.tile, place.issue)] = -1;
  --on_tile_[static_cast<size_t>(place.tile)];
  place = {};
  --count_;
}

int Placement::Latency() const {
  int latency = 0;
  for (const Place& place : places_) {
    if (place.tile >= 0) {
      latency = std::max(latency, place.issue + problem_->config.pipeline_latency);
    }
  }
  return latency;
}

}  // namespace kiln::cgra
