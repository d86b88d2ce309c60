// Prediction of maximum pooling against plain loops over pools.
#include "kiln/targets/binary/predict/pooling.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/targets/binary/predict/plain_sums.h"

namespace kiln::binary {
namespace {

PredictionCase PoolCase(uint64_t seed, int planes, int bits) {
  WindowShape shape;
  shape.batch = 2;
  shape.height = 6;
  shape.width = 7;
  shape.channels = 3;
  shape.outputs = 5;
  shape.kernel_height = shape.kernel_width = 3;
  shape.top = shape.left = shape.bottom = shape.right = 1;
  return MakePredictionCase(shape, {WeightCoding::kOdd, planes}, {false, bits}, 0.5, 100, seed);
}

struct PlainReport {
  int64_t pools = 0, candidates = 0, skipped = 0, wrong = 0, lost = 0;
};

PlainReport PlainPools(const PredictionCase& made, std::span<const Step> done, int64_t lead,
                       int64_t size, int64_t stride) {
  const WindowShape& s = made.shape;
  PlainReport report;
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t y = 0; y + size <= s.out_height(); y += stride) {
      for (int64_t x = 0; x + size <= s.out_width(); x += stride) {
        for (int64_t n = 0; n < s.outputs; ++n) {
          std::vector<int64_t> known, total;
          for (int64_t dy = 0; dy < size; ++dy) {
            for (int64_t dx = 0; dx < size; ++dx) {
              const PlainOutput plain = ComputePlainOutput(
                  made, (b * s.out_height() + y + dy) * s.out_width() + x + dx, n);
              total.push_back(plain.total);
              known.push_back(made.bias[static_cast<size_t>(n)]);
              for (Step step : done) {
                known.back() +=
                    plain.terms[static_cast<size_t>(step.plane)][static_cast<size_t>(step.digit)];
              }
            }
          }
          ++report.pools;
          report.candidates += size * size;
          const int64_t best = *std::max_element(known.begin(), known.end());
          int64_t found = -1000000;
          for (size_t i = 0; i < known.size(); ++i) {
            if (known[i] < best - lead) {
              ++report.skipped;
            } else {
              found = std::max(found, total[i]);
            }
          }
          const int64_t loss = *std::max_element(total.begin(), total.end()) - found;
          report.wrong += loss > 0 ? 1 : 0;
          report.lost += loss;
        }
      }
    }
  }
  return report;
}

TEST(Pooling, EqualsPlainLoops) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const PredictionCase made = PoolCase(seed, seed % 2 == 0 ? 1 : 2, 8);
    const StepSums sums = made.Sums();
    const std::vector<Step> order = StepsBySignificance(sums);
    for (int decision : {1, sums.steps() - 1}) {
      for (int64_t lead : {0, 50, 400}) {
        for (const PoolShape pool : {PoolShape{2, 2}, PoolShape{3, 2}}) {
          const PoolReport report = PredictMaximum(sums, order, decision, lead, pool);
          const PlainReport plain =
              PlainPools(made, std::span(order).first(static_cast<size_t>(decision)), lead,
                         pool.size, pool.stride);
          EXPECT_EQ(report.pools, plain.pools);
          EXPECT_EQ(report.candidates, plain.candidates);
          EXPECT_EQ(report.skipped, plain.skipped);
          EXPECT_EQ(report.wrong, plain.wrong);
          EXPECT_EQ(report.lost, static_cast<double>(plain.lost));
          EXPECT_EQ(report.steps_total, plain.candidates * sums.steps());
          EXPECT_EQ(report.steps_done,
                    report.steps_total - plain.skipped * (sums.steps() - decision));
        }
      }
    }
  }
}

// spec.md, 2.3: exact when the lead exceeds (15 n+ + 15 n-)/16 in units of H, that is 15 times the
// inputs of a window.
TEST(Pooling, ExactLeadChangesNoMaximum) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const StepSums sums = PoolCase(seed, 1, 8).Sums();
    const std::vector<Step> order = StepsBySignificance(sums);
    EXPECT_EQ(ExactLead(sums, order, 1), 15 * 27);
    const PoolReport exact = PredictMaximum(sums, order, 1, 15 * 27, {});
    EXPECT_TRUE(exact.exact);
    EXPECT_EQ(exact.wrong, 0);
    EXPECT_GT(exact.skipped, 0);
    const PoolReport greedy = PredictMaximum(sums, order, 1, 15 * 27 - 1, {});
    EXPECT_FALSE(greedy.exact);
  }
}

// spec.md, 2.3: three of four candidates of a 2x2 pool save half their work, 37.5 %, at most.
TEST(Pooling, SavesAtMostThreeEighths) {
  int64_t wrong = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const StepSums sums = PoolCase(seed, 1, 8).Sums();
    const PoolReport report = PredictMaximum(sums, StepsBySignificance(sums), 1, 0, {});
    EXPECT_GT(report.saved(), 0.34);  // equal sums after the first step are refined
    EXPECT_LE(report.saved(), 0.375);
    wrong += report.wrong;
  }
  EXPECT_GT(wrong, 0);
}

}  // namespace
}  // namespace kiln::binary
