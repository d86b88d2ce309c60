// Budgets of searches, and parts of problems.

#include "kiln/targets/cgra/map/decide.h"

#include <algorithm>
#include <limits>
#include <map>

#include "kiln/targets/cgra/graph/disjoint_sets.h"

namespace kiln::cgra {

StepBudget::StepBudget(int64_t steps, double seconds)
    : begin_(std::chrono::steady_clock::now()), most_steps_(steps), most_seconds_(seconds) {}

double StepBudget::Seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

double StepBudget::SecondsLeft() const {
  if (most_seconds_ <= 0) return std::numeric_limits<double>::infinity();
  return std::max(0.0, most_seconds_ - Seconds());
}

double StepBudget::SecondsOver() const {
  if (most_seconds_ <= 0) return 0;
  return std::max(0.0, Seconds() - most_seconds_);
}

int64_t StepBudget::Left(int64_t most) const {
  return most_steps_ > 0 ? std::min(most, most_steps_ - steps_) : most;
}

bool StepBudget::Look() {
  if (most_seconds_ > 0 && Seconds() >= most_seconds_) spent_ = true;
  return !spent_;
}

bool StepBudget::Spend(int64_t steps) {
  constexpr int64_t kStepsBetweenLooks = 64;
  steps_ += steps;
  if (most_steps_ > 0 && steps_ >= most_steps_) spent_ = true;
  if (most_seconds_ > 0 && steps_ - checked_ >= kStepsBetweenLooks) {
    checked_ = steps_;
    Look();
  }
  return !spent_;
}

namespace {

// Returns, by instruction, how many instructions dependences connect it with, itself included.
std::vector<int> ConnectedWith(const Problem& problem) {
  const auto count = problem.instructions.size();
  DisjointSets sets(count);
  for (const Dependence& d : problem.dependences) sets.Join(d.from, d.to);
  std::vector<int> members(count, 0), connected(count);
  const auto root = [&sets](size_t i) {
    return static_cast<size_t>(sets.RootOf(static_cast<int>(i)));
  };
  for (size_t i = 0; i < count; ++i) ++members[root(i)];
  for (size_t i = 0; i < count; ++i) connected[i] = members[root(i)];
  return connected;
}

// The bound where instructions issue at the arrival of their last operand, and what that is
// follows from more than tiles and slots: an earlier issue of one instruction could let another
// operand be the last, in another slot. Take a solution and sort the issue cycles of connected
// instructions. Let two neighbours be at least `gap` apart: no dependence leads back over it,
// because the value would not be there in time, and no operand from below it is the last one of an
// instruction above it, also if all of these issue an interval earlier, in the same slots. So there
// is a solution with smaller gaps only, which begins within the first interval.
std::vector<int64_t> LastIssuesByGaps(const Problem& problem, int interval) {
  const Config& config = problem.config;
  int64_t gap = int64_t{config.pipeline_latency} + MostHopCycles(config) + interval;
  for (const Dependence& d : problem.dependences) {
    gap = std::max(gap, int64_t{d.distance} * interval);
  }
  std::vector<int64_t> last;
  for (const int connected : ConnectedWith(problem)) {
    last.push_back(interval - 1 + (connected - 1) * gap);
  }
  return last;
}

// The bound where instructions may issue later than their operands arrive, or where tiles and slots
// say when they do. Take a solution, keep its tiles and slots, and let all issue cycles be as early
// as they can. Each cycle is then reached by a path from the start of the thread along which every
// step waits for its slot for less than an interval. A shortest such path visits an instruction
// once, so the sum of the longest steps of all instructions that can precede it, one step each, is
// a bound.
std::vector<int64_t> LastIssuesByPaths(const Problem& problem, int initiation_interval) {
  const Config& config = problem.config;
  const auto count = problem.instructions.size();
  const int most_hop = MostHopCycles(config);
  // What a path to each instruction can go through. Wait limits bind in both directions.
  std::vector<std::vector<bool>> before(count, std::vector<bool>(count, false));
  for (size_t i = 0; i < count; ++i) before[i][i] = true;
  for (bool changed = true; changed;) {
    changed = false;
    const auto join = [&](int from, int to) {
      for (size_t i = 0; i < count; ++i) {
        if (!before[static_cast<size_t>(from)][i] || before[static_cast<size_t>(to)][i]) continue;
        before[static_cast<size_t>(to)][i] = true;
        changed = true;
      }
    };
    for (const Dependence& d : problem.dependences) {
      join(d.from, d.to);
      if (config.wait_limit >= 0) join(d.to, d.from);
    }
  }
  // By instruction: the longest step of a path to it, from a producer, or from a consumer whose
  // value must not wait too long.
  const int step = config.pipeline_latency + most_hop + initiation_interval;
  std::vector<int64_t> steps(count, step);
  for (const Dependence& d : problem.dependences) {
    if (!d.moves || config.wait_limit < 0) continue;
    const int64_t back = int64_t{d.distance} * initiation_interval - config.pipeline_latency -
                         config.wait_limit + initiation_interval;
    int64_t& longest = steps[static_cast<size_t>(d.from)];
    longest = std::max(longest, back);
  }
  std::vector<int64_t> last(count);
  for (size_t i = 0; i < count; ++i) {
    last[i] = initiation_interval - step;  // nothing leads to the first
    for (size_t k = 0; k < count; ++k) last[i] += before[i][k] ? steps[k] : 0;
  }
  return last;
}

}  // namespace

std::vector<int> LastIssues(const Problem& problem, int initiation_interval, int most_latency) {
  const Config& config = problem.config;
  const bool loops = std::ranges::any_of(
      problem.dependences, [](const Dependence& d) { return d.distance > 0 && d.from != d.to; });
  const bool by_gaps = !config.issue_later && (config.later_periods || loops);
  const std::vector<int64_t> bounds = by_gaps ? LastIssuesByGaps(problem, initiation_interval)
                                              : LastIssuesByPaths(problem, initiation_interval);
  constexpr int64_t kMost = 1 << 28;  // no schedule is longer
  std::vector<int> last;
  for (size_t i = 0; i < bounds.size(); ++i) {
    last.push_back(static_cast<int>(std::min(bounds[i], kMost)));
    if (most_latency != kAnyLatency) {
      last[i] = std::min(last[i], most_latency - config.pipeline_latency);
    }
    if (problem.source[i] && !config.later_periods) {
      last[i] = std::min(last[i], initiation_interval - 1);
    }
  }
  return last;
}

Config PartOf(const Config& whole) {
  constexpr int kLeastColumns = 8;
  Config part = whole;
  part.columns = std::min(part.columns, kMostSearchTiles);
  while (part.columns > kLeastColumns && part.rows > kMostSearchTiles / part.columns) {
    part.columns /= 2;
  }
  part.rows = std::min(part.rows, kMostSearchTiles / part.columns);
  return part;
}

int TileOfWhole(const Config& whole, const Config& part, int tile) {
  return tile / part.columns * whole.columns + tile % part.columns;
}

namespace {

// Decides a problem on a part of a larger array. A refutation there says nothing of the whole array
// and is answered by kUnknown.
class PartOfMachine : public Decider {
 public:
  PartOfMachine(const Problem& problem, uint64_t seed, const MakeDecider& make)
      : part_(problem), whole_(problem.config) {
    part_.config = PartOf(whole_);
    decider_ = make(part_, seed);
  }

