// Prediction against plain loops: sums of steps, exactness of the exact modes, rates, thresholds.
#include "kiln/targets/binary/predict/prediction.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/support/random.h"
#include "tests/targets/binary/predict/plain_sums.h"

namespace kiln::binary {
namespace {

using ::testing::HasSubstr;

WindowShape SmallShape(int64_t side, int64_t channels, int64_t outputs) {
  WindowShape shape;
  shape.height = shape.width = side;
  shape.channels = channels;
  shape.outputs = outputs;
  shape.kernel_height = shape.kernel_width = 3;
  shape.top = shape.left = shape.bottom = shape.right = 1;
  return shape;
}

PredictionCase RandomCase(uint64_t seed) {
  Random random(seed);
  const WeightFormat weights{static_cast<WeightCoding>(random.Below(3)),
                             static_cast<int>(random.Between(1, 4))};
  const ActivationFormat activations{random.Below(2) == 0, static_cast<int>(random.Between(1, 12))};
  return MakePredictionCase(SmallShape(5, random.Between(1, 6), 4), weights, activations, 0.5,
                            200 << weights.bits, seed);
}

TEST(StepSums, EqualPlainLoops) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const PredictionCase made = RandomCase(seed);
    const StepSums sums = made.Sums();
    for (int64_t position = 0; position < sums.positions(); ++position) {
      for (int64_t output = 0; output < sums.outputs(); ++output) {
        const PlainOutput plain = ComputePlainOutput(made, position, output);
        ASSERT_EQ(sums.Total(position, output), plain.total * made.weight_format.scale());
        for (int p = 0; p < sums.planes(); ++p) {
          for (int q = 0; q < sums.digits(); ++q) {
            const auto i = static_cast<size_t>(p), j = static_cast<size_t>(q);
            ASSERT_EQ(sums.Term({p, q}, position, output), plain.terms[i][j]);
            ASSERT_EQ(sums.Highest({p, q}, position, output, Bound::kStatic), plain.most[i][j]);
            ASSERT_EQ(sums.Highest({p, q}, position, output, Bound::kMap), plain.map[i][j]);
            ASSERT_LE(sums.Lowest({p, q}, output), plain.terms[i][j]);
          }
        }
      }
    }
  }
}

TEST(StepSums, OrdersAreValidOrNot) {
  const StepSums sums =
      MakePredictionCase(SmallShape(3, 1, 1), {WeightCoding::kOdd, 2}, {false, 8}, 0, 0, 1).Sums();
  EXPECT_TRUE(IsValidOrder(sums, StepsBySignificance(sums)));
  EXPECT_EQ(StepsBySignificance(sums), (std::vector<Step>{{1, 1}, {0, 1}, {1, 0}, {0, 0}}));
  EXPECT_TRUE(IsValidOrder(sums, std::vector<Step>{{1, 1}, {1, 0}, {0, 1}, {0, 0}}));
  EXPECT_FALSE(IsValidOrder(sums, std::vector<Step>{{1, 0}, {1, 1}, {0, 1}, {0, 0}}));
  EXPECT_FALSE(IsValidOrder(sums, std::vector<Step>{{0, 1}, {1, 1}, {1, 0}, {0, 0}}));
  EXPECT_FALSE(IsValidOrder(sums, std::vector<Step>{{1, 1}, {0, 1}, {1, 0}}));
  EXPECT_FALSE(IsValidOrder(sums, std::vector<Step>{{1, 1}, {1, 1}, {1, 0}, {0, 0}}));
}

TEST(StepSums, RejectsBiasOfTheWrongSize) {
  PredictionCase made =
      MakePredictionCase(SmallShape(3, 1, 2), {WeightCoding::kOdd, 1}, {false, 8}, 0, 0, 1);
  made.bias.pop_back();
  EXPECT_EQ(MessageOf(StepSums::Create(made.shape, made.weight_format, made.activation_format,
                                       made.weights, made.input, made.bias)
                          .status()),
            "bias: 1 values do not fit the shape; give 2");
  made.bias.push_back(0);
  made.input[2] = 256;
  EXPECT_FALSE(StepSums::Create(made.shape, made.weight_format, made.activation_format,
                                made.weights, made.input, made.bias)
                   .ok());
}

