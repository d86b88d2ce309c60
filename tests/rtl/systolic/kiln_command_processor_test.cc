// Tests kiln_command_processor with units that only accept their commands: the commands and times
// of each unit, registers, counters, every failure, and programs of random bytes, all of which must
// end.
#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "Vcommand_processor_16.h"
#include "Vcommand_processor_8.h"
#include "kiln/targets/systolic/isa/isa.h"
#include "kiln/targets/systolic/isa/timing.h"
#include "rtl/testbench/kiln_axi_memory.h"
#include "tests/rtl/support.h"
#include "tests/rtl/systolic/commands.h"
#include "tests/targets/systolic/fp32_machine.h"
#include "tests/targets/systolic/random_instruction.h"

namespace kiln::rtl {
namespace {

using systolic::Config;
using systolic::Instruction;
using systolic::Opcode;

constexpr size_t kWordBytes = 16;
constexpr uint64_t kMemoryBytes = 1 << 20;
constexpr uint64_t kPortLatency = 2;  // kiln_axi_pkg::PORT_LATENCY
constexpr uint64_t kSlots = 5;        // SLOTS of the models

// kiln_control_pkg
enum Register : uint16_t {
  kIdentity = 0x000,
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
  kCounters = 0x100,
};
constexpr uint32_t kStart = 1, kStop = 2;
constexpr uint32_t kBusy = 1, kDone = 2, kError = 4;
enum Error : uint32_t {
  kNone,
  kOpcodeError,
  kOrder,
  kLength,
  kCount,
  kAddress,
  kEnumerator,
  kProgramEnd,
  kBus,
  kRange,
  kWatchdog,
  kStopped
};

enum Unit {
  kInputFetch,
  kWeightFetch,
  kWeightLoad,
  kArray,
  kDepthwise,
  kParameterFetch,
  kVector,
  kUnits
};
constexpr int kCommandUnit = kUnits;
constexpr int kUnitCounters = 6;

// Returns the bits of a unit's activity that can be set. Not all units have a third cause of
// stalls, and few read or write memory (docs/rtl.md).
uint64_t ActivityBits(size_t unit) {
  constexpr uint64_t kBusyAndTwoCauses = uint64_t{0b1011} << 32, kThirdCause = uint64_t{1} << 34;
  constexpr uint64_t kReads = 0xffff0000, kWrites = 0xffff;
  switch (unit) {
    case kWeightLoad:
      return kBusyAndTwoCauses;
    case kArray:
    case kDepthwise:
      return kBusyAndTwoCauses | kThirdCause;
    case kVector:
      return kBusyAndTwoCauses | kThirdCause | kReads | kWrites;
    default:
      return kBusyAndTwoCauses | kReads;
  }
}

bool Uses(Opcode opcode, int unit) {
  switch (unit) {
    case kWeightLoad:
    case kArray:
      return opcode == Opcode::kMatrix;
    case kDepthwise:
      return opcode == Opcode::kDepthwise;
    case kVector:
      return opcode != Opcode::kEnd;
    default:
      return opcode == Opcode::kMatrix || opcode == Opcode::kDepthwise;
  }
}

// Payloads of words `first` to `first + count - 1` of a section, or zeros where the instruction has
// it not.
void AppendWords(PackedBits& bits, const std::vector<uint8_t>& instruction, uint8_t tag, int first,
                 int count) {
  for (int index = first; index < first + count; ++index) {
    const uint8_t* word = nullptr;
    for (size_t at = 0; at < instruction.size(); at += kWordBytes) {
      if (instruction[at + 15] == tag && instruction[at + 14] == index)
        word = instruction.data() + at;
    }
    for (size_t byte = 14; byte-- > 0;) bits.Append(word == nullptr ? 0 : word[byte], 8);
  }
}

// The vector unit's command.
std::vector<uint8_t> VectorCommand(const std::vector<uint8_t>& instruction, uint64_t number,
                                   uint64_t slot) {
  PackedBits bits;
  bits.Append(number & 0xffff, 16);
  bits.Append(slot, 6);
  AppendWords(bits, instruction, 0, 0, 1);
  AppendWords(bits, instruction, 1, 0, 3);
  AppendWords(bits, instruction, 9, 0, 2);
  AppendWords(bits, instruction, 12, 0, 7);
  for (int stream = 0; stream < 4; ++stream) AppendWords(bits, instruction, 10, 16 * stream, 4);
  AppendWords(bits, instruction, 13, 0, 4);
  return bits.Bytes();
}

std::vector<uint8_t> CommandOf(int unit, const std::vector<uint8_t>& instruction, uint64_t number,
                               uint64_t block, uint64_t slot) {
  switch (unit) {
    case kInputFetch:
      return CommandBytes(instruction, {number},
                          {Tag::kHeader, Tag::kTiling, Tag::kReduction, Tag::kRegion, Tag::kInput});
    case kWeightFetch:
      return CommandBytes(instruction, {number},
                          {Tag::kHeader, Tag::kTiling, Tag::kReduction, Tag::kWeights});
    case kWeightLoad:
      return CommandBytes(instruction, {number}, {Tag::kHeader, Tag::kTiling, Tag::kReduction});
    case kArray:
    case kDepthwise:
      return CommandBytes(instruction, {number, block},
                          {Tag::kHeader, Tag::kTiling, Tag::kReduction, Tag::kRegion});
    case kParameterFetch:
      return CommandBytes(instruction, {number}, {Tag::kHeader, Tag::kTiling, static_cast<Tag>(8)});
    default:
      return VectorCommand(instruction, number, slot);
  }
}

// What a unit was given.
struct Seen {
  std::vector<uint8_t> command;
  uint64_t cycle = 0;  // the first one in which it stood there, from the run's first on
};

struct StageWrite {
  std::vector<uint8_t> bytes;
};

// The processor, its memory, software, and units that take commands.
template <typename Model>
class Machine {
 public:
  static constexpr unsigned kPortBytes = std::is_same_v<Model, Vcommand_processor_8> ? 8 : 16;

