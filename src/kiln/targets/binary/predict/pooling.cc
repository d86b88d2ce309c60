// Decides pools by the sums of their first steps, and counts what is skipped and what is lost.
#include "kiln/targets/binary/predict/pooling.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "kiln/support/check.h"

namespace kiln::binary {
namespace {

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();

// Adds one pool, whose candidates are `positions`.
void AddPool(const StepSums& sums, std::span<const Step> order, int decision, int64_t lead,
             std::span<const int64_t> positions, int64_t output, PoolReport& report) {
  std::vector<int64_t> known;
  int64_t best_known = kLowest;
  for (int64_t position : positions) {
    int64_t sum = sums.Start(position, output);
    for (Step step : order.first(static_cast<size_t>(decision))) {
      sum += sums.Term(step, position, output);
    }
    known.push_back(sum);
    best_known = std::max(best_known, sum);
  }
  int64_t found = kLowest, greatest = kLowest;
  for (size_t i = 0; i < positions.size(); ++i) {
    const int64_t total = sums.Total(positions[i], output) / sums.weights().scale();
    greatest = std::max(greatest, total);
    report.steps_done += decision;
    if (best_known - known[i] > lead) {
      ++report.skipped;
    } else {
      found = std::max(found, total);
      report.steps_done += sums.steps() - decision;
    }
  }
  ++report.pools;
  report.candidates += std::ssize(positions);
  report.steps_total += std::ssize(positions) * sums.steps();
  if (found != greatest) {
    ++report.wrong;
    report.lost += static_cast<double>(greatest - found);
  }
}

}  // namespace

int64_t ExactLead(const StepSums& sums, std::span<const Step> order, int decision) {
  int64_t lead = 0;
  for (Step step : order.subspan(static_cast<size_t>(decision))) {
    lead += sums.Highest(step, 0, 0, Bound::kStatic) - sums.Lowest(step, 0);
  }
  return lead;
}

PoolReport PredictMaximum(const StepSums& sums, std::span<const Step> order, int decision,
                          int64_t lead, const PoolShape& pool) {
  KILN_CHECK(IsValidOrder(sums, order) && decision >= 0 && decision <= sums.steps() && lead >= 0);
  KILN_CHECK(pool.size >= 1 && pool.stride >= 1);
  const int64_t height = sums.shape().out_height(), width = sums.shape().out_width();
  PoolReport report;
  report.exact = lead >= ExactLead(sums, order, decision);
  for (int64_t image = 0; image < sums.shape().batch; ++image) {
    for (int64_t y = 0; y + pool.size <= height; y += pool.stride) {
      for (int64_t x = 0; x + pool.size <= width; x += pool.stride) {
        std::vector<int64_t> positions;
        for (int64_t i = 0; i < pool.size * pool.size; ++i) {
          positions.push_back((image * height + y + i / pool.size) * width + x + i % pool.size);
        }
        for (int64_t output = 0; output < sums.outputs(); ++output) {
          AddPool(sums, order, decision, lead, positions, output, report);
        }
      }
    }
  }
  return report;
}

}  // namespace kiln::binary
