// The policy that comes with Kiln maps the graphs of tests/data/cgra.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <string>

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

// In 100 episodes: all ten graphs, half of which training did not see; and in fewer cycles than the
// weights that training began with.
TEST(ShippedPolicy, MapsTheTenGraphs) {
  const StatusOr<std::shared_ptr<const Policy>> policy = ReadPolicy("models/cgra_policy.bin");
  ASSERT_TRUE(policy.ok()) << policy.status();
  const std::unique_ptr<Mapper> trained = MakePpoMapper(*policy);
  const std::unique_ptr<Mapper> untrained =
      MakePpoMapper(std::make_shared<const Policy>(InitialWeights({}, 1)));
  double gain = 0;
  for (const std::string name :
       {"array_add", "atax", "bicg", "dct4", "doitgen", "fft", "fir", "gray", "sum", "vadd"}) {
    const StatusOr<ComputationGraph> graph = ReadGraph("tests/data/cgra/" + name + ".json");
    ASSERT_TRUE(graph.ok()) << graph.status();
    const MapOptions options{.steps = 100, .on_better = {}};
    const StatusOr<MapResult> with = trained->Map(*graph, {}, options);
    const StatusOr<MapResult> without = untrained->Map(*graph, {}, options);
    ASSERT_TRUE(with.ok()) << with.status();
    ASSERT_TRUE(with->mapping) << name;
    EXPECT_GE(with->latency, with->latency_bound);
    if (!without.ok() || !without->mapping) continue;
    if (without->mapping->initiation_interval != with->mapping->initiation_interval) continue;
    gain += std::log(static_cast<double>(without->latency) / with->latency);
  }
  EXPECT_GT(gain, 0.5);
}

}  // namespace
}  // namespace kiln::cgra
