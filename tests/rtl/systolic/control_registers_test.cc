// Compares kiln_control_registers and kiln_unit_counters with models that predict every cycle.
// Software writes and reads at random, with stalls on all five channels, while the machine behind
// the registers behaves at random.
#include <algorithm>
#include <array>
#include <deque>

#include "Vcontrol_registers.h"
#include "Vunit_counters.h"
#include "tests/rtl/support.h"
#include "tests/rtl/systolic/command_port.h"

namespace kiln::rtl {
namespace {

enum Register : uint32_t {
  kIdentity = 0x000,
  kVersion = 0x004,
  kControl = 0x008,
  kStatus = 0x00c,
  kInterruptEnable = 0x010,
  kInterruptStatus = 0x014,
  kErrorCode = 0x018,
  kErrorPlace = 0x01c,
  kProgramAddress = 0x020,
  kWatchdogLimit = 0x028,
  kFinished = 0x02c,
  kCycles = 0x030,
  kCyclesHigh = 0x034,
  kCounters = 0x100,
  kCountersEnd = 0x300
};
constexpr uint64_t kWide = (uint64_t{1} << 48) - 1;
constexpr uint32_t kOkay = 0, kSlverr = 2;

struct Write {
  uint32_t address, data, strobes;
};
struct Answer {
  uint32_t data, response;
};
// A register of the slave that holds something or nothing.
template <typename T>
struct Held {
  bool there = false;
  T value{};
  void Set(const T& now) { there = true, value = now; }
};

uint32_t RandomAddress(Random& random) {
  const uint64_t kind = random.Below(16);
  uint64_t address = 4 * random.Below(14);
  if (kind == 0) address = random.Below(4096);
  if (kind > 11) address = kCounters + random.Below(kCountersEnd - kCounters);
  return static_cast<uint32_t>(address + random.Below(4));  // the lowest bits are not looked at
}

Write RandomWrite(Random& random) {
  Write write{RandomAddress(random), static_cast<uint32_t>(random()), 15};
  if (random.Below(8) == 0) write.strobes = static_cast<uint32_t>(random.Below(16));
  if (random.Below(2) == 0) write.data = static_cast<uint32_t>(random.Below(4));
  return write;
}

// What the machine shows the registers in a cycle.
struct Machine {
  bool idle = true, done = false, failed = false;
  uint32_t code = 0, instruction = 0, word = 0, finished = 0;
  uint64_t cycles = 0;
};

// The counter of a unit in a cycle, whatever it counts.
uint64_t CounterValue(uint32_t unit, uint32_t counter, uint64_t cycle) {
  return ((8 * unit + counter + 1) * uint64_t{0x9e3779b97f4a7c15} + cycle) & kWide;
}

// Returns whether a read of the register waits for a counter: the low half of one.
bool IsCounter(uint32_t address) {
  return address >= kCounters && address < kCountersEnd && address / 4 % 2 == 0;
}

// The registers' contents, and what a write or a read of them does.
struct Registers {
  uint32_t program_address = 0;
  uint32_t watchdog_limit = 1 << 28, interrupt_enable = 0, interrupt_status = 0;
  bool done = false, error = false;
  uint32_t error_code = 0, error_instruction = 0, error_word = 0;
  uint32_t high = 0;  // of the counter whose low half was read last
  bool irq = false;

  static bool Takes(const Write& write, const Machine& machine) {
    if (write.strobes != 15) return false;
    switch (write.address & ~3u) {
      case kControl:
        return (write.data & 1) == 0 || ((write.data & 2) == 0 && machine.idle);
      case kProgramAddress:
        return machine.idle;
      case kWatchdogLimit:
        return write.data != 0;
      case kInterruptEnable:
      case kInterruptStatus:
        return true;
      default:
        return false;
    }
  }

  // The end of a cycle with that write, if any.
  void Step(const Write* write, const Machine& machine, bool start) {
    irq = (interrupt_status & interrupt_enable) != 0;
    if (write != nullptr) {
      switch (write->address & ~3u) {
        case kProgramAddress:
          program_address = write->data;
          break;
        case kWatchdogLimit:
          watchdog_limit = write->data;
          break;
        case kInterruptEnable:
          interrupt_enable = write->data & 3;
          break;
        case kInterruptStatus:
          interrupt_status &= ~write->data;
          break;
        default:
          break;
      }
    }
    interrupt_status |= (machine.done ? 1u : 0u) | (machine.failed ? 2u : 0u);
    if (start) {
      done = error = false;
      error_code = error_instruction = error_word = 0;
    }
    done = done || machine.done;
    if (machine.failed) {
      error = true;
      error_code = machine.code;
      error_instruction = machine.instruction;
      error_word = machine.word;
    }
  }