  Answer Decide(int initiation_interval, int most_latency, int64_t steps, StepBudget* budget,
                std::vector<Place>* places) override {
    const int latency = most_latency == kAnyLatency ? 1 << 28 : most_latency;
    const auto refuted = refuted_.find(initiation_interval);
    if (refuted != refuted_.end() && latency <= refuted->second) return Answer::kUnknown;
    const Answer answer =
        decider_->Decide(initiation_interval, most_latency, steps, budget, places);
    if (answer == Answer::kNone) refuted_[initiation_interval] = latency;
    if (answer != Answer::kFound) return Answer::kUnknown;
    for (Place& place : *places) {
      place.tile = TileOfWhole(whole_, part_.config, place.tile);
    }
    return answer;
  }

 private:
  Problem part_;
  const Config whole_;
  std::unique_ptr<Decider> decider_;
  std::map<int, int> refuted_;  // by interval: the greatest latency without a solution in the part
};

}  // namespace

std::unique_ptr<Decider> OnFewerTiles(const Problem& problem, uint64_t seed,
                                      const MakeDecider& make) {
  if (problem.tiles() <= kMostSearchTiles) return make(problem, seed);
  return std::make_unique<PartOfMachine>(problem, seed, make);
}

Problem Restrict(const Problem& problem, const std::vector<int>& instructions) {
  Problem part;
  part.config = problem.config;
  // Without some of its operands, an instruction need not issue at the arrival of another.
  if (std::ssize(instructions) < problem.size()) part.config.issue_later = true;
  std::vector<int> number(problem.instructions.size(), -1);
  for (const int i : instructions) {
    number[static_cast<size_t>(i)] = part.size();
    part.instructions.push_back(problem.instructions[static_cast<size_t>(i)]);
    // Nothing becomes a source by losing its producers: that would add a rule.
    part.source.push_back(problem.source[static_cast<size_t>(i)]);
  }
  const auto of = [&](int i) { return number[static_cast<size_t>(i)]; };
  for (const Dependence& d : problem.dependences) {
    if (of(d.from) < 0 || of(d.to) < 0) continue;
    part.dependences.push_back({of(d.from), of(d.to), d.distance, d.moves});
  }
  part.group.assign(part.instructions.size(), -1);
  for (size_t g = 0; g < problem.groups.size(); ++g) {
    std::vector<int> members;
    for (const int i : problem.groups[g]) {
      if (of(i) >= 0) members.push_back(of(i));
    }
    if (members.size() < 2) continue;
    for (const int i : members) {
      part.group[static_cast<size_t>(i)] = static_cast<int>(part.groups.size());
    }
    part.groups.push_back(members);
    part.group_names.push_back(problem.group_names[g]);
  }
  for (const int i : problem.starts) {
    if (of(i) >= 0) part.starts.push_back(of(i));
  }
  for (size_t s = 0; s < problem.siblings.size(); ++s) {
    const auto [a, b] = problem.siblings[s];
    if (of(a) < 0 || of(b) < 0) continue;
    part.siblings.emplace_back(of(a), of(b));
    part.sibling_producer.push_back(of(problem.sibling_producer[s]));
  }
  return part;
}

}  // namespace kiln::cgra
