// Tests the VTA machine's control: a launch from start to end, the counters, and the registers
// behind AXI4-Lite.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "Vvta_control.h"
#include "Vvta_counters.h"
#include "Vvta_registers.h"
#include "kiln/targets/vta/isa/faults.h"
#include "tests/rtl/support.h"
#include "tests/rtl/vta/machine.h"

namespace kiln::rtl {
namespace {

using vta::FaultKind;

uint32_t CodeOf(FaultKind kind) { return static_cast<uint32_t>(kind) + 1; }

// ---- Control.

constexpr uint64_t kStillCycles = 64;

class ControlBench {
 public:
  explicit ControlBench(uint64_t seed) : random_(seed), control_(seed) {
    control_->launch = control_->cycles_write = 0;
    Quiet();
    control_.Reset();
  }
  Vvta_control* operator->() { return &*control_; }
  // Nothing happens, all is idle.
  void Quiet() {
    control_->finish = control_->moving = 0;
    control_->done = control_->waiting = 0;
    control_->port_idle = 1;
    control_->word_fault = control_->read_fault = control_->write_fault = control_->range_fault = 0;
  }
  void Launch(uint32_t instructions) {
    control_->instructions = instructions;
    control_->launch = 1;
    Cycle();
    control_->launch = 0;
  }

  // A cycle: what is seen in it, and what follows.
  void Cycle() {
    control_.Settle();
    const bool clear = draining_ && control_->port_idle != 0;
    const std::optional<std::pair<uint32_t, uint32_t>> found = running_ ? Found() : std::nullopt;
    const bool finishes = running_ && control_->finish != 0 && !found.has_value();
    ASSERT_EQ(control_->running, running_) << "cycle " << control_.Cycle();
    ASSERT_EQ(control_->draining, draining_);
    ASSERT_EQ(control_->clear, clear);
    ASSERT_EQ(control_->ended, finishes || clear) << "cycle " << control_.Cycle();
    ASSERT_EQ(control_->fault, fault_);
    ASSERT_EQ(control_->fault_number, fault_number_);
    ASSERT_EQ(control_->cycles, cycles_);
    ended_ += control_->ended;

    cycles_ += running_ ? 1 : 0;
    done_ += static_cast<uint32_t>(__builtin_popcount(control_->done));
    still_ = running_ && control_->moving == 0 ? still_ + 1 : 0;
    if (clear) draining_ = false;
    if (finishes || found.has_value()) running_ = false;
    if (found.has_value()) {
      draining_ = true;
      std::tie(fault_, fault_number_) = *found;
    }
    if (control_->cycles_write != 0) cycles_ = control_->cycles_data;
    if (control_->launch != 0) {
      running_ = true;
      fault_ = fault_number_ = cycles_ = 0;
      done_ = 0;
      still_ = 0;
    }
    control_.Step();
  }
  bool running() const { return running_; }
  bool idle() const { return !running_ && !draining_; }
  uint32_t fault() const { return fault_; }
  uint32_t fault_number() const { return fault_number_; }
  uint64_t cycles() const { return cycles_; }
  int ended() const { return ended_; }
  Random& random() { return random_; }

 private:
  // What ends the launch with a fault in this cycle: the code, and who is to blame.
  std::optional<std::pair<uint32_t, uint32_t>> Found() {
    const uint32_t count = control_->instructions, last = count == 0 ? 0 : count - 1;
    if (control_->read_fault != 0)
      return {{CodeOf(FaultKind::kDramRange), control_->read_fault_number}};
    if (control_->write_fault != 0)
      return {{CodeOf(FaultKind::kDramRange), control_->write_fault_number}};
    if (control_->range_fault != 0)
      return {{CodeOf(FaultKind::kSramRange), control_->waiting_compute}};
    if (control_->word_fault != 0) return {{control_->word_fault, control_->word_fault_number}};
    if (control_->finish != 0) {
      const uint32_t done = done_ + static_cast<uint32_t>(__builtin_popcount(control_->done));
      if (done == count) return std::nullopt;
      return {{CodeOf(FaultKind::kNoFinish), last}};
    }
    if (control_->moving != 0 || still_ + 1 < kStillCycles) return std::nullopt;
    if (control_->waiting == 0) return {{CodeOf(FaultKind::kNoFinish), last}};
    return {{CodeOf(FaultKind::kDeadlock), (control_->waiting & 1) != 0 ? control_->waiting_load
                                           : (control_->waiting & 2) != 0
                                               ? control_->waiting_compute
                                               : control_->waiting_store}};
  }

