// Compares kiln_fill_join with two queues: fills with codes and scales that arrive at random, at
// most two in flight.
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>

#include "Vfill_join.h"
#include "kiln/support/random.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

TEST(FillJoin, TokensComeInOrderWhenBothAreThere) {
  Random random(5);
  Simulation<Vfill_join> join(5);
  join->filled = join->scales_filled = 0;
  join.Reset();
  struct Fill {
    bool scaled, codes = false, scales = false;
  };
  std::deque<Fill> fills;
  int tokens = 0, of_two = 0;
  for (int cycle = 0; cycle < 20000; ++cycle) {
    while (fills.size() < 2 && random.Below(4) != 0) fills.push_back({random.Below(2) == 0});
    // Codes come in the order of fills, and so do scales.
    bool filled = false, scaled = false, scales_filled = false;
    for (Fill& fill : fills) {
      if (!fill.codes && !filled && random.Below(3) == 0) {
        fill.codes = filled = true;
        scaled = fill.scaled;
      }
      if (!fill.codes) break;
    }
    for (Fill& fill : fills) {
      if (!fill.scaled || fill.scales) continue;
      if (random.Below(3) == 0) fill.scales = scales_filled = true;
      break;
    }
    join->filled = filled;
    join->scaled = filled ? scaled : random.Below(2) == 0;
    join->scales_filled = scales_filled;
    join.Settle();
    const bool both = !fills.empty() && fills[0].codes && (!fills[0].scaled || fills[0].scales);
    ASSERT_EQ(join->both_filled, both) << "cycle " << cycle;
    if (both) {
      ++tokens;
      of_two += filled && fills.size() == 2 && fills[1].codes && !fills[1].scaled ? 1 : 0;
      fills.pop_front();
    }
    join.Step();
  }
  EXPECT_GT(tokens, 4000);
  EXPECT_GT(of_two, 50);  // one fill takes the place of the one that goes
}

}  // namespace
}  // namespace kiln::rtl
