// The mixed-precision search. The class Search runs the steps listed in the header in order.
#include "kiln/quantise/mixed_precision.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <unordered_map>

#include <fmt/format.h>

#include "kiln/execute/reference.h"
#include "kiln/hardware/energy.h"
#include "kiln/ir/work.h"
#include "kiln/numerics/elementary.h"
#include "kiln/quantise/calibrate.h"
#include "kiln/quantise/energy.h"
#include "kiln/quantise/image_slice.h"
#include "kiln/quantise/layer_settings.h"
#include "kiln/quantise/quantise.h"
#include "kiln/quantise/recipe_names.h"
#include "kiln/quantise/shared_values.h"
#include "kiln/quantise/simulate.h"
#include "kiln/quantise/weights.h"
#include "kiln/support/check.h"

namespace kiln {
namespace {

// Runs the graph at the reference level and returns all outputs.
StatusOr<std::vector<Tensor>> OutputsOf(const Graph& graph, std::span<const Tensor> inputs,
                                        const BatchProgress& progress) {
  KILN_ASSIGN_OR_RETURN(const auto executor, ReferenceExecutor::Create(graph));
  return executor->RunBatch(inputs, progress);
}

// Counts the simulated images of one phase. All runs of a phase have the same number of images.
class Meter {
 public:
  explicit Meter(const SearchProgress& progress) : progress_(progress) {}

  // Begins a phase of `runs` runs.
  void Start(std::string step, int64_t runs, int64_t images) {
    step_ = std::move(step);
    images_ = images;
    total_ = runs * images;
    done_ = 0;
    Tell(0);
  }
  // Returns the progress callback of the next run.
  BatchProgress OfRun() const {
    return [this](int64_t done, int64_t) { Tell(done_ + done); };
  }
  // Records that the first `runs` runs of the phase are done, whether or not they were simulated.
  void Settle(int64_t runs) {
    done_ = runs * images_;
    Tell(done_);
  }

 private:
  void Tell(int64_t done) const {
    if (progress_) progress_(step_, done, total_);
  }

  const SearchProgress& progress_;
  std::string step_;
  int64_t images_ = 0, total_ = 0, done_ = 0;
};

// Returns the number of images of a batch.
int64_t ImagesOf(std::span<const Tensor> inputs) {
  return inputs.empty() || inputs[0].shape().rank() == 0 ? 0 : inputs[0].shape()[0];
}

// Returns the mean squared error over the mean square of the exact output, or the share of elements
// that differ if the output is not fp32. `got` may hold fewer images than `exact`; only these are
// compared.
double DamageOf(const Tensor& got, const Tensor& exact) {
  if (exact.type() != ElementType::kFloat32) {
    const auto bytes = static_cast<size_t>(SizeOf(exact.type()));
    int64_t different = 0;
    for (int64_t i = 0; i < got.size(); ++i) {
      const size_t at = static_cast<size_t>(i) * bytes;
      different += std::memcmp(got.bytes() + at, exact.bytes() + at, bytes) != 0 ? 1 : 0;
    }
    return static_cast<double>(different) / static_cast<double>(std::max<int64_t>(got.size(), 1));
  }
  double error = 0, power = 0;
  const auto a = got.data<float>(), b = exact.data<float>();
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - b[i];
    error += difference * difference;
    power += static_cast<double>(b[i]) * b[i];
  }
  // A finite maximum, because knapsack choices must have finite damage.
  if (!std::isfinite(error)) return std::numeric_limits<double>::max();
  return power > 0 ? error / power : error;
}

// Returns the sum of the damages of all outputs.
double DamageOf(std::span<const Tensor> got, std::span<const Tensor> exact) {
  double sum = 0;
  for (size_t i = 0; i < got.size(); ++i)
    sum = std::min(sum + DamageOf(got[i], exact[i]), std::numeric_limits<double>::max());
  return sum;
}

// A multiply-accumulate node with constant weights.
struct Layer {
  const Node* node;
  int64_t position;
  const Value* input;
  const Value* weights;
};

// Returns all layers in graph order.
std::vector<Layer> LayersOf(const Graph& graph) {
  std::vector<Layer> layers;
  int64_t position = 0;
  for (const auto& node : graph.nodes()) {
    if (!node->info().Has(kMacs)) continue;
    const int64_t own = position++;
    const std::optional<WeightOperand> weights = WeightsOf(*node);
    if (!weights) continue;
    layers.push_back(
        {node.get(), own, node->operand(1 - weights->operand), node->operand(weights->operand)});
  }
  return layers;
}

// Returns the cost of a layer under a candidate, in bits or picojoules.
double CostOf(const Layer& layer, const Recipe& candidate, PrecisionCost cost) {
  const QuantType &inputs = candidate.activations.type, &weights = candidate.weights.type;
  if (cost == PrecisionCost::kEnergy) {
    return static_cast<double>(MacsOf(*layer.node)) *
           hardware::MultiplyEnergy(inputs.format, weights.format);
  }
  double elements = 1;
  if (layer.input->has_shape()) {
    for (const int64_t dim : layer.input->shape().dims())
      elements *= static_cast<double>(std::max<int64_t>(dim, 1));
  }
  return elements * BitsOf(inputs) +
         static_cast<double>(layer.weights->constant().size()) * BitsOf(weights);
}

// One run of the search; holds what its steps hand on to each other.
class Search {
 public:
  Search(const Graph& graph, std::span<const Tensor> evaluation, const Merit& merit,
         const MixedPrecisionOptions& options, const SearchProgress& progress)
      : graph_(graph),
        evaluation_(evaluation),
        merit_(merit),
        options_(options),
        meter_(progress) {}