  explicit Machine(uint64_t seed, const testbench::AxiTiming& timing = {}, double unit_stall = 0)
      : model_(seed),
        memory_(kMemoryBytes, timing),
        port_(&memory_, kPortBytes, seed),
        random_(seed) {
    for (int u = 0; u < kUnits; ++u)
      stalls_.emplace_back(seed + static_cast<uint64_t>(u), unit_stall);
    Model& m = *model_;
    m.control_awvalid = m.control_wvalid = m.control_arvalid = 0;
    m.control_bready = m.control_rready = 1;
    m.ports_idle = 1;
    m.program_turn = 1;
    m.port_fault = m.range_fault = 0;
    m.finished = 0;
    m.program_arready = m.program_rvalid = 0;
    SetReady(false);
    model_.Reset();
    Cycle();  // software may not ask in the cycle behind a reset
  }

  testbench::AxiMemory& memory() { return memory_; }
  Model& model() { return *model_; }

  // ---- Software.
  void Write(Register address, uint32_t data, bool refused = false) {
    Model& m = *model_;
    m.control_awvalid = m.control_wvalid = 1;
    m.control_awaddr = address;
    m.control_wdata = data;
    m.control_wstrb = 0xf;
    Cycle();  // both readys are high when nothing is under way
    m.control_awvalid = m.control_wvalid = 0;
    int waited = 0;
    while (!m.control_bvalid && ++waited < 10) Cycle();
    EXPECT_TRUE(m.control_bvalid);
    EXPECT_EQ(m.control_bresp, refused ? 2 : 0) << "write of " << std::hex << address;
    Cycle();
  }
  uint32_t Read(int address) {
    Model& m = *model_;
    m.control_arvalid = 1;
    m.control_araddr = static_cast<uint16_t>(address);
    Cycle();
    m.control_arvalid = 0;
    int waited = 0;  // a counter's turn comes within 64 cycles
    while (!m.control_rvalid && ++waited < 70) Cycle();
    EXPECT_TRUE(m.control_rvalid);
    EXPECT_EQ(m.control_rresp, 0) << "read of " << std::hex << address;
    const uint32_t data = m.control_rdata;
    Cycle();
    return data;
  }
  uint64_t ReadWide(int address) {
    const uint64_t low = Read(address);
    return low | uint64_t{Read(address + 4)} << 32;
  }
  uint64_t Counter(int unit, int counter) { return ReadWide(kCounters + 64 * unit + 8 * counter); }

