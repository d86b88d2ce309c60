// Tests the testbench's memory on its own: its guaranteed latencies, and the strict order of reads
// and writes.
#include "rtl/testbench/kiln_axi_memory.h"

#include <gtest/gtest.h>

#include <numeric>

namespace kiln::testbench {
namespace {

// Reads bursts of 16-byte beats, asked for as fast as they are taken, and says in which cycle each
// beat was handed over.
std::vector<uint64_t> BeatCycles(AxiReadPort* port,
                                 const std::vector<std::pair<uint64_t, unsigned>>& bursts) {
  std::vector<uint64_t> cycles;
  size_t asked = 0;
  for (uint64_t now = 0; now < 100000 && (asked < bursts.size() || !port->idle()); ++now) {
    port->Drive();
    const bool valid = asked < bursts.size();
    const auto [address, beats] = valid ? bursts[asked] : std::pair<uint64_t, unsigned>(0, 1);
    asked += valid && port->arready();
    if (port->rvalid()) {
      cycles.push_back(now);
    }
    port->Sample(valid, address, beats - 1, 0, true);
  }
  return cycles;
}

TEST(AxiMemory, IdealGivesABeatACycleAfterItsLatency) {
  AxiTiming timing;
  timing.latency = 9;
  AxiMemory memory(1 << 16, timing);
  AxiReadPort port(&memory, 16);
  // Asked for in cycles 0, 1 and 2: the beats follow each other without a gap.
  const std::vector<uint64_t> cycles = BeatCycles(&port, {{0, 3}, {4096, 1}, {64, 4}});
  std::vector<uint64_t> expected(8);
  std::iota(expected.begin(), expected.end(), 9);
  EXPECT_EQ(cycles, expected);
}

TEST(AxiMemory, DramHasABandwidthThatPortsShare) {
  AxiTiming timing;
  timing.latency = 20;
  timing.bytes_per_cycle = 8;
  AxiMemory memory(1 << 16, timing);
  AxiReadPort one(&memory, 16), other(&memory, 16, 2);
  const std::vector<std::pair<uint64_t, unsigned>> bursts(10, {0, 10});
  // 100 beats of 16 bytes at 8 bytes a cycle.
  const std::vector<uint64_t> alone = BeatCycles(&one, bursts);
  ASSERT_EQ(alone.size(), 100u);
  EXPECT_EQ(alone.back() - alone.front(), 2u * 99);
  EXPECT_EQ(alone.front(), 21u);  // the second half of a beat comes a cycle after the first
  // Two ports at once, on a memory of its own: the same bus.
  AxiMemory shared(1 << 16, timing);
  AxiReadPort left(&shared, 16), right(&shared, 16, 2);
  uint64_t last = 0;
  size_t asked_left = 0, asked_right = 0, beats = 0;
  for (uint64_t now = 0; beats < 200; ++now) {
    ASSERT_LT(now, 10000u);
    left.Drive();
    right.Drive();
    beats += left.rvalid() + right.rvalid();
    last = now;
    left.Sample(asked_left < 10, 0, 9, 0, true);
    right.Sample(asked_right < 10, 0, 9, 0, true);
    asked_left += asked_left < 10;
    asked_right += asked_right < 10;
  }
  EXPECT_NEAR(static_cast<double>(last), 2.0 * 200 + 20, 3);
}

TEST(AxiMemory, DramOpensRows) {
  AxiTiming timing;
  timing.latency = 20;
  timing.bytes_per_cycle = 16;
  timing.row_miss = 30;
  timing.row_bytes = 1024;
  timing.banks = 2;
  AxiMemory memory(1 << 16, timing);
  AxiReadPort port(&memory, 16);
  EXPECT_EQ(BeatCycles(&port, {{0, 1}}).front(), 50u);     // nothing is open
  EXPECT_EQ(BeatCycles(&port, {{1008, 1}}).front(), 20u);  // the same row
  EXPECT_EQ(BeatCycles(&port, {{1024, 1}}).front(), 50u);  // the other bank's first
  EXPECT_EQ(BeatCycles(&port, {{16, 1}}).front(), 20u);    // still open
  EXPECT_EQ(BeatCycles(&port, {{2048, 1}}).front(), 50u);  // another row of the first bank
  // It has closed the first one. What is open meanwhile waits its turn: data stay in order.
  EXPECT_EQ(BeatCycles(&port, {{32, 1}, {1040, 1}}), (std::vector<uint64_t>{50, 51}));
}

TEST(AxiMemory, AWriteIsThereWithItsResponseAndNotBefore) {
  AxiTiming timing;
  timing.latency = 5;
  AxiMemory memory(256, timing);
  AxiWritePort port(&memory, 16);
  std::vector<uint8_t> data(16, 0xab);
  const uint16_t strobes = 0x0ff0;
  for (uint64_t now = 0; now < 10; ++now) {
    port.Drive();
    EXPECT_FALSE(port.bvalid()) << now;  // the data have not come
    port.Sample(now == 0, 32, 0, 0, false, data.data(), &strobes, true, true);
  }
  for (uint64_t now = 10; now < 20; ++now) {
    port.Drive();
    EXPECT_EQ(port.bvalid(), now == 15) << now;
    EXPECT_EQ(memory.bytes()[36], now < 15 ? 0 : 0xab) << now;
    port.Sample(false, 0, 0, 0, now == 10, data.data(), &strobes, true, true);
  }
  for (size_t i = 0; i < memory.bytes().size(); ++i) {
    EXPECT_EQ(memory.bytes()[i], i >= 36 && i < 44 ? 0xab : 0) << i;
  }
  EXPECT_TRUE(port.idle());
}

TEST(AxiMemory, StallsComeAsOftenAsAskedForAndFollowTheSeed) {
  AxiTiming timing;
  timing.stall_ar = 0.3;
  const auto stalls = [&](uint64_t seed) {
    AxiMemory memory(256, timing);
    AxiReadPort port(&memory, 16, seed);
    std::vector<bool> ready;
    for (int i = 0; i < 20000; ++i) {
      port.Drive();
      ready.push_back(port.arready());
      port.Sample(false, 0, 0, 0, false);
    }
    return ready;
  };
  const std::vector<bool> ready = stalls(3);
  EXPECT_NEAR(static_cast<double>(std::count(ready.begin(), ready.end(), false)), 0.3 * 20000, 600);
  EXPECT_EQ(ready, stalls(3));
  EXPECT_NE(ready, stalls(4));
}

}  // namespace
}  // namespace kiln::testbench
