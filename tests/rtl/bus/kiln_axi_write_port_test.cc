// Compares kiln_axi_write_port with a plain byte array: the memory's contents, the cycle in which a
// write is reported as done, and with the ideal memory every cycle.
#include "Vwrite_port_128_20.h"
#include "Vwrite_port_16_16.h"
#include "Vwrite_port_64_256.h"
#include "Vwrite_port_8_3000.h"
#include "Vwrite_port_8_64.h"
#include "Vwrite_port_netlist.h"
#include "kiln/hardware/axi_port.h"
#include "rtl/testbench/kiln_axi_memory.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

using testbench::AxiMemory;
using testbench::AxiTiming;
using testbench::AxiWritePort;

constexpr uint64_t kMemoryBytes = 1 << 14;

struct Request {
  uint64_t address = 0;
  std::vector<uint8_t> data;
  uint32_t tag = 0;
};

struct Setting {
  AxiTiming timing;
  double request_stall = 0;
  uint64_t seed = 1;
};

Request RandomRequest(Random& random, uint64_t max_bytes, uint32_t tag) {
  Request request;
  request.tag = tag;
  request.data.resize(random.Below(4) == 0 ? max_bytes : 1 + random.Below(max_bytes));
  const uint64_t bytes = request.data.size();
  // Every fourth near a multiple of 4 KiB, where bursts are split.
  request.address = random.Below(kMemoryBytes - bytes + 1);
  if (random.Below(4) == 0) {
    request.address = 4096 * (1 + random.Below(kMemoryBytes / 4096 - 1)) - random.Below(bytes + 1);
  }
  for (uint8_t& byte : request.data) {
    byte = static_cast<uint8_t>(random());
  }
  return request;
}

// Writes random requests. Returns the cycles it took.
template <typename Model, int kDataBytes, int kMaxBytes>
uint64_t CyclesOf(const Setting& setting) {
  AxiMemory memory(kMemoryBytes, setting.timing);
  AxiWritePort bus(&memory, kDataBytes, setting.seed);
  Simulation<Model> port(setting.seed);
  Random random(setting.seed + 1);
  Source<Request> source(Stalls(setting.seed + 2, setting.request_stall, Stalls::Kind::kBursts));
  constexpr uint32_t kRequests = kMaxBytes < 1000 ? 2500 : 200;
  const bool exact = setting.timing.stall_aw == 0 && setting.timing.stall_w == 0 &&
                     setting.timing.bytes_per_cycle == 0;
  for (uint32_t i = 0; i < kRequests; ++i) {
    source.Push(RandomRequest(random, kMaxBytes, (i * 2654435761u) & 0xffff));
  }
  port->request_valid = 0;
  port->axi_awready = port->axi_wready = port->axi_bvalid = 0;
  port.Reset();

  struct Expected {
    uint32_t tag;
    uint64_t done;  // cycle of done_valid if nothing holds it up
  };
  std::deque<Expected> expected;
  std::vector<uint8_t> model(kMemoryBytes, 0);  // after all requests accepted so far
  const uint64_t latency = setting.timing.latency + kAxiPortLatency;
  uint64_t next_accept = 0, whole_comparisons = 0;
  size_t outstanding = 0;  // what the port should say in this cycle
  while (!(source.Empty() && outstanding == 0)) {
    const uint64_t now = port.Cycle();
    if (now > 300000) {
      ADD_FAILURE() << "stuck";
      return now;
    }
    source.Drive();
    port->request_valid = source.Valid();
    const Request request = source.Valid() ? source.Item() : RandomRequest(random, kMaxBytes, 0);
    port->request_address = request.address;
    port->request_bytes = static_cast<uint32_t>(request.data.size());
    port->request_tag = request.tag;
    SetBytes(port->request_data, request.data);
    KILN_AXI_DRIVE_WRITE(*port, axi, bus);
    port.Settle();

    if (exact) {
      EXPECT_EQ(port->request_ready, now >= next_accept) << "cycle " << now;
    }
    EXPECT_EQ(port->outstanding, outstanding) << "cycle " << now;
    EXPECT_EQ(port->idle, outstanding == 0);
    if (port->idle) {
      EXPECT_EQ(memory.bytes(), model) << "said to be in memory in cycle " << now;
      ++whole_comparisons;
    }
    if (exact) {
      EXPECT_EQ(port->done_valid, !expected.empty() && expected.front().done == now)
          << "cycle " << now;
    }
    if (port->done_valid) {
      if (expected.empty()) {
        ADD_FAILURE() << "done without a request";
        return now;
      }
      EXPECT_EQ(port->done_tag, expected.front().tag);
      expected.pop_front();
      --outstanding;
    }
    if (source.Taken(port->request_ready)) {
      const auto bytes = static_cast<int64_t>(request.data.size());
      const auto beats = static_cast<uint64_t>(BeatsOf(request.address, bytes, kDataBytes));
      expected.push_back({request.tag, now + beats - 1 + latency});
      next_accept = now + beats;
      std::copy(request.data.begin(), request.data.end(),
                model.begin() + static_cast<int64_t>(request.address));
      ++outstanding;
    }
    KILN_AXI_SAMPLE_WRITE(*port, axi, bus);
    port.Step();
    if (::testing::Test::HasFailure()) {
      return now;
    }
  }
  EXPECT_EQ(memory.bytes(), model);
  EXPECT_GT(whole_comparisons, 0u);
  EXPECT_FALSE(port->fault);
  return port.Cycle();
}

