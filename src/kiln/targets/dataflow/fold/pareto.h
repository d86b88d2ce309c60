// The Pareto front of throughput and resources, with what each further step would cost.
#ifndef KILN_TARGETS_DATAFLOW_FOLD_PARETO_H_
#define KILN_TARGETS_DATAFLOW_FOLD_PARETO_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kiln/targets/dataflow/fold/objective.h"

namespace kiln::dataflow {

struct ParetoOptions {
  // The resources that are traded against L_max. The others only have to meet their limits. With
  // several of them the front of a large network can have very many points.
  std::array<bool, kResourceKinds> compare = {true, true, true, true, true};
  int64_t target_cycles = kUnlimited;  // points with a larger L_max are left out
  int64_t most_points = 100000;
  int64_t most_work = 200000000;  // labels in all; see exact.h
};

// What a smaller L_max than a point's would need.
struct NextStep {
  int64_t cycles = 0;  // the next smaller L_max that a fold reaches; 0: there is none
  // By resource: the least amount among the folds of at most `cycles` that meet the limits of all
  // other resources. An amount is absent if the search does not compare the resource, or if no fold
  // meets the other limits. With `beyond_device`, no fold meets all limits, so that each amount
  // assumes that the limit of its own resource is lifted.
  std::array<std::optional<int64_t>, kResourceKinds> needs;
  bool beyond_device = false;
};

// A fold that no other fold beats or equals in both L_max and every compared resource.
struct ParetoPoint {
  Fold fold;
  FoldMetrics metrics;
  bool proved = false;  // no fold has at most its L_max and less of a compared resource, or the
                        // other way round
  NextStep next;
};

// The front, or the part of it that the work budget allowed.
struct ParetoFront {
  std::vector<ParetoPoint> points;  // by L_max, then by DSP, RAMB18, URAM, LUT
  bool complete = false;            // every point is proved, and none is missing
  int64_t work = 0;                 // labels made
  std::string infeasible;           // the proof in one line, if there is no valid fold
};

// Computes the front by walking over all periods in ascending order; each period adds the folds
// that no faster one dominates. Errors: CheckProblem's; a target below 1; no resource to compare.
StatusOr<ParetoFront> SolvePareto(const FoldProblem& problem, const ParetoOptions& options = {});

// Returns one line about a point of the front: "20480000 cycles, 1314 DSP; the next 1295 DSP buy
// nothing, 1296 more would buy 50.0 % (10240000 cycles), the device has 414 more".
std::string Describe(const FoldProblem& problem, const ParetoPoint& point);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_FOLD_PARETO_H_
