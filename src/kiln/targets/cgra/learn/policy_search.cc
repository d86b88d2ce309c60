// Episodes, search and repairs with a policy.

#include "kiln/targets/cgra/learn/policy_search.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "kiln/support/stable_sort.h"
#include "kiln/targets/cgra/learn/ppo_mapper.h"

namespace kiln::cgra {
namespace {

// From the second episode on, choices are drawn. While no mapping is known, what the policy holds
// for likely may be what leads to an end without a cell, so that some episodes hardly heed it.
constexpr double kTemperatures[] = {0.5, 1, 2, 8}, kKnownTemperatures[] = {0.5, 1, 1.5};

size_t At(int i) { return static_cast<size_t>(i); }

int LatencyOfPlaces(const Problem& problem, std::span<const Place> places) {
  int latency = 0;
  for (const Place& place : places) {
    latency = std::max(latency, place.issue + problem.config.pipeline_latency);
  }
  return latency;
}

}  // namespace

// Moves instructions one at a time to the earliest cycle that the others allow, until none moves.
// The sum of issue cycles falls with every move, so the loop ends.
void Compact(const Problem& problem, int initiation_interval, std::vector<Place>* places) {
  if (!problem.config.issue_later) return;
  Placement placement(problem, initiation_interval);
  for (int i = 0; i < problem.size(); ++i) placement.Put(i, (*places)[At(i)]);
  std::vector<int> order(places->size());
  std::iota(order.begin(), order.end(), 0);
  StableSort(&order, [&](int a, int b) { return (*places)[At(a)].issue < (*places)[At(b)].issue; });
  for (bool earlier = true; earlier;) {
    earlier = false;
    for (const int i : order) {
      const Place before = placement.places()[At(i)];
      placement.Remove(i);
      const std::optional<int> issue = placement.EarliestIssue(i, before.tile);
      const bool gains = issue && *issue < before.issue;
      placement.Put(i, {before.tile, gains ? *issue : before.issue});
      earlier = earlier || gains;
    }
  }
  *places = placement.places();
}

PolicySearch::PolicySearch(const Policy& policy, const Problem& problem, uint64_t seed)
    : policy_(&policy),
      whole_(&problem),
      problem_(&problem),
      random_(seed),
      neighbours_(At(problem.size())) {
  for (const Dependence& d : problem.dependences) {
    if (d.from == d.to) continue;
    neighbours_[At(d.from)].push_back(d.to);
    neighbours_[At(d.to)].push_back(d.from);
  }
  if (problem.tiles() > kMostSearchTiles) {
    part_ = problem;
    part_.config = PartOf(problem.config);
    problem_ = &part_;
  }
  least_interval_ = LeastInterval(*problem_).value;
  impossible_ = !WhyImpossible(*problem_).empty();
  if (impossible_) return;
  search_ = std::make_unique<BranchSearch>(
      *problem_, MixBits(seed),
      [this](const Problem& of, int interval) { return OrderOf(*policy_, of, interval); });
  search_->DrawFromOrder();
}

bool PolicySearch::Possible(int interval, int latency) const {
  if (impossible_ || interval < least_interval_) return false;
  const auto refuted = refuted_.find(interval);
  return refuted == refuted_.end() || refuted->second < latency - 1;
}

PolicySearch::Episodes& PolicySearch::EpisodesAt(int interval) {
  Episodes& episodes = episodes_[interval];
  if (episodes.environment) return episodes;
  episodes.environment = std::make_unique<Environment>(
      *problem_, interval, EnvironmentOptions{.order = DepthFirstOrder(*problem_)});
  episodes.observer =
      std::make_unique<Observer>(*problem_, interval, episodes.environment->order());
  episodes.encoding = policy_->Encode(episodes.observer->graph());
  return episodes;
}

// Hands a mapping in, and makes it the base of repairs unless this problem has a better one.
void PolicySearch::Keep(int interval, std::vector<Place> places, SearchState* state) {
  Compact(*problem_, interval, &places);
  std::vector<Place> offered = places;
  for (Place& place : offered) {
    place.tile = TileOfWhole(whole_->config, problem_->config, place.tile);
  }
  state->Offer(*whole_, interval, offered);
  const int latency = LatencyOfPlaces(*problem_, places);
  if (Has(interval) && latency > best_latency_) return;
  best_interval_ = interval;
  best_latency_ = latency;
  best_ = std::move(places);
}

void PolicySearch::Play(int interval, SearchState* state) {
  if (!state->Step()) return;
  Episodes& episodes = EpisodesAt(interval);
  Environment& environment = *episodes.environment;
  environment.Reset();
  const size_t episode = episodes.count++;
  const bool known = state->HasInterval(interval);
  while (environment.instruction() >= 0) {
    if (known && environment.LatencyBound() >= state->latency()) return;
    if (state->SecondsLeft() <= 0) return;  // an episode of a large graph takes seconds
    const StepFeatures step = episodes.observer->Observe(environment);
    const Judgement judgement = policy_->Judge(episodes.observer->graph(), episodes.encoding, step);
    const double temperature = known ? kKnownTemperatures[episode % 3] : kTemperatures[episode % 4];
    const int choice = episode == 0 ? LikeliestOf(judgement.logits)
                                    : DrawnFrom(judgement.logits, temperature, &random_);
    environment.Step(step.choices[At(choice)]);
  }
  if (!environment.complete()) return;
  const std::span<const Place> places = environment.places();
  Keep(interval, {places.begin(), places.end()}, state);
}

void PolicySearch::Search(int interval, int64_t steps, SearchState* state) {
  const bool known = state->HasInterval(interval);
  const int latency = known ? state->latency() - 1 : kAnyLatency;
  if (!Possible(interval, known ? state->latency() : kNoLatency)) return;
  const int64_t nodes = state->Take(steps) * NodesOfStep();
  if (nodes == 0) return;
  const double seconds = state->SecondsLeft();
  StepBudget budget(nodes, seconds == std::numeric_limits<double>::infinity() ? 0 : seconds);
  std::vector<Place> places;
  const Answer answer = search_->Decide(interval, latency, nodes, &budget, &places);
  if (answer == Answer::kNone) refuted_[interval] = latency == kAnyLatency ? kNoLatency : latency;
  if (answer == Answer::kFound) Keep(interval, std::move(places), state);
}

// Returns instructions from which tight dependences lead to the last result.
std::vector<int> PolicySearch::Critical(int interval) const {
  std::vector<int> critical;
  std::vector<bool> seen(best_.size(), false);
  const int latency = problem_->config.pipeline_latency;
  for (size_t i = 0; i < best_.size(); ++i) {
    if (best_[i].issue + latency < best_latency_) continue;
    critical.push_back(static_cast<int>(i));
    seen[i] = true;
  }
  for (size_t k = 0; k < critical.size(); ++k) {
    for (const Dependence& d : problem_->dependences) {
      if (d.to != critical[k] || seen[At(d.from)]) continue;
      const Place from = best_[At(d.from)], to = best_[At(d.to)];
      int arrival = from.issue + latency - d.distance * interval;
      if (d.moves) arrival += std::max(0, HopCycles(problem_->config, from.tile, to.tile));
      // An operand that waits for less than an interval may be what set the cycle, as its slots
      // may be taken.
      if (to.issue - arrival >= interval) continue;
      seen[At(d.from)] = true;
      critical.push_back(d.from);
    }
  }
  return critical;
}

// Marks instructions in `out`, beginning with a seed drawn from `seeds` and going to neighbours
// drawn at random, until `size` are marked or none is left.
void PolicySearch::GrowAlongDependences(size_t size, std::vector<int> seeds,
                                        std::vector<bool>* out) {
  size_t taken = 0;
  while (taken < size && !seeds.empty()) {
    const size_t pick = random_.Below(seeds.size());
    const int i = seeds[pick];
    seeds[pick] = seeds.back();
    seeds.pop_back();
    if ((*out)[At(i)]) continue;
    (*out)[At(i)] = true;
    ++taken;
    for (const int other : neighbours_[At(i)]) {
      if (!(*out)[At(other)]) seeds.push_back(other);
    }
  }
}

// Returns which instructions to take out: about `size`, and the whole group of each.
std::vector<bool> PolicySearch::Neighbourhood(size_t size) {
  const auto count = best_.size();
  std::vector<bool> out(count, false);
  switch (random_.Below(4)) {
    case 0:  // connected ones
      GrowAlongDependences(size, {static_cast<int>(random_.Below(count))}, &out);
      break;
    case 1: {  // some on the critical path, with what is around them
      const std::vector<int> critical = Critical(best_interval_);
      GrowAlongDependences(size, {critical[random_.Below(critical.size())]}, &out);
      break;
    }
    case 2: {  // the last ones, or others that issue about the same time
      std::vector<int> order(count);
      std::iota(order.begin(), order.end(), 0);
      StableSort(&order, [&](int a, int b) { return best_[At(a)].issue > best_[At(b)].issue; });
      const size_t most = count > size ? count - size : 0;
      const size_t first = random_.Below(2) == 0 ? 0 : random_.Below(most + 1);
      for (size_t k = first; k < std::min(count, first + size); ++k) out[At(order[k])] = true;
      break;
    }
    default: {  // all on neighbouring tiles
      std::vector<int> order(count);
      std::iota(order.begin(), order.end(), 0);
      const int centre = best_[random_.Below(count)].tile;
      const auto far = [&](int i) {
        const int columns = problem_->config.columns, tile = best_[At(i)].tile;
        return std::abs(tile / columns - centre / columns) +
               std::abs(tile % columns - centre % columns);
      };
      StableSort(&order, [&](int a, int b) { return far(a) < far(b); });
      for (size_t k = 0; k < std::min(count, size); ++k) out[At(order[k])] = true;
      break;
    }
  }
  for (const std::vector<int>& group : problem_->groups) {
    const bool any = std::ranges::any_of(group, [&](int i) { return out[At(i)]; });
    for (const int i : group) out[At(i)] = any;
  }
  return out;
}

// A large-neighbourhood search: fixes the tiles of all instructions but a part and lets the branch
// and bound place the part again within a better latency, or within the same one in a quarter of
// the calls. The size of the part adapts to how the last attempts ended.
void PolicySearch::Repair(int interval, SearchState* state) {
  if (!search_ || !Has(interval)) {
    Play(interval, state);
    return;
  }
  const auto count = static_cast<double>(best_.size());
  const std::vector<bool> out = Neighbourhood(1 + random_.Below(At(static_cast<int>(size_)) + 2));
  if (std::ranges::find(out, false) == out.end()) {
    if (Possible(interval, state->latency())) Search(interval, 1, state);
    return;
  }
  if (state->Take(1) == 0) return;
  std::vector<int> tiles;
  for (size_t i = 0; i < best_.size(); ++i) tiles.push_back(out[i] ? -1 : best_[i].tile);
  // Moves that gain nothing lead away from where no single part can be improved.
  const int latency = best_latency_ - (random_.Below(4) == 0 ? 0 : 1);
  const double seconds = state->SecondsLeft();
  StepBudget budget(NodesOfStep(),
                    seconds == std::numeric_limits<double>::infinity() ? 0 : seconds);
  std::vector<Place> places;
  const Answer answer =
      search_->Complete(interval, latency, tiles, NodesOfStep(), &budget, &places);
  if (answer == Answer::kFound) Keep(interval, std::move(places), state);
  // Parts that are refuted should be larger, and parts that take too long smaller.
  if (answer == Answer::kNone) size_ = std::min(size_ + 0.25, count);
  if (answer == Answer::kUnknown) size_ = std::max(size_ - 0.5, 4.0);
}

}  // namespace kiln::cgra
