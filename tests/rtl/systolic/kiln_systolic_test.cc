// The whole machine (kiln_systolic) against the cycle level: random programs in one memory, through AXI4 ports. Bits
// always; with an ideal memory also the cycle in which every instruction is finished.
#include <gtest/gtest.h>
#include <verilated.h>

#include <memory>
#include <string>
#include <vector>

#include "Vsystolic_4x4.h"
#include "Vsystolic_4x8.h"
#include "kiln/support/random.h"
#include "kiln/targets/systolic/cycle.h"
#include "rtl/testbench/kiln_systolic_bench.h"
#include "tests/targets/systolic/random_program.h"

namespace kiln::rtl {
namespace {

using systolic::Config;
using testbench::AxiTiming;

constexpr int64_t kMemoryBytes = int64_t{1} << 20;  // MEMORY_BYTES of the models

// The design points of the models: the parameters of CMakeLists.txt.
Config Base() {
  Config c;
  c.name = "model";
  c.input_buffer_words = 256;
  c.weight_buffer_words = 96;
  c.accumulation_buffer_words = 64;
  c.depthwise_buffer_words = 256;
  c.vector_row_buffer_words = 16;
  c.vector_stage_latency = 2;
  c.memory_bytes = kMemoryBytes;
  return c;
}
Config Square() {
  Config c = Base();
  c.array_rows = c.array_columns = 4;
  c.vector_stages = 4;
  c.vector_rows_in_flight = 4;
  c.input_port_bytes = c.weight_port_bytes = c.operand_port_bytes = c.output_port_bytes = 16;
  c.memory_latency = 16;
  c.depthwise_multipliers = 4;
  return c;
}
Config Wide() {
  Config c = Base();
  c.array_rows = 4;
  c.array_columns = 8;
  c.weight_rows_per_cycle = 2;
  c.accumulation_buffer_banks = 1;
  c.vector_stages = 3;
  c.vector_stage_latency = 3;
  c.vector_rows_in_flight = 2;
  c.input_port_bytes = 8;
  c.weight_port_bytes = 32;
  c.operand_port_bytes = 8;
  c.operand_buffer_words = 11;
  c.command_queue_depth = 2;
  c.output_port_bytes = 64;
  c.instruction_bytes_per_cycle = 32;
  c.memory_latency = 9;
  c.depthwise_multipliers = 1;
  return c;
}

template <typename Model>
void RunRandomPrograms(const Config& config, const AxiTiming& timing, bool timed, uint64_t first_seed, int programs) {
  for (uint64_t seed = first_seed; seed < first_seed + static_cast<uint64_t>(programs); ++seed) {
    Random random(seed);
    const systolic::RandomProgramCase program =
        systolic::RandomProgram(random, config, static_cast<int>(random.Between(1, 6)));
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + program.Text(config));

    std::vector<uint8_t> expected = program.memory;
    const auto trace = systolic::RunInstructions(config, program.instructions, expected);
    ASSERT_TRUE(trace.ok()) << trace.status();

    const std::vector<uint8_t> bits = program.Encoded(config);
    VerilatedContext context;
    context.randReset(2);
    context.randSeed(static_cast<int>(seed) + 1);
    Model model(&context);
    const testbench::SystolicPorts ports{
        static_cast<unsigned>(config.instruction_bytes_per_cycle), static_cast<unsigned>(config.input_port_bytes),
        static_cast<unsigned>(config.weight_port_bytes), static_cast<unsigned>(config.operand_port_bytes),
        static_cast<unsigned>(config.output_port_bytes)};
    testbench::SystolicBench<Model> bench(&model, ports, kMemoryBytes, timing, seed);
    std::vector<uint8_t>& memory = bench.memory().bytes();
    std::copy(program.memory.begin(), program.memory.end(), memory.begin());
    std::copy(bits.begin(), bits.end(), memory.begin() + static_cast<std::ptrdiff_t>(program.address));
    ASSERT_TRUE(bench.Run(program.address, 2'000'000)) << "the machine did not end";
    EXPECT_EQ(bench.Error(), 0u);
    const auto at = std::mismatch(expected.begin(), expected.end(), memory.begin());
    ASSERT_EQ(at.first, expected.end()) << "byte " << at.first - expected.begin();
    ASSERT_EQ(bench.finished().size(), program.instructions.size());
    EXPECT_FALSE(context.gotError());
    if (!timed) continue;
    std::vector<int64_t> ends, finished(bench.finished().begin(), bench.finished().end());
    for (const KernelTrace& kernel : trace->kernels) ends.push_back(kernel.end);
    ASSERT_EQ(finished, ends);
  }
}

AxiTiming Ideal(const Config& config) {
  AxiTiming timing;
  timing.latency = static_cast<uint64_t>(config.memory_latency - kAxiPortLatency);
  return timing;
}

TEST(SystolicMachine, BitsAndCyclesOfRandomPrograms) {
  RunRandomPrograms<Vsystolic_4x4>(Square(), Ideal(Square()), true, 1, 150);
}
TEST(SystolicMachine, BitsAndCyclesOfAnotherDesignPoint) {
  RunRandomPrograms<Vsystolic_4x8>(Wide(), Ideal(Wide()), true, 1000, 100);
}
TEST(SystolicMachine, BitsStayUnderStalls) {
  RunRandomPrograms<Vsystolic_4x4>(Square(), AxiTiming(Ideal(Square())).StallAll(0.4), false, 2000, 60);
}
TEST(SystolicMachine, BitsStayBehindDram) {
  AxiTiming timing;
  timing.latency = 30;
  timing.bytes_per_cycle = 6;
  timing.row_miss = 20;
  RunRandomPrograms<Vsystolic_4x8>(Wide(), timing, false, 3000, 40);
}

}  // namespace
}  // namespace kiln::rtl
