// The models of the AXI ports against the times that rtl/bus/kiln_axi_read_port.sv and
// kiln_axi_write_port.sv state. The tests of whole machines compare them with the hardware.
#include "kiln/hardware/axi_port_model.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace kiln::hardware {
namespace {

constexpr int64_t kPortBytes = 16;

AxiTiming Memory(uint64_t latency, double bytes_per_cycle = 0) {
  AxiTiming timing;
  timing.latency = latency;
  timing.bytes_per_cycle = bytes_per_cycle;
  return timing;
}

struct Asked {
  uint64_t cycle, address, bytes;
};

// Makes each request in its cycle or the first one after it in which the port is ready. Returns the
// cycles in which the requests are accepted, and in which their words are at the output.
std::pair<std::vector<uint64_t>, std::vector<uint64_t>> Read(MemoryBus& bus, size_t outstanding,
                                                             const std::vector<Asked>& requests) {
  AxiReadBus read_bus{bus};
  AxiReadPortModel<int> port(read_bus, kPortBytes, outstanding);
  std::vector<uint64_t> accepted, words;
  for (uint64_t now = 0; words.size() < requests.size() && now < 10000; ++now) {
    const size_t next = accepted.size();
    if (next < requests.size() && requests[next].cycle <= now && port.ready(now)) {
      port.Request(now, requests[next].address, requests[next].bytes, static_cast<int>(next));
      accepted.push_back(now);
    }
    if (port.next_word() == now) {
      EXPECT_EQ(port.TakeWord(), static_cast<int>(words.size()));
      words.push_back(now);
    }
    port.Sample(now);
  }
  return {accepted, words};
}

using Cycles = std::vector<uint64_t>;

TEST(AxiReadPortModel, WordsTakeTheirBeatsAndTheLatency) {
  MemoryBus bus(Memory(8));  // L = 10
  const auto [accepted, words] = Read(bus, 12, {{0, 0, 16}, {0, 8, 16}, {0, 64, 48}, {0, 3, 1}});
  EXPECT_EQ(accepted, (Cycles{0, 1, 3, 6})) << "one beat, two, three, one";
  EXPECT_EQ(words, (Cycles{10, 12, 15, 16})) << "t + beats - 1 + L";
}

TEST(AxiReadPortModel, NullWordsFollowByOneCycle) {
  MemoryBus bus(Memory(8));
  const auto [accepted, words] = Read(bus, 12, {{0, 0, 0}, {0, 0, 16}, {0, 0, 0}, {0, 0, 0}});
  EXPECT_EQ(accepted, (Cycles{0, 1, 2, 3}));
  EXPECT_EQ(words, (Cycles{2, 11, 12, 13})) << "at t + 2 at the earliest";
}

TEST(AxiReadPortModel, RequestsInFlightAreLimited) {
  MemoryBus bus(Memory(8));
  const auto [accepted, words] = Read(bus, 2, {{0, 0, 16}, {0, 16, 16}, {0, 32, 16}});
  // The first request's beat is accepted in cycle 9, so that its entry is free in cycle 10.
  EXPECT_EQ(accepted, (Cycles{0, 1, 10}));
  EXPECT_EQ(words, (Cycles{10, 11, 20}));
}

TEST(AxiReadPortModel, BurstsEndAtPages) {
  MemoryBus bus(Memory(8, 4));  // a beat every four cycles
  // Two bursts, of one beat each, in handshakes one cycle apart: the bus takes both in turn.
  const auto [accepted, words] = Read(bus, 12, {{0, 4080, 32}});
  EXPECT_EQ(words, (Cycles{1 + 8 + 4 + 4})) << "the address, the latency, and two beats";
}

TEST(AxiReadPortModel, PortsShareADram) {
  MemoryBus bus(Memory(8, 8));  // a beat every two cycles
  AxiReadBus one_bus{bus}, other_bus{bus};
  AxiReadPortModel<int> one(one_bus, kPortBytes, 12), other(other_bus, kPortBytes, 12);
  one.Request(0, 0, 16, 0);
  other.Request(0, 256, 16, 0);
  for (uint64_t now = 0; now < 2; ++now) {
    one.Sample(now);
    other.Sample(now);
  }
  EXPECT_EQ(one.next_word(), 1u + 8 + 2);
  EXPECT_EQ(other.next_word(), 1u + 8 + 4) << "the port that is sampled later waits";
}

TEST(AxiReadPortModel, PortsShareABus) {
  MemoryBus memory(Memory(1));
  AxiReadBus bus{memory, 1};
  AxiReadPortModel<int> one(bus, kPortBytes, 12), other(bus, kPortBytes, 12);
  one.Request(0, 0, 48, 0);  // beats on the bus in cycles 3 to 5
  for (uint64_t now = 3; now < 5; ++now) one.Request(now, 0, 0, 1);
  one.Request(5, 0, 16, 2);    // on the bus in 8
  other.Request(6, 0, 16, 3);  // on the bus in 9
  for (uint64_t now = 0; now < 9; ++now) {
    one.Sample(now);
    other.Sample(now);
  }
  EXPECT_EQ(one.next_word(), 6u) << "the address passes the arbiter";
  EXPECT_EQ(one.TakeWord(), 0);
  // The null requests leave the queue in cycles 6 and 7.
  for (uint64_t cycle = 7; cycle < 9; ++cycle) {
    EXPECT_EQ(one.next_word(), cycle);
    EXPECT_EQ(one.TakeWord(), 1);
  }
  EXPECT_EQ(one.next_word(), 9u);
  EXPECT_EQ(other.next_word(), 10u);
}

TEST(AxiReadPortModel, ABeatThatItsPortRefusesHoldsUpTheBus) {
  AxiTiming timing = Memory(1, 16);
  timing.row_miss = 20;
  MemoryBus memory(timing);
  AxiReadBus bus{memory};
  AxiReadPortModel<int> one(bus, kPortBytes, 12), other(bus, kPortBytes, 12);
  one.Request(0, 0, 16, 0);   // opens a row: its beat is on the bus in 1 + 1 + 20
  one.Request(1, 0, 0, 1);    // leaves the queue after it, in 23
  one.Request(2, 0, 0, 2);    // in 24
  one.Request(3, 16, 16, 3);  // on the bus from 23 on, accepted in 25
  other.Request(4, 32, 16, 4);
  for (uint64_t now = 0; now < 6; ++now) {
    one.Sample(now);
    other.Sample(now);
  }
  for (const uint64_t cycle : {23u, 24u, 25u, 26u}) {
    EXPECT_EQ(one.next_word(), cycle);
    one.TakeWord();
  }
  EXPECT_EQ(other.next_word(), 27u);
}

TEST(AxiReadPortModel, AHeldWordKeepsBackTheNextBeat) {
  MemoryBus memory(Memory(8));
  AxiReadBus bus{memory};
  AxiReadPortModel<int> port(bus, kPortBytes, 12, /*holds_words=*/true);
  for (uint64_t now = 0; now < 4; ++now) {
    if (port.ready(now) && now < 3) port.Request(now, 16 * now, 16, static_cast<int>(now));
    port.Sample(now);
  }
  EXPECT_EQ(port.next_word(), 10u);
  EXPECT_EQ(port.next_tag(), 0);
  EXPECT_EQ(port.TakeWord(15), 0);
  EXPECT_EQ(port.next_word(), 16u) << "its beat is accepted in the cycle in which the word leaves";
  EXPECT_EQ(port.TakeWord(16), 1);
  EXPECT_EQ(port.next_word(), 17u);
  EXPECT_EQ(port.TakeWord(17), 2);
  EXPECT_FALSE(port.busy());
}

TEST(AxiWritePortModel, RequestsAreDoneAfterTheirBeatsAndTheLatency) {
  MemoryBus bus(Memory(8));  // L = 10
  AxiWritePortModel<int> port(bus, kPortBytes, 12);
  Cycles accepted, done;
  const std::vector<Asked> requests = {{0, 0, 16}, {0, 8, 16}, {0, 4088, 24}};
  for (uint64_t now = 0; done.size() < requests.size() && now < 1000; ++now) {
    if (port.next_done() == now) {
      EXPECT_EQ(port.TakeDone(), static_cast<int>(done.size()));
      EXPECT_FALSE(port.idle(now)) << "`outstanding` decreases one cycle later";
      done.push_back(now);
    }
    if (accepted.size() < requests.size() && port.ready(now)) {
      const Asked& request = requests[accepted.size()];
      port.Request(now, request.address, request.bytes, static_cast<int>(accepted.size()));
      accepted.push_back(now);
    }
    port.Sample(now);
  }
  EXPECT_EQ(accepted, (Cycles{0, 1, 3}));
  EXPECT_EQ(done, (Cycles{10, 12, 14})) << "u + L, where u is the last cycle of the beats";
  EXPECT_TRUE(port.idle(15));
}

TEST(AxiWritePortModel, BurstsInFlightAreLimited) {
  MemoryBus bus(Memory(8));
  AxiWritePortModel<int> port(bus, kPortBytes, 1);
  // Two bursts, across a page: the second one waits for the response to the first one.
  port.Request(0, 4080, 32, 7);
  uint64_t now = 0;
  for (; port.next_done() == kNeverDone; ++now) {
    EXPECT_FALSE(port.ready(now));
    ASSERT_LT(now, 100u);
    port.Sample(now);
  }
  // The first response is on the bus in 1 + 8; the next address follows in 10 + 1.
  EXPECT_EQ(port.next_done(), 11u + 8 + 1);
}

TEST(MemoryBus, TakesTheSameTimeInWhicheverCycleARunBegins) {
  for (const uint64_t begin : {uint64_t{0}, uint64_t{1'000'003}}) {
    MemoryBus bus(Memory(5, 3.3));
    testbench::ReadTimes times;
    Cycles cycles;
    for (uint64_t i = 0; i < 100; ++i) {
      times.Book(bus, begin + 2 * i, 64 * i, 3, 16,
                 [&](uint64_t cycle) { cycles.push_back(cycle - begin); });
    }
    ASSERT_EQ(cycles.size(), 300u);
    // Beat i has arrived completely (i + 1) * 16 / 3.3 cycles after the first one began.
    for (size_t i = 0; i < cycles.size(); ++i) {
      EXPECT_EQ(cycles[i], 5 + static_cast<uint64_t>(static_cast<double>(i + 1) * 16 / 3.3) - 1);
    }
  }
}

}  // namespace
}  // namespace kiln::hardware
