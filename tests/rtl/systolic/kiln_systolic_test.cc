// Compares the whole machine (kiln_systolic) with the cycle level: random programs in one memory,
// through AXI4 ports. Bits and bytes transferred must always agree; with an ideal memory, and
// behind DRAMs that the cycle level simulates, also the cycle in which every instruction finishes,
// and the activity of every unit.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "Vsystolic_4x4.h"
#include "Vsystolic_4x8.h"
#include "Vsystolic_bf16.h"
#include "Vsystolic_blocks_2x2.h"
#include "Vsystolic_blocks_2x4.h"
#include "Vsystolic_precisions.h"
#include "Vsystolic_shared_bus.h"
#include "kiln/ir/text.h"
#include "kiln/targets/systolic/compile/codegen.h"
#include "kiln/targets/systolic/compile/lower.h"
#include "kiln/targets/systolic/isa/units.h"
#include "kiln/targets/systolic/simulate/binding.h"
#include "kiln/targets/systolic/simulate/cycle/cycle.h"
#include "kiln/targets/systolic/simulate/functional/functional.h"
#include "tests/rtl/systolic/machine.h"

namespace kiln::rtl {
namespace {

// What the machine's performance counters say, read over AXI4-Lite.
template <typename Bench>
UnitTrace CountersOf(Bench& bench, uint32_t unit) {
  const systolic::UnitInfo& info = systolic::kUnitTable[unit];
  UnitTrace counted;
  counted.name = info.name;
  counted.busy_cycles = static_cast<int64_t>(bench.Counter(unit, 0));
  for (uint32_t i = 0; i < systolic::kCauses; ++i) {
    const auto cycles = static_cast<int64_t>(bench.Counter(unit, 1 + i));
    if (cycles == 0) continue;
    EXPECT_NE(info.causes[i], nullptr)
        << info.name << ": counts " << cycles << " cycles of a cause that it has not";
    if (info.causes[i] != nullptr) counted.stall_cycles[info.causes[i]] = cycles;
  }
  counted.bytes_read = static_cast<int64_t>(bench.Counter(unit, 4));
  counted.bytes_written = static_cast<int64_t>(bench.Counter(unit, 5));
  return counted;
}

// The counters are the cycle level's, `timed`: also those of cycles.
template <typename Bench>
void CompareCounters(Bench& bench, const Trace& trace, bool timed) {
  ASSERT_EQ(trace.units.size(), systolic::kUnits);
  for (uint32_t u = 0; u < systolic::kUnits; ++u) {
    const UnitTrace counted = CountersOf(bench, u), &expected = trace.units[u];
    EXPECT_EQ(counted.name, expected.name);
    EXPECT_EQ(counted.bytes_read, expected.bytes_read) << expected.name;
    EXPECT_EQ(counted.bytes_written, expected.bytes_written) << expected.name;
    if (!timed) continue;
    EXPECT_EQ(counted.busy_cycles, expected.busy_cycles) << expected.name;
    EXPECT_EQ(counted.stall_cycles, expected.stall_cycles) << expected.name;
  }
}

// Runs a program on the machine: bits and counters as at the cycle level; `timed`: cycles, too.
template <typename Model>
void Compare(const Config& config, const RandomProgramCase& program, const AxiTiming& timing,
             bool timed, uint64_t seed) {
  std::vector<uint8_t> expected = program.memory;
  const bool ideal = timing.bytes_per_cycle == 0 && timing.latency <= Ideal(config).latency;
  const auto trace = timed && !ideal
                         ? systolic::RunInstructionsBehind(timing, config, program.instructions,
                                                           program.address, expected)
                         : systolic::RunInstructions(config, program.instructions, expected);
  ASSERT_TRUE(trace.ok()) << trace.status();

  Machine<Model> machine(config, timing, seed);
  machine.Load(program, program.Encoded(config));
  ASSERT_TRUE(machine.bench().Run(program.address, 2'000'000)) << "the machine did not end";
  EXPECT_EQ(machine.bench().Error(), 0u);
  const auto at =
      std::mismatch(expected.begin(), expected.end(), machine.bench().memory().bytes().begin());
  ASSERT_EQ(at.first, expected.end()) << "byte " << at.first - expected.begin();
  const std::vector<int64_t> finished(machine.bench().finished().begin(),
                                      machine.bench().finished().end());
  ASSERT_EQ(finished.size(), program.instructions.size());
  if (timed) {
    std::vector<int64_t> ends;
    for (const KernelTrace& kernel : trace->kernels) ends.push_back(kernel.end);
    ASSERT_EQ(finished, ends);
  }
  CompareCounters(machine.bench(), *trace, timed);
}

template <typename Model>
void RunRandomPrograms(const Config& config, const AxiTiming& timing, bool timed,
                       uint64_t first_seed, int programs) {
  for (uint64_t seed = first_seed; seed < first_seed + static_cast<uint64_t>(programs); ++seed) {
    Random random(seed);
    const RandomProgramCase program =
        systolic::RandomProgram(random, config, static_cast<int>(random.Between(1, 6)));
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + program.Text(config));
    Compare<Model>(config, program, timing, timed, seed);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(SystolicMachine, BitsAndCyclesOfRandomPrograms) {
  RunRandomPrograms<Vsystolic_4x4>(SquareWithUserUnit(), Ideal(Square()), true, 1, 150);
}
TEST(SystolicMachine, BitsAndCyclesOfAnotherDesignPoint) {
  RunRandomPrograms<Vsystolic_4x8>(Wide(), Ideal(Wide()), true, 1000, 100);
}
TEST(SystolicMachine, BitsAndCyclesWithBlockScales) {
  RunRandomPrograms<Vsystolic_blocks_2x2>(Blocks(), Ideal(Blocks()), true, 4000, 60);
  RunRandomPrograms<Vsystolic_blocks_2x4>(NarrowBlocks(), Ideal(NarrowBlocks()), true, 5000, 40);
}
TEST(SystolicMachine, BitsAndCyclesInBf16) {
  RunRandomPrograms<Vsystolic_bf16>(Bf16(), Ideal(Bf16()), true, 8000, 120);
  RunRandomPrograms<Vsystolic_bf16>(Bf16(), AxiTiming(Ideal(Bf16())).StallAll(0.4), false, 9000,
                                    40);
}
TEST(SystolicMachine, BitsAndCyclesInSeveralPrecisions) {
  RunRandomPrograms<Vsystolic_precisions>(Precisions(), Ideal(Precisions()), true, 10000, 120);
  RunRandomPrograms<Vsystolic_precisions>(
      Precisions(), AxiTiming(Ideal(Precisions())).StallAll(0.4), false, 11000, 40);
}
TEST(SystolicMachine, BitsWithBlockScalesStayUnderStalls) {
  RunRandomPrograms<Vsystolic_blocks_2x2>(Blocks(), AxiTiming(Ideal(Blocks())).StallAll(0.4), false,
                                          6000, 40);
  RunRandomPrograms<Vsystolic_blocks_2x4>(
      NarrowBlocks(), AxiTiming(Ideal(NarrowBlocks())).StallAll(0.3), false, 7000, 30);
}
TEST(SystolicMachine, BitsStayUnderStalls) {
  RunRandomPrograms<Vsystolic_4x4>(SquareWithUserUnit(), AxiTiming(Ideal(Square())).StallAll(0.4),
                                   false, 2000, 60);
}
// Memories that the cycle level simulates: DRAMs that are slower than the ports, so slow that
// writes fill all queues, and far with few banks; and an ideal memory for which the ports cannot
// keep enough requests in flight.
struct DramTimings {
  AxiTiming near, slow, fast, far;
  DramTimings() {
    near.latency = 30;
    near.bytes_per_cycle = 6;
    near.row_miss = 20;
    slow = near;
    slow.latency = 3;
    slow.bytes_per_cycle = 1.5;
    fast.latency = 60;
    fast.bytes_per_cycle = 40;
    fast.row_miss = 9;
    fast.row_bytes = 256;
    fast.banks = 2;
    far.latency = 90;
  }
};
TEST(SystolicMachine, BitsAndCyclesBehindDrams) {
  const DramTimings drams;
  Config wide = Wide();
  wide.memory_latency = kWideMemoryLatency;  // the model's room for requests in flight
  RunRandomPrograms<Vsystolic_4x8>(wide, drams.near, true, 3000, 20);
  RunRandomPrograms<Vsystolic_4x4>(SquareWithUserUnit(), drams.slow, true, 3100, 5);
  RunRandomPrograms<Vsystolic_bf16>(Bf16(), drams.fast, true, 3200, 15);
  RunRandomPrograms<Vsystolic_precisions>(Precisions(), drams.far, true, 3300, 15);
}
// The same on a bus that all ports share, whose reads wait for each other's beats.
TEST(SystolicMachine, BitsAndCyclesOnASharedBusBehindDrams) {
  const DramTimings drams;
  RunRandomPrograms<Vsystolic_shared_bus>(SharedBus(), drams.near, true, 3400, 15);
  RunRandomPrograms<Vsystolic_shared_bus>(SharedBus(), drams.slow, true, 3500, 5);
  RunRandomPrograms<Vsystolic_shared_bus>(SharedBus(), drams.fast, true, 3600, 15);
  RunRandomPrograms<Vsystolic_shared_bus>(SharedBus(), drams.far, true, 3700, 15);
}
// The same with ports for block scales: several words in a scale block, and several scale blocks in
// a word.
TEST(SystolicMachine, BitsAndCyclesWithBlockScalesBehindDrams) {
  const DramTimings drams;
  RunRandomPrograms<Vsystolic_blocks_2x2>(Blocks(), drams.near, true, 4200, 6);
  RunRandomPrograms<Vsystolic_blocks_2x2>(Blocks(), drams.slow, true, 4300, 2);
  RunRandomPrograms<Vsystolic_blocks_2x2>(Blocks(), drams.fast, true, 4400, 6);
  RunRandomPrograms<Vsystolic_blocks_2x2>(Blocks(), drams.far, true, 4500, 6);
  RunRandomPrograms<Vsystolic_blocks_2x4>(NarrowBlocks(), drams.near, true, 5100, 6);
  RunRandomPrograms<Vsystolic_blocks_2x4>(NarrowBlocks(), drams.slow, true, 5200, 2);
  RunRandomPrograms<Vsystolic_blocks_2x4>(NarrowBlocks(), drams.fast, true, 5300, 6);
  RunRandomPrograms<Vsystolic_blocks_2x4>(NarrowBlocks(), drams.far, true, 5400, 6);
}

// All ports on one bus, in turn.
TEST(SystolicMachine, BitsAndCyclesOnASharedBus) {
  RunRandomPrograms<Vsystolic_shared_bus>(SharedBus(), Ideal(SharedBus()), true, 4000, 150);
}
// Else the test above would say nothing of turns: requests do meet.
TEST(SystolicMachine, ASharedBusIsSlowerThanFive) {
  int slower = 0;
  Config own_ports = SharedBus();
  own_ports.shared_bus = false;
  for (uint64_t seed = 4000; seed < 4150; ++seed) {
    Random random(seed);
    const RandomProgramCase program =
        systolic::RandomProgram(random, SharedBus(), static_cast<int>(random.Between(1, 6)));
    std::vector<uint8_t> memory = program.memory, again = program.memory;
    const auto shared = systolic::RunInstructions(SharedBus(), program.instructions, memory);
    const auto own = systolic::RunInstructions(own_ports, program.instructions, again);
    ASSERT_TRUE(shared.ok() && own.ok());
    EXPECT_EQ(memory, again);
    slower += shared->cycles > own->cycles ? 1 : 0;
  }
  EXPECT_GT(slower, 100);
}
TEST(SystolicMachine, BitsStayOnASharedBusUnderStalls) {
  RunRandomPrograms<Vsystolic_shared_bus>(SharedBus(), AxiTiming(Ideal(SharedBus())).StallAll(0.4),
                                          false, 5000, 40);
}

// A network on a design point with functions and dividers in some stages only (Bf16): the compiler
// has put each where it is. Functional level, cycle level and RTL.
TEST(SystolicMachine, SoftmaxAndLayerNormalisationOnFewFunctionStages) {
  const auto graph = ParseGraph(R"(graph "t" {
  input %x : f32[5x9]
  const %g : f32[9] = [1.0, 0.5, 2.0, 1.5, -1.0, 0.25, 3.0, 1.0, 1.0]
  %1 = softmax %x : f32[5x9]
  %2 = layer_norm %1, %g : f32[5x9]
  %3 = div %2, %x : f32[5x9]
  %4 = tanh %3 : f32[5x9]
  output %4
})",
                                "test.kir");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const Config config = Bf16();
  auto lowered = systolic::Lower(*graph, config, CompileOptions{});
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  const auto compiled = systolic::Generate(*std::move(lowered), *graph, config, CompileOptions{});
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  ASSERT_EQ((*compiled)->steps().size(), 1u) << "the host has a share";
  bool placed = false;  // an exponential behind a stage that passes on
  for (const Instruction& in : (*compiled)->instructions()) {
    for (const systolic::Pass& pass : in.vector.passes)
      placed = placed || (pass.stages.size() == 3 && systolic::IsFunction(pass.stages[2].op));
  }
  EXPECT_TRUE(placed);

