// The policy that comes with Kiln maps the graphs of tests/data/cgra.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>

#include "kiln/targets/cgra/check/check.h"
#include "kiln/targets/cgra/graph/graph_file.h"
#include "kiln/targets/cgra/learn/ppo_mapper.h"

namespace kiln::cgra {
namespace {

TEST(ShippedPolicy, IsSmallAndReadable) {
  const std::filesystem::path path = "models/cgra_policy.bin";
  EXPECT_LT(std::filesystem::file_size(path), 300000u);
  const StatusOr<TrainingState> state = ReadTraining(path.string());
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_TRUE(state->weights.shape == PolicyShape{});
  EXPECT_TRUE(state->first.empty());
  EXPECT_EQ(state->numbers.at("iteration"), 124u);
}

// The least interval and latency of the ten graphs, as the exact mapper proves them
// (docs/measurements-cgra.md).
struct Least {
  const char* name;
  int interval, latency;
};
constexpr Least kLeast[] = {
    {"array_add", 14, 16}, {"atax", 14, 16}, {"bicg", 14, 16}, {"dct4", 1, 17}, {"doitgen", 14, 19},
    {"fft", 2, 17},        {"fir", 1, 16},   {"gray", 1, 36},  {"sum", 3, 11},  {"vadd", 3, 12}};

// In 400 steps: all ten graphs, half of which training did not see, at the least interval and
// within 10 % of the least latency; and in the first step in fewer cycles than the weights that
// training began with.
TEST(ShippedPolicy, MapsTheTenGraphs) {
  const StatusOr<std::shared_ptr<const Policy>> policy = ReadPolicy("models/cgra_policy.bin");
  ASSERT_TRUE(policy.ok()) << policy.status();
  const std::unique_ptr<Mapper> trained = MakePpoMapper(*policy);
  const std::unique_ptr<Mapper> untrained =
      MakePpoMapper(std::make_shared<const Policy>(InitialWeights({}, 1)));
  double over = 0, gain = 0;
  for (const Least& least : kLeast) {
    SCOPED_TRACE(least.name);
    const StatusOr<ComputationGraph> graph =
        ReadGraph(std::string("tests/data/cgra/") + least.name + ".json");
    ASSERT_TRUE(graph.ok()) << graph.status();
    const StatusOr<MapResult> result = trained->Map(*graph, {}, {.steps = 400, .on_better = {}});
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_TRUE(result->mapping);
    EXPECT_EQ(result->mapping->initiation_interval, least.interval);
    EXPECT_GE(result->latency, least.latency);
    EXPECT_EQ(PrintVerdict(CheckMapping(*graph, {}, *result->mapping)), "");
    over += std::log(static_cast<double>(result->latency) / least.latency);
    const MapOptions first{.initiation_interval = least.interval + 1, .steps = 1, .on_better = {}};
    const StatusOr<MapResult> with = trained->Map(*graph, {}, first);
    const StatusOr<MapResult> without = untrained->Map(*graph, {}, first);
    ASSERT_TRUE(with.ok() && without.ok());
    if (!with->mapping || !without->mapping) continue;
    gain += std::log(static_cast<double>(without->latency) / with->latency);
  }
  EXPECT_LT(std::exp(over / std::size(kLeast)), 1.1);
  EXPECT_GT(gain, 0.5);
}

}  // namespace
}  // namespace kiln::cgra
