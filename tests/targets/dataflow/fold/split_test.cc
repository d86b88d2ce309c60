// Tests of splits over devices and passes against the enumeration of all cuts and folds.
#include "kiln/targets/dataflow/fold/split.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/support/integer.h"
#include "kiln/support/random.h"
#include "kiln/targets/dataflow/fold/brute_force.h"
#include "kiln/targets/dataflow/fold/exact_oracle.h"
#include "kiln/targets/dataflow/fold/model.h"
#include "kiln/targets/dataflow/fold/period_search.h"
#include "kiln/targets/dataflow/fold/plain_model.h"
#include "tests/targets/dataflow/fold/random_problem.h"
#include "tests/targets/dataflow/fold/small_problem.h"

namespace kiln::dataflow {
namespace {

using testing::ElementsAre;
using Score = std::pair<int64_t, int64_t>;
constexpr Score kNone = {std::numeric_limits<int64_t>::max(), 0};

// Advances mixed-radix digits; false after the last.
bool Advance(std::vector<int>& digits, const std::vector<int>& radices) {
  for (size_t i = 0; i < digits.size(); ++i) {
    if (++digits[i] < radices[i]) return true;
    digits[i] = 0;
  }
  return false;
}

// All ways to give consecutive parts of the order to devices in a row.
std::vector<std::vector<int>> Assignments(const std::vector<int>& order, int devices) {
  std::vector<std::vector<int>> all;
  std::vector<int> device(order.size(), 0);
  const std::function<void(size_t, int)> assign = [&](size_t i, int first) {
    if (i == order.size()) {
      all.push_back(device);
      return;
    }
    for (int d = first; d < devices; ++d) {
      device[static_cast<size_t>(order[i])] = d;
      assign(i + 1, d);
    }
  };
  assign(0, 0);
  return all;
}

// The period of folds on devices: the slowest layer or link.
int64_t PeriodOf(const FoldProblem& problem, const DeviceRow& row, const Fold& fold,
                 const std::vector<int>& device) {
  const std::vector<int> order = TopologicalOrder(problem);
  int64_t period = Evaluate(problem, fold).l_max;
  for (size_t link = 0; link + 1 < row.limits.size(); ++link) {
    std::map<int, int64_t> bits;  // per producer
    for (const Edge& edge : problem.edges) {
      const auto d = static_cast<int>(link);
      if (device[static_cast<size_t>(edge.from)] <= d && device[static_cast<size_t>(edge.to)] > d) {
        bits[edge.from] = std::max(bits[edge.from], edge.bits);
      }
    }
    // Links are passed only to reach a device that is used.
    const int last = *std::max_element(device.begin(), device.end());
    int64_t sum = 0;
    for (const auto& [producer, count] : bits) sum += count;
    if (last > static_cast<int>(link) && row.bits_per_cycle[link] != kUnlimited && sum > 0) {
      period = std::max(period, CeilDivide(sum, row.bits_per_cycle[link]));
    }
  }
  return period;
}

Score BestByEnumeration(const FoldProblem& problem, const DeviceRow& row, int64_t target) {
  Score best = kNone;
  std::vector<int> radices;
  for (const Layer& layer : problem.layers) {
    radices.push_back(static_cast<int>(layer.candidates.size()));
  }
  const auto assignments =
      Assignments(TopologicalOrder(problem), static_cast<int>(row.limits.size()));
  Fold fold;
  fold.choice.assign(problem.layers.size(), 0);
  do {
    for (const std::vector<int>& device : assignments) {
      fold.fifo_option.assign(problem.edges.size(), -1);
      const int64_t period = PeriodOf(problem, row, fold, device);
      if (period > target) continue;
      const FoldMetrics metrics = EvaluateAt(problem, fold, period);
      std::vector<size_t> edges;
      std::vector<int> options;
      for (size_t e = 0; e < problem.edges.size(); ++e) {
        if (metrics.elements[e] == 0) continue;
        const auto to = static_cast<size_t>(problem.edges[e].to);
        const int lanes =
            problem.layers[to].candidates[static_cast<size_t>(fold.choice[to])].in_lanes;
        edges.push_back(e);
        options.push_back(
            static_cast<int>(OptionsOf(*problem.edges[e].fifo, metrics.elements[e], lanes).size()));
      }
      if (std::count(options.begin(), options.end(), 0) > 0) continue;
      std::vector<int> digits(edges.size(), 0);
      do {
        for (size_t i = 0; i < edges.size(); ++i) fold.fifo_option[edges[i]] = digits[i];
        if (const auto split = EvaluateSplit(problem, row, fold, device)) {
          EXPECT_EQ(split->period, period);
          best = std::min(best, {split->period, split->idle});
        }
      } while (Advance(digits, options));
    }
  } while (Advance(fold.choice, radices));
  return best;
}

TEST(SplitOverDevices, AgreesWithTheEnumeration) {
  int infeasible = 0;
  constexpr int kProblems = 150;
  for (int i = 0; i < kProblems; ++i) {
    const auto seed = static_cast<uint64_t>(i);
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const FoldProblem problem =
        RandomProblem(seed, {static_cast<Shape>(i % 3), 2 + i % 3, 60, i % 2 == 1});
    DeviceRow row;
    row.links_convert = i % 4 < 2;
    for (int64_t d = random.Between(1, 3); d > 0; --d) {
      if (!row.limits.empty()) {
        row.bits_per_cycle.push_back(random.Below(3) == 0 ? kUnlimited : random.Between(1, 20));
      }
      row.limits.push_back(problem.limits);
      for (int64_t& limit : row.limits.back()) {
        if (limit == kUnlimited) continue;
        limit = static_cast<int64_t>(static_cast<double>(limit) * random.Uniform(0.4, 1.2));
      }
    }
    SplitOptions options;
    if (i % 5 == 0) options.target_cycles = random.Between(1, 60);
    StatusOr<DeviceSplit> split = SplitOverDevices(problem, row, options);
    ASSERT_TRUE(split.ok());
    EXPECT_TRUE(split->optimal);
    const Score best = BestByEnumeration(problem, row, options.target_cycles);
    ASSERT_EQ(split->fold.has_value(), best != kNone);
    EXPECT_EQ(split->infeasible.empty(), split->fold.has_value());
    infeasible += !split->fold;
    if (!split->fold) continue;
    EXPECT_EQ(Score(split->period, split->idle), best);
    EXPECT_EQ(split->period_bound, split->period);
  }
  EXPECT_GT(infeasible, 5);
  EXPECT_LT(infeasible, kProblems * 2 / 3);
}

// The least cycles of passes, and the number of passes, by trying all cuts.
Score BestPasses(const FoldProblem& problem, const PassOptions& options) {
  const std::vector<int> order = TopologicalOrder(problem);
  const size_t count = order.size();
  Score best = kNone;
  for (uint64_t cuts = 0; cuts < uint64_t{1} << (count - 1); ++cuts) {
    std::vector<size_t> ends;
    for (size_t i = 1; i < count; ++i) {
      if (cuts >> (i - 1) & 1) ends.push_back(i);
    }
    ends.push_back(count);
    if (static_cast<int>(ends.size()) > options.most_passes) continue;
    int64_t cycles = options.reload_cycles * (std::ssize(ends) - 1);
    size_t first = 0;
    bool feasible = true;
    for (const size_t last : ends) {
      std::vector<int> number(count, -1);
      FoldProblem part;
      part.limits = problem.limits;
      for (size_t i = first; i < last; ++i) {
        number[static_cast<size_t>(order[i])] = static_cast<int>(i - first);
        part.layers.push_back(problem.layers[static_cast<size_t>(order[i])]);
      }
      std::map<int, int64_t> reads, writes;
      for (Edge edge : problem.edges) {
        const int from = number[static_cast<size_t>(edge.from)];
        const int to = number[static_cast<size_t>(edge.to)];
        if (from >= 0 && to < 0) writes[edge.from] = std::max(writes[edge.from], edge.bits);
        if (from < 0 && to >= 0) reads[edge.from] = std::max(reads[edge.from], edge.bits);
        if (from < 0 || to < 0) continue;
        edge.from = from;
        edge.to = to;
        part.edges.push_back(edge);
      }
      int64_t bits = 0;
      for (const auto& [producer, count_of] : reads) bits += count_of;
      for (const auto& [producer, count_of] : writes) bits += count_of;
      StatusOr<FoldResult> result = SolveByEnumeration(part, {});
      EXPECT_TRUE(result.ok());
      feasible = feasible && result->fold.has_value();
      if (!feasible) break;
      int64_t pass = result->metrics.l_max;
      if (options.memory_bits_per_cycle != kUnlimited) {
        pass = std::max(pass, CeilDivide(bits, options.memory_bits_per_cycle));
      }
      cycles += pass;
      first = last;
    }
    if (feasible) best = std::min(best, {cycles, std::ssize(ends)});
  }
  return best;
}

TEST(SplitOverPasses, AgreesWithTheEnumeration) {
  int infeasible = 0;
  constexpr int kProblems = 100;
  for (int i = 0; i < kProblems; ++i) {
    const uint64_t seed = 5000 + static_cast<uint64_t>(i);
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const FoldProblem problem =
        RandomProblem(seed, {static_cast<Shape>(i % 3), 2 + i % 4, 120, i % 2 == 1});
    PassOptions options;
    options.most_passes = static_cast<int>(random.Between(1, 4));
    options.reload_cycles = random.Between(0, 10);
    if (i % 2 == 0) options.memory_bits_per_cycle = random.Between(1, 30);
    StatusOr<PassSplit> split = SplitOverPasses(problem, options);
    ASSERT_TRUE(split.ok());
    EXPECT_TRUE(split->optimal);
    const Score best = BestPasses(problem, options);
    ASSERT_EQ(split->fold.has_value(), best != kNone);
    EXPECT_EQ(split->infeasible.empty(), split->fold.has_value());
    infeasible += !split->fold;
    if (!split->fold) continue;
    EXPECT_EQ(Score(split->cycles, std::ssize(split->parts)), best);
    int64_t cycles = options.reload_cycles * (std::ssize(split->parts) - 1);
    for (const PassPart& part : split->parts) cycles += part.cycles;
    EXPECT_EQ(cycles, split->cycles);
  }
  EXPECT_GT(infeasible, 5);
  EXPECT_LT(infeasible, kProblems * 2 / 3);
}

TEST(SplitOverDevices, HalvesThePeriodOfVdsr) {
  FoldProblem problem = PlainChain(VdsrLayers(20, 200), 1728);
  for (Edge& edge : problem.edges) edge.bits = int64_t{64} * 200 * 200 * 8;
  DeviceRow row;
  row.limits = {problem.limits, problem.limits};
  row.bits_per_cycle = {64};
  StatusOr<DeviceSplit> split = SplitOverDevices(problem, row);
  ASSERT_TRUE(split.ok() && split->fold);
  EXPECT_EQ(split->period, 10240000);
  EXPECT_EQ(split->parts[0].layers.size() + split->parts[1].layers.size(), 20u);
  EXPECT_LE(split->parts[0].used[kDsp], 1728);
  EXPECT_LE(split->parts[1].used[kDsp], 1728);
  EXPECT_EQ(split->parts[0].link_cycles, 320000);
  // A link of one bit a cycle takes 20480000 cycles, as one device does, which has less to idle.
  row.bits_per_cycle = {1};
  split = SplitOverDevices(problem, row);
  ASSERT_TRUE(split.ok() && split->fold);
  EXPECT_EQ(split->period, 20480000);
}

TEST(SplitOverDevices, ExplainsWhatDoesNotFit) {
  const auto explain = [](const FoldProblem& problem, const DeviceRow& row,
                          int64_t target = kUnlimited) {
    SplitOptions options;
    options.target_cycles = target;
    StatusOr<DeviceSplit> split = SplitOverDevices(problem, row, options);
    return split.ok() ? split->infeasible : MessageOf(split.status());
  };
  const FoldProblem problem = ResidualBlock();
  DeviceRow row;
  EXPECT_EQ(explain(problem, row), "devices: there are 0; give 1 to 16");
  row.limits = {{1, 9, 9, 9}, {1, 9, 9, 9}};
  EXPECT_EQ(explain(problem, row), "links: 2 devices have 0 links; give 1");
  row.bits_per_cycle = {0};
  EXPECT_EQ(explain(problem, row), "links: bits_per_cycle is 0; use 1 or more");
  row.bits_per_cycle = {kUnlimited};
  EXPECT_EQ(explain(problem, row),
            "layer main: even its smallest fold needs 2 DSP, the largest device has 1");
  row.limits = {{2, 9, 9, 9}, {0, 9, 9, 9}};
  EXPECT_EQ(explain(problem, row), "the layers need at least 3 DSP, the devices have 2 together");
  row.limits = {{2, 9, 9, 9}, {1, 9, 9, 9}};
  EXPECT_EQ(explain(problem, row), "no split meets the limits of all devices");
  row.limits = {{1, 9, 9, 9}, {2, 9, 9, 9}};
  EXPECT_EQ(explain(problem, row), "");
  EXPECT_EQ(explain(problem, row, 39), "no split within 39 cycles meets the limits of all devices");
  row.limits[1][kLut] = -1;
  EXPECT_EQ(explain(problem, row), "device 1: the limit of LUT is -1; use 0 or more");
}

TEST(SplitOverPasses, TakesTurnsWhereOnePassDoesNotFit) {
  FoldProblem problem;
  problem.layers = {MakeLayer("conv1", {MakeCandidate(1, 2, 10, 4), MakeCandidate(1, 2, 30, 2)}),
                    MakeLayer("conv2", {MakeCandidate(3, 1, 10, 4), MakeCandidate(3, 1, 30, 2)})};
  problem.edges = {MakeEdge(0, 1)};
  problem.edges[0].bits = 60;
  problem.limits[kDsp] = 4;
  PassOptions options;
  options.reload_cycles = 5;
  // The lanes of the two do not couple, so they need two passes.
  StatusOr<PassSplit> split = SplitOverPasses(problem, options);
  ASSERT_TRUE(split.ok() && split->fold);
  EXPECT_EQ(split->cycles, 25);
  EXPECT_THAT(split->fold->choice, ElementsAre(0, 0));
  options.memory_bits_per_cycle = 4;
  split = SplitOverPasses(problem, options);
  ASSERT_TRUE(split.ok() && split->fold);
  EXPECT_EQ(split->cycles, 35);
  options.most_passes = 1;
  split = SplitOverPasses(problem, options);
  ASSERT_TRUE(split.ok());
  EXPECT_EQ(split->infeasible, "no split into at most 1 passes meets the limits");
  problem.limits[kDsp] = 1;
  split = SplitOverPasses(problem, options);
  ASSERT_TRUE(split.ok());
  EXPECT_EQ(split->infeasible, "layer conv1: even its smallest fold needs 2 DSP, the device has 1");
  options.most_passes = 0;
  EXPECT_EQ(MessageOf(SplitOverPasses(problem, options).status()),
            "most_passes: is 0; use 1 or more");
  options = {};
  options.reload_cycles = -1;
  EXPECT_EQ(MessageOf(SplitOverPasses(problem, options).status()),
            "reload_cycles: is -1; use a number from 0 to 274877906944");
  options = {};
  options.memory_bits_per_cycle = 0;
  EXPECT_EQ(MessageOf(SplitOverPasses(problem, options).status()),
            "memory_bits_per_cycle: is 0; use 1 or more");
}

TEST(SplitOverPasses, SolvesEachPassOnce) {
  // One pass of the whole block has a FIFO, whose cost each solution asks for anew.
  FoldProblem problem = ResidualBlock();
  int asked = 0;
  problem.edges[2].fifo->cost = [&asked](int64_t elements, int) {
    ++asked;
    return std::vector<FifoOption>{{{0, 0, 0, elements}, 0}};
  };
  const FoldModel model(problem);
  ExactOracle oracle(model, 1000);
  ASSERT_TRUE(SearchLeastPeriod(model, oracle).fold);
  const int asked_by_one = std::exchange(asked, 0);
  ASSERT_GT(asked_by_one, 0);
  PassOptions options;
  options.most_passes = 1;
  StatusOr<PassSplit> split = SplitOverPasses(problem, options);
  ASSERT_TRUE(split.ok() && split->fold);
  EXPECT_EQ(asked, asked_by_one);
}

TEST(EvaluateSplit, RefusesWhatBreaksARule) {
  const FoldProblem problem = ResidualBlock();
  DeviceRow row;
  row.limits = {{9, 9, 9, 999}, {9, 9, 9, 999}};
  row.bits_per_cycle = {kUnlimited};
  const Fold fold = {{0, 0, 0}, {-1, -1, 0}};
  EXPECT_TRUE(EvaluateSplit(problem, row, fold, {0, 0, 1}));
  EXPECT_FALSE(EvaluateSplit(problem, row, fold, {1, 0, 1}));  // back to an earlier device
  EXPECT_FALSE(EvaluateSplit(problem, row, {{0, 0, 0}, {}}, {0, 0, 1}));  // no FIFO
  row.limits[1][kLut] = 100;
  EXPECT_FALSE(EvaluateSplit(problem, row, fold, {0, 0, 1}));
  EXPECT_TRUE(EvaluateSplit(problem, row, fold, {0, 0, 0}));
}

}  // namespace
}  // namespace kiln::dataflow
