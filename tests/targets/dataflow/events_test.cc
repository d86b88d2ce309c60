// What the cost model counts from pipelines of all kinds of stages, against the cycle level.
#include "kiln/targets/dataflow/cost/events.h"

#include <gtest/gtest.h>

#include <set>

#include "kiln/targets/dataflow/cost/cost.h"
#include "kiln/targets/dataflow/simulate/cycle/timing.h"
#include "tests/targets/dataflow/random_pipeline.h"

namespace kiln::dataflow {
namespace {

TEST(DataflowEvents, AreThoseOfTheCycleLevel) {
  std::set<StageKind> kinds;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Pipeline pipeline = RandomPipeline(seed);
    const auto timing = SimulateTiming(pipeline, {});
    ASSERT_TRUE(timing.ok()) << timing.status();
    for (size_t i = 0; i < pipeline.stages.size(); ++i) {
      const Stage& stage = pipeline.stages[i];
      kinds.insert(stage.kind);
      if (stage.kind == StageKind::kWeightStream) continue;  // it reads ahead
      const StageEvents events = EventsOf(pipeline, stage);
      EXPECT_EQ(events.steps, timing->stages[i].busy) << seed << " " << stage.name;
      for (const int c : stage.outputs)
        EXPECT_EQ(events.results, timing->channels[static_cast<size_t>(c)].words) << stage.name;
    }
  }
  EXPECT_EQ(kinds.size(), 16u);
}

// Every kind of stage has models of its area.
TEST(DataflowEvents, EveryRandomMachineHasAnArea) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Pipeline pipeline = RandomPipeline(seed);
    const Pipeline* const one[] = {&pipeline};
    const auto cost = PipelineCost(one, Config(), 45);
    ASSERT_TRUE(cost.ok()) << cost.status();
    EXPECT_TRUE(cost->missing.empty()) << seed << " " << cost->missing.front();
    for (const UnitArea& unit : cost->units) EXPECT_GT(unit.total(), 0) << seed << " " << unit.unit;
    const auto energy = EnergyOf(one, true, 45);
    ASSERT_TRUE(energy.ok());
    EXPECT_GT(energy->picojoules(), 0);
    for (const EnergyPart& part : energy->parts) EXPECT_GT(part.picojoules_each, 0) << part.event;
  }
}

}  // namespace
}  // namespace kiln::dataflow
