// Lists choices of fusions and pass-throughs.

#include "kiln/targets/cgra/map/variants.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "fmt/format.h"
#include "kiln/support/excerpt.h"
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

  // Takes or leaves each pair in turn; taking comes first, so that an early end keeps the choices
  // with the most fusions.
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

std::unique_ptr<Variant> VariantOf(Problem problem, std::vector<Fusion> fusions, int passes) {
  auto variant = std::make_unique<Variant>();
  variant->problem = std::move(problem);
  variant->fusions = std::move(fusions);
  variant->passes = passes;
  variant->interval = LeastInterval(variant->problem);
  variant->impossible = !WhyImpossible(variant->problem).empty();
  return variant;
}

FusionChoices ChoicesOf(const ComputationGraph& graph, const Config& config, bool fuse,
                        int most = kMostFusionChoices) {
  return {fuse ? Fusions(graph, config) : std::vector<Fusion>{}, graph.nodes.size(), most};
}

// Returns the uses of a node's result: the edges over links to one instruction with one distance in
// threads. Without Config::issue_later, every edge is a use, as a later operand allows later issue.
std::vector<std::vector<int>> UsesOf(const ComputationGraph& graph, const Config& config,
                                     const std::vector<Fusion>& fusions, int node) {
  std::map<std::tuple<int, int, int>, std::vector<int>> uses;
  for (int e = 0; e < std::ssize(graph.edges); ++e) {
    const GraphEdge& edge = graph.edges[static_cast<size_t>(e)];
    if (edge.source != node || TimingOf(graph, config, edge) != EdgeTiming::kLink) continue;
    const bool inside = std::ranges::any_of(fusions, [&](const Fusion& fusion) {
      return fusion.multiply == edge.source && fusion.logic == edge.target;
    });
    if (inside) continue;
    int consumer = edge.target;
    for (const Fusion& fusion : fusions) {
      if (fusion.multiply == consumer) consumer = fusion.logic;
    }
    uses[{consumer, edge.distance, config.issue_later ? 0 : e}].push_back(e);
  }
  std::vector<std::vector<int>> list;
  for (auto& [key, edges] : uses) list.push_back(std::move(edges));
  return list;
}

// Returns how many pass-throughs the chains of all nodes have.
int AdditionalPasses(const ComputationGraph& graph, const std::vector<int>& passes) {
  std::map<int, int> longest;  // by node
  for (size_t e = 0; e < passes.size(); ++e) {
    int& length = longest[graph.edges[e].source];
    length = std::max(length, passes[e]);
  }
  int sum = 0;
  for (const auto& [node, length] : longest) sum += length;
  return sum;
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
    const ProblemOptions options{.fusions = fusions, .passes = {}};
    KILN_ASSIGN_OR_RETURN(Problem problem, BuildProblem(graph, config, options));
    std::unique_ptr<Variant> variant = VariantOf(std::move(problem), std::move(fusions), 0);
    variant->interval_with_any = LeastInterval(variant->problem, Passes::kAny);
    variant->impossible_with_any = !WhyImpossible(variant->problem, Passes::kAny).empty();
    set.variants.push_back(std::move(variant));
    if (set.variants.size() == 1) set.forced = PassNames(set.variants[0]->problem);
  }
  return set;
}

std::vector<std::string> PassNames(const Problem& problem) {
  std::vector<std::string> names;
  for (const Instruction& instruction : problem.instructions) {
    if (instruction.is_pass) names.push_back(instruction.name);
  }
  return names;
}

std::string ForcedText(const std::vector<std::string>& forced) {
  if (forced.empty()) return "";
  return fmt::format("; rule 3 forces {}, whose consumers are fixed", ListExcerpt(forced, ", ", 4));
}

StatusOr<VariantSet> PassVariants(const ComputationGraph& graph, const Config& config, bool fuse,
                                  int most, StepBudget* budget, bool* complete) {
  // Uses of one result whose subsets are listed.
  const size_t most_uses = most > kMostPassChoices ? 12 : 6;
  FusionChoices choices = ChoicesOf(graph, config, fuse);
  *complete = choices.complete();
  VariantSet set;
  for (const std::vector<Fusion>& fusions : choices.choices()) {
    for (int node = 0; node < std::ssize(graph.nodes); ++node) {
      const std::vector<std::vector<int>> uses = UsesOf(graph, config, fusions, node);
      if (uses.size() > most_uses) *complete = false;
      const size_t listed = std::min(uses.size(), most_uses);
      for (uint32_t subset = 1; subset < (1u << listed); ++subset) {
        if (std::ssize(set.variants) >= most || !budget->Look()) {
          *complete = false;
          return set;
        }
        ProblemOptions options{.fusions = fusions, .passes = {}};
        options.passes.assign(graph.edges.size(), 0);
        for (size_t k = 0; k < listed; ++k) {
          if ((subset >> k & 1) == 0) continue;
          for (const int e : uses[k]) options.passes[static_cast<size_t>(e)] = 1;
        }
        KILN_ASSIGN_OR_RETURN(Problem problem, BuildProblem(graph, config, options));
        set.variants.push_back(VariantOf(std::move(problem), fusions, 1));
      }
    }
  }
  return set;
}

// Adds pass-throughs where FindLift asks for them and looks again, until nothing asks for more. The
// loop ends because edges get ever more pass-throughs, and the machine holds at most `most`
// instructions.
StatusOr<std::unique_ptr<Variant>> LiftedVariant(const ComputationGraph& graph,
                                                 const Config& config,
                                                 const std::vector<Fusion>& fusions, int interval,
                                                 int more) {
  ProblemOptions options{.fusions = fusions, .passes = {}};
  options.passes.assign(graph.edges.size(), 0);
  const int slots = std::min(SlotsOf(config, interval), config.instruction_depth);
  const int most = config.tiles() * slots;  // instructions
  for (;;) {
    KILN_ASSIGN_OR_RETURN(Problem problem, BuildProblem(graph, config, options));
    if (problem.size() > most) return std::unique_ptr<Variant>();
    const Lift lift = FindLift(problem, interval);
    if (lift.dependence < 0 && more > 0) {
      for (int& passes : options.passes) passes += passes > 0 ? more : 0;
      more = 0;
      continue;
    }
    if (lift.dependence < 0) {
      const int passes = AdditionalPasses(graph, options.passes);
      if (passes == 0) return std::unique_ptr<Variant>();
      return VariantOf(std::move(problem), fusions, passes);
    }
    if (lift.passes == 0 || lift.passes > most) return std::unique_ptr<Variant>();
    // All that the consumer uses of the thread goes through the pass-throughs.
    const Dependence& dependence = problem.dependences[static_cast<size_t>(lift.dependence)];
    const Instruction& consumer = problem.instructions[static_cast<size_t>(dependence.to)];
    bool lifted = false;
    for (size_t e = 0; e < graph.edges.size(); ++e) {
      const GraphEdge& edge = graph.edges[e];
      if (problem.provider[e] != dependence.from || edge.distance != dependence.distance) continue;
      if (std::ranges::find(consumer.nodes, edge.target) == consumer.nodes.end()) continue;
      options.passes[e] += lift.passes;
      lifted = true;
    }
    if (!lifted) return std::unique_ptr<Variant>();
  }
}

}  // namespace kiln::cgra
