// Runs faulty programs on the whole machine. It must stop with the kind of the fault and the
// instruction that caused it and leave nothing in flight on its port; a correct program must then
// run on it.
#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "Vvta_small.h"
#include "kiln/targets/vta/isa/isa.h"
#include "kiln/targets/vta/simulate/functional/functional.h"
#include "tests/rtl/vta/machine.h"

namespace kiln::rtl {
namespace {

using vta::DeviceMemory;
using vta::Encoding;
using vta::FaultKind;
using vta::FunctionalMachine;
using vta::Instruction;
using vta::kInstructionBytes;

constexpr uint64_t kBase = RandomProgram::kBase;
constexpr uint64_t kProgram = 0x8000;    // address of the wrong program
constexpr uint64_t kRight = 0x4000;      // and of the right one
constexpr uint64_t kPoisoned = 0x30000;  // a page that answers SLVERR
constexpr uint64_t kFuzzLimit = 300'000;

// Loads all that it uses. Element bytes are 4, 4, 16, 16 and 4; micro-ops at 0x3000, all with low
// indices.
constexpr const char* kRightProgram = R"(
---N LOAD inp sram=0 dram=1024 y=8 x=4 stride=4
---N LOAD wgt sram=0 dram=512 y=4 x=4 stride=7
---- LOAD uop sram=0 dram=3072 y=1 x=8 stride=8
p--- LOAD acc sram=0 dram=300 y=4 x=8 stride=8
p--- GEMM uop[0,8) loop 3x2 dst(3,1) src(2,5) wgt(1,0)
---- ALU add uop[0,8) loop 2x2 dst(2,1) src(1,8)
---N ALU shr imm=3 uop[0,4) loop 1x8 dst(0,2) src(0,2)
p-P- STORE out sram=0 dram=20000 y=4 x=8 stride=9
-n-- FINISH
)";

// Lines of loads and stores may leave out that they have no padding.
std::vector<uint8_t> Assembled(const std::string& text) {
  std::string whole, line;
  for (std::istringstream lines(text); std::getline(lines, line);) {
    const bool bare =
        line.find("stride=") != std::string::npos && line.find("pad(") == std::string::npos;
    whole += line + (bare ? " pad(y0,y1,x0,x1)=0,0,0,0\n" : "\n");
  }
  const auto bytes = vta::Assemble(whole, "program", Encoding(Small()));
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return bytes.value_or(std::vector<uint8_t>());
}

// The memory from kBase to the memory's end.
std::vector<uint8_t> MakeImage() {
  std::vector<uint8_t> image(kMemoryBytes - kBase);
  Random random(7);
  for (uint8_t& byte : image) byte = static_cast<uint8_t>(random());
  const Encoding encoding(Small());
  for (uint32_t i = 0; i < 8; ++i) {
    const uint32_t word = encoding.EncodeUop({i * 2, i, i % 3});
    for (size_t k = 0; k < 4; ++k)
      image[0x3000 - kBase + i * 4 + k] = static_cast<uint8_t>(word >> (8 * k));
  }
  return image;
}

void Put(const std::vector<uint8_t>& bytes, uint64_t address, std::vector<uint8_t>* image) {
  std::copy(bytes.begin(), bytes.end(),
            image->begin() + static_cast<std::ptrdiff_t>(address - kBase));
}

class Machines {
 public:
  explicit Machines(const AxiTiming& timing) : machine_(Small(), timing, 3) {}

  // Runs `count` instructions at `address` of the image; false where the machine does not end.
  [[nodiscard]] bool Run(const std::vector<uint8_t>& image, uint64_t address, size_t count) {
    machine_.Load(image);
    return machine_.bench().Launch(address, count, kFuzzLimit);
  }
  // That nothing is left behind.
  void ExpectRest() {
    EXPECT_TRUE(machine_.bench().quiet());
    std::vector<uint8_t> image = MakeImage();
    const std::vector<uint8_t> program = Assembled(kRightProgram);
    const size_t count = program.size() / kInstructionBytes;
    Put(program, kRight, &image);
    DeviceMemory memory(kBase, image);
    FunctionalMachine functional(Small());
    ASSERT_FALSE(functional.Launch(memory, kRight, count).has_value());
    ASSERT_TRUE(Run(image, kRight, count));
    ASSERT_EQ(machine_.bench().fault(), 0u);
    const std::vector<uint8_t> after = machine_.Image(image.size());
    ASSERT_NE(after, image) << "the program does nothing";
    ASSERT_TRUE(std::equal(after.begin(), after.end(), memory.bytes().begin()));
  }
  Machine<Vvta_small>& machine() { return machine_; }