  StatusOr<MixedPrecision> Run(std::span<const Tensor> calibration) {
    KILN_RETURN_IF_ERROR(FindCandidates());
    meter_.Start("calibration", 1, 1);
    KILN_ASSIGN_OR_RETURN(data_, Calibrate(graph_, calibration, candidates_[0].calibration_images));
    meter_.Settle(1);
    KILN_RETURN_IF_ERROR(FindUnits());
    meter_.Start("fp32", 1, ImagesOf(evaluation_));
    KILN_ASSIGN_OR_RETURN(exact_, OutputsOf(graph_, evaluation_, meter_.OfRun()));
    KILN_CHECK(options_.merit_output >= 0 && options_.merit_output < std::ssize(exact_));
    result_.has_others = exact_.size() > 1;
    KILN_ASSIGN_OR_RETURN(result_.fp32_merit, merit_(Judged(exact_)));
    KILN_RETURN_IF_ERROR(MeasureSensitivity());
    KILN_RETURN_IF_ERROR(ClimbLadder());
    KILN_RETURN_IF_ERROR(Refine());
    Choose();
    return std::move(result_);
  }

 private:
  Status FindCandidates() {
    if (options_.candidates.empty()) {
      return ErrorAt("", "candidates", "there are none",
                     "names of types, the widest first, such as int8, int4");
    }
    result_.candidates = options_.candidates;
    for (const std::string& name : options_.candidates) {
      KILN_ASSIGN_OR_RETURN(Recipe recipe, RecipeByName(name));
      candidates_.push_back(std::move(recipe));
    }
    return OkStatus();
  }

  // Joins the layers whose inputs share an annotation into units, and computes the units' costs.
  Status FindUnits() {
    KILN_ASSIGN_OR_RETURN(const SettingsOfNodes settings,
                          SettingsOfNodes::Resolve(graph_, candidates_[0]));
    KILN_ASSIGN_OR_RETURN(const std::vector<SharedValues> groups,
                          DivideValues(graph_, candidates_[0], settings, data_));
    std::unordered_map<const Value*, size_t> group_of;
    for (size_t i = 0; i < groups.size(); ++i) {
      for (const Value* member : groups[i].members) group_of[member] = i;
    }
    const std::vector<std::string> matches = MatchesByPosition(graph_);
    std::unordered_map<size_t, size_t> unit_of;  // by group
    for (const Layer& layer : LayersOf(graph_)) {
      const auto group = group_of.find(layer.input);
      if (group == group_of.end()) continue;
      const auto [it, is_new] = unit_of.emplace(group->second, result_.units.size());
      if (is_new) {
        result_.units.emplace_back().choices.resize(candidates_.size());
      }
      PrecisionUnit& unit = result_.units[it->second];
      unit.layers.push_back(layer.node->name());
      unit.positions.push_back(layer.position);
      unit.matches.push_back(matches[static_cast<size_t>(layer.position)]);
      for (size_t k = 0; k < candidates_.size(); ++k) {
        unit.choices[k].cost += CostOf(layer, candidates_[k], options_.cost);
      }
    }
    if (!result_.units.empty()) return OkStatus();
    return ErrorAt(graph_.source(), "", "no layer with constant weights reads a quantised value",
                   "a network with convolutions or matrix products");
  }

