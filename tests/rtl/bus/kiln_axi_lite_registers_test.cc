// Tests kiln_axi_lite_registers in front of 64 registers in C++: every access reaches them once, in
// order, and is answered.
#include <array>

#include "Vaxi_lite_registers.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

constexpr uint32_t kRegisters =
    64;  // of the 1024 that the address could name; beyond them is an error

struct Write {
  uint32_t address, data, strobe;
};

struct Answer {
  uint32_t data, response;
};

uint32_t Merge(uint32_t old, const Write& write) {
  for (int byte = 0; byte < 4; ++byte) {
    if ((write.strobe >> byte & 1) != 0) {
      const uint32_t mask = uint32_t{0xff} << (8 * byte);
      old = (old & ~mask) | (write.data & mask);
    }
  }
  return old;
}

uint32_t RandomAddress(Random& random) {
  return static_cast<uint32_t>(random.Below(8) == 0 ? random.Below(4096)
                                                    : random.Below(4 * kRegisters));
}

void Exercise(double stall, uint64_t seed) {
  Simulation<Vaxi_lite_registers> slave(seed);
  Random random(seed);
  Source<Write> addresses(Stalls(seed + 1, stall)), data(Stalls(seed + 2, stall));
  Source<uint32_t> reads(Stalls(seed + 3, stall));
  Stalls answer_stalls(seed + 4, stall), register_stalls(seed + 5, stall);
  std::deque<Write> writes_to_come;
  std::deque<uint32_t> reads_to_come;
  std::deque<uint32_t> write_answers;
  std::deque<Answer> read_answers;
  for (int i = 0; i < 2000; ++i) {
    const Write write{RandomAddress(random), static_cast<uint32_t>(random()),
                      static_cast<uint32_t>(random.Below(16))};
    addresses.Push(write);
    data.Push(write);
    writes_to_come.push_back(write);
    reads.Push(RandomAddress(random));
  }
  std::array<uint32_t, kRegisters> registers = {};
  slave->axi_awvalid = slave->axi_wvalid = slave->axi_arvalid = 0;
  slave->axi_bready = slave->axi_rready = 0;
  slave.Reset();
  slave.Step();  // software may not ask in the cycle behind a reset
  int answered = 0;
  bool b_held = false, r_held = false;
  uint32_t held_bresp = 0, held_rresp = 0, held_rdata = 0;
  while (answered < 4000) {
    ASSERT_LT(slave.Cycle(), 100000u);
    addresses.Drive();
    data.Drive();
    reads.Drive();
    slave->axi_awvalid = addresses.Valid();
    slave->axi_awaddr = addresses.Valid() ? static_cast<uint16_t>(addresses.Item().address) : 0x555;
    slave->axi_wvalid = data.Valid();
    slave->axi_wdata = data.Valid() ? data.Item().data : 0xdeadbeef;
    slave->axi_wstrb = data.Valid() ? static_cast<uint8_t>(data.Item().strobe) : 0xf;
    slave->axi_arvalid = reads.Valid();
    slave->axi_araddr = reads.Valid() ? static_cast<uint16_t>(reads.Item()) : 0x555;
    slave->axi_bready = !answer_stalls.Next();
    slave->axi_rready = !answer_stalls.Next();
    slave->read_ready = !register_stalls.Next();
    slave.Settle();

    // The registers' side.
    slave->write_error = slave->write_address / 4 >= kRegisters;
    const uint32_t read_place = slave->read_address / 4;
    slave->read_error = read_place >= kRegisters;
    slave->read_data =
        slave->read_enable && read_place < kRegisters ? registers[read_place] : 0x12345678;
    slave.Settle();

    // Answers, which stay until they are taken.
    if (b_held) {
      ASSERT_TRUE(slave->axi_bvalid && slave->axi_bresp == held_bresp);
    }
    if (r_held) {
      ASSERT_TRUE(slave->axi_rvalid && slave->axi_rresp == held_rresp &&
                  slave->axi_rdata == held_rdata);
    }
    b_held = slave->axi_bvalid && !slave->axi_bready;
    r_held = slave->axi_rvalid && !slave->axi_rready;
    held_bresp = slave->axi_bresp;
    held_rresp = slave->axi_rresp;
    held_rdata = slave->axi_rdata;
    if (slave->axi_bvalid && slave->axi_bready) {
      ASSERT_FALSE(write_answers.empty());
      ASSERT_EQ(slave->axi_bresp, write_answers.front());
      write_answers.pop_front();
      ++answered;
    }
    if (slave->axi_rvalid && slave->axi_rready) {
      ASSERT_FALSE(read_answers.empty());
      ASSERT_EQ(slave->axi_rresp, read_answers.front().response);
      ASSERT_EQ(slave->axi_rdata, read_answers.front().data);
      read_answers.pop_front();
      ++answered;
    }

    // Strobes: the accesses in order, each once.
    if (slave->write_enable) {
      ASSERT_FALSE(writes_to_come.empty());
      const Write write = writes_to_come.front();
      writes_to_come.pop_front();
      ASSERT_EQ(slave->write_address, write.address & ~3u);
      ASSERT_EQ(slave->write_data, write.data);
      ASSERT_EQ(slave->write_strobe, write.strobe);
      write_answers.push_back(slave->write_error ? 2 : 0);
    }
    if (slave->read_enable) {
      ASSERT_TRUE(slave->read_ready);
      ASSERT_FALSE(reads_to_come.empty());
      ASSERT_EQ(slave->read_address, reads_to_come.front() & ~3u);
      reads_to_come.pop_front();
      read_answers.push_back({slave->read_data, slave->read_error ? 2u : 0u});
    }
    if (slave->write_enable && !slave->write_error) {
      uint32_t& place = registers[slave->write_address / 4];
      place = Merge(place, {slave->write_address, slave->write_data, slave->write_strobe});
    }
    addresses.Taken(slave->axi_awready);
    data.Taken(slave->axi_wready);
    if (reads.Valid() && slave->axi_arready) {
      reads_to_come.push_back(reads.Item());
    }
    reads.Taken(slave->axi_arready);
    slave.Step();
  }
  EXPECT_TRUE(writes_to_come.empty());
  if (stall == 0) {
    EXPECT_LE(slave.Cycle(), 2 * 2000 + 5u);  // an access every other cycle
  }
}

TEST(AxiLiteRegisters, EveryAccessOnceInOrder) {
  for (const double stall : {0.0, 0.2, 0.7}) {
    Exercise(stall, 1);
    Exercise(stall, 2);
  }
}

}  // namespace
}  // namespace kiln::rtl
