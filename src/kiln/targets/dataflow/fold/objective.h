// What a folding search optimises, what it returns and what it proves.
//
// An objective is a list of terms in order of priority; a search returns a fold whose values are
// least in lexicographic order. All terms are exact 64-bit integers, so that different searches can
// be compared for equality.
#ifndef KILN_TARGETS_DATAFLOW_FOLD_OBJECTIVE_H_
#define KILN_TARGETS_DATAFLOW_FOLD_OBJECTIVE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/targets/dataflow/fold/problem.h"

namespace kiln::dataflow {

enum class Goal {
  kThroughput,  // least L_max, then least L_sum, then resources
  kResources,   // least resources, then L_max, then L_sum
  kLatency,     // least end-to-end latency, then resources, then L_max, then L_sum
};

// In which order resources are minimised.
enum class ResourceOrder {
  kDspFirst,     // DSP, memory, LUT
  kMemoryFirst,  // memory, DSP, LUT
  kLutFirst,     // LUT, DSP, memory
  kDeviceShare,  // one term: the sum of the shares of the limits
};

struct Objective {
  Goal goal = Goal::kThroughput;
  int64_t target_cycles = kUnlimited;  // a limit of L_max, for each goal
  ResourceOrder order = ResourceOrder::kDspFirst;
};

// Checks that the target is at least 1.
Status CheckObjective(const Objective& objective);

// One term of an objective.
struct Term {
  enum class Kind { kPeriod, kIdle, kLatency, kResources };
  Kind kind = Kind::kPeriod;
  Resources weights{};  // of kResources: the term is their sum of products with the amounts
  std::string_view name;
};

// The memory of a fold in RAMB18: a URAM block (288 Kb) counts as 16 (18 Kb each).
inline constexpr Resources kMemoryWeights = {0, 1, 16, 0, 0};

// Returns the weights of ResourceOrder::kDeviceShare: a limit R weighs round(10^9 / R) for each
// unit, so that the term is in 10^-9 of the device. Resources without a limit, or with limit 0, do
// not count.
Resources DeviceShareWeights(const Resources& limits);

// Returns sum(weights * amounts), cut off at 2^58.
int64_t Weighted(const Resources& weights, const Resources& amounts);

// Returns the terms of an objective in order of priority.
std::vector<Term> TermsOf(const Objective& objective, const Resources& limits);

// Returns the value of a term.
int64_t ValueOf(const Term& term, const FoldMetrics& metrics);

// Returns the values of all terms. Of two valid folds, the one of lexicographically smaller scores
// is better.
std::vector<int64_t> ScoresOf(const Objective& objective, const Resources& limits,
                              const FoldMetrics& metrics);

// Why no fold has a smaller L_max than the bound.
enum class BoundSource {
  kNone,         // no bound was sought: the trivial bound, the fastest fold of the slowest layer
  kBottleneck,   // layer `layer` takes that long at its fastest fold
  kCoupling,     // below the bound no folds of the layers fit together (`layer` reads the stream)
  kResource,     // below the bound the layers need `needs` of `resource`, the limit is `limit`
  kCombination,  // below the bound no fold meets all limits at the same time
  kExhausted,    // the work budget ended; whether a faster fold exists is not known
};

// The value of one term and a proven lower bound of it, given the values of the terms before it.
struct TermBound {
  std::string_view name;
  int64_t value = 0, bound = 0;
};

// What a search proves about its fold.
struct FoldCertificate {
  bool optimal = false;      // every term equals its bound
  int64_t cycles_bound = 0;  // no fold that meets limits and target has a smaller L_max
  BoundSource source = BoundSource::kNone;
  int layer = -1;           // of kBottleneck and kCoupling; of kResource: the one that needs most
  int resource = -1;        // of kResource
  int64_t next_cycles = 0;  // the next smaller L_max, which the source refutes; 0 if none
  int64_t needs = 0, limit = 0;  // of kResource, at next_cycles
  std::vector<TermBound> terms;
  double log10_folds = 0;  // size of the space that was searched
  int64_t work = 0;        // labels made, nodes of the branch and bound, or folds enumerated
};

// The result of a search.
struct FoldResult {
  std::optional<Fold> fold;  // absent if there is no valid fold, or none was found
  FoldMetrics metrics;       // of `fold`
  FoldCertificate certificate;
  std::string infeasible;  // the proof in one line, if there is no valid fold
};

// Returns the certificate in one line: "optimal among 10^33.8 folds; 2560000 cycles would need 1782
// DSP, the device has 1728". Without a fold, FoldResult::infeasible says more.
std::string Describe(const FoldProblem& problem, const FoldCertificate& certificate);

// Returns log10 of the number of choices of candidates.
double Log10Folds(const FoldProblem& problem);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_FOLD_OBJECTIVE_H_
