// Prediction of outputs that a rectifier makes zero, so that the steps that are left can be
// skipped.
//
//   exact      an output is zero when even the greatest sum of the steps that are left cannot make
//              it positive. No output changes.
//   predicted  an output is zero when its sum after `decision` steps is below a threshold of its
//              channel. Outputs that would have become positive are lost; the report counts them.
//
// With weights of one plane and activations of two digits, `decision` 1 is the two-level prediction
// of the paper: 16 H + b < T.
#ifndef KILN_TARGETS_BINARY_PREDICT_PREDICTION_H_
#define KILN_TARGETS_BINARY_PREDICT_PREDICTION_H_

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "kiln/targets/binary/predict/step_sums.h"

namespace kiln::binary {

enum class Mode { kExactStatic, kExactMap, kPredicted };

// How a test decides that an output is zero, and in which order the steps come.
struct Predictor {
  Mode mode = Mode::kExactMap;
  std::vector<Step> order;  // all steps, valid (IsValidOrder)
  // Of predicted mode: test after this many steps, 0 .. steps - 1, against the threshold of each
  // output channel, in units of StepSums.
  int decision = 1;
  std::vector<int64_t> thresholds;
};

// Counts over all outputs of all positions.
struct PredictionReport {
  int64_t outputs = 0;
  int64_t zeros = 0;             // outputs that are zero without prediction: S <= 0
  std::vector<int64_t> decided;  // [steps + 1]: outputs that stop after that many steps
  int64_t wrongly_zeroed = 0;    // outputs that are made zero although S > 0 ...
  double lost = 0;               // ... and the sum of their S
  double positive = 0;           // the sum of S over all outputs with S > 0
  int64_t steps_done = 0;        // steps of all outputs

  double zero_share() const { return Share(zeros); }
  double wrong_share() const { return Share(wrongly_zeroed); }
  double lost_share() const { return positive == 0 ? 0 : lost / positive; }
  // Share of steps that are skipped.
  double saved() const {
    const auto steps = static_cast<double>(decided.size()) - 1;
    return 1 - static_cast<double>(steps_done) / (static_cast<double>(outputs) * steps);
  }

 private:
  double Share(int64_t count) const {
    return static_cast<double>(count) / static_cast<double>(outputs);
  }
};

// Runs the predictor on all outputs. `rectified` receives max(S, 0), or 0 where the predictor stops
// an output, as [position][output]; it may be null. The predictor must fit the sums.
PredictionReport Predict(const StepSums& sums, const Predictor& predictor,
                         std::vector<int64_t>* rectified = nullptr);

// The errors that training may cause in each channel: a share of its outputs that are wrongly
// zeroed, or a share of the sum of its positive outputs that is lost.
struct ErrorBudget {
  enum class Kind { kWrongShare, kLostShare };
  Kind kind = Kind::kWrongShare;
  double share = 0.01;
};

// Threshold of a channel whose outputs may all be made zero.
inline constexpr int64_t kNoThreshold = std::numeric_limits<int64_t>::max();

// Returns for each output channel the largest threshold whose errors on `sums` are within the
// budget. With a budget of 0 no positive output of `sums` is lost.
std::vector<int64_t> TrainThresholds(const StepSums& sums, std::span<const Step> order,
                                     int decision, const ErrorBudget& budget);

// Returns the predictor in `order` whose test saves the most steps on `sums` within the budget,
// over all values of `decision`; among equals, the earliest.
Predictor TrainPredictor(const StepSums& sums, std::vector<Step> order, const ErrorBudget& budget);

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_PREDICT_PREDICTION_H_
