#include "kiln/targets/vta/simulate/cycle/cycle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kiln/targets/vta/lint/lint.h"
#include "kiln/targets/vta/runtime/device.h"
#include "kiln/targets/vta/simulate/cycle/cycle_decode.h"
#include "kiln/targets/vta/simulate/functional/fault_rules.h"
#include "kiln/targets/vta/simulate/functional/functional.h"
#include "tests/targets/vta/agreement.h"
#include "tests/targets/vta/random_program.h"

namespace kiln::vta {
namespace {

TEST(VtaCycle, RandomProgramsHaveTheBitsOfTheFunctionalLevel) {
  LaunchTotals totals;
  for (uint64_t seed = 0; seed < 800; ++seed) {
    Random random(5000 + seed);
    const Config config = RandomConfig(random);
    const RandomProgram program = MakeRandomProgram(random, config, 40);
    const auto difference = FindDisagreement(config, program, &totals);
    ASSERT_FALSE(difference.has_value()) << *difference << "\nseed " << seed << '\n'
                                         << program.Text(config);
  }
  EXPECT_GT(totals.faults, 0u);
  EXPECT_GT(totals.launches, 800u);
}

// One dependency too few or too many: both levels stop at the same instruction, or neither does.
TEST(VtaCycle, SpoiltDependenciesAreFaultsAlike) {
  int stopped = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    Random random(9000 + seed);
    Config config = RandomConfig(random);
    config.instruction_queue_depth = 512;
    RandomProgram program = MakeRandomProgram(random, config, 30);
    Instruction& in = program.instructions[random.Below(program.instructions.size())];
    bool Instruction::* const bits[] = {&Instruction::pop_previous, &Instruction::pop_next,
                                        &Instruction::push_previous, &Instruction::push_next};
    bool& bit = in.*bits[random.Below(4)];
    bit = !bit;
    const Encoding encoding(config);
    const auto at = static_cast<size_t>(program.address - RandomProgram::kBase);
    for (size_t i = 0; i < program.instructions.size(); ++i) {
      const Encoding::Bytes bytes = encoding.Encode(program.instructions[i]);
      std::copy(bytes.begin(), bytes.end(),
                program.memory.begin() + static_cast<std::ptrdiff_t>(at + i * bytes.size()));
    }
    DeviceMemory functional_memory(RandomProgram::kBase, program.memory),
        memory(RandomProgram::kBase, program.memory);
    const size_t count = program.instructions.size();
    const auto expected =
        FunctionalMachine(config).Launch(functional_memory, program.address, count);
    const auto fault = CycleMachine(config).Launch(memory, program.address, count).fault;
    ASSERT_EQ(fault.has_value(), expected.has_value()) << "seed " << seed << '\n'
                                                       << program.Text(config);
    if (!fault.has_value()) continue;
    ++stopped;
    EXPECT_EQ(NameOf(fault->kind), NameOf(expected->kind)) << "seed " << seed << '\n'
                                                           << program.Text(config);
    EXPECT_EQ(fault->instruction, expected->instruction) << "seed " << seed << '\n'
                                                         << program.Text(config);
  }
  EXPECT_GT(stopped, 100);
}

// The cycle level decodes and judges words on its own: both decoders and both sets of rules, on
// words of all kinds.
TEST(VtaCycle, WordsMeanTheSameAtBothLevels) {
  std::map<std::string, int> found;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Random random(12000 + seed);
    const Config config = RandomConfig(random);
    const Encoding encoding(config);
    const CycleDecoder decoder(config);
    for (int i = 0; i < 100; ++i) {
      Encoding::Bytes word;
      for (uint8_t& byte : word) byte = static_cast<uint8_t>(random());
      if (i % 2 == 0) {
        Instruction in = RandomFields(random, config);
        // Of fields drawn from all their bits most loads leave their buffers.
        if (random.Below(2) == 0) in.sram_base = static_cast<uint32_t>(random.Below(8));
        if (random.Below(2) == 0) in.x_size %= 3, in.y_size %= 3;
        word = encoding.Encode(in);
      }
      const Instruction in = encoding.Decode(word);
      ASSERT_EQ(decoder.Decode(word.data()), in) << Disassemble(word, encoding) << '\n'
                                                 << PrintConfig(config);
      const auto uop_word = static_cast<uint32_t>(random());
      ASSERT_EQ(decoder.DecodeUop(uop_word), encoding.DecodeUop(uop_word)) << uop_word << '\n'
                                                                           << PrintConfig(config);
      const auto fault = FaultOfWord(in, 7, config), expected = FindStaticFault(in, 7, config);
      ASSERT_EQ(FindDifference(fault, expected), std::nullopt)
          << Disassemble(word, encoding) << '\n'
          << PrintConfig(config);
      ++found[expected.has_value() ? std::string(NameOf(expected->kind)) : ""];
    }
  }
  for (const char* kind :
       {"", "sram_range", "bad_opcode", "bad_memory_id", "bad_field", "bad_dependency"}) {
    EXPECT_GT(found[kind], 100) << kind;
  }
}