  Answer Read(uint32_t address, const Machine& machine, uint64_t cycle) {
    address &= ~3u;
    if (address >= kCounters && address < kCountersEnd) {
      const uint32_t unit = (address - kCounters) / 64, counter = (address - kCounters) / 8 % 8;
      if (address % 8 != 0) return {high, kOkay};
      const uint64_t value = CounterValue(unit, counter, cycle);
      high = static_cast<uint32_t>(value >> 32);
      return {static_cast<uint32_t>(value), kOkay};
    }
    switch (address) {
      case kIdentity:
        return {0x4b494c4e, kOkay};
      case kVersion:
        return {0x00020000, kOkay};
      case kControl:
        return {0, kOkay};
      case kStatus:
        return {(machine.idle ? 0u : 1u) | (done ? 2u : 0u) | (error ? 4u : 0u), kOkay};
      case kInterruptEnable:
        return {interrupt_enable, kOkay};
      case kInterruptStatus:
        return {interrupt_status, kOkay};
      case kErrorCode:
        return {error_code, kOkay};
      case kErrorPlace:
        return {error_instruction << 16 | error_word, kOkay};
      case kProgramAddress:
        return {program_address, kOkay};
      case kWatchdogLimit:
        return {watchdog_limit, kOkay};
      case kFinished:
        return {machine.finished, kOkay};
      case kCycles:
        high = static_cast<uint32_t>(machine.cycles >> 32);
        return {static_cast<uint32_t>(machine.cycles), kOkay};
      case kCyclesHigh:
        return {high, kOkay};
      default:
        return {0, kSlverr};
    }
  }
};

TEST(ControlRegisters, EveryCycleOfSoftware) {
  int starts = 0, stops = 0, refused = 0, interrupts = 0, waited = 0;
  for (uint64_t seed = 1; seed <= 6 && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Simulation<Vcontrol_registers> slave(seed);
    Random random(seed);
    Source<Write> addresses(StallsOf(seed, 0)), data(StallsOf(seed, 1));
    Source<uint32_t> reads(StallsOf(seed, 2));
    Stalls write_answers = StallsOf(seed, 3), read_answers = StallsOf(seed, 4),
           counters = StallsOf(seed, 5);
    reads.Push(kCyclesHigh);  // nothing is held yet
    for (int i = 0; i < 3'000; ++i) {
      const Write write = RandomWrite(random);
      addresses.Push(write);
      data.Push(write);
      reads.Push(RandomAddress(random));
    }
    Registers registers;
    Machine machine;
    // What the slave holds (kiln_axi_lite_registers says when): an address, data, an answer; of
    // reads likewise.
    Held<uint32_t> address, read, write_answer;
    Held<Write> word;
    Held<Answer> read_answer;
    slave->axi_awvalid = slave->axi_wvalid = slave->axi_arvalid = slave->axi_bready =
        slave->axi_rready = 0;
    slave->idle = 1;
    slave->done = slave->failed = 0;
    slave.Reset();
    slave.Step();
    for (int i = 0; i < 6'000; ++i) {
      machine.done = machine.failed = false;
      if (random.Below(12) == 0) {
        machine.idle = !machine.idle;
      } else if (!machine.idle && random.Below(12) == 0) {
        (random.Below(2) == 0 ? machine.done : machine.failed) = true;
      }
      machine.code = static_cast<uint32_t>(random.Between(1, 11));
      machine.instruction = static_cast<uint32_t>(random.Below(1 << 16));
      machine.word = static_cast<uint32_t>(random.Below(1 << 16));
      machine.finished = static_cast<uint32_t>(random.Below(1 << 16));
      machine.cycles = random() & kWide;
      slave->idle = machine.idle;
      slave->done = machine.done;
      slave->failed = machine.failed;
      slave->failed_code = static_cast<uint8_t>(machine.code);
      slave->failed_instruction = static_cast<uint16_t>(machine.instruction);
      slave->failed_word = static_cast<uint16_t>(machine.word);
      slave->finished = static_cast<uint16_t>(machine.finished);
      slave->cycles = machine.cycles;
      addresses.Drive();
      data.Drive();
      reads.Drive();
      slave->axi_awvalid = addresses.Valid();
      slave->axi_awaddr =
          static_cast<uint16_t>(addresses.Valid() ? addresses.Item().address : random.Below(4096));
      slave->axi_wvalid = data.Valid();
      slave->axi_wdata = data.Valid() ? data.Item().data : static_cast<uint32_t>(random());
      slave->axi_wstrb =
          static_cast<uint8_t>(data.Valid() ? data.Item().strobes : random.Below(16));
      slave->axi_arvalid = reads.Valid();
      slave->axi_araddr = static_cast<uint16_t>(reads.Valid() ? reads.Item() : random.Below(4096));
      slave->axi_bready = !write_answers.Next();
      slave->axi_rready = !read_answers.Next();
      slave->read_valid = !counters.Next();
      slave.Settle();
      slave->read_value =
          CounterValue(slave->read_unit, slave->read_counter, static_cast<uint64_t>(i));
      slave.Settle();

      // The accesses of this cycle.
      const bool writes = address.there && word.there && (!write_answer.there || slave->axi_bready);
      const Write write{address.value, word.value.data, word.value.strobes};
      const bool takes = writes && Registers::Takes(write, machine);
      const bool control = takes && (write.address & ~3u) == kControl;
      const bool start = control && (write.data & 1) != 0;
      const bool stop = control && (write.data & 2) != 0 && !machine.idle;
      ASSERT_EQ(slave->start, start) << "cycle " << i;
      ASSERT_EQ(slave->stop, stop);
      ASSERT_EQ(slave->program_address, registers.program_address);
      ASSERT_EQ(slave->watchdog_limit, registers.watchdog_limit);
      ASSERT_EQ(slave->irq, registers.irq);
      starts += start;
      stops += stop;
      refused += writes && !takes;
      interrupts += registers.irq;
      ASSERT_EQ(slave->axi_bvalid, write_answer.there);
      if (write_answer.there) {
        ASSERT_EQ(slave->axi_bresp, write_answer.value);
      }
      ASSERT_EQ(slave->axi_rvalid, read_answer.there);
      if (read_answer.there) {
        ASSERT_EQ(slave->axi_rresp, read_answer.value.response);
        ASSERT_EQ(slave->axi_rdata, read_answer.value.data);
      }
      ASSERT_EQ(slave->axi_awready, !address.there);
      ASSERT_EQ(slave->axi_wready, !word.there);
      ASSERT_EQ(slave->axi_arready, !read.there);

      // Its end.
      const bool waits = IsCounter(read.value) && slave->read_valid == 0;
      const bool reads_now = read.there && !waits && (!read_answer.there || slave->axi_rready);
      waited += read.there && waits;
      if (read_answer.there && slave->axi_rready) read_answer.there = false;
      if (reads_now) {
        read_answer.Set(registers.Read(read.value, machine, static_cast<uint64_t>(i)));
        read.there = false;
      } else if (reads.Valid() && slave->axi_arready) {
        read.Set(reads.Item());
      }
      reads.Taken(slave->axi_arready);
      registers.Step(takes ? &write : nullptr, machine, start);
      if (write_answer.there && slave->axi_bready) write_answer.there = false;
      if (writes) {
        write_answer.Set(takes ? kOkay : kSlverr);
        address.there = false;
        word.there = false;
      }
      if (addresses.Valid() && slave->axi_awready) address.Set(addresses.Item().address);
      if (data.Valid() && slave->axi_wready) word.Set(data.Item());
      addresses.Taken(slave->axi_awready);
      data.Taken(slave->axi_wready);
      slave.Step();
    }
  }
  EXPECT_GT(starts, 20);
  EXPECT_GT(stops, 20);
  EXPECT_GT(refused, 100);
  EXPECT_GT(interrupts, 100);
  EXPECT_GT(waited, 100);
}

TEST(ControlRegisters, CountersOfAUnit) {
  constexpr size_t kUnitCounters = 6;
  constexpr int kTurn = 64;
  Simulation<Vunit_counters> counters;
  Random random(1);
  std::array<uint32_t, kUnitCounters> expected{};
  counters->clear = 1;
  counters->count = counters->take = 0;
  counters.Settle();
  counters.Step();
  uint32_t greatest = 0;
  for (int i = 0; i < 20'000; ++i) {
    // For some turns every cycle counts as much as it can.
    const bool most = i / (4 * kTurn) % 3 == 0;
    const bool clear = random.Below(1'000) == 0, count = most || random.Below(3) != 0;
    const uint64_t a = most ? (uint64_t{1} << 36) - 1 : random.Below(uint64_t{1} << 36);
    const bool take = i % kTurn < 8;
    const auto counter = static_cast<size_t>(i % 8);
    counters->clear = clear;
    counters->count = count;
    counters->activity = a;
    counters->take = take;
    counters->take_counter = static_cast<uint8_t>(counter);
    counters.Settle();
    ASSERT_EQ(counters->part, take && counter < kUnitCounters ? expected[counter] : 0u)
        << "counter " << counter;
    greatest = std::max<uint32_t>(greatest, counters->part);
    // busy, stalled by cause 2 to 0, bytes read, bytes written: the highest bit first.
    const std::array<uint64_t, kUnitCounters> steps = {a >> 35 & 1, a >> 32 & 1,      a >> 33 & 1,
                                                       a >> 34 & 1, a >> 16 & 0xffff, a & 0xffff};
    for (size_t k = 0; k < kUnitCounters; ++k) {
      if (take && counter == k) expected[k] = 0;
      if (count) expected[k] += static_cast<uint32_t>(steps[k]);
      if (clear) expected[k] = 0;
    }
    counters.Step();
  }
  EXPECT_EQ(greatest, kTurn * 0xffffu);
}

}  // namespace
}  // namespace kiln::rtl
