// Random pipelines at all levels. bench/dataflow_random_programs.cc runs many more of them.
#include "tests/targets/dataflow/agreement.h"

#include <gtest/gtest.h>

#include <utility>

#include "kiln/support/random.h"
#include "kiln/targets/dataflow/isa/builder.h"
#include "kiln/targets/dataflow/simulate/cycle/timing.h"

namespace kiln::dataflow {
namespace {

TEST(Agreement, FunctionalAndCycleLevel) {
  ProgramTotals totals;
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    const RandomProgram program = MakeRandomProgram(seed, {}, 2);
    ASSERT_EQ(FindDisagreement(program, &totals), std::nullopt) << "seed " << seed << "\n"
                                                                << PrintPipeline(program.pipeline);
  }
  EXPECT_EQ(totals.programs, 500);
  EXPECT_EQ(totals.images, 1000);
  // Every kind of stage that a pipeline can have.
  for (int kind = 0; kind <= static_cast<int>(StageKind::kGlobalSum); ++kind)
    EXPECT_GT(totals.stages[NameOf(static_cast<StageKind>(kind))], 0) << kind;
}

// Returns a maximum pool of one row, over a map of twenty: most of the input comes after the last
// output and is discarded.
RandomProgram OneRowOfTwenty(int64_t images) {
  PipelineBuilder builder;
  const MapShape map = {20, 10, 1};
  const int in = builder.Source("in", map, {8, true}, 1);
  Stage stage;
  stage.kind = StageKind::kMaxPool;
  stage.name = "pool";
  stage.map = map;
  stage.window.out_width = 10;
  stage.window.pad_value = -128;
  builder.Sink(builder.Add(std::move(stage), {in}, {1, 10, 1}, {8, true}, 1), "out");
  RandomProgram program = {.seed = 0, .pipeline = builder.Take(), .images = {}};
  for (int64_t i = 0; i < images; ++i)
    program.images.push_back(RandomImage(program.pipeline, static_cast<uint64_t>(i)));
  return program;
}

TEST(Agreement, HardwareOfPipelinesSideBySide) {
  std::vector<RandomProgram> programs = {OneRowOfTwenty(3)};
  for (const uint64_t seed : {1, 2, 3, 10})
    programs.push_back(MakeRandomProgram(seed, {.most_stages = 6, .most_elements = 600}, 3));
  ProgramTotals totals;
  const auto found = FindRtlDisagreement(programs, 0.4, 1, &totals);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_FALSE(found->has_value()) << "seed " << (*found)->seed << ": " << (*found)->text;
  EXPECT_EQ(totals.programs, 5);
}

// Streams and weights of pipelines behind memories of any speed.
TEST(Agreement, HardwareBehindMemories) {
  std::vector<RandomProgram> programs;
  int weights = 0;
  for (uint64_t seed = 1; weights < 8; ++seed) {
    RandomProgram program = MakeRandomProgram(seed, {.most_stages = 6, .most_elements = 600}, 2);
    const auto streams = static_cast<int>(program.pipeline.Find(StageKind::kWeightStream).size());
    weights += streams;
    if (streams > 0 || programs.empty()) programs.push_back(std::move(program));
  }
  std::vector<RtlOptions> memories;
  Random random(3);
  for (int i = 0; i < 25; ++i) {
    RtlOptions& memory = memories.emplace_back();
    memory.seed = random.Below(1000);
    memory.memory_latency = random.Between(1, i % 2 == 0 ? 20 : 60);
    if (i % 4 == 0) continue;  // ideal, but for the latency
    memory.dram_bytes_per_cycle = (0.1 + random.Uniform()) * (i % 3 == 0 ? 5 : 20);
    memory.dram_row_miss = random.Below(60);
  }
  const auto found = FindDisagreementBehindMemory(programs, memories);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, std::nullopt);
}

// Every pipeline keeps its own time beside the others.
TEST(SideBySide, KeepsTheTimeOfEachPipeline) {
  const std::vector<Pipeline> pipelines = {RandomPipeline(1), RandomPipeline(2), RandomPipeline(3)};
  const Pipeline all = SideBySide(pipelines);
  ASSERT_EQ(CheckPipeline(all), OkStatus());
  const auto together = SimulateTiming(all, {.images = 3});
  ASSERT_TRUE(together.ok()) << together.status();
  size_t first = 0;
  for (const Pipeline& pipeline : pipelines) {
    const auto alone = SimulateTiming(pipeline, {.images = 3});
    ASSERT_TRUE(alone.ok()) << alone.status();
    for (const ChannelTiming& channel : alone->channels) {
      EXPECT_EQ(together->channels[first].last_pushes, channel.last_pushes);
      EXPECT_EQ(together->channels[first].highest, channel.highest);
      ++first;
    }
  }
  EXPECT_EQ(first, all.channels.size());
}

}  // namespace
}  // namespace kiln::dataflow