// What the original's hardware would do is not defined for programs with races, and a program with
// two faults may be stopped by either.
TEST(VtaCycle, SpoiltWordsAreFaultsAlike) {
  constexpr uint64_t kMostSteps = 1 << 14;
  std::map<std::string, int> found;
  for (uint64_t seed = 0; seed < 700; ++seed) {
    Random random(15000 + seed);
    Config config = RandomConfig(random);
    config.instruction_queue_depth = 512;
    const RandomProgram right = MakeRandomProgram(random, config, 20);
    const size_t count = right.instructions.size();
    ProgramVector vector;
    vector.config = config;
    vector.base = RandomProgram::kBase;
    vector.before = right.memory;
    vector.launches.push_back({right.address, count});
    const size_t bit = random.Below(count * kInstructionBytes * 8);
    vector.before[right.address - RandomProgram::kBase + bit / 8] ^=
        static_cast<uint8_t>(1 << (bit % 8));
    const auto outcome = [&](uint64_t order) {
      DeviceMemory memory(vector.base, vector.before);
      FunctionalMachine machine(config);
      machine.set_most_steps(kMostSteps);
      return machine.Launch(memory, right.address, count, StageOrder(order));
    };
    const auto expected = outcome(0);
    if (expected.has_value() && expected->kind == FaultKind::kTooLong) continue;
    bool one_outcome = true;
    for (uint64_t order = 1; order < StageOrder::kFixed; ++order) {
      one_outcome = one_outcome && !FindDifference(outcome(order), expected).has_value();
    }
    if (!one_outcome) continue;
    const LintResult lint = Lint(vector, kMostSteps);
    const bool races =
        std::any_of(lint.findings.begin(), lint.findings.end(),
                    [](const Finding& finding) { return finding.kind == FindingKind::kRace; });
    if (races) continue;
    DeviceMemory memory(vector.base, vector.before);
    const auto fault = CycleMachine(config).Launch(memory, right.address, count).fault;
    // The dispatcher looks at indices before it waits for tokens.
    if (expected.has_value() && expected->kind == FaultKind::kDeadlock && fault.has_value() &&
        fault->kind == FaultKind::kSramRange) {
      continue;
    }
    const auto difference = FindDifference(fault, expected);
    EXPECT_EQ(difference, std::nullopt)
        << "seed " << seed << ", bit " << bit % 128 << " of instruction " << bit / 128;
    ++found[expected.has_value() ? std::string(NameOf(expected->kind)) : ""];
  }
  for (const char* kind :
       {"", "sram_range", "dram_range", "bad_opcode", "bad_dependency", "deadlock", "no_finish"}) {
    EXPECT_GT(found[kind], 3) << kind;
  }
}

// A launch of text at both levels, on the default design point.
struct BothOutcomes {
  std::optional<Fault> functional, cycle, met;
};
BothOutcomes RunBoth(std::string_view text, size_t more_instructions = 0) {
  const Config config = *ParseOriginalConfig("{}", "default");
  const std::vector<uint8_t> image = *Assemble(text, "program", Encoding(config));
  const size_t count = image.size() / kInstructionBytes + more_instructions;
  DeviceMemory functional_memory(RandomProgram::kBase, image), memory(RandomProgram::kBase, image);
  BothOutcomes outcomes;
  outcomes.functional =
      FunctionalMachine(config).Launch(functional_memory, RandomProgram::kBase, count);
  const CycleMachine::Result result =
      CycleMachine(config).Launch(memory, RandomProgram::kBase, count);
  outcomes.cycle = result.fault;
  outcomes.met = result.met;
  return outcomes;
}

// FINISH waits for everything, or comes last by its speed alone, which only the hardware takes for
// good, or comes too early, after which the others may end or wait for ever.
TEST(VtaCycle, FinishThatDoesNotWait) {
  struct Case {
    const char* text;
    const char *fault, *met;  // "": none
  };
  for (const Case& one : {
           Case{"---N NOP stage=load\np--- FINISH", "", ""},
           {"---- NOP stage=load\n---- NOP stage=compute\n---- NOP stage=compute\n---- FINISH",
            "no_finish 3", ""},
           {"---- FINISH\n---- NOP stage=load", "no_finish 1", "no_finish 1"},
           {"---- FINISH\n-n-- NOP stage=load", "deadlock 1", "no_finish 1"},
           {"---- FINISH\n---- FINISH", "no_finish 1", "no_finish 1"},
           {"---- NOP stage=compute", "no_finish 0", "no_finish 0"},
       }) {
    const auto text = [](const std::optional<Fault>& fault) {
      return fault.has_value()
                 ? std::string(NameOf(fault->kind)) + " " + std::to_string(fault->instruction)
                 : "";
    };
    const BothOutcomes outcomes = RunBoth(one.text);
    EXPECT_EQ(text(outcomes.functional), one.fault) << one.text;
    EXPECT_EQ(text(outcomes.cycle), one.fault) << one.text;
    EXPECT_EQ(text(outcomes.met), one.met) << one.text;
  }
}

