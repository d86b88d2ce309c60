// The exact mapper: branch and bound, and for what that leaves open, a SAT solver beside it.

#include "kiln/targets/cgra/map/exact.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "kiln/targets/cgra/map/branch.h"
#include "kiln/targets/cgra/map/heuristics.h"
#include "kiln/targets/cgra/map/proof.h"
#include "kiln/targets/cgra/map/sat.h"

namespace kiln::cgra {
namespace {

// The solvers of the questions that were asked last, by the race that asked. Formulas of many
// problems would fill the memory; those of few keep what the solver has learned.
class KeptSolvers {
 public:
  // Returns the race's solver, made if there is none.
  Decider* Of(const void* race, const Problem& problem) {
    const auto at = std::ranges::find(kept_, race, &Kept::race);
    if (at != kept_.end()) {
      std::rotate(at, at + 1, kept_.end());
    } else {
      if (kept_.size() == kMost) kept_.erase(kept_.begin());
      kept_.push_back({race, MakeSatDecider(problem, 1)});
    }
    return kept_.back().solver.get();
  }
  void Drop(const void* race) {
    std::erase_if(kept_, [race](const Kept& kept) { return kept.race == race; });
  }

 private:
  static constexpr size_t kMost = 4;
  struct Kept {
    const void* race = nullptr;
    std::unique_ptr<Decider> solver;
  };
  std::vector<Kept> kept_;  // the one asked last at the end
};

// Asks the branch and bound, which decides most questions in few steps, and with greater effort the
// SAT solver, too, which learns from its conflicts.
class Race : public Decider {
 public:
  Race(const Problem& problem, uint64_t seed, const MakeSearchOrder& make_order,
       int64_t least_effort, std::shared_ptr<KeptSolvers> solvers)
      : problem_(problem),
        least_effort_(least_effort),
        solvers_(std::move(solvers)),
        branch_(MakeBranchSearchInOrder(make_order)(problem, seed)) {}
  Race(const Race&) = delete;
  Race& operator=(const Race&) = delete;
  ~Race() override { solvers_->Drop(this); }

  Answer Decide(int initiation_interval, int most_latency, int64_t steps, StepBudget* budget,
                std::vector<Place>* places) override {
    const int64_t literals = LiteralsOf(initiation_interval);
    const bool both =
        literals <= kMostLiterals &&
        (steps >= least_effort_ || (steps >= kEffortOfSmall && literals <= kLiteralsOfSmall));
    Answer answer = branch_->Decide(initiation_interval, most_latency,
                                    both ? steps / kShareOfBranch : steps, budget, places);
    if (answer != Answer::kUnknown || !both || budget->spent()) return answer;
    answer =
        solvers_->Of(this, problem_)
            ->Decide(initiation_interval, most_latency, steps / kStepsOfConflict, budget, places);
    if (answer != Answer::kUnknown) solvers_->Drop(this);
    return answer;
  }

 private:
  static constexpr int64_t kShareOfBranch = 2;
  // A conflict takes about as long as this many steps of the branch and bound.
  static constexpr int64_t kStepsOfConflict = 8;
  static constexpr int64_t kMostLiterals = 500'000;
  // What the branch and bound does not decide soon with a small formula is worth a formula.
  static constexpr int64_t kEffortOfSmall = 2000, kLiteralsOfSmall = 4000;

  // Returns about how many literals the formula has.
  int64_t LiteralsOf(int initiation_interval) const {
    const int64_t tiles = problem_.tiles();
    return problem_.size() * tiles * std::max<int64_t>(tiles, initiation_interval);
  }

  const Problem& problem_;
  const int64_t least_effort_;
  std::shared_ptr<KeptSolvers> solvers_;
  std::unique_ptr<Decider> branch_;
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
  return [make_order = std::move(make_order), least_effort,
          solvers = std::make_shared<KeptSolvers>()](const Problem& problem, uint64_t seed) {
    return std::make_unique<Race>(problem, seed, make_order, least_effort, solvers);
  };
}

std::unique_ptr<Mapper> MakeExactMapper() { return std::make_unique<ExactMapper>(nullptr); }

std::unique_ptr<Mapper> MakeExactMapperInOrder(MakeSearchOrder make_order) {
  return std::make_unique<ExactMapper>(std::move(make_order));
}

}  // namespace kiln::cgra
