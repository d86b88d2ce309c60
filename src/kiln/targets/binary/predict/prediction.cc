// Trains thresholds step by step, within a budget of wrong zeros.
#include "kiln/targets/binary/predict/prediction.h"

#include <algorithm>
#include <utility>

#include "kiln/support/check.h"

namespace kiln::binary {
namespace {

// Returns after how many steps the predictor stops an output.
int StepsUntilDecided(const StepSums& sums, const Predictor& predictor, int64_t position,
                      int64_t output) {
  const bool predicted = predictor.mode == Mode::kPredicted;
  const Bound bound = predictor.mode == Mode::kExactStatic ? Bound::kStatic : Bound::kMap;
  int64_t known = sums.Start(position, output), rest = 0;
  if (!predicted) {
    for (Step step : predictor.order) rest += sums.Highest(step, position, output, bound);
  }
  for (int done = 0; done < sums.steps(); ++done) {
    if (predicted ? done == predictor.decision &&
                        known < predictor.thresholds[static_cast<size_t>(output)]
                  : known + rest < 0) {
      return done;
    }
    const Step step = predictor.order[static_cast<size_t>(done)];
    known += sums.Term(step, position, output);
    if (!predicted) rest -= sums.Highest(step, position, output, bound);
  }
  return sums.steps();
}

int64_t SumAfter(const StepSums& sums, std::span<const Step> order, int steps, int64_t position,
                 int64_t output) {
  int64_t known = sums.Start(position, output);
  for (Step step : order.first(static_cast<size_t>(steps))) {
    known += sums.Term(step, position, output);
  }
  return known;
}

}  // namespace

PredictionReport Predict(const StepSums& sums, const Predictor& predictor,
                         std::vector<int64_t>* rectified) {
  KILN_CHECK(IsValidOrder(sums, predictor.order));
  if (predictor.mode == Mode::kPredicted) {
    KILN_CHECK(std::ssize(predictor.thresholds) == sums.outputs() && predictor.decision >= 0 &&
               predictor.decision < sums.steps());
  }
  PredictionReport report;
  report.outputs = sums.positions() * sums.outputs();
  report.decided.assign(static_cast<size_t>(sums.steps()) + 1, 0);
  if (rectified != nullptr) rectified->clear();
  for (int64_t position = 0; position < sums.positions(); ++position) {
    for (int64_t output = 0; output < sums.outputs(); ++output) {
      const int steps = StepsUntilDecided(sums, predictor, position, output);
      const int64_t total = sums.Total(position, output) / sums.weights().scale();
      const bool stopped = steps < sums.steps();
      ++report.decided[static_cast<size_t>(steps)];
      report.steps_done += steps;
      report.zeros += total <= 0 ? 1 : 0;
      if (total > 0) report.positive += static_cast<double>(total);
      if (total > 0 && stopped) {
        ++report.wrongly_zeroed;
        report.lost += static_cast<double>(total);
      }
      if (rectified != nullptr) rectified->push_back(stopped ? 0 : std::max<int64_t>(total, 0));
    }
  }
  return report;
}

std::vector<int64_t> TrainThresholds(const StepSums& sums, std::span<const Step> order,
                                     int decision, const ErrorBudget& budget) {
  std::vector<int64_t> thresholds;
  for (int64_t output = 0; output < sums.outputs(); ++output) {
    // Outputs that a threshold above `first` loses, with what each of them costs.
    std::vector<std::pair<int64_t, double>> losses;
    double positive = 0;
    for (int64_t position = 0; position < sums.positions(); ++position) {
      const int64_t total = sums.Total(position, output);
      if (total <= 0) continue;
      positive += static_cast<double>(total);
      losses.emplace_back(
          SumAfter(sums, order, decision, position, output),
          budget.kind == ErrorBudget::Kind::kWrongShare ? 1.0 : static_cast<double>(total));
    }
    std::sort(losses.begin(), losses.end());
    const double allowed = budget.share * (budget.kind == ErrorBudget::Kind::kWrongShare
                                               ? static_cast<double>(sums.positions())
                                               : positive);
    // The threshold is the sum of the first output that may not be lost. A tie with it is kept,
    // too, because a threshold only loses what is below it.
    int64_t threshold = kNoThreshold;
    double lost = 0;
    for (const auto& [known, cost] : losses) {
      lost += cost;
      if (lost > allowed) {
        threshold = known;
        break;
      }
    }
    thresholds.push_back(threshold);
  }
  return thresholds;
}

Predictor TrainPredictor(const StepSums& sums, std::vector<Step> order, const ErrorBudget& budget) {
  Predictor best;
  double best_saved = -1;
  for (int decision = 0; decision < sums.steps(); ++decision) {
    Predictor predictor{Mode::kPredicted, order, decision,
                        TrainThresholds(sums, order, decision, budget)};
    const double saved = Predict(sums, predictor).saved();
    if (saved <= best_saved) continue;
    best_saved = saved;
    best = std::move(predictor);
  }
  return best;
}

}  // namespace kiln::binary
