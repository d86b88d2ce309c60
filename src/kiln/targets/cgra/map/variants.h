// The problems of one graph: which multiplications share an instruction with additions, and where
// additional pass-throughs are. A proof that covers all of them covers all mappings.
#ifndef KILN_TARGETS_CGRA_MAP_VARIANTS_H_
#define KILN_TARGETS_CGRA_MAP_VARIANTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/map/decide.h"
#include "kiln/targets/cgra/map/problem.h"

namespace kiln::cgra {

// One problem of the graph, and what is known of it.
struct Variant {
  Problem problem;
  std::vector<Fusion> fusions;
  int passes = 0;                    // additional pass-throughs that are in the problem
  Bound interval;                    // LeastInterval
  bool impossible = false;           // WhyImpossible has a reason
  std::unique_ptr<Decider> decider;  // made when it is first asked
  std::map<int, Bound> latency;      // LeastLatency by interval
  std::map<int, int> refuted;        // by interval: the greatest latency without a mapping
  // The same bounds with any further pass-throughs.
  Bound interval_with_any;
  bool impossible_with_any = false;
  std::map<int, Bound> latency_with_any;
};

// Returns the names of the pass-throughs in a problem. Without additional ones, they are those that
// BuildProblem inserted for rule 3.
std::vector<std::string> PassNames(const Problem& problem);
// Returns the end of the name of a space in which rule 3 forces such pass-throughs; "" without any.
std::string ForcedText(const std::vector<std::string>& forced);

// The variants of a graph, as far as they were listed.
struct VariantSet {
  // Behind pointers, as deciders refer to the problems.
  std::vector<std::unique_ptr<Variant>> variants;
  bool all_fusions = true;          // whether every choice of fusions is among them
  std::vector<std::string> forced;  // pass-throughs that BuildProblem inserted, for messages
};

// Most choices of fusions, and of additional pass-throughs, that are tried.
inline constexpr int kMostFusionChoices = 1024;
inline constexpr int kMostPassChoices = 512;
// The limit of choices of pass-throughs once one of them is known to gain.
inline constexpr int kMostGainingPassChoices = 8192;

// Builds the problems without additional pass-throughs: all fusions first, then fewer. With `fuse`
// false, the one without fusions. If there are more than `most`, or the budget's time is over, only
// a part of them. Errors: the errors of BuildProblem.
StatusOr<VariantSet> FusionVariants(const ComputationGraph& graph, const Config& config, bool fuse,
                                    StepBudget* budget, int most = kMostFusionChoices);

// Builds the problems with one additional pass-through, for each set of uses of each result. What
// an instruction uses of the same thread counts as one use, as a second copy gains nothing.
// `complete` says whether all such problems are in the set; they are not if there are more than
// `most` or the budget's time is over. Errors: the errors of BuildProblem.
StatusOr<VariantSet> PassVariants(const ComputationGraph& graph, const Config& config, bool fuse,
                                  int most, StepBudget* budget, bool* complete);

// Builds the problem with these fusions and with pass-throughs that lift the wait limits and the
// rules that leave no mapping at an interval without them (FindLift), and `more` further ones on
// the way of each of these values. Null if none are needed or no number of them that fits the
// machine helps. Errors: the errors of BuildProblem.
StatusOr<std::unique_ptr<Variant>> LiftedVariant(const ComputationGraph& graph,
                                                 const Config& config,
                                                 const std::vector<Fusion>& fusions, int interval,
                                                 int more = 0);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_MAP_VARIANTS_H_