  void Place(uint64_t address, const std::vector<uint8_t>& program) {
    std::copy(program.begin(), program.end(),
              memory_.bytes().begin() + static_cast<std::ptrdiff_t>(address));
  }
  void Start(uint64_t address) {
    seen_ = {};
    stages_.clear();
    activity_ = {};
    Write(kProgramAddress, static_cast<uint32_t>(address));
    Write(kControl, kStart);
  }
  // Runs to the end; returns the status. The run must end within `limit` cycles.
  uint32_t Finish(uint64_t limit = 100000) {
    for (uint64_t i = 0; i < limit && ((*model_).unit_reset == 0 || !began_); ++i) Cycle();
    EXPECT_TRUE((*model_).unit_reset) << "still running";
    uint32_t status = Read(kStatus);
    for (int i = 0; i < 1000 && (status & kBusy) != 0; ++i) status = Read(kStatus);
    return status;
  }
  uint32_t Run(uint64_t address, uint64_t limit = 100000) {
    began_ = false;
    Start(address);
    return Finish(limit);
  }

  const std::vector<Seen>& seen(int unit) const { return seen_[static_cast<size_t>(unit)]; }
  const std::vector<std::vector<uint8_t>>& stages() const { return stages_; }
  // Sum of a counter's steps over the run.
  uint64_t Activity(int unit, int counter) const {
    return activity_[static_cast<size_t>(unit)][static_cast<size_t>(counter)];
  }
  uint64_t run_cycles() const { return run_cycles_; }
  void Wait(int cycles) {
    for (int i = 0; i < cycles; ++i) Cycle();
  }

  bool hold_units = false;  // no unit takes a command
  int held_unit = -1;       // nor does this one
  bool never_finish = false;
  std::vector<Opcode> opcodes;  // of the program, where units stall
  bool idle_activity = true;    // counters see nothing

 private:
  // A command port, whatever its type.
  template <typename Port>
  void Look(int unit, bool valid, const Port& port, size_t bytes) {
    std::vector<Seen>& seen = seen_[static_cast<size_t>(unit)];
    bool& standing = standing_[static_cast<size_t>(unit)];
    if (valid && !standing) seen.push_back({GetBytes(port, bytes), run_cycles_});
    standing = valid && !(taken_ >> unit & 1);
  }

  void SetReady(bool running) {
    Model& m = *model_;
    taken_ = 0;
    for (int u = 0; u < kUnits; ++u) {
      const bool holds = hold_units || u == held_unit;
      if (running && !holds && !stalls_[static_cast<size_t>(u)].Next()) taken_ |= 1u << u;
    }
    m.input_fetch_command_ready = taken_ >> kInputFetch & 1;
    m.weight_fetch_command_ready = taken_ >> kWeightFetch & 1;
    m.weight_load_command_ready = taken_ >> kWeightLoad & 1;
    m.array_command_ready = taken_ >> kArray & 1;
    m.depthwise_command_ready = taken_ >> kDepthwise & 1;
    m.parameter_fetch_command_ready = taken_ >> kParameterFetch & 1;
    m.vector_command_ready = taken_ >> kVector & 1;
  }

  // Returns whether all units that use an instruction have been given it; only then can it finish.
  bool AllHave(size_t instruction) const {
    if (instruction >= opcodes.size()) return true;
    for (int u = 0; u < kUnits; ++u) {
      const auto uses = [u](Opcode opcode) { return Uses(opcode, u); };
      const auto end = opcodes.begin() + static_cast<std::ptrdiff_t>(instruction) + 1;
      if (std::ssize(seen(u)) < std::count_if(opcodes.begin(), end, uses)) return false;
    }
    return true;
  }

  void SetActivity() {
    Model& m = *model_;
    std::array<uint64_t, kUnits> values{};
    for (size_t u = 0; u < kUnits; ++u) {
      if (!idle_activity) values[u] = random_() & ActivityBits(u);
    }
    m.activity_input_fetch = values[kInputFetch];
    m.activity_weight_fetch = values[kWeightFetch];
    m.activity_weight_load = values[kWeightLoad];
    m.activity_array = values[kArray];
    m.activity_depthwise = values[kDepthwise];
    m.activity_parameter_fetch = values[kParameterFetch];
    m.activity_vector = values[kVector];
    step_ = values;
  }
  // A cycle that counts is one of the run but its last.
  void CountActivity() {
    for (size_t u = 0; u < kUnits; ++u) {
      const uint64_t value = step_[u];
      activity_[u][0] += value >> 35 & 1;
      for (size_t cause = 0; cause < 3; ++cause)
        activity_[u][1 + cause] += value >> (32 + cause) & 1;
      activity_[u][4] += value >> 16 & 0xffff;
      activity_[u][5] += value & 0xffff;
    }
  }

