// The exact mapper: branch and bound, and for what that leaves open, a SAT solver beside it.

#include "kiln/targets/cgra/map/exact.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "kiln/targets/cgra/map/branch.h"
#include "kiln/targets/cgra/map/heuristics.h"
#include "kiln/targets/cgra/map/proof.h"
#include "kiln/targets/cgra/map/sat.h"

namespace kiln::cgra {
namespace {

// Asks the branch and bound, which decides most questions in few steps, and with greater effort the
// SAT solver, too, which learns from its conflicts.
class Race : public Decider {
 public:
  Race(const Problem& problem, uint64_t seed, const MakeSearchOrder& make_order,
       int64_t least_effort)
      : problem_(problem),
        least_effort_(least_effort),
        branch_(MakeBranchSearchInOrder(make_order)(problem, seed)) {}

  Answer Decide(int initiation_interval, int most_latency, int64_t steps, StepBudget* budget,
                std::vector<Place>* places) override {
    const bool both = steps >= least_effort_ && FormulaFits(initiation_interval);
    Answer answer = branch_->Decide(initiation_interval, most_latency,
                                    both ? steps / kShareOfBranch : steps, budget, places);
    if (answer != Answer::kUnknown || !both || budget->spent()) return answer;
    if (!sat_) sat_ = MakeSatDecider(problem_, 1);
    answer =
        sat_->Decide(initiation_interval, most_latency, steps / kStepsOfConflict, budget, places);
    // Formulas of many problems would fill the memory.
    if (answer != Answer::kUnknown) sat_.reset();
    return answer;
  }

 private:
  static constexpr int64_t kShareOfBranch = 2;
  // A conflict takes about as long as this many steps of the branch and bound.
  static constexpr int64_t kStepsOfConflict = 8;
  static constexpr int64_t kMostLiterals = 500'000;

  bool FormulaFits(int initiation_interval) const {
    const int64_t tiles = problem_.tiles();
    return problem_.size() * tiles * std::max<int64_t>(tiles, initiation_interval) <= kMostLiterals;
  }

  const Problem& problem_;
  const int64_t least_effort_;
  std::unique_ptr<Decider> branch_, sat_;
};

class ExactMapper : public Mapper {
 public:
  explicit ExactMapper(MakeSearchOrder make_order) : make_order_(std::move(make_order)) {}

  StatusOr<MapResult> Map(const ComputationGraph& graph, const Config& config,
                          const MapOptions& options) const override {
    return MapWithProof(graph, config, options,
                        {.make = MakeRace(make_order_, kSolverEffort), .start = MakeGreedyMapper});
  }

 private:
  MakeSearchOrder make_order_;
};

}  // namespace

MakeDecider MakeRace(MakeSearchOrder make_order, int64_t least_effort) {
  return [make_order = std::move(make_order), least_effort](const Problem& problem, uint64_t seed) {
    return std::make_unique<Race>(problem, seed, make_order, least_effort);
  };
}

std::unique_ptr<Mapper> MakeExactMapper() { return std::make_unique<ExactMapper>(nullptr); }

std::unique_ptr<Mapper> MakeExactMapperInOrder(MakeSearchOrder make_order) {
  return std::make_unique<ExactMapper>(std::move(make_order));
}

}  // namespace kiln::cgra
