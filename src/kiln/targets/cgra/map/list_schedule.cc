// List scheduling under the rules of the mapping problem.

#include "kiln/targets/cgra/map/list_schedule.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <tuple>

namespace kiln::cgra {

std::vector<double> PathPriorities(const Problem& problem) {
  std::vector<double> path(static_cast<size_t>(problem.size()), problem.config.pipeline_latency);
  // Instructions are in topological order, so that consumers come last.
  std::vector<std::vector<int>> consumers(path.size());
  for (const Dependence& d : problem.dependences) {
    if (d.distance == 0) consumers[static_cast<size_t>(d.from)].push_back(d.to);
  }
  for (size_t i = path.size(); i-- > 0;) {
    for (const int to : consumers[i]) {
      path[i] = std::max(path[i], problem.config.pipeline_latency + path[static_cast<size_t>(to)]);
    }
  }
  return path;
}

Affinity::Affinity(const Problem& problem)
    : neighbours_(static_cast<size_t>(problem.size())), columns_(problem.config.columns) {
  const int reach = problem.config.reach;
  const auto add = [&](int a, int b, double weight, int near) {
    if (a == b) return;
    neighbours_[static_cast<size_t>(a)].push_back({b, weight, near});
    neighbours_[static_cast<size_t>(b)].push_back({a, weight, near});
  };
  std::vector<std::vector<int>> producers(static_cast<size_t>(problem.size()));
  for (const Dependence& d : problem.dependences) {
    if (!d.moves) continue;
    add(d.from, d.to, 1, 0);
    producers[static_cast<size_t>(d.to)].push_back(d.from);
  }
  for (const std::vector<int>& meeting : producers) {
    for (size_t a = 0; a < meeting.size(); ++a) {
      for (size_t b = a + 1; b < meeting.size(); ++b) add(meeting[a], meeting[b], 1, reach);
    }
  }
}

double Affinity::Cost(const Placement& placement, int instruction, int tile) const {
  double cost = 0;
  for (const Neighbour& neighbour : neighbours_[static_cast<size_t>(instruction)]) {
    const int other = placement.places()[static_cast<size_t>(neighbour.instruction)].tile;
    if (other < 0) continue;
    const int far =
        std::abs(other % columns_ - tile % columns_) + std::abs(other / columns_ - tile / columns_);
    cost += neighbour.weight * std::max(0, far - neighbour.near);
  }
  return cost;
}

namespace {

// Returns where an instruction goes, or nothing if it fits nowhere. The cost of a tile is its
// earliest issue in cycles, plus half its Affinity::Cost, plus the distance of tile numbers from
// the wished tile; the first tile of the least cost wins.
std::optional<Place> BestPlace(const Wishes& wishes, const Affinity& affinity,
                               const Placement& placement, int instruction) {
  const int wish = wishes.tile[static_cast<size_t>(instruction)];
  if (wish >= 0) {
    if (const std::optional<int> issue = placement.EarliestIssue(instruction, wish)) {
      return Place{wish, *issue};
    }
  }
  std::optional<Place> best;
  std::tuple<double, double> least;
  for (int tile = 0; tile < placement.problem().tiles(); ++tile) {
    const std::optional<int> issue = placement.EarliestIssue(instruction, tile);
    if (!issue) continue;
    const double far = affinity.Cost(placement, instruction, tile);
    const double off = wish < 0 ? 0 : std::abs(wish - tile);
    const std::tuple cost(*issue + 0.5 * far + off, far);
    if (best && cost >= least) continue;
    best = Place{tile, *issue};
    least = cost;
  }
  return best;
}

}  // namespace

std::vector<int> ListSchedule(const Wishes& wishes, const Affinity& affinity,
                              Placement* placement) {
  const Problem& problem = placement->problem();
  const auto count = static_cast<size_t>(problem.size());
  std::vector<int> waits(count, 0), failed;
  std::vector<std::vector<int>> consumers(count);
  for (const Dependence& d : problem.dependences) {
    if (d.distance > 0) continue;
    ++waits[static_cast<size_t>(d.to)];
    consumers[static_cast<size_t>(d.from)].push_back(d.to);
  }
  const auto later = [&](int a, int b) {
    return std::tuple(wishes.priority[static_cast<size_t>(a)], -a) <
           std::tuple(wishes.priority[static_cast<size_t>(b)], -b);
  };
  std::vector<int> ready;  // a heap
  for (size_t i = 0; i < count; ++i) {
    if (waits[i] == 0) ready.push_back(static_cast<int>(i));
  }
  std::ranges::make_heap(ready, later);
  while (!ready.empty()) {
    std::ranges::pop_heap(ready, later);
    const int i = ready.back();
    ready.pop_back();
    const std::optional<Place> best = BestPlace(wishes, affinity, *placement, i);
    if (!best) {
      failed.push_back(i);
      continue;
    }
    placement->Put(i, *best);
    for (const int to : consumers[static_cast<size_t>(i)]) {
      if (--waits[static_cast<size_t>(to)] > 0) continue;
      ready.push_back(to);
      std::ranges::push_heap(ready, later);
    }
  }
  return failed;
}

}  // namespace kiln::cgra