  void Cycle() {
    Model& m = *model_;
    const bool running = m.unit_reset == 0;
    if (running && !was_running_) {
      run_cycles_ = 0;
      began_ = true;
      popped_ = {};
      finish_at_.clear();
      finished_ = 0;
      standing_ = {};
    }
    if (!running) finished_ = 0;
    SetReady(running);
    SetActivity();
    m.finished = static_cast<uint16_t>(finished_);
    KILN_AXI_DRIVE_READ(m, program, port_);
    model_.Settle();
    KILN_AXI_SAMPLE_READ(m, program, port_);
    if (running) {
      Look(kInputFetch, m.input_fetch_command_valid, m.input_fetch_command, kInputFetchBytes);
      Look(kWeightFetch, m.weight_fetch_command_valid, m.weight_fetch_command, kWeightFetchBytes);
      Look(kWeightLoad, m.weight_load_command_valid, m.weight_load_command, kWeightLoadBytes);
      Look(kArray, m.array_command_valid, m.array_command, kArrayBytes);
      Look(kDepthwise, m.depthwise_command_valid, m.depthwise_command, kArrayBytes);
      Look(kParameterFetch, m.parameter_fetch_command_valid, m.parameter_fetch_command,
           kParameterFetchBytes);
      Look(kVector, m.vector_command_valid, m.vector_command, kVectorBytes);
      if (m.stage_write_valid) stages_.push_back(GetBytes(m.stage_write, 16));
      if (m.vector_command_valid && (taken_ >> kVector & 1) && !never_finish) {
        const uint64_t before = finish_at_.empty() ? 0 : finish_at_.back();
        finish_at_.push_back(std::max(before, run_cycles_ + 1 + random_.Below(40)));
      }
      while (finished_ < finish_at_.size() && finish_at_[finished_] <= run_cycles_ &&
             AllHave(finished_)) {
        ++finished_;
      }
    }
    model_.Step();
    if (running && m.unit_reset == 0) CountActivity();
    if (running) ++run_cycles_;
    was_running_ = running;
  }

  static constexpr size_t kHeaderBits = 112, kTilingBits = 3 * 112, kReductionBits = 2 * 112,
                          kRegionBits = 3 * 112;
  static constexpr size_t kInputFetchBytes =
      (16 + kHeaderBits + kTilingBits + kReductionBits + kRegionBits + 896) / 8;
  static constexpr size_t kWeightFetchBytes =
      (16 + kHeaderBits + kTilingBits + kReductionBits + 336) / 8;
  static constexpr size_t kWeightLoadBytes = (16 + kHeaderBits + kTilingBits + kReductionBits) / 8;
  static constexpr size_t kArrayBytes =
      (32 + kHeaderBits + kTilingBits + kReductionBits + kRegionBits) / 8;
  static constexpr size_t kParameterFetchBytes = (16 + kHeaderBits + kTilingBits + 112) / 8;
  static constexpr size_t kVectorBytes =
      (22 + kHeaderBits + kTilingBits + 224 + 784 + 4 * 448 + 448 + 7) / 8;

  Simulation<Model> model_;
  testbench::AxiMemory memory_;
  testbench::AxiReadPort port_;
  Random random_;
  std::vector<Stalls> stalls_;
  std::array<std::vector<Seen>, kUnits> seen_;
  std::vector<std::vector<uint8_t>> stages_;
  std::array<std::array<uint64_t, kUnitCounters>, kUnits> activity_{};
  std::array<uint64_t, kUnits> step_{};
  std::array<bool, kUnits> standing_{};
  std::array<uint64_t, kUnits> popped_{};
  std::vector<uint64_t> finish_at_;
  size_t finished_ = 0;
  uint32_t taken_ = 0;
  uint64_t run_cycles_ = 0;
  bool was_running_ = false, began_ = false;
};

// Instructions that the models take, whose limits are those of the largest random design point.
struct Program {
  std::vector<Instruction> instructions;
  std::vector<std::vector<uint8_t>> encoded;
  std::vector<uint8_t> bytes;  // with its end
};

template <typename Model>
Program RandomProgram(Random& random, size_t length) {
  Program program;
  for (size_t i = 0; i < length; ++i) {
    Config config = systolic::RandomConfig(random);
    config.depthwise_multipliers = std::max(config.depthwise_multipliers, 1);
    if (Machine<Model>::kPortBytes == 16) systolic::RandomFormats(random, &config);
    const auto opcode = static_cast<Opcode>(1 + random.Below(3));
    program.instructions.push_back(systolic::RandomInstruction(random, config, opcode).instruction);
    program.encoded.push_back(systolic::Encode(program.instructions.back(), config));
  }
  Instruction end;
  program.instructions.push_back(end);
  program.encoded.push_back(systolic::Encode(end, Config()));
  for (const std::vector<uint8_t>& one : program.encoded) {
    program.bytes.insert(program.bytes.end(), one.begin(), one.end());
  }
  return program;
}

// A queue stores some of its commands' members. Notes which bits of a unit's commands were seen as
// they are expected (while not 0), and which were 0 in place of 1.
struct StoredBits {
  std::vector<uint8_t> stored, left_out;

