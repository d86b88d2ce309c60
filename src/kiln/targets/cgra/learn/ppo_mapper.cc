// Mappers with a policy: episodes, and the order of the exact search.

#include "kiln/targets/cgra/learn/ppo_mapper.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "kiln/support/installation.h"
#include "kiln/targets/cgra/map/environment.h"
#include "kiln/targets/cgra/map/exact.h"
#include "kiln/targets/cgra/map/search.h"

namespace kiln::cgra {
namespace {

// From the second episode on, choices are drawn. While no mapping is known, what the policy holds for
// likely may be what leads to an end without a cell, so that some episodes hardly heed it.
constexpr double kTemperatures[] = {0.5, 1, 2, 8}, kKnownTemperatures[] = {0.5, 1, 1.5};

class PpoMapper final : public Mapper {
 public:
  explicit PpoMapper(std::shared_ptr<const Policy> policy) : policy_(std::move(policy)) {}

  StatusOr<MapResult> Map(const ComputationGraph& graph, const Config& config,
                          const MapOptions& options) const override {
    return MapByIntervals(graph, config, options,
                          [this](const Problem& problem, int interval, uint64_t seed,
                                 SearchState* state) { Search(problem, interval, seed, state); });
  }

 private:
  void Search(const Problem& problem, int interval, uint64_t seed, SearchState* state) const {
    Random random(seed);
    Environment environment(problem, interval, {.order = DepthFirstOrder(problem)});
    const Observer observer(problem, interval, environment.order());
    const Encoding encoding = policy_->Encode(observer.graph());
    // Nothing changes an episode that ends before its first choice.
    const bool is_hopeless = environment.stuck();
    for (size_t episode = 0; state->Step() && !is_hopeless; ++episode) {
      environment.Reset();
      const bool known = state->HasInterval(interval);
      while (environment.instruction() >= 0) {
        if (known && environment.LatencyBound() >= state->latency()) break;
        const StepFeatures step = observer.Observe(environment);
        const Judgement judgement = policy_->Judge(observer.graph(), encoding, step);
        const double temperature =
            known ? kKnownTemperatures[episode % 3] : kTemperatures[episode % 4];
        const int choice = episode == 0 ? LikeliestOf(judgement.logits)
                                        : DrawnFrom(judgement.logits, temperature, &random);
        environment.Step(step.choices[static_cast<size_t>(choice)]);
      }
      if (environment.complete()) state->Offer(problem, interval, environment.places());
    }
  }

  const std::shared_ptr<const Policy> policy_;
};

}  // namespace

int LikeliestOf(const std::vector<double>& logits) {
  return static_cast<int>(std::ranges::max_element(logits) - logits.begin());
}

int DrawnFrom(const std::vector<double>& logits, double temperature, Random* random) {
  std::vector<double> scaled = logits;
  for (double& logit : scaled) logit /= temperature;
  const std::vector<double> shares = ProbabilitiesOf(scaled);
  double left = random->Uniform();
  for (size_t i = 0; i < shares.size(); ++i) {
    left -= shares[i];
    if (left < 0) return static_cast<int>(i);
  }
  return LikeliestOf(logits);  // rounding left a little
}

std::unique_ptr<Mapper> MakePpoMapper(std::shared_ptr<const Policy> policy) {
  return std::make_unique<PpoMapper>(std::move(policy));
}

std::unique_ptr<Mapper> MakeGuidedMapper(std::shared_ptr<const Policy> policy) {
  return MakeExactMapperInOrder(
      [policy = std::move(policy)](const Problem& problem, int initiation_interval) {
        return OrderOf(*policy, problem, initiation_interval);
      });
}

StatusOr<std::shared_ptr<const Policy>> ReadPolicy(const std::string& path) {
  KILN_ASSIGN_OR_RETURN(TrainingState state, ReadTraining(path));
  return std::make_shared<const Policy>(std::move(state.weights));
}

StatusOr<std::shared_ptr<const Policy>> ReadShippedPolicy() {
  const std::optional<std::filesystem::path> folder = DataFolder();
  if (!folder) {
    return NotFoundAt("", "the policy that ships with Kiln", "there is no folder with Kiln's data",
                      "the program where it was built or installed, or --policy");
  }
  return ReadPolicy((*folder / "models" / "cgra_policy.bin").string());
}

}  // namespace kiln::cgra
