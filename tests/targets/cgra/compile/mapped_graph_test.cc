// Mappings of the graphs of kernels.

#include "kiln/targets/cgra/compile/mapped_graph.h"

#include <gtest/gtest.h>

#include <memory>

#include "kiln/targets/cgra/check/check.h"
#include "kiln/targets/cgra/graph/named_graphs.h"
#include "kiln/targets/cgra/map/exact.h"
#include "kiln/targets/cgra/map/heuristics.h"
#include "kiln/targets/cgra/map/mapper.h"

namespace kiln::cgra {
namespace {

Config Machine() {
  Config config;
  config.wait_limit = 15;
  return config;
}

std::shared_ptr<const MappedGraph> MapNamed(const char* name) {
  auto mapped = MapGraph(*MakeNamedGraph(name), Machine());
  EXPECT_TRUE(mapped.ok()) << mapped.status();
  return mapped.ok() ? *mapped : nullptr;
}

// What is said to be proved is what the exact mapper proves without a limit, and nothing is worse
// than list scheduling.
TEST(MappedGraph, SaysWhatIsProved) {
  int proved = 0;
  for (const char* name : {"distance", "vector-add", "multiply-add", "fft", "fir-4", "fir-8"}) {
    SCOPED_TRACE(name);
    const ComputationGraph graph = *MakeNamedGraph(name);
    const std::shared_ptr<const MappedGraph> mapped = MapNamed(name);
    ASSERT_TRUE(mapped);
    EXPECT_EQ(PrintVerdict(CheckMapping(graph, Machine(), mapped->mapping)), "");
    EXPECT_GE(mapped->mapping.initiation_interval, mapped->interval_bound);
    EXPECT_GE(mapped->latency, mapped->latency_bound);
    const std::pair found(mapped->mapping.initiation_interval, mapped->latency);
    const StatusOr<MapResult> quick =
        MakeGreedyMapper()->Map(graph, Machine(), {.steps = 400, .on_better = {}});
    ASSERT_TRUE(quick.ok());
    if (quick->mapping) {
      EXPECT_LE(found, std::pair(quick->mapping->initiation_interval, quick->latency));
    }
    if (!mapped->optimal) continue;
    ++proved;
    const StatusOr<MapResult> exact =
        MakeExactMapper()->Map(graph, Machine(), {.steps = 1'000'000, .on_better = {}});
    ASSERT_TRUE(exact.ok() && exact->mapping && exact->optimal);
    EXPECT_EQ(found, std::pair(exact->mapping->initiation_interval, exact->latency));
  }
  EXPECT_GE(proved, 4);
}

// A thread outlasts the four threads whose inputs the memories hold, so that the
// interval is longer than the least one, which is no longer said to be proved.
TEST(MappedGraph, WaitsForMemoriesOfInputs) {
  Config config = Machine();
  config.ring_entries = 4;
  const auto mapped = MapGraph(*MakeNamedGraph("fir-8"), config);
  ASSERT_TRUE(mapped.ok()) << mapped.status();
  EXPECT_LE((*mapped)->latency, 4 * (*mapped)->mapping.initiation_interval);
  EXPECT_GT((*mapped)->mapping.initiation_interval, (*mapped)->interval_bound);
  EXPECT_FALSE((*mapped)->optimal);
}

}  // namespace
}  // namespace kiln::cgra