template <typename Model, int kDataBytes, int kMaxBytes>
void ExactTime() {
  for (const uint64_t memory_latency : {1, 2, 14, 22}) {
    Setting setting;
    setting.timing.latency = memory_latency;
    setting.seed = memory_latency;
    for (const double stall : {0.0, 0.5}) {
      setting.request_stall = stall;
      CyclesOf<Model, kDataBytes, kMaxBytes>(setting);
      if (::testing::Test::HasFailure()) {
        return;
      }
    }
  }
}

template <typename Model, int kDataBytes, int kMaxBytes>
void SameBytesUnderStalls() {
  for (const double stall : {0.1, 0.5, 0.8}) {
    for (const bool dram : {false, true}) {
      Setting setting;
      setting.seed = static_cast<uint64_t>(100 * stall) + (dram ? 7 : 0);
      setting.timing.StallAll(stall);
      setting.request_stall = stall;
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

TEST(AxiWritePort, TakesExactlyTheCyclesOfTheContract) {
  ExactTime<Vwrite_port_8_64, 8, 64>();
  ExactTime<Vwrite_port_16_16, 16, 16>();
  ExactTime<Vwrite_port_64_256, 64, 256>();
  ExactTime<Vwrite_port_128_20, 128, 20>();
  ExactTime<Vwrite_port_netlist, 8, 64>();  // as Yosys reads it
}

TEST(AxiWritePort, WritesTheSameBytesUnderStallsAndDram) {
  SameBytesUnderStalls<Vwrite_port_8_64, 8, 64>();
  SameBytesUnderStalls<Vwrite_port_16_16, 16, 16>();
  SameBytesUnderStalls<Vwrite_port_64_256, 64, 256>();
  SameBytesUnderStalls<Vwrite_port_128_20, 128, 20>();
  SameBytesUnderStalls<Vwrite_port_netlist, 8, 64>();  // as Yosys reads it
}

// Up to 376 beats of 8 bytes: two or three bursts, by the limit of 256 beats and by that of 4 KiB.
TEST(AxiWritePort, SplitsLongRequestsWithoutALostCycle) {
  Setting setting;
  CyclesOf<Vwrite_port_8_3000, 8, 3000>(setting);
  setting.timing.StallAll(0.5);
  CyclesOf<Vwrite_port_8_3000, 8, 3000>(setting);
}

// Address and data are independent channels: each may be held up for long while the other goes on.
TEST(AxiWritePort, AddressAndDataMayDrift) {
  for (const double aw : {0.0, 0.8}) {
    Setting setting;
    setting.timing.stall_aw = aw;
    setting.timing.stall_w = 0.8 - aw;
    setting.timing.longest_stall = 60;
    CyclesOf<Vwrite_port_8_64, 8, 64>(setting);
  }
}

bool FaultOf(uint64_t address, uint64_t poison) {
  AxiMemory memory(kMemoryBytes);
  if (poison != 0) {
    memory.Poison(poison, 1);
  }
  AxiWritePort bus(&memory, 16);
  Simulation<Vwrite_port_16_16> port;
  port->request_valid = 0;
  port->axi_awready = port->axi_wready = port->axi_bvalid = 0;
  port.Reset();
  int done = 0;
  for (int i = 0; i < 60; ++i) {
    // One request at the address in question, then one of no concern: the fault must stay.
    port->request_valid = i == 0 || i == 30;
    port->request_address = i == 0 ? address : 64;
    port->request_bytes = 16;
    port->request_tag = 1;
    KILN_AXI_DRIVE_WRITE(*port, axi, bus);
    port.Settle();
    done += port->done_valid;
    KILN_AXI_SAMPLE_WRITE(*port, axi, bus);
    port.Step();
  }
  EXPECT_EQ(done, 2);
  return port->fault;
}

TEST(AxiWritePort, KeepsAFaultOfTheMemory) {
  EXPECT_FALSE(FaultOf(kMemoryBytes - 16, 0));
  EXPECT_TRUE(FaultOf(kMemoryBytes, 0));       // DECERR
  EXPECT_TRUE(FaultOf(kMemoryBytes - 15, 0));  // its second beat
  EXPECT_TRUE(FaultOf(0x1230, 0x123f));        // SLVERR
  EXPECT_FALSE(FaultOf(0x1220, 0x123f));
}

}  // namespace
}  // namespace kiln::rtl
