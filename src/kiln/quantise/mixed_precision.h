// Mixed precision: assigns a number type to each layer so that the network stays within an accuracy
// budget at least cost.
//
//   1. Units. Layers that read a common value form a unit, because a value has one type. A unit
//      chooses one candidate type for the values its layers read and for their weights.
//   2. Sensitivity. Each unit in turn is set to each candidate while all other units keep the first
//      (widest) candidate. The network is simulated and the damage measured: the sum over all
//      outputs of the mean squared error against fp32 over the mean square, minus that of the
//      network with all units in the first candidate. For an output that is not fp32 it is the
//      share of elements that differ.
//   3. Model. The damages of units add up. This holds if rounding errors are small and independent,
//      since the variances of independent errors add, on each output and so in the sum over outputs
//      (the greatest of the outputs would not add); it remains a model.
//   4. Ladder. For a series of limits on the damage, knapsack.h finds the assignment of least cost
//      under the model, exactly.
//   5. Choice. Each of these assignments is simulated as a whole. Its merit is measured, and the
//      error of each output that the merit does not judge. The cheapest within the budget is
//      chosen: the merit within `budget`, and the worst of the other outputs within `other_error`.
//      Bisection refines the ladder between it and the next cheaper assignment, which is not within
//      the budget.
//
// The certificate states the quality of the choice: under the model, no assignment with at most its
// damage is cheaper (`lower_bound`). Measurement bounds the error of the model from one side only:
// merits are measured on the given images, and an assignment that the model rejects might do better
// than predicted.
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

// The cost that the search minimises.
enum class PrecisionCost {
  // Bits that layers read: their inputs and weights, once each, including shares of block scales.
  kBits,
  // Energy of the layers' multiplications, in picojoules (energy.h).
  kEnergy,
};

// Computes the figure of merit of one output of a network on the evaluation images; greater is
// better. Examples are per cent of images classified correctly, and decibels.
using Merit = std::function<StatusOr<double>(const Tensor& output)>;
// Returns a merit: per cent of labels among the k highest scores (scores.h) of the output that the
// layout refers to.
Merit TopScores(std::vector<int32_t> labels, const ScoreLayout& layout, int k);

// Reports the progress of a search. The phases are "calibration", "fp32", "sensitivity", "ladder"
// and "refinement", in this order, each from 0 to its total. All but the first count simulated
// images; images that need not be simulated count too. Called from one thread at a time.
using SearchProgress = std::function<void(const std::string& step, int64_t done, int64_t total)>;

// Options of SearchMixedPrecision.
struct MixedPrecisionOptions {
  // Names for RecipeByName, the widest first. Values outside all units take the first.
  std::vector<std::string> candidates;
  double budget = 1.0;   // how far the merit may fall below fp32's, in units of the merit
  int merit_output = 0;  // index of the output that the merit judges
  // How far each other output may be from fp32: the root of the mean squared error over that of the
  // mean square; for an output that is not fp32, the share of elements that differ.
  double other_error = 0.1;
  PrecisionCost cost = PrecisionCost::kBits;
  int64_t sensitivity_images = 64;  // evaluation images used by step 2, from the first
  int ladder = 8;                   // limits in step 4, evenly spaced in the log of the damage
  int bisections = 4;               // in step 5
};

// Layers that take their number type together.
struct PrecisionUnit {
  std::vector<std::string> layers;  // names of nodes
  std::vector<int64_t> positions;   // their indices among the multiply-accumulate nodes
  // For each layer the `match` that selects it in a recipe; empty where only its position does.
  std::vector<std::string> matches;
  std::vector<Choice> choices;  // by candidate: cost, and damage if only this unit takes it
};

// One assignment of candidates to units, with its predicted and its measured quality.
struct TradeOffPoint {
  std::vector<int> picks;  // the candidate of each unit
  double cost = 0;
  double damage = 0;  // under the model
  // No assignment with at most `damage` costs less, under the model.
  double lower_bound = 0;
  // Damage of the whole assignment as simulated, minus the base damage. The difference from
  // `damage` shows how well the model holds.
  double measured_damage = 0;
  double merit = 0;        // measured
  double other_error = 0;  // measured: of the worst output that the merit does not judge
};

// The result of the search.
struct MixedPrecision {
  std::vector<std::string> candidates;  // names, as in the options
  std::vector<PrecisionUnit> units;
  double base_damage = 0;  // with all units in the first candidate
  double fp32_merit = 0;
  bool has_others = false;  // whether there are outputs that the merit does not judge
  // Sorted by falling cost; the first has all units in the first candidate.
  std::vector<TradeOffPoint> curve;
  int chosen = 0;              // index into `curve`: the cheapest within the budget
  bool within_budget = false;  // false if even the first point exceeds it; the first is then chosen
  Recipe recipe;               // of the chosen assignment; selects layers by name where it can

  const TradeOffPoint& choice() const { return curve[static_cast<size_t>(chosen)]; }
  // Formats the curve, the type of each layer in the choice, and the certificate as tables for
  // people. The units are names, for example "bit" and "%".
  std::string Report(std::string_view cost_unit, std::string_view merit_unit) const;

 private:
  // Returns a table with the type of each layer in the choice.
  std::string ChoiceTable() const;
};

// Searches an assignment for `graph`, the fp32 network in the layout in which it will run.
//   calibration  images for ranges, [images, ...], one tensor per graph input
//   evaluation   images for damage and merit, in the same form
//   errors       no candidates, or an unknown one; no layer that can choose; errors of calibration
//                and of `merit`
StatusOr<MixedPrecision> SearchMixedPrecision(
    const Graph& graph, std::span<const Tensor> calibration, std::span<const Tensor> evaluation,
    const Merit& merit, const MixedPrecisionOptions& options, const SearchProgress& progress = {});

}  // namespace kiln

#endif  // KILN_QUANTISE_MIXED_PRECISION_H_
