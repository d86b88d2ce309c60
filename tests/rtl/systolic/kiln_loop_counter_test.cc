// Tests of kiln_loop_counter against a loop that is counted by hand: runs of random lengths, rounds
// of random durations, restarts in the last round and before it.
#include <gtest/gtest.h>

#include <algorithm>

#include "Vloop_counter.h"
#include "kiln/support/random.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

constexpr uint64_t kMostRounds = 127;  // of seven bits

TEST(LoopCounter, CountsRounds) {
  Simulation<Vloop_counter> counter;
  Random random(1);
  counter->rounds = 1;
  counter->advance = counter->restart = 0;
  counter.Reset();
  uint64_t rounds = 1, round = 0;
  int whole = 0, broken = 0, longest = 0;
  for (int cycle = 0; cycle < 200'000; ++cycle) {
    if (round == 0) {
      // Short runs, and some of all lengths; the first round may still learn another length.
      rounds = 1 + random.Below(random.Below(4) == 0 ? kMostRounds : 6);
    }
    const bool last = round + 1 == rounds;
    const bool next = random.Below(5) != 0;
    const bool restart = last ? next : random.Below(200) == 0;
    counter->rounds = rounds;
    counter->advance = next && (!last || restart);
    counter->restart = restart;
    counter.Settle();
    ASSERT_EQ(counter->count, round) << "cycle " << cycle;
    ASSERT_EQ(counter->first, round == 0) << "cycle " << cycle;
    ASSERT_EQ(counter->last, last) << "cycle " << cycle << ", round " << round << " of " << rounds;
    whole += restart && last ? 1 : 0;
    broken += restart && !last ? 1 : 0;
    longest = std::max(longest, static_cast<int>(round));
    round = restart ? 0 : round + (next ? 1 : 0);
    counter.Step();
  }
  EXPECT_GT(whole, 1000);
  EXPECT_GT(broken, 100);
  EXPECT_GT(longest, 100);
}

}  // namespace
}  // namespace kiln::rtl
