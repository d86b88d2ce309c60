// Tests of terms, their order and their weights, and of certificates as text.
#include "kiln/targets/dataflow/fold/objective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/targets/dataflow/fold/small_problem.h"

namespace kiln::dataflow {
namespace {

using testing::ElementsAre;

std::vector<std::string> NamesOf(const Objective& objective) {
  std::vector<std::string> names;
  for (const Term& term : TermsOf(objective, {10, 10, 10, 10})) names.emplace_back(term.name);
  return names;
}

TEST(TermsOf, FollowsGoalAndOrder) {
  EXPECT_THAT(NamesOf({Goal::kThroughput, kUnlimited, ResourceOrder::kDspFirst}),
              ElementsAre("L_max", "L_sum", "DSP", "memory", "LUT"));
  EXPECT_THAT(NamesOf({Goal::kResources, kUnlimited, ResourceOrder::kMemoryFirst}),
              ElementsAre("memory", "DSP", "LUT", "L_max", "L_sum"));
  EXPECT_THAT(NamesOf({Goal::kResources, kUnlimited, ResourceOrder::kLutFirst}),
              ElementsAre("LUT", "DSP", "memory", "L_max", "L_sum"));
  EXPECT_THAT(NamesOf({Goal::kLatency, kUnlimited, ResourceOrder::kDeviceShare}),
              ElementsAre("latency", "device share", "L_max", "L_sum"));
}

TEST(DeviceShareWeights, AreInPartsOfTheLimit) {
  EXPECT_THAT(DeviceShareWeights({1728, 0, kUnlimited, 1}),
              ElementsAre(578704, 0, 0, 1000000000, 0));
  EXPECT_THAT(DeviceShareWeights({int64_t{1} << 40, 3, 7, 2000000000}),
              ElementsAre(0, 333333333, 142857143, 1, 0));
}

TEST(Weighted, IsCutOff) {
  EXPECT_EQ(Weighted(kMemoryWeights, {5, 2, 3, 9}), 50);
  EXPECT_EQ(Weighted({1000000000, 0, 0, 0}, {kMaxAmount, 0, 0, 0}), int64_t{1} << 58);
}

TEST(ScoresOf, ListsTheTerms) {
  FoldMetrics metrics;
  metrics.l_max = 7;
  metrics.l_sum = 5;
  metrics.latency = 99;
  metrics.resources = {4, 3, 2, 1};
  EXPECT_THAT(ScoresOf({}, {}, metrics), ElementsAre(7, 5, 4, 35, 1));
  EXPECT_THAT(ScoresOf({Goal::kLatency, kUnlimited, ResourceOrder::kDeviceShare},
                       {10, 10, 10, kUnlimited}, metrics),
              ElementsAre(99, 900000000, 7, 5));
}

TEST(CheckObjective, RefusesATargetBelowOne) {
  EXPECT_EQ(MessageOf(CheckObjective({Goal::kThroughput, 0, ResourceOrder::kDspFirst})),
            "target: is 0 cycles; use 1 or more");
}

TEST(Describe, SaysWhyNothingIsFaster) {
  const FoldProblem problem = ResidualBlock();
  FoldCertificate certificate;
  certificate.log10_folds = 33.84;
  EXPECT_EQ(Describe(problem, certificate), "no fold was found among 10^33.8 folds");
  certificate.optimal = true;
  EXPECT_EQ(Describe(problem, certificate), "no valid fold is among 10^33.8 folds");
  certificate.terms = {{"L_max", 40, 40}};
  certificate.cycles_bound = 40;
  certificate.next_cycles = 10;
  const auto text = [&](BoundSource source) {
    certificate.source = source;
    return Describe(problem, certificate);
  };
  certificate.layer = 1;
  certificate.resource = kDsp;
  certificate.needs = 9;
  certificate.limit = 8;
  EXPECT_EQ(text(BoundSource::kNone),
            "optimal among 10^33.8 folds; no fold is faster than 40 cycles");
  EXPECT_EQ(
      text(BoundSource::kBottleneck),
      "optimal among 10^33.8 folds; layer main takes 40 cycles at the fastest fold that fits");
  EXPECT_EQ(text(BoundSource::kCoupling),
            "optimal among 10^33.8 folds; within 10 cycles no fold gives layer main words that it "
            "can take");
  EXPECT_EQ(text(BoundSource::kResource),
            "optimal among 10^33.8 folds; 10 cycles would need 9 DSP, the device has 8");
  EXPECT_EQ(text(BoundSource::kCombination),
            "optimal among 10^33.8 folds; within 10 cycles no fold meets all limits together");
  certificate.optimal = false;
  certificate.terms = {{"L_max", 40, 40}, {"DSP", 12, 10}};
  EXPECT_EQ(text(BoundSource::kExhausted),
            "best found among 10^33.8 folds, DSP 12 with bound 10 (gap 20.0 %); the work budget "
            "ended before 10 cycles were refuted");
}

}  // namespace
}  // namespace kiln::dataflow
