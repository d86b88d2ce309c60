// Tests parts of the ports and of the arbiter on their own: kiln_round_robin, kiln_axi_bursts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "Vaxi_bursts_16.h"
#include "Vaxi_bursts_8.h"
#include "Vround_robin_1.h"
#include "Vround_robin_5.h"
#include "kiln/support/random.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

// ---- Turns.

template <typename Model>
void CheckRoundRobin(uint32_t requesters, uint64_t seed) {
  Simulation<Model> robin(seed);
  Random random(seed);
  robin->request = robin->taken = 0;
  robin.Reset();
  uint32_t next = 0;  // whose turn it is
  std::vector<uint32_t> waited(requesters);
  for (int i = 0; i < 20'000; ++i) {
    const auto request = static_cast<uint32_t>(random.Below(uint64_t{1} << requesters));
    robin->request = static_cast<uint8_t>(request);
    uint32_t chosen = next;
    while (request != 0 && (request >> chosen % requesters & 1) == 0) ++chosen;
    chosen %= requesters;
    robin->taken = request != 0 && random.Below(2) == 0;
    robin.Settle();
    ASSERT_EQ(robin->grant, request == 0 ? 0u : 1u << chosen)
        << "request " << request << ", turn " << next;
    ASSERT_EQ(robin->index, request == 0 ? 0u : chosen);
    if (robin->taken != 0) {
      for (uint32_t r = 0; r < requesters; ++r)
        waited[r] = (request >> r & 1) != 0 && r != chosen ? waited[r] + 1 : 0;
      ASSERT_LT(*std::max_element(waited.begin(), waited.end()), requesters);
      next = (chosen + 1) % requesters;
    }
    robin.Step();
  }
}
TEST(RoundRobin, EachInItsTurn) { CheckRoundRobin<Vround_robin_5>(5, 1); }
TEST(RoundRobin, OneAlone) { CheckRoundRobin<Vround_robin_1>(1, 2); }

// ---- Bursts.

struct Run {
  uint32_t place, beats;
};
struct Burst {
  uint32_t address, beats;
  bool last;  // of its run
};

template <typename Model>
void CheckBursts(uint32_t data_bytes, uint32_t most_beats, uint64_t seed, double stall) {
  const uint32_t page_beats = std::min(4096 / data_bytes, 256u);
  constexpr uint32_t kPlaces = 1 << 14;
  Simulation<Model> bursts(seed);
  Random random(seed);
  Source<Run> runs(Stalls(seed + 1, stall));
  Stalls channel(seed + 2, stall, Stalls::Kind::kBursts), rooms(seed + 3, stall);
  for (int i = 0; i < 1'500; ++i) {
    // Short runs, long ones, and those that end with a page or begin one.
    const auto beats = static_cast<uint32_t>(random.Below(3) == 0 ? random.Between(1, most_beats)
                                                                  : random.Between(1, 6));
    auto place = static_cast<uint32_t>(random.Below(kPlaces - most_beats));
    if (random.Below(3) == 0)
      place = place / page_beats * page_beats + (page_beats - beats % page_beats) % page_beats;
    runs.Push({place % (kPlaces - most_beats), beats});
  }
  bursts->run_valid = bursts->axi_ready = 0;
  bursts->room = 1;
  bursts.Reset();
  std::deque<Burst> pushed,
      to_push;  // on the channel or in front of it; of a run that is not yet on it
  int splits = 0;
  while (!runs.Empty() || !pushed.empty() || !to_push.empty()) {
    ASSERT_LT(bursts.Cycle(), 200'000u);
    runs.Drive();
    bursts->run_valid = runs.Valid();
    if (runs.Valid()) {
      bursts->run_place = runs.Item().place;
      bursts->run_beats = static_cast<uint16_t>(runs.Item().beats);
    }
    bursts->room = !rooms.Next();
    bursts->axi_ready = !channel.Next();
    bursts.Settle();
    // Two bursts have room in front of the channel.
    const bool space = pushed.size() < 2 && bursts->room != 0;
    ASSERT_EQ(bursts->run_ready, space && to_push.empty()) << "cycle " << bursts.Cycle();
    ASSERT_EQ(bursts->axi_valid, !pushed.empty()) << "cycle " << bursts.Cycle();
    if (!pushed.empty()) {
      ASSERT_EQ(bursts->axi_addr, pushed.front().address);
      ASSERT_EQ(bursts->axi_len, pushed.front().beats - 1);
    }
    const bool taken = runs.Taken(bursts->run_ready != 0);
    if (taken) {
      // In front of every multiple of the page.
      uint32_t place = static_cast<uint32_t>(bursts->run_place), left = bursts->run_beats;
      while (left > 0) {
        const uint32_t beats = std::min(left, page_beats - place % page_beats);
        left -= beats;
        to_push.push_back({place * data_bytes, beats, left == 0});
        place += beats;
      }
      splits += to_push.size() > 1 ? 1 : 0;
    }
    const bool pushes = !to_push.empty() && space;
    ASSERT_EQ(bursts->burst_pushed, pushes) << "cycle " << bursts.Cycle();
    if (pushes) {
      ASSERT_EQ(bursts->burst_last, to_push.front().last);
    }
    if (bursts->axi_valid && bursts->axi_ready) pushed.pop_front();
    if (pushes) {
      pushed.push_back(to_push.front());
      to_push.pop_front();
    }
    bursts.Step();
  }
  EXPECT_GT(splits, 100);
}
TEST(AxiBursts, AreSplitAtPages) {
  for (const double stall : {0.0, 0.5}) CheckBursts<Vaxi_bursts_16>(16, 700, 3, stall);
}
// Pages of 4 KiB are longer than 256 beats: the number of beats is the limit.
TEST(AxiBursts, AreNoLongerThan256Beats) {
  for (const double stall : {0.0, 0.5}) CheckBursts<Vaxi_bursts_8>(8, 900, 4, stall);
}

}  // namespace
}  // namespace kiln::rtl
