// Compares kiln_axi_read_port with a plain byte array: the bytes and tag of every request, and with
// the ideal memory every cycle.
#include "Vread_port_128_20.h"
#include "Vread_port_16_16.h"
#include "Vread_port_64_256.h"
#include "Vread_port_8_3000.h"
#include "Vread_port_8_64.h"
#include "Vread_port_memory.h"
#include "Vread_port_netlist.h"
#include "kiln/hardware/axi_port.h"
#include "rtl/testbench/kiln_axi_memory.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

using testbench::AxiMemory;
using testbench::AxiReadPort;
using testbench::AxiTiming;

constexpr uint64_t kMemoryBytes = 1 << 16;

struct Request {
  uint64_t address;
  uint32_t bytes;
  uint32_t tag;
};

struct Setting {
  AxiTiming timing;
  double request_stall = 0;  // of who asks
  double word_stall = 0;     // of who takes the words
  double null_share = 0.2;   // of the requests
  uint64_t seed = 1;
};

template <int kDataBytes, int kMaxBytes>
Request RandomRequest(Random& random, double null_share, uint32_t tag) {
  if (random.Uniform() < null_share) {
    return {random.Below(kMemoryBytes), 0, tag};
  }
  const uint64_t bytes = random.Below(4) == 0 ? kMaxBytes : 1 + random.Below(kMaxBytes);
  // Every fourth near a multiple of 4 KiB, where bursts are split.
  uint64_t address = random.Below(kMemoryBytes - bytes + 1);
  if (random.Below(4) == 0) {
    address = 4096 * (1 + random.Below(kMemoryBytes / 4096 - 2)) - random.Below(bytes + 1);
  }
  return {address, static_cast<uint32_t>(bytes), tag};
}

AxiMemory RandomMemory(const AxiTiming& timing, uint64_t seed) {
  AxiMemory memory(kMemoryBytes, timing);
  Random random(seed);
  for (uint8_t& byte : memory.bytes()) {
    byte = static_cast<uint8_t>(random());
  }
  return memory;
}

// Runs random requests and compares every word. Returns the cycles it took.
template <typename Model, int kDataBytes, int kMaxBytes>
uint64_t CyclesOf(const Setting& setting) {
  AxiMemory memory = RandomMemory(setting.timing, setting.seed);
  AxiReadPort bus(&memory, kDataBytes, setting.seed);
  Simulation<Model> port(setting.seed);
  Random random(setting.seed + 1);
  Source<Request> source(Stalls(setting.seed + 2, setting.request_stall, Stalls::Kind::kBursts));
  Stalls word_stalls(setting.seed + 3, setting.word_stall, Stalls::Kind::kBursts);
  constexpr uint32_t kRequests = kMaxBytes < 1000 ? 3000 : 200;
  const bool exact =
      setting.timing.stall_r == 0 && setting.timing.bytes_per_cycle == 0 && setting.word_stall == 0;
  for (uint32_t i = 0; i < kRequests; ++i) {
    source.Push(RandomRequest<kDataBytes, kMaxBytes>(random, setting.null_share,
                                                     (i * 2654435761u) & 0xffff));
  }
  port->request_valid = 0;
  port->word_ready = 0;
  port->axi_arready = 0;
  port->axi_rvalid = 0;
  port.Reset();

  struct Expected {
    Request request;
    uint64_t earliest;  // cycle of its word if nothing holds it up
  };
  std::deque<Expected> expected;
  const uint64_t latency = setting.timing.latency + kAxiPortLatency;
  uint64_t next_accept = 0;  // by the contract
  uint64_t last_word = 0;    // cycle of the last word
  while (!(source.Empty() && expected.empty())) {
    const uint64_t now = port.Cycle();
    if (now > 300000) {
      ADD_FAILURE() << "stuck";
      return now;
    }
    source.Drive();
    port->request_valid = source.Valid();
    // What nobody offers may be anything.
    const Request request =
        source.Valid() ? source.Item() : RandomRequest<kDataBytes, kMaxBytes>(random, 0.5, 0);
    port->request_address = request.address;
    port->request_bytes = request.bytes;
    port->request_tag = request.tag;
    port->word_ready = !word_stalls.Next();
    KILN_AXI_DRIVE_READ(*port, axi, bus);
    port.Settle();

    if (exact) {
      EXPECT_EQ(port->request_ready, now >= next_accept) << "cycle " << now;
    }
    EXPECT_EQ(port->idle, expected.empty()) << "cycle " << now;
    if (port->word_valid) {
      if (expected.empty()) {
        ADD_FAILURE() << "a word that nobody asked for";
        return now;
      }
      const Expected& head = expected.front();
      EXPECT_EQ(port->word_tag, head.request.tag);
      const std::vector<uint8_t> word = GetBytes(port->word_data, head.request.bytes);
      EXPECT_TRUE(std::equal(word.begin(), word.end(),
                             memory.bytes().begin() + static_cast<int64_t>(head.request.address)))
          << "address " << head.request.address << " bytes " << head.request.bytes;
      if (exact) {
        EXPECT_EQ(now, std::max(head.earliest, last_word + 1));
      }
      if (port->word_ready) {
        last_word = now;
        expected.pop_front();
      }
    } else if (exact && !expected.empty()) {
      EXPECT_LT(now, std::max(expected.front().earliest, last_word + 1)) << "late";
    }
    if (source.Taken(port->request_ready)) {
      const auto beats = static_cast<uint64_t>(
          std::max<int64_t>(1, BeatsOf(request.address, request.bytes, kDataBytes)));
      expected.push_back({request, request.bytes == 0 ? now + 2 : now + beats - 1 + latency});
      next_accept = now + beats;
    }
    KILN_AXI_SAMPLE_READ(*port, axi, bus);
    port.Step();
    if (::testing::Test::HasFailure()) {
      return now;
    }
  }
  EXPECT_FALSE(port->fault);
  return port.Cycle();
}

