// Compares kiln_visit_walker with VisitsOf (walk.h) on random instructions that pass through one
// walker in sequence.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "Vvisit_walker.h"
#include "kiln/support/random.h"
#include "kiln/targets/systolic/isa/walk.h"
#include "tests/rtl/support.h"
#include "tests/rtl/systolic/commands.h"
#include "tests/targets/systolic/random_instruction.h"

namespace kiln::systolic {
namespace {

// Which loop leads from one visit to the next, as the walker's `step` tells it.
uint32_t StepBetween(const Instruction& in, const Visit& a, const Visit& b) {
  if (a.batch != b.batch) return 1u << 4;
  const bool input_outer = in.tiling.order == Order::kInputOuter;
  if (!input_outer && a.first_column != b.first_column) return 1u << 3;
  if (a.y != b.y) return 1u << 2;
  if (a.x != b.x) return 1u << 1;
  return 1u;
}

TEST(VisitWalker, WalksAsTheDefinitionDoes) {
  Random random(11);
  rtl::Simulation<Vvisit_walker> walker(1);
  walker->advance = 0;
  walker.Reset();
  int64_t visits_seen = 0, resident = 0, kept_parameters = 0;
  for (int n = 0; n < 600; ++n) {
    const Config config = RandomConfig(random);
    const bool depthwise = config.depthwise_multipliers > 0 && n % 4 == 0;
    RandomCase random_case =
        RandomInstruction(random, config, depthwise ? Opcode::kDepthwise : Opcode::kMatrix);
    Instruction& in = random_case.instruction;
    if (n % 3 == 0 && !depthwise)
      in.tiling.groups_per_bank = 1 << 20;  // resident inputs, which small buffers seldom are
    if (n % 3 == 1) in.tiling.weight_tiles_per_bank = 1 << 20;
    rtl::SetBytes(walker->command_tiling,
                  rtl::CommandBytes(Encode(in, config), {}, {rtl::Tag::kTiling}));

    const std::vector<Visit> visits = VisitsOf(in, config);
    const Geometry g = GeometryOf(in, config);
    resident += g.inputs_resident || g.weights_resident ? 1 : 0;
    for (size_t k = 0; k < visits.size(); ++k, ++visits_seen) {
      for (uint64_t wait = random.Below(3); wait > 0; --wait) {
        walker->advance = 0;
        walker.Settle();
        walker.Step();
      }
      walker->advance = 1;
      walker.Settle();
      const Visit& v = visits[k];
      const bool last = k + 1 == visits.size();
      ASSERT_EQ(walker->last, last) << "instruction " << n << " visit " << k;
      ASSERT_EQ(walker->index, k & 0xffff);
      ASSERT_EQ(walker->step, last ? 0 : StepBetween(in, v, visits[k + 1]))
          << "instruction " << n << " visit " << k;
      ASSERT_EQ(walker->height, static_cast<uint32_t>(v.height));
      ASSERT_EQ(walker->width, static_cast<uint32_t>(v.width));
      ASSERT_EQ(walker->columns, static_cast<uint32_t>(v.columns));
      ASSERT_EQ(walker->last_row, v.y + v.height == in.convolution.out_height);
      ASSERT_EQ(walker->last_column, v.x + v.width == in.convolution.out_width);
      ASSERT_EQ(walker->last_block, v.first_column + v.columns == g.column_tiles);
      if (!depthwise) {  // whose fills may serve some of the blocks
        ASSERT_EQ(walker->fetch_inputs, v.fetch_inputs);
        ASSERT_EQ(walker->last_of_inputs, v.last_of_inputs);
      }
      ASSERT_EQ(walker->fetch_weights, v.fetch_weights);
      ASSERT_EQ(walker->last_of_weights, v.last_of_weights);
      ASSERT_EQ(walker->fetch_parameters, v.fetch_parameters)
          << "instruction " << n << " visit " << k;
      ASSERT_EQ(walker->last_of_parameters, v.last_of_parameters)
          << "instruction " << n << " visit " << k;
      kept_parameters += v.fetch_parameters ? 0 : 1;
      walker.Step();
    }
  }
  EXPECT_GT(visits_seen, 3000);
  EXPECT_GT(resident, 100);
  EXPECT_GT(kept_parameters, 300);
}

}  // namespace
}  // namespace kiln::systolic
