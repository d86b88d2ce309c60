// Lists choices of fusions and pass-throughs.

#include "kiln/targets/cgra/map/variants.h"

#include <algorithm>

#include "kiln/support/stable_sort.h"
#include "kiln/targets/cgra/graph/timing.h"

namespace kiln::cgra {
namespace {

// Lists sets of pairs without a common node, larger ones first in each branch.
class FusionChoices {
 public:
  FusionChoices(std::vector<Fusion> all, size_t nodes, int most)
      : all_(std::move(all)), used_(nodes, false), most_(most) {
    Choose(0);
    if (!complete_) AddPrefixes();
    StableSort(&choices_, [](const std::vector<Fusion>& a, const std::vector<Fusion>& b) {
      return a.size() > b.size();
    });
  }
  std::vector<std::vector<Fusion>>& choices() { return choices_; }
  bool complete() const { return complete_; }

 private:
  // Where not all choices are listed, those listed fuse nearly all; these fuse few.
  void AddPrefixes() {
    const size_t step = all_.size() / static_cast<size_t>(most_) + 1;
    for (size_t count = 0; count < all_.size(); count += step) {
      used_.assign(used_.size(), false);
      chosen_.clear();
      for (size_t k = 0; k < count; ++k) {
        const auto multiply = static_cast<size_t>(all_[k].multiply);
        const auto logic = static_cast<size_t>(all_[k].logic);
        if (used_[multiply] || used_[logic]) continue;
        used_[multiply] = used_[logic] = true;
        chosen_.push_back(all_[k]);
      }
      choices_.push_back(chosen_);
    }
  }

  void Choose(size_t at) {
    if (std::ssize(choices_) >= most_) {
      complete_ = false;
      return;
    }
    if (at == all_.size()) {
      choices_.push_back(chosen_);
      return;
    }
    const auto multiply = static_cast<size_t>(all_[at].multiply);
    const auto logic = static_cast<size_t>(all_[at].logic);
    if (!used_[multiply] && !used_[logic]) {
      used_[multiply] = used_[logic] = true;
      chosen_.push_back(all_[at]);
      Choose(at + 1);
      chosen_.pop_back();
      used_[multiply] = used_[logic] = false;
    }
    Choose(at + 1);
  }

  std::vector<Fusion> all_, chosen_;
  std::vector<bool> used_;
  const int most_;
  std::vector<std::vector<Fusion>> choices_;
  bool complete_ = true;
};

Status AddVariant(const ComputationGraph& graph, const Config& config,
                  const ProblemOptions& options, VariantSet* set) {
  auto variant = std::make_unique<Variant>();
  KILN_ASSIGN_OR_RETURN(variant->problem, BuildProblem(graph, config, options));
  variant->interval = LeastInterval(variant->problem);
  variant->impossible = !WhyImpossible(variant->problem).empty();
  set->variants.push_back(std::move(variant));
  return OkStatus();
}

FusionChoices ChoicesOf(const ComputationGraph& graph, const Config& config, bool fuse,
                        int most = kMostFusionChoices) {
  return {fuse ? Fusions(graph, config) : std::vector<Fusion>{}, graph.nodes.size(), most};
}

}  // namespace

StatusOr<VariantSet> FusionVariants(const ComputationGraph& graph, const Config& config, bool fuse,
                                    StepBudget* budget, int most) {
  FusionChoices choices = ChoicesOf(graph, config, fuse, most);
  VariantSet set;
  set.all_fusions = choices.complete();
  for (std::vector<Fusion>& fusions : choices.choices()) {
    if (!set.variants.empty() && !budget->Look()) {
      set.all_fusions = false;
      break;
    }
    const ProblemOptions options{.fusions = std::move(fusions), .passes = {}, .shared_passes = {}};
    KILN_RETURN_IF_ERROR(AddVariant(graph, config, options, &set));
    if (set.variants.size() > 1) continue;
    for (const Instruction& instruction : set.variants[0]->problem.instructions) {
      if (instruction.is_pass) set.forced.push_back(instruction.name);
    }
  }
  return set;
}

StatusOr<VariantSet> PassVariants(const ComputationGraph& graph, const Config& config, bool fuse,
                                  int most, StepBudget* budget, bool* complete) {
  // Consumers of one result whose subsets are listed.
  const size_t most_consumers = most > kMostPassChoices ? 12 : 6;
  FusionChoices choices = ChoicesOf(graph, config, fuse);
  *complete = choices.complete();
  VariantSet set;
  const std::vector<std::vector<int>> from = graph.EdgesFrom();
  for (const std::vector<Fusion>& fusions : choices.choices()) {
    for (size_t node = 0; node < graph.nodes.size(); ++node) {
      // Edges by consumer: an instruction that uses the value twice gets it from one place.
      std::map<int, std::vector<int>> uses;
      for (const int e : from[node]) {
        const GraphEdge& edge = graph.edges[static_cast<size_t>(e)];
        if (TimingOf(graph, config, edge) != EdgeTiming::kLink) continue;
        const bool inside = std::ranges::any_of(fusions, [&](const Fusion& fusion) {
          return fusion.multiply == edge.source && fusion.logic == edge.target;
        });
        if (inside) continue;
        int consumer = edge.target;
        for (const Fusion& fusion : fusions) {
          if (fusion.multiply == consumer) consumer = fusion.logic;
        }
        uses[consumer].push_back(e);
      }
      if (uses.size() > most_consumers) *complete = false;
      const size_t listed = std::min(uses.size(), most_consumers);
      for (uint32_t subset = 1; subset < (1u << listed); ++subset) {
        if (std::ssize(set.variants) >= most || !budget->Look()) {
          *complete = false;
          return set;
        }
        std::vector<int> edges;
        size_t k = 0;
        for (const auto& [consumer, own] : uses) {
          if (k < listed && (subset >> k & 1)) edges.insert(edges.end(), own.begin(), own.end());
          ++k;
        }
        const ProblemOptions options{.fusions = fusions, .passes = {}, .shared_passes = {edges}};
        KILN_RETURN_IF_ERROR(AddVariant(graph, config, options, &set));
      }
    }
  }
  return set;
}

}  // namespace kiln::cgra