  Random random_;
  Simulation<Vvta_control> control_;
  bool running_ = false, draining_ = false;
  uint32_t fault_ = 0, fault_number_ = 0, cycles_ = 0, done_ = 0;
  uint64_t still_ = 0;
  int ended_ = 0;
};

TEST(VtaControl, FinishesWhenAllIsDone) {
  ControlBench bench(1);
  bench.Launch(4);
  bench->moving = 1;
  for (int i = 0; i < 10; ++i) bench.Cycle();
  bench->done = 7;  // three stages at once
  bench.Cycle();
  bench->done = 2;
  bench->finish = 1;
  bench.Cycle();
  bench.Quiet();
  for (int i = 0; i < 100; ++i) bench.Cycle();
  EXPECT_EQ(bench.cycles(), 12u);
  EXPECT_EQ(bench.fault(), 0u);
  EXPECT_EQ(bench.ended(), 1);
}
TEST(VtaControl, FinishBeforeTheOthersAreDoneIsAFault) {
  ControlBench bench(2);
  bench.Launch(4);
  bench->moving = 1;
  bench->done = 3;
  bench.Cycle();
  bench->done = 2;
  bench->finish = 1;
  bench.Cycle();
  bench.Quiet();
  for (int i = 0; i < 3; ++i) bench.Cycle();
  EXPECT_EQ(bench.fault(), CodeOf(FaultKind::kNoFinish));
  EXPECT_EQ(bench.fault_number(), 3u);
}
// 64 cycles without a movement are a deadlock, 63 are not.
TEST(VtaControl, StandsStill) {
  for (const uint32_t waiting : {0u, 1u, 2u, 4u, 6u, 7u}) {
    ControlBench bench(3);
    bench.Launch(4);
    bench->waiting = static_cast<uint8_t>(waiting);
    bench->waiting_load = 10;
    bench->waiting_compute = 11;
    bench->waiting_store = 12;
    for (int i = 0; i < 63; ++i) bench.Cycle();
    bench->moving = 1;
    bench.Cycle();
    bench->moving = 0;
    for (int i = 0; i < 63; ++i) bench.Cycle();
    EXPECT_EQ(bench.fault(), 0u);
    EXPECT_TRUE(bench.running());
    bench.Cycle();
    EXPECT_EQ(bench.fault(), CodeOf(waiting == 0 ? FaultKind::kNoFinish : FaultKind::kDeadlock));
    EXPECT_EQ(bench.fault_number(), waiting == 0         ? 3u
                                    : (waiting & 1) != 0 ? 10u
                                    : (waiting & 2) != 0 ? 11u
                                                         : 12u);
  }
}
// A fault drains the port before the launch ends; the first one counts.
TEST(VtaControl, FaultsWaitForThePort) {
  ControlBench bench(4);
  bench.Launch(4);
  bench->port_idle = 0;
  bench->moving = bench->range_fault = bench->write_fault = 1;
  bench->waiting_compute = 5;
  bench->write_fault_number = 6;
  bench.Cycle();
  bench->write_fault = 0;
  for (int i = 0; i < 20; ++i) bench.Cycle();
  EXPECT_EQ(bench.ended(), 0);
  EXPECT_EQ(bench.fault(), CodeOf(FaultKind::kDramRange));
  EXPECT_EQ(bench.fault_number(), 6u);
  bench->port_idle = 1;
  bench.Cycle();
  EXPECT_EQ(bench.ended(), 1);
}
// A launch of nothing finds no FINISH.
TEST(VtaControl, NothingToLaunch) {
  ControlBench bench(5);
  bench.Launch(0);
  for (int i = 0; i < 70; ++i) bench.Cycle();
  EXPECT_EQ(bench.fault(), CodeOf(FaultKind::kNoFinish));
  EXPECT_EQ(bench.fault_number(), 0u);
}
TEST(VtaControl, RandomLaunches) {
  ControlBench bench(6);
  Random& random = bench.random();
  std::map<uint32_t, int> faults;
  Stalls stands(7, 0.3, Stalls::Kind::kBursts), stops(8, 0.02, Stalls::Kind::kBursts);
  bool frozen = false;  // for as long as it takes
  for (int i = 0; i < 200'000 && !testing::Test::HasFailure(); ++i) {
    if (bench.idle()) {
      bench.Quiet();
      bench->cycles_write = random.Below(10) == 0;
      bench->cycles_data = static_cast<uint32_t>(random());
      faults[bench.fault()] += 1;
      frozen = random.Below(4) == 0;
      if (random.Below(3) == 0) {
        bench->cycles_write = 0;
        bench.Launch(static_cast<uint32_t>(random.Below(12)));
        continue;
      }
    } else {
      bench->cycles_write = 0;
      bench->moving = !frozen && !stands.Next();
      bench->done = static_cast<uint8_t>(random.Below(3) == 0 ? random.Below(8) : 0);
      bench->finish = random.Below(20) == 0 && !frozen;
      bench->port_idle = random.Below(4) == 0;
      bench->waiting = static_cast<uint8_t>(random.Below(8));
      bench->waiting_load = static_cast<uint32_t>(random());
      bench->waiting_compute = static_cast<uint32_t>(random());
      bench->waiting_store = static_cast<uint32_t>(random());
      const bool faulty = stops.Next() && !frozen;
      bench->word_fault =
          static_cast<uint8_t>(faulty && random.Below(2) == 0 ? random.Between(1, 6) : 0);
      bench->read_fault = faulty && random.Below(3) == 0;
      bench->write_fault = faulty && random.Below(3) == 0;
      bench->range_fault = faulty && random.Below(3) == 0;
      bench->word_fault_number = static_cast<uint32_t>(random());
      bench->read_fault_number = static_cast<uint32_t>(random());
      bench->write_fault_number = static_cast<uint32_t>(random());
    }
    bench.Cycle();
  }
  for (uint32_t code = 0; code <= CodeOf(FaultKind::kNoFinish); ++code)
    EXPECT_GT(faults[code], 5) << "fault " << code;
}

// ---- Counters.

TEST(VtaControl, CountersAdd) {
  constexpr size_t kCounters = 5;
  constexpr int kBits = 7;
  Simulation<Vvta_counters> counters;
  Random random(9);
  std::array<uint32_t, kCounters> expected{};
  counters->clear = 1;
  counters->count = 0;
  counters.Settle();
  counters.Step();
  for (int i = 0; i < 5'000; ++i) {
    counters->clear = random.Below(500) == 0;
    counters->count = random.Below(3) != 0;
    uint64_t add = random() & ((uint64_t{1} << (kCounters * kBits)) - 1);
    counters->add = add;
    counters->read_counter =
        static_cast<uint16_t>(random.Below(8) == 0 ? random.Below(1024) : random.Below(kCounters));
    counters.Settle();
    const size_t read = counters->read_counter;
    ASSERT_EQ(counters->read_value, read < kCounters ? expected[read] : 0u);
    for (uint32_t& value : expected) {
      if (counters->clear != 0) {
        value = 0;
      } else if (counters->count != 0) {
        value += static_cast<uint32_t>(add & 127);
      }
      add >>= kBits;
    }
    counters.Step();
  }
}

// ---- Registers.

// Software, which stalls on every channel, in front of registers whose machine is this bench.
class RegisterBench {
 public:
  static constexpr uint32_t kCounters = 30;

