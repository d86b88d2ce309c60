// The rules of docs/vta-machine.md on programs so small that their cycles can be counted by hand.
// The design point is the default: a beat of 8 bytes, L = 32, instructions of two beats. Cycle 0 is
// S; what the machine shows is F + 1.
//
// With nothing else on the port, instruction i is asked for in 2 i, there in 2 i + 33, at the head
// of fetch's queue in 2 i + 34 and at the head of its stage's queue in 2 i + 35.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kiln/targets/vta/isa/isa.h"
#include "kiln/targets/vta/simulate/cycle/cycle.h"

namespace kiln::vta {
namespace {

class VtaTiming : public testing::Test {
 protected:
  static constexpr uint64_t kBase = 4096, kUopsAt = 512;  // micro-ops from dram 1152 on

  // Runs the program with a memory of two pages that holds it and `uops`.
  RunTime Run(std::string_view text) {
    const Encoding encoding(config_);
    const auto program = Assemble(text, "program", encoding);
    EXPECT_TRUE(program.ok()) << program.status();
    EXPECT_LE(program->size(), kUopsAt);
    std::vector<uint8_t> image(2 * DeviceMemory::kPageBytes, 0);
    std::copy(program->begin(), program->end(), image.begin());
    for (size_t i = 0; i < uops_.size(); ++i) {
      const uint32_t word = encoding.EncodeUop(uops_[i]);
      for (size_t k = 0; k < 4; ++k)
        image[kUopsAt + 4 * i + k] = static_cast<uint8_t>(word >> (8 * k));
    }
    DeviceMemory memory(kBase, image);
    RunTime first;
    for (const bool skips : {true, false}) {
      CycleMachine machine(config_);
      machine.set_skips(skips);
      const auto result = machine.Launch(memory, kBase, program->size() / kInstructionBytes);
      EXPECT_FALSE(result.fault.has_value()) << result.fault->message;
      EXPECT_TRUE(skips || result.time == first);
      first = result.time;
    }
    return first;
  }
  uint64_t Cycles(std::string_view text) { return Run(text).cycles; }