// The exact modes stop an output after the first step at which even the greatest rest is below
// zero, by plain loops, and change no output.
TEST(Prediction, ExactModesStopWhereTheBoundSays) {
  int64_t stopped = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const PredictionCase made = RandomCase(seed);
    const StepSums sums = made.Sums();
    const std::vector<Step> order = StepsBySignificance(sums);
    for (Mode mode : {Mode::kExactStatic, Mode::kExactMap}) {
      std::vector<int64_t> rectified, expected, decided(order.size() + 1, 0);
      const PredictionReport report = Predict(sums, {mode, order, 0, {}}, &rectified);
      int64_t zeros = 0, steps_done = 0;
      for (int64_t position = 0; position < sums.positions(); ++position) {
        for (int64_t output = 0; output < sums.outputs(); ++output) {
          const PlainOutput plain = ComputePlainOutput(made, position, output);
          const auto& bound = mode == Mode::kExactStatic ? plain.most : plain.map;
          // The greatest sum: all of it, with the terms of steps that are left replaced.
          size_t done = 0;
          for (; done < order.size(); ++done) {
            int64_t most = plain.total * made.weight_format.scale();
            for (size_t i = done; i < order.size(); ++i) {
              const auto p = static_cast<size_t>(order[i].plane);
              const auto q = static_cast<size_t>(order[i].digit);
              most += bound[p][q] - plain.terms[p][q];
            }
            if (most < 0) break;
          }
          ++decided[done];
          steps_done += static_cast<int64_t>(done);
          zeros += plain.total <= 0 ? 1 : 0;
          stopped += done < order.size() ? 1 : 0;
          expected.push_back(std::max<int64_t>(0, plain.total));
        }
      }
      EXPECT_EQ(report.decided, decided);
      EXPECT_EQ(report.steps_done, steps_done);
      EXPECT_EQ(report.zeros, zeros);
      EXPECT_EQ(report.outputs, std::ssize(expected));
      EXPECT_EQ(report.wrongly_zeroed, 0);
      EXPECT_EQ(report.lost, 0);
      EXPECT_EQ(rectified, expected);
    }
  }
  EXPECT_GT(stopped, 100);  // the bounds do stop outputs
}

// The training data of one channel: sums after the decision, and S.
struct Plain {
  int64_t known, total;
};

std::vector<Plain> PlainChannel(const PredictionCase& made, std::span<const Step> done,
                                int64_t output) {
  std::vector<Plain> channel;
  for (int64_t position = 0; position < made.shape.positions(); ++position) {
    const PlainOutput plain = ComputePlainOutput(made, position, output);
    int64_t known = plain.total * made.weight_format.scale();
    for (const auto& row : plain.terms) {
      for (int64_t term : row) known -= term;
    }
    for (Step step : done) {
      known += plain.terms[static_cast<size_t>(step.plane)][static_cast<size_t>(step.digit)];
    }
    channel.push_back({known, plain.total});
  }
  return channel;
}

// The largest threshold within the budget, by trying every candidate from the top.
TEST(Prediction, ThresholdsAreTheLargestWithinTheBudget) {
  int64_t finite = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const PredictionCase made = RandomCase(seed);
    const StepSums sums = made.Sums();
    const std::vector<Step> order = StepsBySignificance(sums);
    const int decision = sums.steps() / 2;
    for (auto kind : {ErrorBudget::Kind::kWrongShare, ErrorBudget::Kind::kLostShare}) {
      for (double share : {0.0, 0.05, 0.3}) {
        const std::vector<int64_t> thresholds =
            TrainThresholds(sums, order, decision, {kind, share});
        for (int64_t output = 0; output < sums.outputs(); ++output) {
          const std::vector<Plain> channel =
              PlainChannel(made, std::span(order).first(static_cast<size_t>(decision)), output);
          double positive = 0;
          for (const Plain& p : channel)
            positive += static_cast<double>(std::max<int64_t>(0, p.total));
          const auto within = [&](int64_t threshold) {
            double wrong = 0, lost = 0;
            for (const Plain& p : channel) {
              if (p.known >= threshold || p.total <= 0) continue;
              wrong += 1;
              lost += static_cast<double>(p.total);
            }
            return kind == ErrorBudget::Kind::kWrongShare
                       ? wrong <= share * static_cast<double>(channel.size())
                       : lost <= share * positive;
          };
          const int64_t threshold = thresholds[static_cast<size_t>(output)];
          EXPECT_TRUE(within(threshold));
          if (threshold == kNoThreshold) continue;
          ++finite;
          EXPECT_FALSE(within(threshold + 1));
        }
      }
    }
  }
  EXPECT_GT(finite, 100);
}