// The number of cycles with which a machine reckons, at full speed: each request its beats, and L
// behind the last.
template <typename Model, int kDataBytes, int kMaxBytes>
void ExactTime() {
  for (const uint64_t memory_latency : {1, 2, 14, 22}) {
    Setting setting;
    setting.timing.latency = memory_latency;
    for (const double nulls : {0.0, 0.2, 0.9}) {
      setting.null_share = nulls;
      setting.seed += 1;
      setting.request_stall = 0;
      CyclesOf<Model, kDataBytes, kMaxBytes>(setting);
      setting.request_stall = 0.5;
      CyclesOf<Model, kDataBytes, kMaxBytes>(setting);
      if (::testing::Test::HasFailure()) {
        return;
      }
    }
  }
}

template <typename Model, int kDataBytes, int kMaxBytes>
void SameWordsUnderStalls() {
  for (const double stall : {0.1, 0.5, 0.8}) {
    for (const bool dram : {false, true}) {
      Setting setting;
      setting.seed = static_cast<uint64_t>(100 * stall) + (dram ? 7 : 0);
      setting.timing.StallAll(stall);
      setting.word_stall = setting.request_stall = stall;
      if (dram) {
        setting.timing.latency = 40;
        setting.timing.bytes_per_cycle = 5.3;
        setting.timing.row_miss = 25;
      }
      CyclesOf<Model, kDataBytes, kMaxBytes>(setting);
      if (::testing::Test::HasFailure()) {
        return;
      }
    }
  }
}

TEST(AxiReadPort, TakesExactlyTheCyclesOfTheContract) {
  ExactTime<Vread_port_8_64, 8, 64>();
  ExactTime<Vread_port_16_16, 16, 16>();
  ExactTime<Vread_port_64_256, 64, 256>();
  ExactTime<Vread_port_128_20, 128, 20>();
  ExactTime<Vread_port_memory, 16, 64>();
  ExactTime<Vread_port_netlist, 8, 64>();  // as Yosys reads it
}

TEST(AxiReadPort, GivesTheSameWordsUnderStallsAndDram) {
  SameWordsUnderStalls<Vread_port_8_64, 8, 64>();
  SameWordsUnderStalls<Vread_port_16_16, 16, 16>();
  SameWordsUnderStalls<Vread_port_64_256, 64, 256>();
  SameWordsUnderStalls<Vread_port_128_20, 128, 20>();
  SameWordsUnderStalls<Vread_port_memory, 16, 64>();
  SameWordsUnderStalls<Vread_port_netlist, 8, 64>();  // as Yosys reads it
}

// Up to 376 beats of 8 bytes: two or three bursts, by the limit of 256 beats and by that of 4 KiB.
TEST(AxiReadPort, SplitsLongRequestsWithoutALostCycle) {
  Setting setting;
  CyclesOf<Vread_port_8_3000, 8, 3000>(setting);
  setting.timing.StallAll(0.5);
  CyclesOf<Vread_port_8_3000, 8, 3000>(setting);
}

// A DRAM's bandwidth is what the bus gets: requests of whole beats at half a beat a cycle take
// twice the beats.
TEST(AxiReadPort, SeesTheBandwidthOfTheMemory) {
  Setting setting;
  setting.null_share = 0;
  const uint64_t ideal = CyclesOf<Vread_port_16_16, 16, 16>(setting);
  setting.timing.bytes_per_cycle = 8;
  const uint64_t half = CyclesOf<Vread_port_16_16, 16, 16>(setting);
  EXPECT_NEAR(static_cast<double>(half), 2.0 * static_cast<double>(ideal), 50);
}

// One request after another; returns whether the port reports a fault.
bool FaultOf(uint64_t address, uint64_t poison) {
  AxiMemory memory = RandomMemory(AxiTiming(), 1);
  if (poison != 0) {
    memory.Poison(poison, 1);
  }
  AxiReadPort bus(&memory, 16);
  Simulation<Vread_port_16_16> port;
  port->request_valid = 0;
  port->word_ready = 1;
  port->axi_arready = 0;
  port->axi_rvalid = 0;
  port.Reset();
  bool word = false;
  for (int i = 0; i < 60; ++i) {
    // One request at the address in question, then one of no concern: the fault must stay.
    port->request_valid = i == 0 || i == 30;
    port->request_address = i == 0 ? address : 64;
    port->request_bytes = 16;
    port->request_tag = 1;
    KILN_AXI_DRIVE_READ(*port, axi, bus);
    port.Settle();
    word = word || port->word_valid;
    KILN_AXI_SAMPLE_READ(*port, axi, bus);
    port.Step();
  }
  EXPECT_TRUE(word);
  return port->fault;
}

TEST(AxiReadPort, KeepsAFaultOfTheMemory) {
  EXPECT_FALSE(FaultOf(kMemoryBytes - 16, 0));
  EXPECT_TRUE(FaultOf(kMemoryBytes, 0));       // DECERR
  EXPECT_TRUE(FaultOf(kMemoryBytes - 15, 0));  // its second beat
  EXPECT_TRUE(FaultOf(0x1230, 0x123f));        // SLVERR
  EXPECT_FALSE(FaultOf(0x1220, 0x123f));
}

}  // namespace
}  // namespace kiln::rtl