  Config config_ = *ParseOriginalConfig("{}", "default");
  std::vector<Uop> uops_;
};

TEST_F(VtaTiming, Finish) {
  // Dispatched in 35, retired in 36.
  EXPECT_EQ(Cycles("---- FINISH"), 37);
}

TEST_F(VtaTiming, WiderBeatsAndLongerLatency) {
  config_.memory_port_bytes = 16;
  config_.memory_latency = 100;
  // One beat: there in 100, at the head of the compute queue in 102.
  EXPECT_EQ(Cycles("---- FINISH"), 104);
}

TEST_F(VtaTiming, OneLoad) {
  // Starts in 35, asks in 36, 38, 40, 42; the last word is there in 42 + 1 + 32 = 75, its token is
  // counted in 76, when FINISH is dispatched.
  const RunTime run =
      Run("---N LOAD inp sram=0 dram=320 y=1 x=4 stride=4 pad(y0,y1,x0,x1)=0,0,0,0\n"
          "p--- FINISH");
  EXPECT_EQ(run.cycles, 78);
  EXPECT_EQ(run.counters[Counter::kLoadInstructions], 1);
  EXPECT_EQ(run.counters[Counter::kLoadBusy], 7);
  EXPECT_EQ(run.counters[Counter::kComputeTokens], 76 - 37);
  EXPECT_EQ(run.counters[Counter::kInputBytes], 64);
  EXPECT_EQ(run.counters[Counter::kReadBeats], 8 + 4);
  EXPECT_EQ(run.counters[Counter::kFetchInstructions], 2);
  EXPECT_EQ(run.counters[Counter::kInstructionBytes], 32);
}

TEST_F(VtaTiming, ElementsOfManyBeats) {
  config_.block_in = config_.block_out = 32;
  config_.weight_bits = 16;
  // Padding in 36 to 39, elements of 256 beats in 40 and 296, with nothing else to come: the last
  // is there in 296 + 255 + 32.
  EXPECT_EQ(
      Cycles("---N LOAD wgt sram=0 dram=3 y=1 x=2 stride=2 pad(y0,y1,x0,x1)=0,0,4,0\np--- FINISH"),
      586);
}

TEST_F(VtaTiming, Padding) {
  // Padding is asked for in 36 and there in 38, data in 37 and 70, padding in 39 and behind that
  // word, in 71.
  EXPECT_EQ(
      Cycles(
          "---N LOAD inp sram=0 dram=320 y=1 x=1 stride=1 pad(y0,y1,x0,x1)=0,0,1,1\np--- FINISH"),
      74);
  // Nothing but padding, which a load without rows has: 36 to 41, there in 38 to 43.
  EXPECT_EQ(
      Cycles(
          "---N LOAD inp sram=0 dram=320 y=0 x=3 stride=1 pad(y0,y1,x0,x1)=1,1,0,0\np--- FINISH"),
      46);
}

TEST_F(VtaTiming, OneGemm) {
  // Examined from 35 on, dispatched in 38, taken in 39; steps 40 to 49, done in 54. FINISH is
  // dispatched in 39 and retires in 55.
  const RunTime run = Run("---- GEMM uop[0,1) loop 1x10 dst(0,0) src(0,0) wgt(0,0)\n---- FINISH");
  EXPECT_EQ(run.cycles, 56);
  EXPECT_EQ(run.counters[Counter::kComputeExamining], 3);
  EXPECT_EQ(run.counters[Counter::kGemmSteps], 10);
  EXPECT_EQ(run.counters.accumulator_writes(), 10);
  // More micro-ops are more cycles of examination and more steps.
  EXPECT_EQ(Cycles("---- GEMM uop[0,5) loop 2x5 dst(0,0) src(0,0) wgt(0,0)\n---- FINISH"),
            56 + 4 + 40);
}

TEST_F(VtaTiming, GemmsBackToBack) {
  // The second is examined in 39 to 41, dispatched in 42 and taken in the first one's last step,
  // 49: steps 50 to 59.
  EXPECT_EQ(Cycles("---- GEMM uop[0,1) loop 1x10 dst(0,0) src(0,0) wgt(0,0)\n"
                   "---- GEMM uop[0,1) loop 10x1 dst(0,0) src(0,0) wgt(0,0)\n---- FINISH"),
            66);
}

TEST_F(VtaTiming, NoSteps) {
  // Neither examined nor given to a unit: dispatched in 35, retired in 36; FINISH in 37 and 38.
  EXPECT_EQ(Cycles("---- GEMM uop[0,1) loop 0x10 dst(0,0) src(0,0) wgt(0,0)\n---- FINISH"), 39);
  EXPECT_EQ(Cycles("---- ALU add imm=1 uop[3,3) loop 1x1 dst(0,0) src(0,0)\n---- FINISH"), 39);
  EXPECT_EQ(Cycles("---- NOP stage=compute\n---- FINISH"), 39);
}

TEST_F(VtaTiming, AluWithImmediateAndReset) {
  // Taken in 39, steps 40 to 49, done in 53.
  EXPECT_EQ(Cycles("---- ALU add imm=1 uop[0,1) loop 1x10 dst(0,0) src(0,0)\n---- FINISH"), 55);
  const RunTime reset =
      Run("---- GEMM reset uop[0,1) loop 1x10 dst(0,0) src(0,0) wgt(0,0)\n---- FINISH");
  EXPECT_EQ(reset.cycles, 55);
  EXPECT_EQ(reset.counters[Counter::kResetSteps], 10);
  EXPECT_EQ(reset.counters[Counter::kAluBusy], 10);
  EXPECT_EQ(reset.counters[Counter::kGemmSteps], 0);
}

TEST_F(VtaTiming, AluWithSecondOperand) {
  const std::string program =
      "---- LOAD uop sram=1 dram=1152 y=1 x=1 stride=1 pad(y0,y1,x0,x1)=0,0,0,0\n"
      "---- ALU add uop[1,2) loop 1x10 dst(0,1) src(0,1)\n---- FINISH";
  // The micro-op is asked for in 37 and there in 69; the ALU instruction is examined in 70 to 72,
  // dispatched in 73, taken in 74. With another bank's operand its steps are 76 to 85, done in 89.
  uops_ = {{.dst = 0, .src = 512, .weight = 0}};
  RunTime run = Run(program);
  EXPECT_EQ(run.cycles, 91);
  EXPECT_EQ(run.counters[Counter::kComputeMicroOpsLoading], 70 - 37);
  EXPECT_EQ(run.counters[Counter::kAluBusy], 11);
  EXPECT_EQ(run.counters[Counter::kUopBytes], 4);
  // From its own bank: every other cycle from 76 to 94, done in 98.
  uops_ = {{.dst = 0, .src = 0, .weight = 0}};
  run = Run(program);
  EXPECT_EQ(run.cycles, 100);
  EXPECT_EQ(run.counters[Counter::kAluBusy], 20);
  EXPECT_EQ(run.counters[Counter::kAluSteps], 10);
  // Indices that run into the other's bank, too.
  uops_ = {{.dst = 505, .src = 512, .weight = 0}};
  EXPECT_EQ(Cycles(program), 100);
}

TEST_F(VtaTiming, BanksKeepUnitsApart) {
  const std::string program =
      "---- LOAD uop sram=1 dram=1152 y=1 x=1 stride=1 pad(y0,y1,x0,x1)=0,0,0,0\n"
      "---- GEMM uop[0,1) loop 1x10 dst(0,0) src(0,0) wgt(0,0)\n"
      "---- ALU add imm=1 uop[1,2) loop 1x10 dst(0,0) src(0,0)\n---- FINISH";
  // GEMM: dispatched in 73, taken in 74, steps 75 to 84, done in 89. ALU in another bank:
  // dispatched in 77, taken in 78, steps 79 to 88, done in 92.
  uops_ = {{.dst = 512, .src = 0, .weight = 0}};
  RunTime run = Run(program);
  EXPECT_EQ(run.cycles, 94);
  EXPECT_EQ(run.counters[Counter::kComputeBanks], 0);
  // In the same bank it is dispatched in 90: done in 105.
  config_.accumulator_banks = 1;
  run = Run(program);
  EXPECT_EQ(run.cycles, 107);
  EXPECT_EQ(run.counters[Counter::kComputeBanks], 90 - 77);
}

TEST_F(VtaTiming, MicroOpsInUse) {
  // GEMM: taken in 39, done in 54. The load is at the head from 39 on and dispatched in 55, taken
  // in 56, asked for in 57 and there in 89, when it retires.
  const RunTime run =
      Run("---- GEMM uop[0,1) loop 1x10 dst(0,0) src(0,0) wgt(0,0)\n"
          "---- LOAD uop sram=0 dram=1152 y=1 x=1 stride=1 pad(y0,y1,x0,x1)=0,0,0,0\n---- FINISH");
  EXPECT_EQ(run.cycles, 91);
  EXPECT_EQ(run.counters[Counter::kComputeMicroOpsInUse], 55 - 39);
}

TEST_F(VtaTiming, Tokens) {
  // Load no-op: starts in 35, asks in 36, there behind the last instruction, in 40. Compute no-op:
  // dispatched in 41, gives its token in 42. Load no-op: starts in 43, there in 46. FINISH:
  // dispatched in 47.
  const RunTime run =
      Run("---N NOP stage=load\np-P- NOP stage=compute\n"
          "-n-N NOP stage=load\np--- FINISH");
  EXPECT_EQ(run.cycles, 49);
  EXPECT_EQ(run.counters[Counter::kLoadTokens], 43 - 39);
  EXPECT_EQ(run.counters[Counter::kLoadBusy], 2);
  EXPECT_EQ(run.counters[Counter::kComputeTokens], (41 - 37) + (47 - 42));
}

TEST_F(VtaTiming, OneStore) {
  const std::string store = "STORE out sram=0 dram=320 y=1 x=3 stride=3 pad(y0,y1,x0,x1)=0,0,0,0\n";
  // Starts in 35, reads in 36, is taken in 37, 39, 41; in memory in 42 + 32.
  const RunTime run = Run("--P- " + store + "-n-- FINISH");
  EXPECT_EQ(run.cycles, 77);
  EXPECT_EQ(run.counters[Counter::kStoreBusy], 6);
  EXPECT_EQ(run.counters[Counter::kWriteBeats], 6);
  EXPECT_EQ(run.counters[Counter::kOutputBytes], 48);
  // A no-op behind it starts in 42 and is done when nothing is outstanding, in 75.
  const RunTime drained = Run("---- " + store + "--P- NOP stage=store\n-n-- FINISH");
  EXPECT_EQ(drained.cycles, 78);
  EXPECT_EQ(drained.counters[Counter::kStoreBusy], 6 + 75 - 42);
  // A second store starts in 42, too, reads in 43, and is taken in 44, 46, 48: in memory in 81.
  EXPECT_EQ(Cycles("---- " + store + "--P- " + store + "-n-- FINISH"), 84);
}

TEST_F(VtaTiming, OneReadPort) {
  // The load stage asks in 36 and 38. The loader takes its load in 38 and can ask from 39 on, but
  // the port is free in 40: two elements of 8 beats in 40 and 48. Then the load stage again, in 56
  // and 58: there in 91.
  const RunTime run =
      Run("---N LOAD inp sram=0 dram=320 y=1 x=4 stride=4 pad(y0,y1,x0,x1)=0,0,0,0\n"
          "---- LOAD acc sram=0 dram=80 y=1 x=2 stride=2 pad(y0,y1,x0,x1)=0,0,0,0\n"
          "p--- FINISH");
  EXPECT_EQ(run.cycles, 94);
  EXPECT_EQ(run.counters[Counter::kLoadPort], 16);
  EXPECT_EQ(run.counters[Counter::kLoaderPort], 1);
  EXPECT_EQ(run.counters[Counter::kLoadBusy], 58 - 35);
  EXPECT_EQ(run.counters[Counter::kLoaderBusy], 48 - 38);
  EXPECT_EQ(run.counters[Counter::kAccumulatorBytes], 128);
}

TEST_F(VtaTiming, FullStageQueue) {
  config_.instruction_queue_depth = 2;
  // The load asks in 36 to 74; the no-ops behind it start in 75, 77, 79, 81 and come behind its
  // last word, 107, in 108 to 111. No-op 3 waits in fetch from 40 to 75 for room, no-op 4 in 77.
  const RunTime run =
      Run("---- LOAD inp sram=0 dram=320 y=1 x=20 stride=20 pad(y0,y1,x0,x1)=0,0,0,0\n"
          "---- NOP stage=load\n---- NOP stage=load\n---- NOP stage=load\n---N NOP stage=load\n"
          "p--- FINISH");
  EXPECT_EQ(run.cycles, 114);
  EXPECT_EQ(run.counters[Counter::kFetchQueueFull], 36 + 1);
}

TEST_F(VtaTiming, FullUnitQueue) {
  std::string program = "---- GEMM uop[0,1) loop 1x200 dst(0,0) src(0,0) wgt(0,0)\n";
  for (int i = 0; i < 9; ++i) program += "---- GEMM uop[0,1) loop 1x1 dst(0,0) src(0,0) wgt(0,0)\n";
  // The first is taken in 39 and has its last step in 239. Eight more fill the queue by 71; the
  // ninth could go in 74 and goes in 240, when the first of the eight has left. One step each in
  // 240 to 247, the ninth's in 248, done in 253.
  const RunTime run = Run(program + "---- FINISH");
  EXPECT_EQ(run.cycles, 255);
  EXPECT_EQ(run.counters[Counter::kComputeQueueFull], 240 - 74);
}

TEST_F(VtaTiming, FetchAsksForSixteenAtMost) {
  // Sixteen are asked for in 0 to 30, the seventeenth when the first has been handed on, in 34: in
  // 35, there in 68, at the head of its queue in 70.
  std::string program;
  for (int i = 0; i < 16; ++i) program += "---- NOP stage=compute\n";
  EXPECT_EQ(Cycles(program + "---- FINISH"), 72);
}

TEST_F(VtaTiming, FetchLeavesThePortToDataWhenEightStand) {
  // The load has requests from 36 on. Fetch asks in 35, 37, ... as instructions are handed on; the
  // first no-op, handed on in 36, waits for the load, and those behind it for that one: eight stand
  // in the queue in 51, and the load has the port from then to 450, when two instructions are left
  // to be fetched. Its last word is there in 482, so the no-ops are dispatched in 483 to 506,
  // FINISH in 507.
  std::string program =
      "---N LOAD inp sram=0 dram=512 y=1 x=200 stride=200 pad(y0,y1,x0,x1)=0,0,0,0\np--- NOP "
      "stage=compute\n";
  for (int i = 0; i < 23; ++i) program += "---- NOP stage=compute\n";
  const RunTime run = Run(program + "---- FINISH");
  EXPECT_EQ(run.counters[Counter::kLoadPort], 51 - 36);
  EXPECT_EQ(run.counters[Counter::kLoadBusy], 449 - 36 + 1);
  EXPECT_EQ(run.cycles, 507 + 2);
}

}  // namespace
}  // namespace kiln::vta
