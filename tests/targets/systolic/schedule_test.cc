#include "kiln/targets/systolic/schedule.h"

#include <limits>

#include "gtest/gtest.h"
#include "kiln/targets/systolic/timing.h"
#include "tests/targets/systolic/random_instruction.h"

namespace kiln::systolic {
namespace {

// On small instructions every tiling of the space can be timed: the search, which skips by bounds, must find the best.
TEST(SystolicSchedule, TheSearchFindsTheBestOfItsSpace) {
  Random random(3);
  int searched = 0, skipped_some = 0;
  for (int i = 0; i < 150; ++i) {
    const Config config = RandomConfig(random);
    const Opcode opcode = i % 4 == 0 && config.depthwise_multipliers > 0 ? Opcode::kDepthwise : Opcode::kMatrix;
    Instruction instruction = RandomInstruction(random, config, opcode).instruction;
    const std::vector<Tiling> tilings = TilingsOf(instruction, config);
    Scheduler scheduler(config);
    const auto schedule = scheduler.Find(instruction);
    if (tilings.empty()) {
      EXPECT_FALSE(schedule.ok());
      continue;
    }
    ASSERT_TRUE(schedule.ok()) << schedule.status();
    int64_t best = std::numeric_limits<int64_t>::max();
    for (const Tiling& tiling : tilings) {
      instruction.tiling = tiling;
      const Status status = CheckInstruction(instruction, config);
      ASSERT_TRUE(status.ok()) << status << "\n" << Print(instruction, config);
      best = std::min(best, EstimateCycles(instruction, config));
    }
    EXPECT_EQ(schedule->certificate.cost, static_cast<double>(best)) << Print(instruction, config);
    EXPECT_TRUE(schedule->certificate.optimal);
    EXPECT_LE(schedule->certificate.lower_bound, schedule->certificate.cost);
    instruction.tiling = schedule->tiling;
    EXPECT_EQ(EstimateCycles(instruction, config), best);
    ++searched;
    skipped_some += scheduler.timed() < std::ssize(tilings);
    // The same shape again costs nothing.
    const int64_t timed = scheduler.timed();
    ASSERT_TRUE(scheduler.Find(instruction).ok());
    EXPECT_EQ(scheduler.timed(), timed);
  }
  EXPECT_GT(searched, 100);
  EXPECT_GT(skipped_some, 20);
}

// A layer of ResNet-50, 3x3 128 -> 128 at 28x28: the array hardly ever waits.
TEST(SystolicSchedule, ALargeLayerKeepsTheArrayBusy) {
  Instruction instruction;
  instruction.opcode = Opcode::kMatrix;
  Convolution& c = instruction.convolution;
  c.height = c.width = c.out_height = c.out_width = 28;
  c.channels = c.out_channels = 128;
  c.kernel_y = c.kernel_x = 3;
  c.pad_top = c.pad_left = 1;
  c.input_column_stride = 128;
  c.input_row_stride = 28 * 128;
  VectorProgram& v = instruction.vector;
  v.outer = {1, 28, 28, 1};
  v.length = 128;
  v.output.element_stride = 1;
  v.output.outer_stride = {0, 28 * 128, 128, 0};
  Pass pass;
  pass.source = Source::kAccumulator;
  pass.to_memory = true;
  v.passes = {pass};
  const Config config;
  Scheduler scheduler(config);
  const auto schedule = scheduler.Find(instruction);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  EXPECT_EQ(schedule->certificate.bound_from, "multiply-accumulates");
  EXPECT_EQ(schedule->certificate.lower_bound, 28.0 * 28 * 9 * 128 * 128 / 256);
  EXPECT_LT(schedule->certificate.gap(), 0.02);
}

}  // namespace
}  // namespace kiln::systolic
