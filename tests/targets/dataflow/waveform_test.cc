// Pipelines that show the results of all layers. Recording is tested on faulty hardware in
// tests/cli/dataflow_test.cc.
#include "kiln/targets/dataflow/waveform.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kiln/targets/dataflow/simulate/cycle/data.h"
#include "tests/targets/dataflow/random_pipeline.h"

namespace kiln::dataflow {
namespace {

bool IsLayer(const Stage& stage) {
  return !stage.outputs.empty() && stage.kind != StageKind::kSource &&
         stage.kind != StageKind::kWeightStream && !OnlyConnects(stage.kind);
}

TEST(Watch, ShowsTheResultOfEveryLayer) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Pipeline pipeline = RandomPipeline(seed);
    int layers = 0;
    for (Stage& stage : pipeline.stages) stage.layer = IsLayer(stage) ? layers++ : -1;
    const WatchedPipeline watched = Watch(pipeline);
    ASSERT_EQ(CheckPipeline(watched.pipeline), OkStatus()) << PrintPipeline(watched.pipeline);
    const auto image = RandomImage(pipeline, seed);
    const auto codes = StreamData(watched.pipeline, image);
    ASSERT_EQ(codes.size(), watched.stages.size());
    // Sinks of the pipeline itself have the same codes as without the others.
    const auto expected = StreamData(pipeline, image);
    std::vector<std::vector<int64_t>> own;
    const std::vector<int> sinks = watched.pipeline.Find(StageKind::kSink);
    for (size_t i = 0; i < sinks.size(); ++i) {
      if (!watched.pipeline.stages[static_cast<size_t>(sinks[i])].name.ends_with("_watched"))
        own.push_back(codes[i]);
    }
    EXPECT_EQ(own, expected) << seed;
    for (size_t i = 0; i < pipeline.stages.size(); ++i) {
      if (pipeline.stages[i].layer < 0) continue;
      EXPECT_EQ(std::ranges::count(watched.stages, static_cast<int>(i)), 1) << seed;
    }
  }
}

}  // namespace
}  // namespace kiln::dataflow