  // Returns the recipe of an assignment: the first candidate, with a `layers` entry for each layer
  // of a unit that takes another candidate.
  Recipe RecipeOf(const std::vector<int>& picks) const {
    Recipe recipe = candidates_[0];
    for (size_t u = 0; u < picks.size(); ++u) {
      if (picks[u] == 0) continue;
      const Recipe& candidate = candidates_[static_cast<size_t>(picks[u])];
      const PrecisionUnit& unit = result_.units[u];
      for (size_t i = 0; i < unit.layers.size(); ++i) {
        LayerRecipe& layer = recipe.layers.emplace_back();
        layer.match = unit.matches[i];
        if (layer.match.empty()) layer.position = Position{unit.positions[i]};
        layer.inputs = candidate.activations;
        layer.weights = candidate.weights;
      }
    }
    return recipe;
  }

  // Returns the output that the merit judges.
  const Tensor& Judged(const std::vector<Tensor>& outputs) const {
    return outputs[static_cast<size_t>(options_.merit_output)];
  }

  // Returns the error of the worst output that the merit does not judge.
  double OtherError(const std::vector<Tensor>& outputs) const {
    double worst = 0;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (static_cast<int>(i) == options_.merit_output) continue;
      const double damage = DamageOf(outputs[i], exact_[i]);
      const bool is_real = exact_[i].type() == ElementType::kFloat32;
      worst = std::max(worst, is_real ? std::sqrt(damage) : damage);
    }
    return worst;
  }

  // Returns the outputs of the network under an assignment.
  StatusOr<std::vector<Tensor>> Simulate(const std::vector<int>& picks,
                                         std::span<const Tensor> inputs) const {
    KILN_ASSIGN_OR_RETURN(const Graph quantised, Quantise(graph_, RecipeOf(picks), data_));
    KILN_ASSIGN_OR_RETURN(const Graph simulated, SimulateQuantisation(quantised));
    return OutputsOf(simulated, inputs, meter_.OfRun());
  }