  RandomProgramCase program;
  program.instructions = (*compiled)->instructions();
  program.memory.resize((*compiled)->memory_top());
  std::copy((*compiled)->constants().begin(), (*compiled)->constants().end(),
            program.memory.begin() + static_cast<std::ptrdiff_t>((*compiled)->constants_base()));
  Random random(3);
  const systolic::Binding& input = (*compiled)->inputs()[0];
  std::vector<float> x;
  for (int i = 0; i < 45; ++i) x.push_back(static_cast<float>(random.Uniform(-4, 4)));
  ASSERT_TRUE(systolic::Store(Tensor::Of<float>(Shape({5, 9}), x), input, program.memory).ok());
  program.address = (program.memory.size() + 15) / 16 * 16;

  std::vector<uint8_t> functional = program.memory, cycle = program.memory;
  const auto machine =
      systolic::FunctionalMachine::Create(config, program.instructions, functional.size(), 0, {});
  ASSERT_TRUE(machine.ok()) << machine.status();
  (*machine)->Run(0, program.instructions.size(), false, functional);
  ASSERT_TRUE(systolic::RunInstructions(config, program.instructions, cycle).ok());
  EXPECT_EQ(functional, cycle);
  EXPECT_NE(cycle, program.memory);
  Compare<Vsystolic_bf16>(config, program, Ideal(config), true, 1);
}

// Words of a window whose places all lie beside the image (-1 and 1 of a single column) wait for no
// memory, until one before them has. In the second program every other word has a place.
TEST(SystolicMachine, WindowsWithoutAPlaceTakeNoLatency) {
  for (const int32_t columns : {1, 2}) {
    SCOPED_TRACE(testing::Message() << "columns " << columns);
    Instruction in = Copy(5, 512);
    in.vector.outer = {1, 2, columns, 1};
    in.vector.window = {.combine = systolic::Combine::kSum,
                        .window_x = 2,
                        .stride_y = 3,
                        .dilation_x = 2,
                        .pad_left = 1,
                        .height = 4,
                        .width = 1,
                        .row_stride = 5,
                        .column_stride = 5};
    in.vector.output.outer_stride = {0, 10, 5, 0};
    const RandomProgramCase program = ProgramOf({in, in}, 600);
    Compare<Vsystolic_4x4>(Square(), program, Ideal(Square()), true, 1);
    Compare<Vsystolic_4x8>(Wide(), program, Ideal(Wide()), true, 1);
  }
}

// Elements that all have one place leave as one.
TEST(SystolicMachine, OutputsInOnePlace) {
  Instruction in = Copy(13, 512);
  in.vector.output.element_stride = 0;
  const RandomProgramCase program = ProgramOf({in, Copy(13, 520)}, 600);
  Compare<Vsystolic_4x4>(Square(), program, Ideal(Square()), true, 1);
}

// Behind a memory as slow as that, short instructions wait for a place for their stages.
TEST(SystolicMachine, MoreInstructionsUnderWayThanStageMemories) {
  Config config = Wide();
  config.memory_latency = kWideMemoryLatency;
  std::vector<Instruction> instructions;
  for (uint64_t i = 0; i < 60; ++i) {
    Instruction in = Copy(1, 512 + i);
    in.vector.operands.clear();
    in.vector.passes[0].source = systolic::Source::kConstant;
    in.vector.passes[0].constant = static_cast<float>(i);
    instructions.push_back(in);
  }
  const RandomProgramCase program = ProgramOf(instructions, 600);
  std::vector<uint8_t> memory = program.memory;
  const auto trace = systolic::RunInstructions(config, program.instructions, memory);
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_GT(
      trace->units[systolic::kCommandProcessor].stall_cycles.count(systolic::kStageMemoriesFull),
      0u);
  Compare<Vsystolic_4x8>(config, program, Ideal(config), true, 1);
}

// Words of the program that come in two beats, after the queues have been full: how many wait does
// not matter.
TEST(SystolicMachine, FullQueuesBehindAPortOfHalfAWord) {
  // The machine in bf16 has no integers in memory.
  const auto copy = [](int32_t length, uint64_t output) {
    Instruction in = Copy(length, output);
    for (systolic::Stream* stream : {&in.vector.operands[0], &in.vector.output}) {
      stream->element = systolic::Element::kFloat32;
      stream->element_stride = 4;
    }
    return in;
  };
  std::vector<Instruction> instructions = {copy(2000, 8192)};
  for (uint64_t i = 0; i < 10; ++i)
    instructions.push_back(copy(1 + static_cast<int32_t>(i) % 3, 16'400 + 16 * i));
  const RandomProgramCase program = ProgramOf(instructions, 16'800);
  std::vector<uint8_t> memory = program.memory;
  const auto trace = systolic::RunInstructions(Bf16(), program.instructions, memory);
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_GT(trace->units[systolic::kCommandProcessor].stall_cycles.count(systolic::kQueueFull), 0u);
  Compare<Vsystolic_bf16>(Bf16(), program, Ideal(Bf16()), true, 1);
  Compare<Vsystolic_shared_bus>(SharedBus(), program, Ideal(SharedBus()), true, 1);
}

}  // namespace
}  // namespace kiln::rtl