 private:
  Machine<Vvta_small> machine_;
};

struct Case {
  const char* what;
  const char* program;
  FaultKind kind;
  uint32_t instruction;
};
constexpr Case kCases[] = {
    {"load beyond its buffer",
     "---- NOP stage=load\n---- LOAD inp sram=60 dram=1024 y=1 x=5 stride=5\n---- FINISH\n",
     FaultKind::kSramRange, 1},
    {"store beyond its buffer", "---- STORE out sram=0 dram=5000 y=5 x=13 stride=5\n---- FINISH\n",
     FaultKind::kSramRange, 0},
    {"padding beyond its buffer",
     "---- LOAD acc sram=50 dram=500 y=1 x=1 stride=1 pad(y0,y1,x0,x1)=7,0,1,0\n---- FINISH\n",
     FaultKind::kSramRange, 0},
    {"accumulator beyond",
     "---- NOP stage=compute\n---- GEMM uop[0,1) loop 2x1 dst(63,0) src(0,0) wgt(0,0)\n---- "
     "GEMM uop[0,1) loop 3x1 dst(32,0) src(0,0) wgt(0,0)\n---- FINISH\n",
     FaultKind::kSramRange, 2},
    {"input beyond", "---- GEMM uop[0,1) loop 9x9 dst(0,0) src(4,4) wgt(0,0)\n---- FINISH\n",
     FaultKind::kSramRange, 0},
    {"weight beyond", "---- GEMM uop[0,1) loop 1x14 dst(0,0) src(0,0) wgt(0,5)\n---- FINISH\n",
     FaultKind::kSramRange, 0},
    {"second operand beyond, with an immediate",
     "---- ALU add imm=1 uop[0,1) loop 1x16383 dst(0,0) src(0,1)\n---- FINISH\n",
     FaultKind::kSramRange, 0},
    {"micro-ops beyond", "---- GEMM uop[60,65) loop 1x1 dst(0,0) src(0,0) wgt(0,0)\n---- FINISH\n",
     FaultKind::kSramRange, 0},
    {"load from page 0", "---- LOAD wgt sram=0 dram=254 y=1 x=4 stride=4\n---- FINISH\n",
     FaultKind::kDramRange, 0},
    {"micro-ops from page 0",
     "---- NOP stage=store\n---- LOAD uop sram=0 dram=3 y=1 x=4 stride=4\n---- FINISH\n",
     FaultKind::kDramRange, 1},
    {"store to page 0", "---- STORE out sram=0 dram=1 y=1 x=1 stride=1\n---- FINISH\n",
     FaultKind::kDramRange, 0},
    {"load where there is no memory",
     "---N LOAD inp sram=0 dram=65533 y=2 x=3 stride=1\np--- FINISH\n", FaultKind::kDramRange, 0},
    {"store where there is no memory",
     "---- NOP stage=store\n--P- STORE out sram=0 dram=65530 y=3 x=3 stride=3\n-n-- "
     "FINISH\n",
     FaultKind::kDramRange, 1},
    {"load of what answers with an error",
     "---- LOAD acc sram=0 dram=12284 y=1 x=8 stride=8\n---- FINISH\n", FaultKind::kDramRange, 0},
    {"store to what answers with an error",
     "---- STORE out sram=0 dram=49150 y=1 x=4 stride=4\n-n-- FINISH\n", FaultKind::kDramRange, 0},
    {"reserved opcode", "---- NOP stage=load\nraw 05000000000000000000000000000000\n",
     FaultKind::kBadOpcode, 1},
    {"reserved operation", "raw 04000000000000000050000000000000\n", FaultKind::kBadOpcode, 0},
    {"load of outputs", "raw 00020000000000000100010001000000\n", FaultKind::kBadMemoryId, 0},
    {"load of a reserved memory", "raw 80030000000000000100010001000000\n", FaultKind::kBadMemoryId,
     0},
    {"store of inputs", "raw 01010000000000000100010001000000\n", FaultKind::kBadMemoryId, 0},
    {"store with padding", "raw 01020000000000000100010001000010\n", FaultKind::kBadField, 0},
    {"a stage before load",
     "---- NOP stage=compute\np--- LOAD inp sram=0 dram=1024 y=1 x=4 stride=4\n",
     FaultKind::kBadDependency, 1},
    {"a stage behind store", "---N STORE out sram=0 dram=5000 y=1 x=1 stride=1\n",
     FaultKind::kBadDependency, 0},
    {"load waits for ever", "-n-- NOP stage=load\n---- FINISH\n", FaultKind::kNoFinish, 1},
    {"load and compute wait for ever", "-n-- NOP stage=load\np--- FINISH\n", FaultKind::kDeadlock,
     0},
    {"compute waits for ever",
     "p--- GEMM uop[0,1) loop 2x1 dst(1,0) src(0,0) wgt(0,0)\n---- FINISH\n", FaultKind::kDeadlock,
     0},
    {"store waits for ever behind compute",
     "-n-- NOP stage=compute\np--- NOP stage=store\n---- FINISH\n", FaultKind::kDeadlock, 0},
    {"more than the queues hold",
     "p--- NOP stage=compute\n---- NOP stage=compute\n---- NOP stage=compute\n---- NOP "
     "stage=compute\n---- NOP "
     "stage=compute\n---- NOP stage=compute\n---- NOP stage=compute\n---- NOP stage=compute\n---- "
     "NOP "
     "stage=compute\n---- NOP stage=compute\n---- NOP stage=load\n---- FINISH\n",
     FaultKind::kDeadlock, 0},
    {"no FINISH", "---- NOP stage=compute\n---- NOP stage=store\n", FaultKind::kNoFinish, 1},
    {"FINISH is not the last", "---- FINISH\n---- NOP stage=compute\n---- NOP stage=compute\n",
     FaultKind::kNoFinish, 2},
};

TEST(KilnVtaFaults, EveryKindStopsTheMachineAndTheNextProgramRuns) {
  for (const double stall : {0.0, 0.4}) {
    AxiTiming timing = Ideal(Small());
    timing.StallAll(stall);
    Machines machines(timing);
    auto& bench = machines.machine().bench();
    bench.memory().Poison(kPoisoned, 4096);
    for (const Case& wrong : kCases) {
      SCOPED_TRACE(testing::Message() << wrong.what << ", stalls " << stall);
      const std::vector<uint8_t> program = Assembled(wrong.program);
      std::vector<uint8_t> image = MakeImage();
      Put(program, kProgram, &image);
      ASSERT_TRUE(machines.Run(image, kProgram, program.size() / kInstructionBytes)) << "no end";
      EXPECT_EQ(bench.fault(), static_cast<uint32_t>(wrong.kind) + 1);
      EXPECT_EQ(bench.fault_instruction(), wrong.instruction);
      machines.ExpectRest();
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(KilnVtaFaults, ProgramsThatAreNotThere) {
  Machines machines(Ideal(Small()));
  auto& bench = machines.machine().bench();
  struct Program {
    uint64_t address;
    size_t count;
    FaultKind kind;
    uint32_t instruction;
  };
  for (const Program& wrong :
       {Program{kProgram, 0, FaultKind::kNoFinish, 0},
        {0xff0, 2, FaultKind::kDramRange, 0},
        {kMemoryBytes - 32, 4, FaultKind::kDramRange, 2},
        // The second one's address, 0, is wrong before the first one's answer is there.
        {0xfffffff0, 2, FaultKind::kDramRange, 1}}) {
    SCOPED_TRACE(testing::Message() << wrong.count << " at " << wrong.address);
    std::vector<uint8_t> image = MakeImage();
    Put(Assembled("---- NOP stage=load\n---- NOP stage=load\n"), kMemoryBytes - 32, &image);
    ASSERT_TRUE(machines.Run(image, wrong.address, wrong.count)) << "no end";
    EXPECT_EQ(bench.fault(), static_cast<uint32_t>(wrong.kind) + 1);
    EXPECT_EQ(bench.fault_instruction(), wrong.instruction);
    machines.ExpectRest();
  }
}

// A launch while one runs is refused, and changes nothing.
TEST(KilnVtaFaults, RegistersRefuseWhatTheyDoNotTake) {
  Machines machines(Ideal(Small()));
  auto& bench = machines.machine().bench();
  EXPECT_EQ(bench.ReadRegister(testbench::vta::kIdentity), 0x4b494c4eu);
  EXPECT_FALSE(bench.WriteRegister(testbench::vta::kIdentity, 1));
  EXPECT_FALSE(bench.WriteRegister(testbench::vta::kCounters, 1));
  EXPECT_FALSE(bench.WriteRegister(testbench::vta::kAccumulatorWrites, 1));
  EXPECT_TRUE(bench.WriteRegister(testbench::vta::kUopBase, 77));
  EXPECT_EQ(bench.ReadRegister(testbench::vta::kUopBase), 77u);
  EXPECT_TRUE(bench.WriteRegister(testbench::vta::kUopBase, 0));
  std::vector<uint8_t> image = MakeImage();
  const std::vector<uint8_t> program = Assembled(kRightProgram);
  Put(program, kRight, &image);
  machines.machine().Load(image);
  bench.WriteRegister(testbench::vta::kInstructions,
                      static_cast<uint32_t>(program.size() / kInstructionBytes));
  bench.WriteRegister(testbench::vta::kProgramAddress, kRight);
  EXPECT_TRUE(bench.WriteRegister(testbench::vta::kControl, testbench::vta::kControlLaunch));
  EXPECT_EQ(bench.ReadRegister(testbench::vta::kControl), testbench::vta::kControlLaunch);
  EXPECT_FALSE(bench.WriteRegister(testbench::vta::kControl, testbench::vta::kControlLaunch));
  EXPECT_FALSE(bench.WriteRegister(testbench::vta::kInstructions, 1));
  for (int i = 0; i < 2000; ++i) bench.Cycle();
  EXPECT_EQ(bench.ReadRegister(testbench::vta::kControl), testbench::vta::kControlFinished);
  EXPECT_EQ(bench.fault(), 0u);
  machines.ExpectRest();
}

// The bases are ORed into addresses: a program whose dram_base fields are what is left finds the
// same data.
TEST(KilnVtaFaults, BasesAreOredIntoAddresses) {
  Machines machines(Ideal(Small()));
  auto& bench = machines.machine().bench();
  const auto run = [&](const char* text) {
    std::vector<uint8_t> image = MakeImage();
    const std::vector<uint8_t> program = Assembled(text);
    Put(program, kProgram, &image);
    EXPECT_TRUE(machines.Run(image, kProgram, program.size() / kInstructionBytes));
    EXPECT_EQ(bench.fault(), 0u);
    std::vector<uint8_t> after = machines.machine().Image(image.size());
    std::copy_n(image.begin() + kProgram - kBase, program.size(), after.begin() + kProgram - kBase);
    return after;
  };
  const auto body = [](const std::string& uop, const std::string& acc, const std::string& out) {
    return "---- LOAD uop sram=0 dram=" + uop +
           " y=1 x=8 stride=8\n---N LOAD acc sram=0 dram=" + acc +
           " y=4 x=8 stride=8\np-P- STORE out sram=0 dram=" + out +
           " y=4 x=8 stride=9\n-n-- FINISH\n";
  };
  const std::vector<uint8_t> expected = run(body("3072", "300", "20000").c_str());
  bench.WriteRegister(testbench::vta::kUopBase, 0x3000);
  bench.WriteRegister(testbench::vta::kAccumulatorBase, 0x1000);
  bench.WriteRegister(testbench::vta::kOutputBase, 0x10000);
  std::vector<uint8_t> found = run(body("0", "44", "3616").c_str());
  for (size_t i = 0; i < 4 * kInstructionBytes; ++i)
    found[kProgram - kBase + i] = expected[kProgram - kBase + i];
  EXPECT_EQ(found, expected);
}

// Instructions whose steps would take longer than the limit are no test of hanging.
bool Short(const std::vector<uint8_t>& program) {
  const Encoding encoding(Small());
  uint64_t steps = 0;
  for (size_t at = 0; at < program.size(); at += kInstructionBytes) {
    const Instruction in = encoding.Decode(
        std::span<const uint8_t, kInstructionBytes>(program.data() + at, kInstructionBytes));
    const bool computes = in.opcode == vta::Opcode::kGemm || in.opcode == vta::Opcode::kAlu;
    steps += computes ? StepsOf(in) : 0;
  }
  return steps < kFuzzLimit / 4;
}

TEST(KilnVtaFaults, SpoiltProgramsNeverHang) {
  for (const double stall : {0.0, 0.4}) {
    AxiTiming timing = Ideal(Small());
    timing.StallAll(stall);
    auto machines = std::make_unique<Machines>(timing);
    std::vector<int> ends(9);
    for (uint64_t seed = 0; seed < 150; ++seed) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", stalls " << stall);
      Random random(seed + (stall > 0 ? 1000 : 0));
      const RandomProgram right = MakeRandomProgram(random, Small(), 10);
      std::vector<uint8_t> image = right.memory;
      const auto program = image.begin() + static_cast<std::ptrdiff_t>(right.address - kBase);
      std::vector<uint8_t> spoilt(program, image.end());
      for (uint64_t i = random.Between(1, 6); i-- > 0;) {
        uint8_t& byte = spoilt[random.Below(spoilt.size())];
        byte = random.Below(2) == 0 ? static_cast<uint8_t>(random())
                                    : byte ^ static_cast<uint8_t>(1 << random.Below(8));
      }
      if (!Short(spoilt)) continue;
      std::copy(spoilt.begin(), spoilt.end(), program);
      ASSERT_TRUE(machines->Run(image, right.address, right.instructions.size())) << "no end";
      const uint32_t fault = machines->machine().bench().fault();
      ASSERT_LT(fault, ends.size());
      ++ends[fault];
      if (fault == 0) {
        // It may have left tokens, as it should: only a new machine is in order then.
        machines = std::make_unique<Machines>(timing);
        continue;
      }
      ASSERT_LT(machines->machine().bench().fault_instruction(), right.instructions.size());
      machines->ExpectRest();
      if (testing::Test::HasFatalFailure()) return;
    }
    for (const int kind : {1, 2, 3, 6, 7})
      EXPECT_GT(ends[static_cast<size_t>(kind)], 0) << "fault " << kind;
  }
}

}  // namespace
}  // namespace kiln::rtl