  void Compare(const std::vector<uint8_t>& command, const std::vector<uint8_t>& expected) {
    ASSERT_EQ(command.size(), expected.size());
    stored.resize(command.size());
    left_out.resize(command.size());
    for (size_t i = 0; i < command.size(); ++i) {
      EXPECT_EQ(command[i] & ~expected[i], 0) << "byte " << i;
      stored[i] |= command[i];
      left_out[i] |= static_cast<uint8_t>(expected[i] & ~command[i]);
    }
  }
};

// What every unit was given, stages included, is what the program says.
template <typename Model>
void ExpectCommands(const Machine<Model>& machine, const Program& program) {
  uint64_t block = 0;
  std::array<size_t, kUnits> next{};
  std::array<StoredBits, kUnits> bits;
  std::vector<std::vector<uint8_t>> stages;
  for (size_t k = 0; k < program.instructions.size(); ++k) {
    const Opcode opcode = program.instructions[k].opcode;
    const std::vector<uint8_t>& words = program.encoded[k];
    const uint64_t slot = k % kSlots;
    for (int u = 0; u < kUnits; ++u) {
      if (!Uses(opcode, u)) continue;
      const size_t at = next[static_cast<size_t>(u)]++;
      ASSERT_LT(at, machine.seen(u).size()) << "unit " << u;
      SCOPED_TRACE("unit " + std::to_string(u) + " instruction " + std::to_string(k));
      bits[static_cast<size_t>(u)].Compare(machine.seen(u)[at].command,
                                           CommandOf(u, words, k, block, slot));
    }
    for (size_t at = 0; at < words.size(); at += kWordBytes) {
      if (words[at + 15] != 14) continue;
      PackedBits bits;
      const int index = words[at + 14];
      bits.Append(slot, 6);
      bits.Append(static_cast<uint64_t>(index) >> 5 & 3, 2);
      bits.Append(static_cast<uint64_t>(index) >> 4 & 1, 1);
      bits.Append(static_cast<uint64_t>(index) & 15, 4);
      for (size_t byte = 14; byte-- > 0;) bits.Append(words[at + byte], 8);
      stages.push_back(bits.Bytes());
    }
    // Word 2 of the tiling: `visits` behind four counts, 16 bits.
    for (size_t at = 0; at < words.size(); at += kWordBytes) {
      if (words[at + 15] == 1 && words[at + 14] == 2)
        block += words[at + 1] | uint64_t{words[at + 2]} << 8;
    }
  }
  for (const StoredBits& unit : bits) {
    for (size_t i = 0; i < unit.stored.size(); ++i) {
      EXPECT_EQ(unit.stored[i] & unit.left_out[i], 0) << "byte " << i << " is stored at times";
    }
  }
  for (int u = 0; u < kUnits; ++u)
    EXPECT_EQ(machine.seen(u).size(), next[static_cast<size_t>(u)]) << "unit " << u;
  EXPECT_EQ(machine.stages(), stages);
}

template <typename Model>
void CommandsArrive(double stall, uint64_t seed) {
  Random random(seed);
  testbench::AxiTiming timing;
  timing.StallAll(stall);
  Machine<Model> machine(seed, timing, stall);
  machine.idle_activity = false;
  for (int round = 0; round < 25 && !testing::Test::HasFailure(); ++round) {
    const Program program = RandomProgram<Model>(random, random.Below(9));
    const uint64_t address =
        kWordBytes * random.Below((kMemoryBytes - program.bytes.size()) / kWordBytes);
    machine.Place(address, program.bytes);
    machine.opcodes.clear();
    for (const Instruction& instruction : program.instructions)
      machine.opcodes.push_back(instruction.opcode);
    ASSERT_EQ(machine.Run(address), kDone);
    ExpectCommands(machine, program);
    EXPECT_EQ(machine.Read(kErrorCode), kNone);
    EXPECT_EQ(machine.Read(kFinished), program.instructions.size() - 1);
    // The cycle in which the end is seen is not counted.
    EXPECT_EQ(machine.ReadWide(kCycles), machine.run_cycles() - 1);
    EXPECT_EQ(machine.Counter(kCommandUnit, 4), program.bytes.size());
    EXPECT_EQ(machine.Counter(kCommandUnit, 0),
              program.bytes.size() / kWordBytes + program.instructions.size());
    for (int u = 0; u < kUnits; ++u) {
      for (int k = 0; k < kUnitCounters; ++k) {
        EXPECT_EQ(machine.Counter(u, k), machine.Activity(u, k))
            << "unit " << u << " counter " << k;
      }
    }
  }
}

TEST(CommandProcessor, GivesEveryUnitItsCommands) {
  CommandsArrive<Vcommand_processor_16>(0.0, 1);
  CommandsArrive<Vcommand_processor_16>(0.5, 2);
  CommandsArrive<Vcommand_processor_8>(0.3, 3);
}

// The times of docs/systolic.md: L, then a cycle a word (two through a port of 8 bytes) and one for
// the dispatch.
template <typename Model>
void TimesAgree(uint64_t seed) {
  Random random(seed);
  testbench::AxiTiming timing;
  timing.latency = 1 + random.Below(20);
  Machine<Model> machine(seed, timing);
  Config config = systolic::Fp32Machine();
  config.memory_latency = static_cast<int>(timing.latency + kPortLatency);
  config.instruction_bytes_per_cycle = Machine<Model>::kPortBytes;
  for (int round = 0; round < 10 && !testing::Test::HasFailure(); ++round) {
    // Not so many that stage memories fill up while nothing finishes.
    const Program program = RandomProgram<Model>(random, 1 + random.Below(5));
    const uint64_t address = kWordBytes * random.Below(1000);
    machine.Place(address, program.bytes);
    ASSERT_EQ(machine.Run(address), kDone);
    auto time = static_cast<uint64_t>(config.memory_latency);
    std::array<size_t, kUnits> next{};
    for (size_t k = 0; k + 1 < program.instructions.size(); ++k) {
      time +=
          static_cast<uint64_t>(systolic::DispatchCycles(config, std::ssize(program.encoded[k])));
      for (int u = 0; u < kUnits; ++u) {
        if (!Uses(program.instructions[k].opcode, u)) continue;
        EXPECT_EQ(machine.seen(u)[next[static_cast<size_t>(u)]++].cycle, time)
            << "unit " << u << " instruction " << k;
      }
    }
  }
}

TEST(CommandProcessor, TakesTheTimeOfTheManual) {
  for (uint64_t seed = 1; seed <= 5; ++seed) TimesAgree<Vcommand_processor_16>(seed);
  for (uint64_t seed = 6; seed <= 10; ++seed) TimesAgree<Vcommand_processor_8>(seed);
}

// With queues of one, an instruction waits until all its units have taken the one before: taken in
// cycle p, the next one is available in p + 2.
TEST(CommandProcessor, WaitsForRoom) {
  Random random(11);
  Config config = systolic::RandomConfig(random);
  const Instruction matrix =
      systolic::RandomInstruction(random, config, Opcode::kMatrix).instruction;
  const std::vector<uint8_t> words = systolic::Encode(matrix, config);
  std::vector<uint8_t> program = words;
  program.insert(program.end(), words.begin(), words.end());
  const std::vector<uint8_t> end = systolic::Encode(Instruction(), config);
  program.insert(program.end(), end.begin(), end.end());
  Machine<Vcommand_processor_8> machine(11);
  machine.Place(0, program);
  machine.hold_units = true;
  machine.Start(0);
  machine.Wait(1000);
  for (const int unit :
       {kInputFetch, kWeightFetch, kWeightLoad, kArray, kParameterFetch, kVector}) {
    ASSERT_EQ(machine.seen(unit).size(), 1u);
  }
  const uint64_t taken = machine.run_cycles();
  machine.hold_units = false;
  EXPECT_EQ(machine.Finish(), kDone);
  for (const int unit :
       {kInputFetch, kWeightFetch, kWeightLoad, kArray, kParameterFetch, kVector}) {
    ASSERT_EQ(machine.seen(unit).size(), 2u);
    EXPECT_EQ(machine.seen(unit)[1].cycle, taken + 2) << "unit " << unit;
  }
}

// A unit does not wait for the queue of another one.
TEST(CommandProcessor, GivesAnInstructionToTheUnitsThatHaveRoom) {
  Random random(12);
  Config config = systolic::RandomConfig(random);
  const std::vector<uint8_t> words = systolic::Encode(
      systolic::RandomInstruction(random, config, Opcode::kMatrix).instruction, config);
  std::vector<uint8_t> program = words;
  program.insert(program.end(), words.begin(), words.end());
  const std::vector<uint8_t> end = systolic::Encode(Instruction(), config);
  program.insert(program.end(), end.begin(), end.end());
  for (const int held : {kInputFetch, kArray, kParameterFetch, kVector}) {
    SCOPED_TRACE("unit " + std::to_string(held));
    Machine<Vcommand_processor_8> machine(12);  // queues of one command
    machine.opcodes = {Opcode::kMatrix, Opcode::kMatrix, Opcode::kEnd};
    machine.Place(0, program);
    machine.held_unit = held;
    machine.Start(0);
    machine.Wait(1000);
    uint64_t second = 0;
    for (const int unit :
         {kInputFetch, kWeightFetch, kWeightLoad, kArray, kParameterFetch, kVector}) {
      ASSERT_EQ(machine.seen(unit).size(), unit == held ? 1u : 2u);
      if (unit == held) continue;
      if (second == 0) second = machine.seen(unit)[1].cycle;
      EXPECT_EQ(machine.seen(unit)[1].cycle, second) << "unit " << unit;
    }
    const uint64_t taken = machine.run_cycles();
    machine.held_unit = -1;
    EXPECT_EQ(machine.Finish(), kDone);
    ASSERT_EQ(machine.seen(held).size(), 2u);
    EXPECT_EQ(machine.seen(held)[1].cycle, taken + 2);
    EXPECT_LT(second, taken);
  }
}

// A program of one vector instruction.
std::vector<uint8_t> SmallProgram(uint64_t seed) {
  Random random(seed);
  return RandomProgram<Vcommand_processor_8>(random, 1).bytes;
}

TEST(CommandProcessor, SaysWhyItStopped) {
  Machine<Vcommand_processor_16> machine(1);
  Vcommand_processor_16& m = machine.model();
  const std::vector<uint8_t> good = SmallProgram(1);
  const uint64_t address = 0x4000;
  const auto fails = [&](uint64_t at, Error error) {
    EXPECT_EQ(machine.Run(at), kError) << "error " << error;
    EXPECT_EQ(machine.Read(kErrorCode), error);
  };
  // After every failure the machine runs again, and forgets it.
  const auto runs = [&] {
    machine.Place(address, good);
    EXPECT_EQ(machine.Run(address), kDone);
    EXPECT_EQ(machine.Read(kErrorCode), kNone);
    EXPECT_EQ(machine.Read(kErrorPlace), 0u);
  };
  EXPECT_EQ(machine.Read(kIdentity), 0x4b494c4eu);
  runs();
  fails(address + 8, kAddress);
  runs();
  fails(kMemoryBytes, kAddress);
  fails(uint64_t{1} << 31, kAddress);
  runs();

  // Words that the decoder refuses: word 1 of instruction 1.
  std::vector<uint8_t> bad = good;
  bad.resize(bad.size() - kWordBytes);  // without its end
  const size_t words = bad.size() / kWordBytes;
  bad.insert(bad.end(), good.begin(), good.end());
  bad[(words + 1) * kWordBytes + 14] ^= 1;
  machine.Place(address, bad);
  fails(address, kOrder);
  EXPECT_EQ(machine.Read(kErrorPlace), 0x00010001u);
  runs();

  // No end before the end of memory.
  std::vector<uint8_t> endless = good;
  endless.resize(endless.size() - kWordBytes);
  machine.Place(kMemoryBytes - endless.size(), endless);
  fails(kMemoryBytes - endless.size(), kProgramEnd);
  machine.Place(kMemoryBytes - good.size(), good);
  EXPECT_EQ(machine.Run(kMemoryBytes - good.size()), kDone);

  // A bus error, in the program and elsewhere.
  machine.memory().Poison(0x8000, 64);
  machine.Place(0x8000 - 64, std::vector<uint8_t>(64, 0));
  fails(0x8000, kBus);
  runs();
  m.port_fault = 1;
  fails(address, kBus);
  m.port_fault = 0;
  m.range_fault = 1;
  fails(address, kRange);
  m.range_fault = 0;
  runs();

  // Units that never finish; software that loses patience first.
  machine.never_finish = true;
  machine.Write(kWatchdogLimit, 500);
  machine.Write(kWatchdogLimit, 0, /*refused=*/true);
  EXPECT_EQ(machine.Read(kWatchdogLimit), 500u);
  fails(address, kWatchdog);
  EXPECT_EQ(machine.ReadWide(kCycles), 500u);
  machine.Write(kWatchdogLimit, 1000000);
  machine.Start(address);
  machine.Write(kControl, kStart, /*refused=*/true);
  machine.Write(kProgramAddress, 0, /*refused=*/true);
  machine.Write(kControl, kStop);
  EXPECT_EQ(machine.Finish(), kError);
  EXPECT_EQ(machine.Read(kErrorCode), kStopped);
  machine.never_finish = false;
  runs();

  // A queue that is never emptied.
  machine.hold_units = true;
  machine.Write(kWatchdogLimit, 500);
  fails(address, kWatchdog);
  machine.hold_units = false;
  runs();

  // While a port has something under way, the machine stays busy, and does not start.
  m.ports_idle = 0;
  m.range_fault = 1;
  machine.Start(address);
  EXPECT_EQ(machine.Read(kStatus), kBusy | kError);
  m.range_fault = 0;
  machine.Write(kControl, kStart, /*refused=*/true);
  m.ports_idle = 1;
  EXPECT_EQ(machine.Finish(), kError);
  runs();
}

TEST(CommandProcessor, Interrupts) {
  Machine<Vcommand_processor_16> machine(2);
  const std::vector<uint8_t> good = SmallProgram(2);
  machine.Place(0, good);
  EXPECT_EQ(machine.Run(0), kDone);
  EXPECT_EQ(machine.Read(kInterruptStatus), 1u);
  EXPECT_FALSE(machine.model().irq);
  machine.Write(kInterruptEnable, 1);
  EXPECT_TRUE(machine.model().irq);
  machine.Write(kInterruptStatus, 2);  // clears the other one
  EXPECT_TRUE(machine.model().irq);
  machine.Write(kInterruptStatus, 1);
  EXPECT_FALSE(machine.model().irq);
  machine.Write(kInterruptEnable, 2);
  EXPECT_EQ(machine.Run(0), kDone);
  EXPECT_FALSE(machine.model().irq);
  EXPECT_EQ(machine.Run(8), kError);
  EXPECT_TRUE(machine.model().irq);
  EXPECT_EQ(machine.Read(kInterruptStatus), 3u);
}

// Random instruction memory: bytes of any kind, and programs with some bits turned over, before
// units that may never finish, and a memory that stalls. Every run ends, with a status, and the
// next one can start.
TEST(CommandProcessor, AlwaysEnds) {
  Random random(5);
  std::map<uint32_t, int> errors;
  int done = 0;
  testbench::AxiTiming timing;
  timing.StallAll(0.2);
  Machine<Vcommand_processor_16> machine(5, timing, 0.3);
  machine.Write(kWatchdogLimit, 2000);
  for (int round = 0; round < 400 && !testing::Test::HasFailure(); ++round) {
    Program program = RandomProgram<Vcommand_processor_16>(random, random.Below(5));
    std::vector<uint8_t>& bytes = program.bytes;
    const uint64_t kind = random.Below(4);
    if (kind == 0) {
      for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    } else if (kind < 3) {
      for (uint64_t flips = random.Below(6); flips > 0; --flips) {
        bytes[random.Below(bytes.size())] ^= static_cast<uint8_t>(1u << random.Below(8));
      }
    } else {
      // Words that hang together, but not one after the other.
      for (size_t at = 0; at < bytes.size(); at += kWordBytes) {
        if (random.Below(20) == 0) {
          const size_t other = kWordBytes * random.Below(bytes.size() / kWordBytes);
          std::swap_ranges(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                           bytes.begin() + static_cast<std::ptrdiff_t>(at + kWordBytes),
                           bytes.begin() + static_cast<std::ptrdiff_t>(other));
        }
      }
    }
    machine.never_finish = random.Below(8) == 0;
    machine.hold_units = random.Below(16) == 0;
    const uint64_t address = kWordBytes * random.Below((kMemoryBytes - bytes.size()) / kWordBytes);
    machine.Place(address, bytes);
    const uint32_t status = machine.Run(address, 200000);
    ASSERT_TRUE(status == kDone || status == kError) << status;
    const uint32_t error = machine.Read(kErrorCode);
    EXPECT_EQ(status == kError, error != kNone);
    if (status == kDone) ++done;
    if (status == kError) ++errors[error];
  }
  EXPECT_GT(done, 50);
  for (const Error error : {kOpcodeError, kOrder, kCount, kWatchdog})
    EXPECT_GT(errors[error], 0) << error;
}

}  // namespace
}  // namespace kiln::rtl
