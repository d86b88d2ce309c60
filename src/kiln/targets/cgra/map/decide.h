// Deciders answer whether a mapping problem has a solution at one initiation interval within a
// latency. Two of them, a search of Kiln's own and a SAT solver's, serve the mappers that prove
// their results (proof.h).
#ifndef KILN_TARGETS_CGRA_MAP_DECIDE_H_
#define KILN_TARGETS_CGRA_MAP_DECIDE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "kiln/targets/cgra/map/problem.h"

namespace kiln::cgra {

// Counts the steps of a whole search, and ends it. A limit of steps gives the same result on every
// machine; a limit of seconds does not.
class StepBudget {
 public:
  // No more than `steps` steps (0: any number) and `seconds` seconds (0: any time).
  explicit StepBudget(int64_t steps = 0, double seconds = 0);
  // Counts steps; returns whether the search may go on.
  bool Spend(int64_t steps = 1);
  // Looks at the clock, which Spend does only now and then; for steps that take long.
  bool Look();
  bool spent() const { return spent_; }
  int64_t steps() const { return steps_; }
  // Returns the steps that are left, at most `most`.
  int64_t Left(int64_t most) const;
  double Seconds() const;      // since the start
  double SecondsLeft() const;  // infinity without a limit
  double SecondsOver() const;  // how long the limit is over; 0 without a limit

 private:
  std::chrono::steady_clock::time_point begin_;
  int64_t most_steps_;
  double most_seconds_;
  int64_t steps_ = 0;
  int64_t checked_ = 0;
  bool spent_ = false;
};

// kFound: a solution was found; kNone: it is proved that there is none; kUnknown: neither.
enum class Answer { kFound, kNone, kUnknown };

// Latency without a limit.
inline constexpr int kAnyLatency = -1;

class Decider {
 public:
  virtual ~Decider() = default;
  // Looks for places of all instructions at the interval with at most this latency, both in cycles,
  // in at most `steps` steps of the budget. Writes the places, by instruction, if the answer is
  // kFound. kNone is a proof; kUnknown says that the steps or the budget ended first.
  virtual Answer Decide(int initiation_interval, int most_latency, int64_t steps,
                        StepBudget* budget, std::vector<Place>* places) = 0;
};

// Makes a decider of a problem, which must outlive it.
using MakeDecider = std::function<std::unique_ptr<Decider>(const Problem& problem, uint64_t seed)>;

// Returns, by instruction, the last issue cycle that matters: no later one is within the latency,
// and if a solution exists, there is one without later cycles.
std::vector<int> LastIssues(const Problem& problem, int initiation_interval, int most_latency);

// Tiles that deciders handle.
inline constexpr int kMostSearchTiles = 64;
// Returns a machine of at most kMostSearchTiles tiles, the rectangle in the corner of a larger one,
// and the tile of the whole that a tile of it is. The other tiles stay empty.
Config PartOf(const Config& whole);
int TileOfWhole(const Config& whole, const Config& part, int tile);
// Makes a decider for a machine of any size from a decider for at most kMostSearchTiles tiles. The
// other tiles stay empty, since a mapping on some of the tiles is one on all of them. On a larger
// machine the decider never answers kNone, because a refutation on fewer tiles proves nothing.
std::unique_ptr<Decider> OnFewerTiles(const Problem& problem, uint64_t seed,
                                      const MakeDecider& make);

// Returns the problem of some of the instructions, given in ascending order, with all rules between
// them. It is a relaxation: if it has no solution, the whole problem has none. `sibling_producer`
// is -1 for producers that are left out.
Problem Restrict(const Problem& problem, const std::vector<int>& instructions);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_MAP_DECIDE_H_
