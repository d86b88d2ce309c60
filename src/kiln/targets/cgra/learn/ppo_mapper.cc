// Mappers with a policy: episodes, and the order of the exact search.

#include "kiln/targets/cgra/learn/ppo_mapper.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "kiln/support/installation.h"
#include "kiln/targets/cgra/learn/policy_search.h"
#include "kiln/targets/cgra/map/exact.h"
#include "kiln/targets/cgra/map/search.h"

namespace kiln::cgra {
namespace {

class PpoMapper final : public Mapper {
 public:
  explicit PpoMapper(std::shared_ptr<const Policy> policy) : policy_(std::move(policy)) {}

  StatusOr<MapResult> Map(const ComputationGraph& graph, const Config& config,
                          const MapOptions& options) const override {
    return MapByWalk(graph, config, options, kMostProblems,
                     [&](std::span<const Problem> problems, int low, int high, SearchState* state) {
                       Walk(problems, low, high, options.seed, state);
                     });
  }

 private:
  static constexpr int kMostProblems = 32;  // choices of fused instructions
  static constexpr int64_t kMostEffort = int64_t{1} << 20;
  using Searches = std::vector<std::unique_ptr<PolicySearch>>;

  // Looks for lower intervals with efforts that grow, and improves the best mapping in as many
  // steps.
  void Walk(std::span<const Problem> problems, int low, int high, uint64_t seed,
            SearchState* state) const {
    Searches searches;
    const int period = IntervalStep(problems[0].config);
    Random random(MixBits(~seed));
    int best = high + 1;  // interval
    int bound = 0;        // of the latency at this interval
    for (int64_t effort = 1; !state->Over(); effort = std::min(2 * effort, kMostEffort)) {
      // Further choices of fused instructions join one after the other.
      for (int more = 0; more < 2 && searches.size() < problems.size(); ++more) {
        searches.push_back(
            std::make_unique<PolicySearch>(*policy_, problems[searches.size()], MixBits(++seed)));
      }
      const int64_t before = state->steps();
      for (int interval = low; interval < best; ++interval) {
        if (interval % period != 0 || !Try(searches, interval, effort, state)) continue;
        best = interval;
        bound = LatencyBoundOver(problems, best).value;
        if (best == low) state->EndAt(low, bound);
      }
      const int64_t spent = state->steps() - before;
      const bool improves =
          best <= high && state->latency() > bound && AnyPossible(searches, best, state->latency());
      // Everything else is refuted.
      if (spent == 0 && !improves && searches.size() == problems.size()) return;
      if (improves) Improve(searches, best, std::max<int64_t>(spent, 8), &random, state);
    }
  }

  static bool AnyPossible(const Searches& searches, int interval, int latency) {
    return std::ranges::any_of(searches, [&](const std::unique_ptr<PolicySearch>& search) {
      return search->Possible(interval, latency);
    });
  }

  // Looks for a mapping of an interval that has none.
  bool Try(const Searches& searches, int interval, int64_t effort, SearchState* state) const {
    for (const std::unique_ptr<PolicySearch>& search : searches) {
      if (!search->Possible(interval)) continue;
      for (int64_t k = 0; k < (effort + 3) / 4 && !search->Has(interval); ++k) {
        search->Play(interval, state);
      }
      if (!search->Has(interval)) search->Search(interval, effort, state);
      if (search->Has(interval)) return true;
    }
    return false;
  }

  // Improves the mapping of an interval in `steps` steps, three times of four by the problem with
  // the best mapping.
  void Improve(const Searches& searches, int interval, int64_t steps, Random* random,
               SearchState* state) const {
    const int64_t end = state->steps() + steps;
    while (state->steps() < end && !state->Over()) {
      std::vector<PolicySearch*> open;
      PolicySearch* best = nullptr;
      for (const std::unique_ptr<PolicySearch>& search : searches) {
        if (!search->Possible(interval, state->latency())) continue;
        open.push_back(search.get());
        if (!search->Has(interval)) continue;
        if (best == nullptr || search->latency() < best->latency()) best = search.get();
      }
      if (open.empty()) return;
      PolicySearch* search = open[random->Below(open.size())];
      if (best != nullptr && random->Below(4) != 0) search = best;
      if (search->Has(interval)) {
        search->Repair(interval, state);
      } else {
        search->Play(interval, state);
        search->Search(interval, 2, state);
      }
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