// Instructions are read one by one: the first that no memory holds is to blame.
TEST(VtaCycle, InstructionsThatAreNotThere) {
  const BothOutcomes outcomes = RunBoth("---- NOP stage=load\n---- NOP stage=compute", 3);
  for (const auto& fault : {outcomes.functional, outcomes.cycle}) {
    ASSERT_TRUE(fault.has_value());
    EXPECT_EQ(NameOf(fault->kind), "dram_range");
    EXPECT_EQ(fault->instruction, 2u);
  }
}

// A device in this process with a program in its memory.
class VtaCycleDevice : public testing::Test {
 protected:
  void SetUp() override { address_ = *device_->Allocate(DeviceMemory::kPageBytes); }
  Status Run(std::string_view text, uint64_t most_cycles = 0) {
    const auto program = Assemble(text, "program", Encoding(device_->config()));
    EXPECT_TRUE(program.ok()) << program.status();
    EXPECT_TRUE(device_->Write(address_, *program).ok());
    return device_->Run(address_, program->size() / kInstructionBytes, most_cycles);
  }

  const std::unique_ptr<Device> device_ =
      *MakeDevice("cycle", *ParseOriginalConfig("{}", "default"));
  uint64_t address_ = 0;
};

TEST_F(VtaCycleDevice, TellsItsLastRun) {
  EXPECT_EQ(device_->last_run(), std::nullopt);
  ASSERT_TRUE(Run("---- FINISH").ok());
  ASSERT_TRUE(device_->last_run().has_value());
  EXPECT_EQ(device_->last_run()->cycles, 37);
  EXPECT_FALSE(Run("p--- FINISH").ok());
  EXPECT_EQ(device_->last_run(), std::nullopt);
  // Each run is counted by itself.
  ASSERT_TRUE(Run("---- FINISH").ok());
  ASSERT_TRUE(Run("---- NOP stage=compute\n---- FINISH").ok());
  EXPECT_EQ(device_->last_run()->cycles, 39);
  EXPECT_EQ(device_->last_run()->counters[Counter::kComputeInstructions], 2);
  EXPECT_EQ((*MakeDevice("functional", device_->config()))->last_run(), std::nullopt);
}

TEST_F(VtaCycleDevice, EndsInBoundedTime) {
  // A loop of 2^28 steps is not gone through.
  const std::string endless =
      "---- GEMM uop[0,1) loop 16383x16383 dst(0,0) src(0,0) wgt(0,0)\n---- FINISH";
  const Status stopped = Run(endless, 1000000);
  EXPECT_EQ(stopped.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(MessageOf(stopped), testing::HasSubstr("too_long: instruction 0, '---- GEMM"));
  EXPECT_EQ(Run("---- FINISH", 36).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(Run("---- FINISH", 37).ok());
  const Status waiting = Run("p--- NOP stage=compute\n---- FINISH");
  EXPECT_THAT(MessageOf(waiting),
              testing::HasSubstr("deadlock: instruction 0, 'p--- NOP stage=compute'"));
}

// What fits no queue waits for ever, where the functional level has room.
TEST(VtaCycle, QueuesThatAreTooShort) {
  Config config = *ParseOriginalConfig("{}", "default");
  const std::string text =
      "-n-- NOP stage=load\n---- NOP stage=load\n---- NOP stage=load\n---- NOP stage=load\n"
      "--P- NOP stage=compute\n---N NOP stage=load\np--- FINISH";
  std::vector<uint8_t> image = *Assemble(text, "program", Encoding(config));
  const size_t count = image.size() / kInstructionBytes;
  image.resize(DeviceMemory::kPageBytes);
  DeviceMemory memory(RandomProgram::kBase, image);
  for (const int depth : {2, 3, 4}) {
    config.instruction_queue_depth = depth;
    const auto fault = CycleMachine(config).Launch(memory, RandomProgram::kBase, count).fault;
    ASSERT_EQ(fault.has_value(), depth < 4) << depth;
    if (!fault.has_value()) continue;
    EXPECT_EQ(fault->kind, FaultKind::kDeadlock);
    EXPECT_EQ(fault->instruction, 0u);
  }
}

}  // namespace
}  // namespace kiln::vta
