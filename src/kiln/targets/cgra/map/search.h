// What the heuristic mappers share: the walk over initiation intervals and choices of fused
// instructions, the budget of a search, and its best mapping so far.
#ifndef KILN_TARGETS_CGRA_MAP_SEARCH_H_
#define KILN_TARGETS_CGRA_MAP_SEARCH_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/map/decide.h"
#include "kiln/targets/cgra/map/mapper.h"
#include "kiln/targets/cgra/map/problem.h"

namespace kiln::cgra {

// The best mapping of a search, and how much of the budget is left.
class SearchState {
 public:
  SearchState(const ComputationGraph& graph, const MapOptions& options);

  // Counts a step. Returns whether the search may go on.
  bool Step();
  // Counts `steps` steps, or fewer if the limits leave fewer, and returns the number counted; 0:
  // the search must end.
  int64_t Take(int64_t steps);
  // Returns whether no step is left, or the goal of EndAt is reached.
  bool Over() const;
  // Returns the steps that were counted.
  int64_t steps() const { return steps_; }
  // Returns the seconds that are left; infinity without a limit.
  double SecondsLeft() const;
  // Returns how much is left of all that the search may take, from 0 to 1.
  double ShareLeft() const;
  // Returns a budget of at most `steps` steps and this share of the time within what is left;
  // Over() must be false. What it spends is to be counted by Take.
  StepBudget BudgetOf(int64_t steps, double share_of_time) const;
  // Restricts the search to this share of what is left, until it is called again.
  void LimitTo(double share);
  // Ends the search when a mapping of this interval has no more than this latency, in cycles: there
  // is no better one.
  void EndAt(int initiation_interval, int latency) {
    goal_interval_ = initiation_interval;
    goal_latency_ = latency;
  }
  // Hands in a complete placement of a problem at an interval, which is kept if it has the least
  // interval, or the same and less latency.
  void Offer(const Problem& problem, int initiation_interval, std::span<const Place> places);
  // Returns whether a mapping of this interval is known.
  bool HasInterval(int initiation_interval) const {
    return result_.mapping && result_.mapping->initiation_interval == initiation_interval;
  }
  // Returns the latency of the best mapping in cycles.
  int latency() const { return result_.latency; }
  // Returns what was found, with the steps and the time taken.
  MapResult Finish();

 private:
  double Seconds() const;

  const ComputationGraph& graph_;
  const MapOptions& options_;
  MapResult result_;
  std::chrono::steady_clock::time_point begin_;
  int64_t steps_ = 0;
  int64_t most_steps_ = 0;   // 0: no limit
  double most_seconds_ = 0;  // 0: no limit
  int64_t limit_steps_ = 0;  // of the present part; 0: no limit
  double limit_seconds_ = 0;
  int goal_interval_ = 0, goal_latency_ = 0;  // 0: none
};

// Searches for mappings of problems of one graph at intervals from `low` to `high`, in cycles,
// until the state has no step left. In the first problem, instructions are fused wherever that is
// possible, in the second, if there is one, nowhere; further ones are in between, the most
// promising first.
using IntervalWalk =
    std::function<void(std::span<const Problem> problems, int low, int high, SearchState* state)>;

// Builds at most `most_problems` problems of a graph, at least 2, that differ in what is fused,
// runs `walk` between the bound of the interval and the machine's longest one, or at the interval
// that the options ask for, and returns what it found with bounds that hold with any pass-throughs.
// Where none of them has a mapping without additional pass-throughs, it walks through problems that
// have those that lift this (LiftedVariant). Errors: the errors of BuildProblem and CheckInterval.
StatusOr<MapResult> MapByWalk(const ComputationGraph& graph, const Config& config,
                              const MapOptions& options, int most_problems,
                              const IntervalWalk& walk);

// Returns an error for an asked interval that the machine cannot have: one that is not from 1 to
// MostInterval cycles, or no multiple of Config::tile_period. 0 is none.
Status CheckInterval(const Config& config, int interval);

// Returns the least bound of the latency over problems that have mappings at this interval.
Bound LatencyBoundOver(std::span<const Problem> problems, int initiation_interval,
                       Passes passes = Passes::kOfProblem);

// Searches for mappings of one problem at one interval: calls `state->Step()` before each attempt
// and ends when that returns false, or when it can do no more. `seed` differs from call to call.
using IntervalSearch = std::function<void(const Problem& problem, int initiation_interval,
                                          uint64_t seed, SearchState* state)>;

// Runs `search` from the least interval upwards, or at the interval that the options ask for, until
// one has a mapping, which the rest of the budget improves. Instructions are fused wherever that is
// possible in one half of the attempts, and nowhere in the other. Where `search` finds no mapping
// before a quarter of the budget is left, branch and bound looks for the first one: it leaves no
// mapping out, and at long intervals it finds one in few steps.
StatusOr<MapResult> MapByIntervals(const ComputationGraph& graph, const Config& config,
                                   const MapOptions& options, const IntervalSearch& search);

// Returns pairs of Fusions(graph, config) in which no node is twice, the first that fit.
std::vector<Fusion> MostFusions(const ComputationGraph& graph, const Config& config);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_MAP_SEARCH_H_
