// Random search, list scheduling, simulated annealing and evolutionary search. Except for the
// first, they vary the wishes of instructions (tiles and priorities), which ListSchedule decodes
// into a placement; so every candidate obeys the rules, and only its completeness and latency are
// judged.

#include "kiln/targets/cgra/map/heuristics.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "kiln/support/random.h"
#include "kiln/support/stable_sort.h"
#include "kiln/targets/cgra/map/list_schedule.h"
#include "kiln/targets/cgra/map/placement.h"
#include "kiln/targets/cgra/map/search.h"

namespace kiln::cgra {
namespace {

class HeuristicMapper final : public Mapper {
 public:
  explicit HeuristicMapper(IntervalSearch search) : search_(std::move(search)) {}
  StatusOr<MapResult> Map(const ComputationGraph& graph, const Config& config,
                          const MapOptions& options) const override {
    return MapByIntervals(graph, config, options, search_);
  }

 private:
  const IntervalSearch search_;
};

// Places the instructions in topological order. An instruction without a free cell ends the
// attempt, because no placement that is complete can follow.
void SearchAtRandom(const Problem& problem, int interval, uint64_t seed, SearchState* state) {
  Random random(seed);
  const auto tiles = static_cast<uint64_t>(problem.tiles());
  while (state->Step()) {
    Placement placement(problem, interval);
    for (int i = 0; i < problem.size(); ++i) {
      // Tiles in a random order, each from a random slot on, until one has a free cell.
      const auto first = static_cast<int>(random.Below(tiles));
      const auto turn = static_cast<int>(random.Below(static_cast<uint64_t>(interval)));
      std::vector<int> order(tiles);
      for (size_t t = 0; t < order.size(); ++t) order[t] = static_cast<int>(t);
      std::swap(order[0], order[static_cast<size_t>(first)]);
      for (size_t t = order.size(); t-- > 2;) {
        std::swap(order[t], order[1 + random.Below(t)]);
      }
      for (const int tile : order) {
        std::optional<int> issue = placement.EarliestIssue(i, tile);
        if (!issue) continue;
        if (turn > 0) {
          const std::optional<int> later = placement.FirstIssue(i, tile, *issue + turn);
          if (later) issue = later;
        }
        placement.Put(i, {tile, *issue});
        break;
      }
      if (!placement.placed(i)) break;
    }
    if (placement.complete()) state->Offer(problem, interval, placement.places());
  }
}

// How bad a placement is; less is better. A missing instruction costs as much as 100 cycles of
// latency, and a cycle as much as 50 units of Affinity::Cost.
struct Score {
  double value = 0;
  bool complete = false;
  int latency = 0;
};

// Places by wishes and hands in what is complete.
Score Evaluate(const Wishes& wishes, const Affinity& affinity, const Problem& problem, int interval,
               SearchState* state, std::vector<int>* failed = nullptr) {
  Placement placement(problem, interval);
  const std::vector<int> without = ListSchedule(wishes, affinity, &placement);
  if (failed != nullptr) *failed = without;
  Score score{.value = 0, .complete = placement.complete(), .latency = placement.Latency()};
  double wires = 0;
  for (int i = 0; i < problem.size(); ++i) {
    const int tile = placement.places()[static_cast<size_t>(i)].tile;
    if (tile >= 0) wires += affinity.Cost(placement, i, tile);
  }
  score.value = 100.0 * (problem.size() - placement.count()) + score.latency + 0.02 * wires;
  if (score.complete) state->Offer(problem, interval, placement.places());
  return score;
}

Wishes NoWishes(const Problem& problem) {
  return {.priority = PathPriorities(problem),
          .tile = std::vector<int>(static_cast<size_t>(problem.size()), -1)};
}

// Changes the wishes of one instruction or of two.
void Mutate(const Problem& problem, Random* random, Wishes* wishes) {
  const auto count = static_cast<uint64_t>(problem.size());
  if (count == 0) return;
  const size_t i = random->Below(count), other = random->Below(count);
  switch (random->Below(5)) {
    case 0:
      wishes->tile[i] = static_cast<int>(random->Below(static_cast<uint64_t>(problem.tiles())));
      break;
    case 1: {
      const int by = static_cast<int>(random->Between(-2, 2));
      const int from = wishes->tile[i] < 0 ? problem.tiles() / 2 : wishes->tile[i];
      wishes->tile[i] = std::clamp(from + by, 0, problem.tiles() - 1);
      break;
    }
    case 2:
      std::swap(wishes->tile[i], wishes->tile[other]);
      break;
    case 3:
      std::swap(wishes->priority[i], wishes->priority[other]);
      break;
    default:
      wishes->tile[i] = -1;
      wishes->priority[i] += random->Uniform(-6, 6);
      break;
  }
}

// One deterministic list schedule, repeated with higher priorities for what failed. Every eighth
// failure also mutates the wishes four times.
void SearchGreedily(const Problem& problem, int interval, uint64_t seed, SearchState* state) {
  constexpr int kAttempts = 200;
  Random random(seed);
  const Affinity affinity(problem);
  Wishes wishes = NoWishes(problem);
  for (int attempt = 0; attempt < kAttempts && state->Step(); ++attempt) {
    std::vector<int> failed;
    const Score score = Evaluate(wishes, affinity, problem, interval, state, &failed);
    if (score.complete) return;
    for (const int i : failed) {
      wishes.priority[static_cast<size_t>(i)] += 4;
      // Producers of what found no place come earlier, too, so that they come close together.
      for (const Dependence& d : problem.dependences) {
        if (d.to == i && d.distance == 0) wishes.priority[static_cast<size_t>(d.from)] += 3;
      }
    }
    if (attempt % 8 == 7) {
      for (int change = 0; change < 4; ++change) Mutate(problem, &random, &wishes);
    }
  }
}

// Simulated annealing with a geometric schedule: the temperature falls from kHot to kCold, in the
// units of Score, within kRound steps, and the next round begins again from no wishes. A worse
// candidate is accepted with the probability exp(-increase / temperature).
void SearchByAnnealing(const Problem& problem, int interval, uint64_t seed, SearchState* state) {
  constexpr int kRound = 1500;  // steps from hot to cold
  constexpr double kHot = 30, kCold = 0.3;
  Random random(seed);
  const Affinity affinity(problem);
  for (bool go_on = true; go_on;) {
    Wishes wishes = NoWishes(problem);
    double value = 0;
    for (int step = 0; step < kRound; ++step) {
      go_on = state->Step();
      if (!go_on) break;
      const double heat = kHot * std::pow(kCold / kHot, static_cast<double>(step) / kRound);
      Wishes next = wishes;
      if (step > 0) {
        const uint64_t changes = 1 + random.Below(3);
        for (uint64_t change = 0; change < changes; ++change) Mutate(problem, &random, &next);
      }
      const double now = Evaluate(next, affinity, problem, interval, state).value;
      if (step > 0 && now > value && random.Uniform() >= std::exp((value - now) / heat)) continue;
      wishes = std::move(next);
      value = now;
    }
  }
}

// An evolution strategy of kParents parents that compete with their kChildren children. Half of the
// children take each instruction's wishes from either parent; all children are mutated.
void SearchByEvolution(const Problem& problem, int interval, uint64_t seed, SearchState* state) {
  constexpr size_t kParents = 16, kChildren = 48;
  struct Individual {
    Wishes wishes;
    double value = 0;
  };
  Random random(seed);
  const Affinity affinity(problem);
  std::vector<Individual> parents;
  const auto add = [&](std::vector<Individual>* to, Wishes wishes) {
    if (!state->Step()) return false;
    const double value = Evaluate(wishes, affinity, problem, interval, state).value;
    to->push_back({std::move(wishes), value});
    return true;
  };
  for (size_t p = 0; p < kParents; ++p) {
    Wishes wishes = NoWishes(problem);
    for (size_t change = 0; change < 2 * p; ++change) Mutate(problem, &random, &wishes);
    if (!add(&parents, std::move(wishes))) return;
  }
  while (true) {
    std::vector<Individual> all = parents;
    for (size_t c = 0; c < kChildren; ++c) {
      const Wishes& mother = parents[random.Below(kParents)].wishes;
      const Wishes& father = parents[random.Below(kParents)].wishes;
      Wishes child = mother;
      if (random.Below(2) == 0) {
        for (size_t i = 0; i < child.tile.size(); ++i) {
          if (random.Below(2) == 0) continue;
          child.tile[i] = father.tile[i];
          child.priority[i] = father.priority[i];
        }
      }
      const uint64_t changes = 1 + random.Below(3);
      for (uint64_t change = 0; change < changes; ++change) Mutate(problem, &random, &child);
      if (!add(&all, std::move(child))) return;
    }
    StableSort(&all, [](const Individual& a, const Individual& b) { return a.value < b.value; });
    // Equal values would fill the population with copies of one individual.
    parents.clear();
    for (Individual& individual : all) {
      const bool known = std::ranges::any_of(parents, [&](const Individual& kept) {
        return kept.value == individual.value && kept.wishes.tile == individual.wishes.tile;
      });
      if (!known && parents.size() < kParents) parents.push_back(std::move(individual));
    }
    while (parents.size() < kParents) {
      Wishes wishes = NoWishes(problem);
      for (int change = 0; change < 10; ++change) Mutate(problem, &random, &wishes);
      if (!add(&parents, std::move(wishes))) return;
    }
  }
}

}  // namespace

std::unique_ptr<Mapper> MakeRandomMapper() {
  return std::make_unique<HeuristicMapper>(&SearchAtRandom);
}
std::unique_ptr<Mapper> MakeGreedyMapper() {
  return std::make_unique<HeuristicMapper>(&SearchGreedily);
}
std::unique_ptr<Mapper> MakeAnnealingMapper() {
  return std::make_unique<HeuristicMapper>(&SearchByAnnealing);
}
std::unique_ptr<Mapper> MakeEvolutionaryMapper() {
  return std::make_unique<HeuristicMapper>(&SearchByEvolution);
}

}  // namespace kiln::cgra
