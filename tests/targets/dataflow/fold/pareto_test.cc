// Tests of the Pareto front against the enumeration, and of what it says about the next step.
#include "kiln/targets/dataflow/fold/pareto.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/support/random.h"
#include "kiln/targets/dataflow/fold/brute_force.h"
#include "kiln/targets/dataflow/fold/plain_model.h"
#include "tests/targets/dataflow/fold/random_problem.h"
#include "tests/targets/dataflow/fold/small_problem.h"

namespace kiln::dataflow {
namespace {

using testing::ElementsAre;
using Point = std::vector<int64_t>;  // L_max and the compared resources

Point PointOf(const ParetoOptions& options, const FoldMetrics& metrics) {
  Point point = {metrics.l_max};
  for (size_t k = 0; k < options.compare.size(); ++k) {
    if (options.compare[k]) point.push_back(metrics.resources[k]);
  }
  return point;
}

bool AtMost(const Point& a, const Point& b) {
  return std::equal(a.begin(), a.end(), b.begin(), [](int64_t x, int64_t y) { return x <= y; });
}

std::set<Point> FrontByEnumeration(const FoldProblem& problem, const ParetoOptions& options) {
  std::set<Point> all, front;
  EXPECT_TRUE(EnumerateFolds(problem, [&](const Fold&, const FoldMetrics& metrics) {
                if (metrics.l_max <= options.target_cycles) {
                  all.insert(PointOf(options, metrics));
                }
              }).ok());
  for (const Point& point : all) {
    const auto dominates = [&](const Point& other) {
      return other != point && AtMost(other, point);
    };
    if (std::none_of(all.begin(), all.end(), dominates)) front.insert(point);
  }
  return front;
}

TEST(SolvePareto, AgreesWithTheEnumeration) {
  size_t points = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const FoldProblem problem = RandomProblem(
        seed, {static_cast<Shape>(seed % 3), 2 + static_cast<int>(seed % 4), 200, seed % 2 == 1});
    ParetoOptions options;
    const uint64_t compared = 1 + random.Below(15);
    for (size_t k = 0; k < options.compare.size(); ++k) options.compare[k] = compared >> k & 1;
    if (seed % 5 == 0) options.target_cycles = random.Between(1, 60);
    StatusOr<ParetoFront> front = SolvePareto(problem, options);
    ASSERT_TRUE(front.ok());
    EXPECT_TRUE(front->complete);
    std::set<Point> found;
    for (const ParetoPoint& point : front->points) {
      EXPECT_THAT(Violations(problem, point.fold), testing::IsEmpty());
      EXPECT_TRUE(point.proved);
      found.insert(PointOf(options, point.metrics));
    }
    EXPECT_EQ(found.size(), front->points.size());
    EXPECT_EQ(found, FrontByEnumeration(problem, options));
    EXPECT_EQ(front->infeasible.empty(), !found.empty());
    points += found.size();
  }
  EXPECT_GT(points, 300u);
}

TEST(SolvePareto, CountsFifosAtEachPointsOwnPeriod) {
  FoldProblem problem = ResidualBlock();
  problem.limits[kBram] = 0;
  for (const bool dsp : {false, true}) {
    ParetoOptions options;
    options.compare = {dsp, false, false, true};
    StatusOr<ParetoFront> front = SolvePareto(problem, options);
    ASSERT_TRUE(front.ok());
    ASSERT_EQ(front->points.size(), 2u);
    EXPECT_THAT(PointOf({{false, false, false, true}}, front->points[0].metrics),
                ElementsAre(10, 200));
    EXPECT_THAT(PointOf({{false, false, false, true}}, front->points[1].metrics),
                ElementsAre(40, 125));
  }
}

TEST(SolvePareto, SaysWhatTheNextStepNeeds) {
  // Of each point, the needs at the next smaller L_max are the least of any fold there.
  for (uint64_t seed = 500; seed < 560; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    FoldProblem problem = RandomProblem(seed, {Shape::kChain, 3, 200, false});
    ParetoOptions options;
    options.compare = {true, false, false, true};
    StatusOr<ParetoFront> front = SolvePareto(problem, options);
    ASSERT_TRUE(front.ok());
    for (const ParetoPoint& point : front->points) {
      if (point.next.cycles == 0) continue;
      EXPECT_LT(point.next.cycles, point.metrics.l_max);
      for (const int kind : {kDsp, kLut}) {
        const auto k = static_cast<size_t>(kind);
        FoldProblem lifted = problem;
        if (point.next.beyond_device) lifted.limits[k] = kUnlimited;
        int64_t least = kUnlimited;
        ASSERT_TRUE(EnumerateFolds(lifted, [&](const Fold&, const FoldMetrics& metrics) {
                      if (metrics.l_max <= point.next.cycles) {
                        least = std::min(least, metrics.resources[k]);
                      }
                    }).ok());
        if (point.next.needs[k]) {
          EXPECT_EQ(*point.next.needs[k], least);
        } else {
          EXPECT_TRUE(least == kUnlimited || problem.limits[k] == kUnlimited);
        }
        EXPECT_TRUE(!point.next.beyond_device || least > problem.limits[k] || least == kUnlimited ||
                    problem.limits[k] == kUnlimited);
      }
    }
  }
}

TEST(SolvePareto, DescribesTheFrontOfVdsr) {
  const FoldProblem problem = PlainChain(VdsrLayers(20, 200), 1728);
  ParetoOptions options;
  options.compare = {true, false, false, false};
  StatusOr<ParetoFront> front = SolvePareto(problem, options);
  ASSERT_TRUE(front.ok());
  std::vector<std::string> lines;
  for (const ParetoPoint& point : front->points) lines.push_back(Describe(problem, point));
  EXPECT_THAT(
      lines,
      ElementsAre("20480000 cycles, 1314 DSP; the next 1295 DSP buy nothing, 1296 more DSP would "
                  "buy 50.0 % (10240000 cycles), the device has 414 more",
                  "40960000 cycles, 666 DSP; the next 647 DSP buy nothing, 648 more DSP would buy "
                  "50.0 % (20480000 cycles)",
                  "81920000 cycles, 342 DSP; the next 323 DSP buy nothing, 324 more DSP would buy "
                  "50.0 % (40960000 cycles)",
                  "163840000 cycles, 180 DSP; the next 161 DSP buy nothing, 162 more DSP would buy "
                  "50.0 % (81920000 cycles)"));
}

TEST(SolvePareto, SaysThatNothingIsFaster) {
  FoldProblem problem;
  problem.layers = {MakeLayer("conv", {MakeCandidate(1, 1, 10, 4), MakeCandidate(1, 1, 20, 3)})};
  problem.limits[kDsp] = 9;
  StatusOr<ParetoFront> front = SolvePareto(problem);
  ASSERT_TRUE(front.ok());
  ASSERT_EQ(front->points.size(), 2u);
  EXPECT_EQ(Describe(problem, front->points[0]), "10 cycles, 4 DSP; no fold is faster");
  EXPECT_EQ(Describe(problem, front->points[1]),
            "20 cycles, 3 DSP; 1 more DSP would buy 50.0 % (10 cycles)");
}

TEST(SolvePareto, ExplainsAnEmptyFront) {
  FoldProblem problem = ResidualBlock();
  problem.limits[kDsp] = 2;
  StatusOr<ParetoFront> front = SolvePareto(problem);
  ASSERT_TRUE(front.ok());
  EXPECT_TRUE(front->points.empty());
  EXPECT_EQ(front->infeasible,
            "the layers need at least 3 DSP, the device has 2; layer main needs most, 2");
}

TEST(SolvePareto, ProvesNothingBeyondItsBudget) {
  // Every point that is proved is on the front, whatever the budget.
  int proved = 0, unproved = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const FoldProblem problem = RandomProblem(seed, {static_cast<Shape>(seed % 3), 4, 200, false});
    ParetoOptions options;
    options.most_work = static_cast<int64_t>(20 + 4 * seed);
    StatusOr<ParetoFront> front = SolvePareto(problem, options);
    ASSERT_TRUE(front.ok());
    const std::set<Point> expected = FrontByEnumeration(problem, options);
    for (const ParetoPoint& point : front->points) {
      ++(point.proved ? proved : unproved);
      EXPECT_THAT(Violations(problem, point.fold), testing::IsEmpty());
      if (point.proved) {
        EXPECT_EQ(expected.count(PointOf(options, point.metrics)), 1u);
      }
    }
    if (front->complete) {
      EXPECT_EQ(front->points.size(), expected.size());
    }
  }
  EXPECT_GT(proved, 50);
}

TEST(SolvePareto, StopsAtItsLimits) {
  const FoldProblem problem = PlainChain(VdsrLayers(6, 200), 3000);
  ParetoOptions options;
  options.most_points = 2;
  StatusOr<ParetoFront> front = SolvePareto(problem, options);
  ASSERT_TRUE(front.ok());
  EXPECT_EQ(front->points.size(), 2u);
  EXPECT_FALSE(front->complete);
  options.compare = {};
  EXPECT_EQ(MessageOf(SolvePareto(problem, options).status()),
            "front: compares no resource; compare at least one");
  options.compare = {true, false, false, false};
  options.target_cycles = 0;
  EXPECT_EQ(MessageOf(SolvePareto(problem, options).status()),
            "target: is 0 cycles; use 1 or more");
}

}  // namespace
}  // namespace kiln::dataflow