TEST(Prediction, PredictedModeReportsItsErrors) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const PredictionCase made = RandomCase(seed);
    const StepSums sums = made.Sums();
    const std::vector<Step> order = StepsBySignificance(sums);
    const int decision = sums.steps() - 1;
    const std::vector<int64_t> thresholds(static_cast<size_t>(sums.outputs()), 40);
    std::vector<int64_t> rectified;
    const PredictionReport report =
        Predict(sums, {Mode::kPredicted, order, decision, thresholds}, &rectified);
    int64_t stopped = 0, wrong = 0, lost = 0, positive = 0;
    for (int64_t output = 0; output < sums.outputs(); ++output) {
      const std::vector<Plain> channel =
          PlainChannel(made, std::span(order).first(static_cast<size_t>(decision)), output);
      for (size_t p = 0; p < channel.size(); ++p) {
        const bool stop = channel[p].known < 40;
        const int64_t value = std::max<int64_t>(0, channel[p].total);
        stopped += stop ? 1 : 0;
        positive += value;
        if (stop && value > 0) {
          ++wrong;
          lost += value;
        }
        EXPECT_EQ(rectified[p * static_cast<size_t>(sums.outputs()) + static_cast<size_t>(output)],
                  stop ? 0 : value);
      }
    }
    EXPECT_EQ(report.decided[static_cast<size_t>(decision)], stopped);
    EXPECT_EQ(report.decided[order.size()], report.outputs - stopped);
    EXPECT_EQ(report.wrongly_zeroed, wrong);
    EXPECT_EQ(report.lost, static_cast<double>(lost));
    EXPECT_EQ(report.positive, static_cast<double>(positive));
    EXPECT_NEAR(report.saved(),
                static_cast<double>(stopped) / static_cast<double>(report.outputs * sums.steps()),
                1e-12);
  }
}

TEST(Prediction, TrainedPredictorSavesMostWithinTheBudget) {
  const PredictionCase made =
      MakePredictionCase(SmallShape(6, 4, 3), {WeightCoding::kOdd, 2}, {false, 8}, 0.4, 100, 5);
  const StepSums sums = made.Sums();
  const std::vector<Step> order = StepsBySignificance(sums);
  const ErrorBudget budget{ErrorBudget::Kind::kWrongShare, 0.02};
  const PredictionReport best = Predict(sums, TrainPredictor(sums, order, budget));
  EXPECT_LE(best.wrong_share(), 0.02);
  EXPECT_GT(best.saved(), 0);
  for (int decision = 0; decision < sums.steps(); ++decision) {
    const PredictionReport other = Predict(
        sums, {Mode::kPredicted, order, decision, TrainThresholds(sums, order, decision, budget)});
    EXPECT_LE(other.saved(), best.saved());
  }
}

// Random signs and rectified normal inputs, 1500 outputs: spec.md, 2.3, gives 7 % of
// outputs that the static bound decides at 27 inputs, 0.1 % at 144, 0 % from 324 on; T = 0 finds
// 93 to 95 % of outputs that are zero and wrongly zeroes 2 to 4 %. The reference does not record
// the scale of its inputs, so the tolerances are wide.
TEST(Prediction, RatesOfTheReferenceSimulation) {
  const auto simulate = [](int64_t inputs, double zero_inputs, Mode mode) {
    WindowShape shape;
    shape.width = 50;
    shape.channels = inputs;
    shape.outputs = 30;
    PredictionCase made = MakePredictionCase(shape, {WeightCoding::kOdd, 1}, {false, 8}, 0, 0, 11);
    Random random(12);
    for (int32_t& x : made.input) {
      const double normal = std::sqrt(-2 * std::log(1 - random.Uniform())) *
                            std::cos(2 * std::numbers::pi * random.Uniform());
      const double value =
          random.Uniform() < (zero_inputs - 0.5) * 2 ? 0 : std::max(0.0, normal) * 40;
      x = static_cast<int32_t>(std::min(255.0, std::round(value)));
    }
    const StepSums sums = made.Sums();
    return Predict(sums, {mode, StepsBySignificance(sums), 1, std::vector<int64_t>(30, 0)});
  };
  const auto decided = [](const PredictionReport& report) {
    return static_cast<double>(report.decided[0] + report.decided[1]) /
           static_cast<double>(report.outputs);
  };
  EXPECT_NEAR(decided(simulate(27, 0.5, Mode::kExactStatic)), 0.07, 0.05);
  EXPECT_LT(decided(simulate(144, 0.5, Mode::kExactStatic)), 0.01);
  EXPECT_EQ(decided(simulate(324, 0.5, Mode::kExactStatic)), 0);
  for (int64_t inputs : {27, 144, 324, 648}) {
    const PredictionReport predicted = simulate(inputs, 0.5, Mode::kPredicted);
    EXPECT_GT(predicted.wrong_share(), 0.005) << inputs;
    EXPECT_LT(predicted.wrong_share(), 0.05) << inputs;
    const auto found = static_cast<double>(predicted.decided[1] - predicted.wrongly_zeroed) /
                       static_cast<double>(predicted.zeros);
    EXPECT_NEAR(found, 0.94, 0.04) << inputs;
  }
}

}  // namespace
}  // namespace kiln::binary
