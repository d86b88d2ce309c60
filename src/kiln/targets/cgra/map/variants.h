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
  Bound interval;                    // LeastInterval
  bool impossible = false;           // WhyImpossible has a reason
  std::unique_ptr<Decider> decider;  // made when it is first asked
  std::map<int, Bound> latency;      // LeastLatency by interval
  std::map<int, int> refuted;        // by interval: the greatest latency without a mapping
};

struct VariantSet {
  // Behind pointers, as deciders refer to the problems.
  std::vector<std::unique_ptr<Variant>> variants;
  bool all_fusions = true;          // whether every choice of fusions is among them
  std::vector<std::string> forced;  // pass-throughs that BuildProblem inserted, for messages
};

// Most choices of fusions, and of additional pass-throughs, that are tried.
inline constexpr int kMostFusionChoices = 1024;
inline constexpr int kMostPassChoices = 512;

// Builds the problems without additional pass-throughs: all fusions first, then fewer. With `fuse`
// false, the one without fusions. Errors: the errors of BuildProblem.
StatusOr<VariantSet> FusionVariants(const ComputationGraph& graph, const Config& config, bool fuse);

// Builds the problems with one additional pass-through, for each set of consumers of each result;
// `complete` says whether all are among them.
StatusOr<VariantSet> PassVariants(const ComputationGraph& graph, const Config& config, bool fuse,
                                  bool* complete);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_MAP_VARIANTS_H_