  // Measures the damage of each unit and candidate (step 2).
  Status MeasureSensitivity() {
    const std::vector<Tensor> inputs =
        SliceImages(evaluation_, 0, std::min(ImagesOf(evaluation_), options_.sensitivity_images));
    const std::vector<int> base(result_.units.size(), 0);
    int64_t runs = 0;
    meter_.Start("sensitivity", 1 + std::ssize(result_.units) * (std::ssize(candidates_) - 1),
                 ImagesOf(inputs));
    KILN_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, Simulate(base, inputs));
    meter_.Settle(++runs);
    result_.base_damage = DamageOf(outputs, exact_);
    for (size_t u = 0; u < result_.units.size(); ++u) {
      for (size_t k = 1; k < candidates_.size(); ++k) {
        std::vector<int> picks = base;
        picks[u] = static_cast<int>(k);
        KILN_ASSIGN_OR_RETURN(const std::vector<Tensor> alone, Simulate(picks, inputs));
        meter_.Settle(++runs);
        // A change that reduces the error by chance counts as no damage, not as a gain.
        result_.units[u].choices[k].damage =
            std::max(DamageOf(alone, exact_) - result_.base_damage, 0.0);
      }
    }
    return OkStatus();
  }

  // Adds the best assignment for a limit on the damage, unless the curve contains it already.
  Status AddPoint(double limit) {
    std::vector<std::vector<Choice>> groups;
    for (const PrecisionUnit& unit : result_.units) groups.push_back(unit.choices);
    const KnapsackResult best = SolveKnapsack(groups, limit);
    if (best.picks.empty()) return OkStatus();
    for (const TradeOffPoint& point : result_.curve) {
      if (point.picks == best.picks) return OkStatus();
    }
    TradeOffPoint point{.picks = best.picks,
                        .cost = best.cost,
                        .damage = best.damage,
                        .lower_bound = best.lower_bound};
    KILN_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, Simulate(point.picks, evaluation_));
    point.measured_damage = DamageOf(outputs, exact_) - result_.base_damage;
    KILN_ASSIGN_OR_RETURN(point.merit, merit_(Judged(outputs)));
    point.other_error = OtherError(outputs);
    result_.curve.push_back(std::move(point));
    std::sort(result_.curve.begin(), result_.curve.end(),
              [](const TradeOffPoint& a, const TradeOffPoint& b) {
                return a.cost != b.cost ? a.cost > b.cost : a.damage < b.damage;
              });
    return OkStatus();
  }

  // Fills the curve for a ladder of limits (step 4): zero, then evenly spaced in the logarithm from
  // the least damage of any choice to the sum of the worst.
  Status ClimbLadder() {
    double least = std::numeric_limits<double>::infinity(), most = 0;
    for (const PrecisionUnit& unit : result_.units) {
      double worst = 0;
      for (const Choice& choice : unit.choices) {
        if (choice.damage > 0) least = std::min(least, choice.damage);
        worst = std::max(worst, choice.damage);
      }
      most = std::min(most + worst, std::numeric_limits<double>::max());
    }
    std::vector<double> limits = {0};
    if (least < most) {
      for (int i = 0; i < options_.ladder; ++i) {
        limits.push_back(least *
                         elementary::Pow(most / least, static_cast<double>(i) / options_.ladder));
      }
    }
    // The last limit is the exact sum, independent of the rounding of powers.
    if (most > 0) limits.push_back(most);
    meter_.Start("ladder", std::ssize(limits), ImagesOf(evaluation_));
    for (size_t i = 0; i < limits.size(); ++i) {
      KILN_RETURN_IF_ERROR(AddPoint(limits[i]));
      meter_.Settle(static_cast<int64_t>(i) + 1);
    }
    return OkStatus();
  }

  bool IsWithinBudget(const TradeOffPoint& point) const {
    return point.merit >= result_.fp32_merit - options_.budget &&
           point.other_error <= options_.other_error;
  }

  // Returns the index of the last (cheapest) point within the budget; -1 if there is none.
  int Cheapest() const {
    for (int i = static_cast<int>(result_.curve.size()) - 1; i >= 0; --i) {
      if (IsWithinBudget(result_.curve[static_cast<size_t>(i)])) return i;
    }
    return -1;
  }

  // Bisects between the cheapest point within the budget and the next cheaper one (step 5). If the
  // geometric mean of the two damages leads to a known assignment, tries the arithmetic mean.
  Status Refine() {
    const int64_t runs = 2 * options_.bisections;  // at most
    meter_.Start("refinement", runs, ImagesOf(evaluation_));
    for (int i = 0; i < options_.bisections; ++i) {
      meter_.Settle(2 * i);
      const int cheapest = Cheapest();
      if (cheapest < 0 || cheapest + 1 == std::ssize(result_.curve)) break;
      const double inside = result_.curve[static_cast<size_t>(cheapest)].damage;
      const double outside = result_.curve[static_cast<size_t>(cheapest) + 1].damage;
      const size_t points = result_.curve.size();
      KILN_RETURN_IF_ERROR(AddPoint(inside > 0 ? std::sqrt(inside * outside) : outside / 4));
      meter_.Settle(2 * i + 1);
      if (result_.curve.size() == points) KILN_RETURN_IF_ERROR(AddPoint((inside + outside) / 2));
    }
    meter_.Settle(runs);
    return OkStatus();
  }

  // Chooses the cheapest point within the budget, or the first point if there is none.
  void Choose() {
    const int cheapest = Cheapest();
    result_.within_budget = cheapest >= 0;
    result_.chosen = std::max(cheapest, 0);
    result_.recipe = RecipeOf(result_.choice().picks);
  }

  const Graph& graph_;
  std::span<const Tensor> evaluation_;
  const Merit& merit_;
  const MixedPrecisionOptions& options_;
  Meter meter_;
  std::vector<Recipe> candidates_;
  CalibrationData data_;
  std::vector<Tensor> exact_;  // all outputs in fp32
  MixedPrecision result_;
};

