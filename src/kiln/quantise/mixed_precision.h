// Mixed precision: which number type each layer takes, so that a network stays within an accuracy budget at least cost.
//
//   1. Layers that read a value in common form a unit, since the value has one type. A unit chooses among the candidate
//      types, for what its layers read and for their weights.
//   2. Sensitivity: each unit alone is put into each candidate, all others stay in the first (the widest), the
//      network is simulated, and the damage is measured: the mean squared error of the outputs over their mean square,
//      against fp32, less that of all units in the first candidate.
//   3. Model: damages of units add. That holds where rounding errors are small and independent, as variances of
//      independent errors add; it is a model.
//   4. For a ladder of limits on the damage, the assignment of least cost under the model is found exactly, by
//      knapsack.h.
//   5. Each of these is simulated as a whole and its accuracy measured. The cheapest within the budget is chosen;
//      between it and the next cheaper one, which is not, the ladder is refined by bisection.
//
// How good the choice is, the certificate says: under the model no assignment with at most its damage is cheaper
// (`lower_bound`). What the model leaves open, measurement bounds from one side only: the accuracies are measured on
// the given images, and an assignment that the model takes for worse might do better than it says.
#ifndef KILN_QUANTISE_MIXED_PRECISION_H_
#define KILN_QUANTISE_MIXED_PRECISION_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/ir/tensor.h"
#include "kiln/quantise/knapsack.h"
#include "kiln/quantise/recipe.h"
#include "kiln/quantise/scores.h"
#include "kiln/support/status.h"

namespace kiln {

enum class PrecisionCost {
  kBits,  // bits that layers read: their inputs and their weights, once each, shares of block scales included
  kEnergy,  // picojoules of their multiplications (energy.h)
};

// The figure of merit of a network's outputs on the evaluation images, greater is better: per cent of images classified
// right, decibels, ...
using Merit = std::function<StatusOr<double>(const Tensor& outputs)>;
// Per cent of labels among the k highest scores (scores.h). The layout is one of output 0.
Merit TopScores(std::vector<int32_t> labels, const ScoreLayout& layout, int k);

// Tells where the search stands: "calibration", "fp32", "sensitivity", "ladder", "refinement", in this order, each from
// 0 to its total. All but the first count simulated images; one that need not be simulated counts, too. Called from one
// thread at a time.
using SearchProgress = std::function<void(const std::string& step, int64_t done, int64_t total)>;

struct MixedPrecisionOptions {
  // Names of RecipeByName; the first is what all other values take, and the widest.
  std::vector<std::string> candidates;
  double budget = 1.0;  // how much the merit may fall below fp32's
  PrecisionCost cost = PrecisionCost::kBits;
  int64_t sensitivity_images = 64;  // of the evaluation images, from the first, for step 2
  int ladder = 8;      // limits of step 4, spread evenly over the logarithm of the damage
  int bisections = 4;  // of step 5
};

struct PrecisionUnit {
  std::vector<std::string> layers;  // names of nodes
  std::vector<int64_t> positions;   // of these among multiply-accumulate nodes
  std::vector<Choice> choices;      // by candidate: cost, and damage of the unit alone
};

struct TradeOffPoint {
  std::vector<int> picks;  // a candidate of each unit
  double cost = 0;
  double damage = 0;  // under the model
  double lower_bound =
      0;  // of the cost of any assignment with at most that damage, under the model
  double measured_damage =
      0;             // of the whole assignment, base damage taken off: how well the model holds
  double merit = 0;  // measured
};

struct MixedPrecision {
  std::vector<PrecisionUnit> units;
  double base_damage = 0;  // of all units in the first candidate
  double fp32_merit = 0;
  std::vector<TradeOffPoint>
      curve;                   // by falling cost; the first is all units in the first candidate
  int chosen = 0;              // of the curve: the cheapest whose merit is within the budget
  bool within_budget = false;  // false: not even the first candidate is; it is chosen then
  Recipe recipe;               // the chosen assignment

  const TradeOffPoint& choice() const { return curve[static_cast<size_t>(chosen)]; }
  // A table of the curve and the certificate, for people.
  // Units as in "bit", "%".
  std::string Report(std::string_view cost_unit, std::string_view merit_unit) const;
};

// `graph` is the fp32 network in the layout that it is to run in.
//   calibration  images for ranges, [images, ...]; one tensor for each graph input
//   evaluation   images for damage and merit, likewise
//   errors       no candidates or an unknown one, a network with no layer to choose for, those of calibration
//                and of merit
StatusOr<MixedPrecision> SearchMixedPrecision(
    const Graph& graph, std::span<const Tensor> calibration, std::span<const Tensor> evaluation,
    const Merit& merit, const MixedPrecisionOptions& options, const SearchProgress& progress = {});

}  // namespace kiln

#endif  // KILN_QUANTISE_MIXED_PRECISION_H_
