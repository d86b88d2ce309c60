// The area of a whole machine against synthesis.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kiln/hardware/area_model.h"
#include "kiln/targets/dataflow/cost/cost.h"
#include "kiln/targets/dataflow/isa/builder.h"

namespace kiln::dataflow {
namespace {

// A layer of int8 that reads 49 tokens, or one, by 2 x 2 multipliers or by one.
Stage Product(const char* name, const MapShape& map, int64_t outputs, int64_t elements) {
  Stage stage;
  stage.kind = StageKind::kConvolution;
  stage.name = name;
  stage.map = map;
  stage.window.out_width = map.width;
  stage.elements = elements;
  stage.pack = elements;
  stage.weights.assign(static_cast<size_t>(outputs * map.channels), 1);
  stage.sum_bits = 20;
  return stage;
}

// Sets constants whose bits all differ between channels, with addends of `bits` bits.
void Requantised(int64_t channels, int bits, int shift, Stage* stage) {
  Requantise& r = stage->requantise;
  r.way = Requantise::Way::kMultiply;
  for (int64_t c = 0; c < channels; ++c) {
    r.multipliers.push_back(c % 2 == 0 ? 0 : (1 << 17) - 1);
    r.addends.push_back((c % 2 == 0 ? -1 : 1) * (int64_t{1} << (bits - 1)) + (c % 2 == 0 ? 0 : -1));
  }
  r.shift = shift;
  r.low = -128;
  r.high = 127;
}

// The last of the four machines of the demo on dataflow-small (docs/measurements-dataflow.md).
Pipeline LastOfTheDemo() {
  constexpr CodeType kInt8 = {8, true};
  const MapShape narrow = {1, 49, 64}, wide = {1, 49, 128}, one = {1, 1, 64};
  PipelineBuilder builder;
  const int v = builder.Source("v", narrow, kInt8, 2);
  const int skip = builder.Source("skip", narrow, kInt8, 1);
  Stage up = Product("up", narrow, 128, 2);
  Requantised(128, 31, 25, &up);
  const int upped = builder.Add(std::move(up), {v}, wide, kInt8, 1);
  Stage gelu;
  gelu.kind = StageKind::kTable;
  gelu.name = "gelu";
  gelu.table.assign(256, 0);
  const int looked_up = builder.Add(std::move(gelu), {upped}, wide, kInt8, 1);
  Stage down = Product("down", wide, 64, 2);
  down.sum_bits = 21;
  Requantised(64, 34, 25, &down);
  const int downed =
      builder.Add(std::move(down), {builder.WithLanes(looked_up, 2, "widen")}, narrow, kInt8, 1);
  Stage add;
  add.kind = StageKind::kAffine;
  add.name = "add";
  add.factors = {117151, 109188};
  add.addend = 290104;
  add.shift = 17;
  const int added = builder.Add(std::move(add), {skip, downed}, narrow, kInt8, 1);
  Stage mean;
  mean.kind = StageKind::kGlobalSum;
  mean.name = "mean";
  mean.sum_bits = 15;
  Requantised(64, 26, 21, &mean);
  // An average has the same constants in all channels.
  mean.requantise.multipliers.assign(64, 1000);
  mean.requantise.addends.assign(64, (1 << 25) - 1);
  const int averaged = builder.Add(std::move(mean), {added}, one, kInt8, 1);
  Stage head = Product("head", one, 10, 1);
  builder.Sink(builder.Add(std::move(head), {averaged}, {1, 1, 10}, {20, true}, 1), "out");
  Pipeline pipeline = builder.Take();
  const int64_t depths[] = {31, 126, 2, 2, 62, 2, 2, 2, 1};
  for (size_t i = 0; i < pipeline.channels.size(); ++i) pipeline.channels[i].depth = depths[i];
  return pipeline;
}

// `kiln synth` found 2,427,462 um2 with OSU's cells at 180 nm. No part of it is in the fit.
TEST(DataflowArea, OfAWholeMachine) {
  const Pipeline pipeline = LastOfTheDemo();
  ASSERT_EQ(pipeline.channels.size(), 9u);
  const Pipeline* const one[] = {&pipeline};
  const auto cost = PipelineCost(one, Config(), hardware::kAreaNode);
  ASSERT_TRUE(cost.ok()) << cost.status();
  std::map<std::string, double> units;
  double logic = 0;
  for (const UnitArea& unit : cost->units) {
    units[unit.unit] = unit.logic;
    logic += unit.logic;
  }
  EXPECT_NEAR(logic, 2427462, 0.03 * 2427462);
  EXPECT_NEAR(units["up"] + units["down"] + units["head"], 1564365, 0.04 * 1564365);
  EXPECT_NEAR(units["channels"], 600926, 0.03 * 600926);
  EXPECT_NEAR(units["control"], 133106, 0.01 * 133106);
  EXPECT_NEAR(units["mean"], 81324, 0.05 * 81324);
  // The affine model has large errors, and a table of a smooth function shares more than a random
  // one.
  EXPECT_NEAR(units["add"], 38914, 0.2 * 38914);
  EXPECT_GT(units["gelu"], 6821);
}

}  // namespace
}  // namespace kiln::dataflow