  RegisterBench(uint64_t seed, double stall)
      : random_(seed), stalls_(seed + 1, stall), registers_(seed) {
    registers_->axi_awvalid = registers_->axi_wvalid = registers_->axi_arvalid = 0;
    registers_->axi_bready = registers_->axi_rready = 0;
    registers_->busy = registers_->ended = 0;
    registers_.Reset();
    Change();
  }

  // The machine's side changes between accesses.
  void Change() {
    registers_->busy = random_.Below(3) == 0;
    registers_->cycles = static_cast<uint32_t>(random_());
    registers_->accumulator_writes = static_cast<uint32_t>(random_());
    registers_->fault = static_cast<uint8_t>(random_.Below(9));
    registers_->fault_number = static_cast<uint32_t>(random_());
    registers_->ended = random_.Below(10) == 0;
    Cycle();
    if (registers_->ended != 0) finished_ = true;
    registers_->ended = 0;
    launches_ = cycle_writes_ = 0;
    Check();
  }

  // False: an error. Address and data come in any order.
  void Write(uint32_t address, uint32_t data, uint32_t strobe) {
    bool address_waits = true, data_waits = true, answered = false;
    bool ready_given = false;
    for (int i = 0; !answered; ++i) {
      ASSERT_LT(i, 1'000);
      if (address_waits && !stalls_.Next()) registers_->axi_awvalid = 1;
      if (data_waits && !stalls_.Next()) registers_->axi_wvalid = 1;
      registers_->axi_awaddr =
          static_cast<uint16_t>(registers_->axi_awvalid ? address : random_.Below(4096));
      registers_->axi_wdata = registers_->axi_wvalid ? data : static_cast<uint32_t>(random_());
      registers_->axi_wstrb =
          static_cast<uint8_t>(registers_->axi_wvalid ? strobe : random_.Below(16));
      ready_given = !stalls_.Next();
      registers_->axi_bready = ready_given;
      registers_.Settle();
      const bool takes_address = registers_->axi_awvalid && registers_->axi_awready;
      const bool takes_data = registers_->axi_wvalid && registers_->axi_wready;
      if (registers_->axi_bvalid && ready_given) {
        const bool right = IsWritable(address) && strobe == 15 && registers_->busy == 0;
        ASSERT_EQ(registers_->axi_bresp, right ? 0 : 2) << address;
        answered = true;
      }
      Cycle();
      if (takes_address) registers_->axi_awvalid = 0, address_waits = false;
      if (takes_data) registers_->axi_wvalid = 0, data_waits = false;
    }
    registers_->axi_bready = 0;
    if (IsWritable(address) && strobe == 15 && registers_->busy == 0) Take(address, data);
    Check();
  }

  void Read(uint32_t address) {
    bool waits = true, answered = false;
    for (int i = 0; !answered; ++i) {
      ASSERT_LT(i, 1'000);
      if (waits && !stalls_.Next()) registers_->axi_arvalid = 1;
      registers_->axi_araddr =
          static_cast<uint16_t>(registers_->axi_arvalid ? address : random_.Below(4096));
      registers_->axi_rready = !stalls_.Next();
      registers_.Settle();
      const bool taken = registers_->axi_arvalid && registers_->axi_arready;
      if (registers_->axi_rvalid && registers_->axi_rready) {
        const std::optional<uint32_t> expected = ValueAt(address & ~3u);
        ASSERT_EQ(registers_->axi_rresp, expected.has_value() ? 0 : 2) << address;
        if (expected.has_value()) {
          ASSERT_EQ(registers_->axi_rdata, *expected) << address;
        }
        answered = true;
      }
      Cycle();
      if (taken) registers_->axi_arvalid = 0, waits = false;
    }
    registers_->axi_rready = 0;
    Check();
  }

 private:
  static bool IsWritable(uint32_t address) { return (address & ~3u) <= 0x20; }

  void Take(uint32_t address, uint32_t data) {
    address &= ~3u;
    if (address == 0) {
      launches_expected_ += data & 1;
      finished_ = (data & 3) == 2;
    } else if (address == 4) {
      ++cycle_writes_expected_;
      EXPECT_EQ(cycles_data_, data);
    } else {
      values_[address] = data;
    }
  }
  std::optional<uint32_t> ValueAt(uint32_t address) {
    if (address >= 0x40) {
      const uint32_t counter = (address - 0x40) / 4;
      return counter < kCounters ? std::optional(CounterValue(counter)) : std::nullopt;
    }
    switch (address) {
      case 0x00:
        return (registers_->busy != 0 ? 1u : 0u) | (finished_ ? 2u : 0u);
      case 0x04:
        return registers_->cycles;
      case 0x24:
        return registers_->accumulator_writes;
      case 0x28:
        return registers_->fault;
      case 0x2c:
        return registers_->fault_number;
      case 0x30:
        return 0x4b494c4e;
      default:
        return address <= 0x20 ? std::optional(values_[address]) : std::nullopt;
    }
  }
  static uint32_t CounterValue(uint32_t counter) { return 0x01010101 * (counter + 1); }

  void Cycle() {
    registers_.Settle();
    registers_->read_value = CounterValue(registers_->read_counter);
    registers_.Settle();
    launches_ += registers_->launch;
    cycle_writes_ += registers_->cycles_write;
    if (registers_->cycles_write != 0) cycles_data_ = registers_->cycles_data;
    registers_.Step();
    registers_.Settle();
  }
  // What the machine sees between accesses.
  void Check() {
    EXPECT_EQ(launches_, launches_expected_);
    EXPECT_EQ(cycle_writes_, cycle_writes_expected_);
    launches_ = cycle_writes_ = launches_expected_ = cycle_writes_expected_ = 0;
    EXPECT_EQ(registers_->irq, finished_);
    EXPECT_EQ(registers_->instructions, values_[0x08]);
    EXPECT_EQ(registers_->program_address, values_[0x0c]);
    EXPECT_EQ(registers_->uop_base, values_[0x10]);
    EXPECT_EQ(registers_->input_base, values_[0x14]);
    EXPECT_EQ(registers_->weight_base, values_[0x18]);
    EXPECT_EQ(registers_->accumulator_base, values_[0x1c]);
    EXPECT_EQ(registers_->output_base, values_[0x20]);
  }

  Random random_;
  Stalls stalls_;
  Simulation<Vvta_registers> registers_;
  std::map<uint32_t, uint32_t> values_;
  bool finished_ = false;
  uint32_t launches_ = 0, launches_expected_ = 0, cycle_writes_ = 0, cycle_writes_expected_ = 0,
           cycles_data_ = 0;
};

TEST(VtaControl, RegistersTakeAndGiveWholeWords) {
  for (const double stall : {0.0, 0.6}) {
    RegisterBench bench(20, stall);
    Random random(21);
    for (int i = 0; i < 4'000 && !testing::Test::HasFailure(); ++i) {
      const auto address =
          static_cast<uint32_t>(random.Below(8) == 0 ? random.Below(4096) : random.Below(0xd0));
      switch (random.Below(3)) {
        case 0:
          bench.Write(address & ~3u,
                      static_cast<uint32_t>(random.Below(2) == 0 ? random.Below(4) : random()),
                      static_cast<uint32_t>(random.Below(4) == 0 ? random.Below(16) : 15));
          break;
        case 1:
          bench.Read(address & ~3u);
          break;
        default:
          bench.Change();
      }
    }
  }
}

}  // namespace
}  // namespace kiln::rtl