// Returns a cost with six significant digits, or with all before the point if it has more.
std::string CostText(double cost) {
  return std::abs(cost) >= 1e5 ? fmt::format("{:.0f}", cost) : fmt::format("{:.6g}", cost);
}

}  // namespace

Merit TopScores(std::vector<int32_t> labels, const ScoreLayout& layout, int k) {
  return [labels = std::move(labels), layout, k](const Tensor& output) -> StatusOr<double> {
    KILN_ASSIGN_OR_RETURN(const ScoreCount count, CountScores(output, labels, layout, k));
    return count.labels == 0 ? 0.0
                             : 100.0 * static_cast<double>(count.correct_top_k) /
                                   static_cast<double>(count.labels);
  };
}

std::string MixedPrecision::ChoiceTable() const {
  size_t wide = 5;
  for (const PrecisionUnit& unit : units) {
    for (const std::string& layer : unit.layers) wide = std::max(wide, layer.size());
  }
  std::string out = fmt::format("{:>4}  {:{}}  type\n", "unit", "layer", wide);
  for (size_t u = 0; u < units.size(); ++u) {
    const std::string& type = candidates[static_cast<size_t>(choice().picks[u])];
    for (const std::string& layer : units[u].layers)
      out += fmt::format("{:>4}  {:{}}  {}\n", u + 1, layer, wide, type);
  }
  return out;
}

std::string MixedPrecision::Report(std::string_view cost_unit, std::string_view merit_unit) const {
  const auto others = [&](const std::string& text) {
    return has_others ? fmt::format(" {:>10}", text) : std::string();
  };
  std::string out = fmt::format("{:>14} {:>12} {:>12} {:>10}{}  units by candidate\n",
                                fmt::format("cost/{}", cost_unit), "damage", "measured",
                                fmt::format("merit/{}", merit_unit), others("others/%"));
  for (size_t i = 0; i < curve.size(); ++i) {
    const TradeOffPoint& point = curve[i];
    std::string picks;
    for (const int pick : point.picks) picks += static_cast<char>('a' + std::min(pick, 25));
    out += fmt::format("{:>14} {:>12.4g} {:>12.4g} {:>10.4g}{}  {}{}\n", CostText(point.cost),
                       point.damage, point.measured_damage, point.merit,
                       others(fmt::format("{:.3g}", 100 * point.other_error)), picks,
                       static_cast<int>(i) == chosen ? "  <" : "");
  }
  const TradeOffPoint& best = choice();
  out +=
      "units by candidate: a letter for each unit, in the order of the table of layers below\n"
      "damage: mean squared error of the outputs over their mean square, by the model and "
      "measured\n";
  if (has_others) {
    out +=
        "others: the error of the worst output without labels, in per cent of its root mean "
        "square; damage is the sum of all outputs'\n";
  }
  out += fmt::format("fp32: {:.4g} {}. Chosen: cost {} {}, merit {:.4g} {}{}.\n", fp32_merit,
                     merit_unit, CostText(best.cost), cost_unit, best.merit, merit_unit,
                     within_budget ? "" : ", not within the budget");
  out += fmt::format(
      "If damages of units add, no assignment with at most its damage costs less than {} {} "
      "(gap {:.3g} %). "
      "Merits are measured, that they follow the damage is not proved.\n",
      CostText(best.lower_bound), cost_unit,
      best.cost > 0 ? 100 * (1 - best.lower_bound / best.cost) : 0);
  return out + "\nLayers of the choice; layers of one unit take their type together:\n" +
         ChoiceTable();
}

StatusOr<MixedPrecision> SearchMixedPrecision(
    const Graph& graph, std::span<const Tensor> calibration, std::span<const Tensor> evaluation,
    const Merit& merit, const MixedPrecisionOptions& options, const SearchProgress& progress) {
  return Search(graph, evaluation, merit, options, progress).Run(calibration);
}

}  // namespace kiln
