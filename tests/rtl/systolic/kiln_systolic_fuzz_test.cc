// Runs malformed programs on the whole machine. It must always stop, with `done` or with an error
// code, within the watchdog's bound; a correct program must then run on it with correct bits and in
// its normal time.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "Vsystolic_4x4.h"
#include "Vsystolic_4x8.h"
#include "Vsystolic_shared_bus.h"
#include "kiln/targets/systolic/simulate/cycle/cycle.h"
#include "tests/rtl/systolic/machine.h"

namespace kiln::rtl {
namespace {

namespace registers = testbench::systolic;

// Error codes of rtl/systolic/kiln_control_pkg.sv.
enum Error : uint32_t {
  kNone = 0,
  kOpcode = 1,
  kOrder = 2,
  kLength = 3,
  kCount = 4,
  kAddress = 5,
  kEnumerator = 6,
  kProgramEnd = 7,
  kBus = 8,
  kRange = 9,
  kWatchdog = 10,
  kStopped = 11
};

constexpr size_t kWord = 16;  // bytes of a program's word, its tag and index on top
// A cycle in which the watchdog looks, and the cycles until the run is over behind it.
constexpr uint64_t kWatchdogMargin = 4;
// Until the ports are quiet: what is under way at all of them, behind a memory that stalls.
constexpr uint64_t kDrain = 20'000;

// How a run has ended.
struct Outcome {
  bool done = false;
  uint32_t error = kNone;
};

// Runs what stands at `address` and waits until the machine would take the next program.
// `watchdog`: cycles.
template <typename Model>
void RunToTheEnd(Machine<Model>& machine, uint64_t address, uint64_t watchdog, Outcome* outcome) {
  auto& bench = machine.bench();
  bench.WriteRegister(registers::kWatchdogLimit, static_cast<uint32_t>(watchdog));
  bench.WriteRegister(registers::kInterruptStatus,
                      registers::kInterruptDone | registers::kInterruptError);
  bench.WriteRegister(registers::kInterruptEnable,
                      registers::kInterruptDone | registers::kInterruptError);
  // As many instructions as there are words in memory, each just quick enough, would be the longest
  // of all runs; what counts is that none goes without an end for longer than the watchdog allows.
  ASSERT_TRUE(bench.Run(address, kMemoryBytes / kWord * watchdog)) << "the machine did not stop";
  uint64_t before = 0;
  for (const uint64_t end : bench.finished()) {
    ASSERT_LE(end - before, watchdog + kWatchdogMargin);
    before = end;
  }
  ASSERT_LE(bench.last_cycle() - before, watchdog + kWatchdogMargin);
  const uint32_t at_once = bench.ReadRegister(registers::kStatus);
  outcome->done = (at_once & registers::kStatusDone) != 0;
  outcome->error = bench.ReadRegister(registers::kErrorCode);
  ASSERT_NE(outcome->done, (at_once & registers::kStatusError) != 0) << "status " << at_once;
  ASSERT_EQ(outcome->done, outcome->error == kNone);
  ASSERT_LE(outcome->error, kStopped);
  EXPECT_EQ(bench.ReadRegister(registers::kInterruptStatus),
            outcome->done ? registers::kInterruptDone : registers::kInterruptError);
  EXPECT_TRUE(machine.model().irq);
  uint64_t waited = 0;
  while ((bench.ReadRegister(registers::kStatus) & registers::kStatusBusy) != 0) {
    ASSERT_LT(++waited, kDrain) << "the ports do not come to rest";
  }
}

// A correct program and what becomes of it.
struct Known {
  RandomProgramCase program;
  std::vector<uint8_t> bits, expected;
  std::vector<uint64_t> ends;
};
Known KnownProgram(Random& random, const Config& config, int length) {
  Known known;
  known.program = systolic::RandomProgram(random, config, length);
  known.bits = known.program.Encoded(config);
  known.expected = known.program.memory;
  const auto trace = systolic::RunInstructions(config, known.program.instructions, known.expected);
  KILN_CHECK(trace.ok());
  for (const KernelTrace& kernel : trace->kernels)
    known.ends.push_back(static_cast<uint64_t>(kernel.end));
  return known;
}

// Runs a correct program on a machine that has been through another one.
template <typename Model>
void ExpectRuns(Machine<Model>& machine, const Known& known, bool timed) {
  machine.Load(known.program, known.bits);
  Outcome outcome;
  ASSERT_NO_FATAL_FAILURE(RunToTheEnd(machine, known.program.address, 1'000'000, &outcome));
  EXPECT_TRUE(outcome.done) << "error " << outcome.error;
  const auto at = std::mismatch(known.expected.begin(), known.expected.end(),
                                machine.bench().memory().bytes().begin());
  ASSERT_EQ(at.first, known.expected.end()) << "byte " << at.first - known.expected.begin();
  if (timed) {
    EXPECT_EQ(machine.bench().finished(), known.ends);
  }
}

// Spoils the bits of a program in one of many ways; says how.
std::string Spoil(Random& random, std::vector<uint8_t>& bits) {
  const auto word = [&] { return random.Below(bits.size() / kWord) * kWord; };
  const auto any_byte = [&] { return static_cast<uint8_t>(random.Below(256)); };
  switch (random.Below(8)) {
    case 0: {  // bits
      const uint64_t count = 1 + random.Below(4);
      for (uint64_t i = 0; i < count; ++i)
        bits[random.Below(bits.size())] ^= static_cast<uint8_t>(1u << random.Below(8));
      return "bits";
    }
    case 1: {  // a bit of what a word holds: its tag and index stay
      bits[word() + random.Below(kWord - 2)] ^= static_cast<uint8_t>(1u << random.Below(8));
      return "a bit behind a tag";
    }
    case 2: {  // bytes of what words hold
      const uint64_t count = 1 + random.Below(4);
      for (uint64_t i = 0; i < count; ++i) bits[word() + random.Below(kWord - 2)] = any_byte();
      return "bytes";
    }
    case 3: {  // a stretch of a word to its least or greatest
      const size_t at = word(), first = random.Below(kWord - 2), length = 1 + random.Below(5);
      const uint8_t value = random.Below(2) == 0 ? 0x00 : 0xff;
      for (size_t i = first; i < std::min(first + length, kWord - 2); ++i) bits[at + i] = value;
      return "a field to its limit";
    }
    case 4:  // the end is missing
      bits.resize(word() + random.Below(kWord));
      return "truncated";
    case 5: {  // a word of the program in the place of another
      const size_t from = word(), to = word();
      std::copy_n(bits.begin() + static_cast<std::ptrdiff_t>(from), kWord,
                  bits.begin() + static_cast<std::ptrdiff_t>(to));
      return "another word";
    }
    case 6: {  // what a word holds in the place of what another does
      const size_t from = word(), to = word();
      std::copy_n(bits.begin() + static_cast<std::ptrdiff_t>(from), kWord - 2,
                  bits.begin() + static_cast<std::ptrdiff_t>(to));
      return "another word's fields";
    }
    default: {  // noise
      const size_t at = word();
      for (size_t i = 0; i < kWord; ++i) bits[at + i] = any_byte();
      return "noise";
    }
  }
}

template <typename Model>
std::map<uint32_t, int> Fuzz(const Config& config, const AxiTiming& timing, bool timed,
                             uint64_t first_seed, int programs) {
  std::map<uint32_t, int> outcomes;
  for (uint64_t seed = first_seed; seed < first_seed + static_cast<uint64_t>(programs); ++seed) {
    Random random(seed);
    const Known known = KnownProgram(random, config, static_cast<int>(random.Between(1, 4)));
    Machine<Model> machine(config, timing, seed);
    // Several on one machine, so that what one leaves behind meets the next.
    for (int round = 0; round < 3; ++round) {
      std::vector<uint8_t> bits = known.bits;
      std::string how = Spoil(random, bits);
      if (random.Below(4) == 0 && bits.size() >= kWord) how += ", " + Spoil(random, bits);
      SCOPED_TRACE("seed " + std::to_string(seed) + " round " + std::to_string(round) + ": " + how +
                   "\n" + known.program.Text(config));
      machine.Load(known.program, bits);
      Outcome outcome;
      RunToTheEnd(machine, known.program.address, 2000, &outcome);
      if (testing::Test::HasFailure()) return outcomes;
      ++outcomes[outcome.error];
      // The memory behind the ports answers everything that lies inside it, and nothing else may be
      // asked for.
      EXPECT_NE(outcome.error, kBus);
      ExpectRuns(machine, known, timed);
      if (testing::Test::HasFailure()) return outcomes;
    }
  }
  return outcomes;
}

// The fuzzing reaches what it is for.
void ExpectVariety(const std::map<uint32_t, int>& outcomes) {
  for (const uint32_t error : {kNone, kOrder, kCount, kAddress, kEnumerator, kRange, kWatchdog}) {
    EXPECT_GT(outcomes.count(error), 0u) << "no run ended with code " << error;
  }
  for (const auto& [error, runs] : outcomes)
    testing::Test::RecordProperty("code_" + std::to_string(error), runs);
}

TEST(SystolicFuzz, MalformedProgramsStop) {
  ExpectVariety(Fuzz<Vsystolic_4x4>(Square(), Ideal(Square()), true, 1, 90));
}
TEST(SystolicFuzz, MalformedProgramsStopOnAnotherDesignPoint) {
  ExpectVariety(Fuzz<Vsystolic_4x8>(Wide(), Ideal(Wide()), true, 5000, 50));
}
TEST(SystolicFuzz, MalformedProgramsStopBehindAStallingMemory) {
  Fuzz<Vsystolic_4x4>(Square(), AxiTiming(Ideal(Square())).StallAll(0.4), false, 9000, 30);
}
TEST(SystolicFuzz, MalformedProgramsStopBehindDram) {
  AxiTiming timing;
  timing.latency = 30;
  timing.bytes_per_cycle = 6;
  timing.row_miss = 20;
  Fuzz<Vsystolic_4x8>(Wide(), timing, false, 12000, 20);
}

// On one bus what one port has under way stands before what the others wait for.
TEST(SystolicFuzz, MalformedProgramsStopOnASharedBus) {
  Fuzz<Vsystolic_shared_bus>(SharedBus(), AxiTiming(Ideal(SharedBus())).StallAll(0.3), false, 15000,
                             30);
}

// ---- Directed.

// Runs `bits` behind the program's data, expects `error`, and that the machine is as good as new.
template <typename Model>
void ExpectError(const Config& config, const RandomProgramCase& program,
                 const std::vector<uint8_t>& bits, uint32_t error) {
  Machine<Model> machine(config, Ideal(config), 1);
  machine.Load(program, bits);
  Outcome outcome;
  ASSERT_NO_FATAL_FAILURE(RunToTheEnd(machine, program.address, 2000, &outcome));
  EXPECT_EQ(outcome.error, error);
  Random random(7);
  ExpectRuns(machine, KnownProgram(random, config, 3), true);
}
template <typename Spoiler>
void ExpectErrorOnBoth(const std::vector<Instruction>& instructions, const Spoiler& spoil,
                       uint32_t error) {
  const RandomProgramCase program = ProgramOf(instructions, 1024);
  std::vector<uint8_t> bits = program.Encoded(Square());
  spoil(bits);
  ExpectError<Vsystolic_4x4>(Square(), program, bits, error);
  bits = program.Encoded(Wide());
  spoil(bits);
  ExpectError<Vsystolic_4x8>(Wide(), program, bits, error);
}

// The top byte of a header's fields is its opcode.
constexpr size_t kOpcodeByte = kWord - 3;

TEST(SystolicFuzz, IllegalOpcode) {
  for (const int opcode : {4, 7, 255}) {
    ExpectErrorOnBoth(
        {Copy(5, 512)},
        [&](std::vector<uint8_t>& bits) { bits[kOpcodeByte] = static_cast<uint8_t>(opcode); },
        kOpcode);
  }
}

TEST(SystolicFuzz, BaseAddressBeyondMemory) {
  for (const uint64_t base : {static_cast<uint64_t>(kMemoryBytes), uint64_t{1} << 31}) {
    Instruction reads = Copy(5, 512), writes = Copy(5, base);
    reads.vector.operands[0].base = base;
    ExpectErrorOnBoth({reads}, [](std::vector<uint8_t>&) {}, kAddress);
    ExpectErrorOnBoth({writes}, [](std::vector<uint8_t>&) {}, kAddress);
  }
}

// Begins inside and walks out: behind the end, or before the beginning.
TEST(SystolicFuzz, StreamsThatLeaveTheMemory) {
  Instruction reads = Copy(64, 512), writes = Copy(64, kMemoryBytes - 8), back = Copy(64, 512);
  reads.vector.operands[0].base = kMemoryBytes - 8;
  back.vector.outer = {1, 1, 1, 9};
  back.vector.operands[0].outer_stride = {0, 0, 0, -64};
  back.vector.operands[0].base = 128;
  for (const Instruction& in : {reads, writes, back}) {
    ExpectErrorOnBoth({Copy(5, 600), in}, [](std::vector<uint8_t>&) {}, kRange);
  }
}

// Loops with a count that is far too great end with the watchdog, or where they leave the memory;
// those without any are refused.
TEST(SystolicFuzz, LoopOverflow) {
  Instruction stays = Copy(4, 512), walks = Copy((1 << 24) - 1, 512), none = Copy(4, 512);
  stays.vector.outer = {(1 << 24) - 1, 1, 1, 1};
  walks.vector.operands[0].base = kMemoryBytes - 256;
  none.vector.outer = {1, 1, 0, 1};
  ExpectErrorOnBoth({Copy(5, 600), stays}, [](std::vector<uint8_t>&) {}, kWatchdog);
  ExpectErrorOnBoth({Copy(5, 600), walks}, [](std::vector<uint8_t>&) {}, kRange);
  ExpectErrorOnBoth({Copy(5, 600), none}, [](std::vector<uint8_t>&) {}, kCount);
}

// Without an end the words behind a program are decoded, up to where memory ends.
TEST(SystolicFuzz, ProgramWithoutAnEnd) {
  const auto no_end = [](std::vector<uint8_t>& bits) {
    std::fill(bits.end() - kWord, bits.end(), uint8_t{0xff});
  };
  ExpectErrorOnBoth({Copy(5, 512)}, no_end, kOrder);
  RandomProgramCase program = ProgramOf({Copy(5, 512)}, 1024);
  const auto at_the_end = [&program](const Config& config) {
    std::vector<uint8_t> bits = program.Encoded(config);
    bits.resize(bits.size() - kWord);
    program.address = kMemoryBytes - bits.size();
    return bits;
  };
  std::vector<uint8_t> bits = at_the_end(Square());
  ExpectError<Vsystolic_4x4>(Square(), program, bits, kProgramEnd);
  bits = at_the_end(Wide());
  ExpectError<Vsystolic_4x8>(Wide(), program, bits, kProgramEnd);
}

TEST(SystolicFuzz, StartOutsideTheMemory) {
  RandomProgramCase program = ProgramOf({}, 1024);
  for (const uint64_t address :
       {static_cast<uint64_t>(kMemoryBytes), uint64_t{8}, uint64_t{1} << 31}) {
    Machine<Vsystolic_4x4> machine(Square(), Ideal(Square()), 1);
    Outcome outcome;
    ASSERT_NO_FATAL_FAILURE(RunToTheEnd(machine, address, 2000, &outcome));
    EXPECT_EQ(outcome.error, kAddress);
  }
}

// An error of the memory ends the run as well, whichever port gets it.
TEST(SystolicFuzz, ErrorsOfTheMemory) {
  Random random(3);
  const Config config = Square();
  Known known = KnownProgram(random, config, 4);
  int stopped = 0;
  for (uint64_t at = 0; at < known.program.address; at += 397) {
    Machine<Vsystolic_4x4> machine(config, Ideal(config), at);
    machine.Load(known.program, known.bits);
    machine.bench().memory().Poison(at, 16);
    Outcome outcome;
    ASSERT_NO_FATAL_FAILURE(RunToTheEnd(machine, known.program.address, 100'000, &outcome));
    ASSERT_TRUE(outcome.done || outcome.error == kBus) << outcome.error;
    stopped += outcome.done ? 0 : 1;
  }
  EXPECT_GT(stopped, 3);
}

}  // namespace
}  // namespace kiln::rtl
