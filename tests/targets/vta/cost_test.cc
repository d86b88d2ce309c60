#include "kiln/targets/vta/cost/cost.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "kiln/ir/random_graph.h"
#include "kiln/support/random.h"
#include "kiln/targets/vta/accelerator.h"
#include "kiln/targets/vta/simulate/cycle/cycle.h"
#include "tests/targets/energy_checks.h"
#include "tests/targets/vta/compiled.h"
#include "tests/targets/vta/random_program.h"

namespace kiln::vta {
namespace {

Events EventsOf(std::span<const Instruction> program, const Config& config) {
  Events events;
  CountEvents(program, config, &events);
  return events;
}

// What is counted from the instructions is what the cycle level's counters say.
TEST(VtaEvents, AreThoseOfTheCycleLevel) {
  Events all;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(7000 + seed);
    const Config config = RandomConfig(random);
    const RandomProgram program = MakeRandomProgram(random, config, 40);
    DeviceMemory memory(RandomProgram::kBase, program.memory);
    CycleMachine machine(config);
    const auto run = machine.Launch(memory, program.address, program.instructions.size());
    const std::string text = program.Text(config);
    if (run.fault.has_value() && run.fault->kind == FaultKind::kDeadlock)
      continue;  // queues too short for it
    ASSERT_FALSE(run.fault.has_value()) << text;
    const Counters& c = run.time.counters;
    const Events events = EventsOf(program.instructions, config);
    const std::pair<int64_t, Counter> rows[] = {
        {events.all_instructions(), Counter::kFetchInstructions},
        {events.instructions[static_cast<size_t>(Stage::kLoad)], Counter::kLoadInstructions},
        {events.instructions[static_cast<size_t>(Stage::kCompute)], Counter::kComputeInstructions},
        {events.instructions[static_cast<size_t>(Stage::kStore)], Counter::kStoreInstructions},
        {events.gemm_steps, Counter::kGemmSteps},
        {events.all_alu_steps(), Counter::kAluSteps},
        {events.reset_steps, Counter::kResetSteps},
        // An examination takes two cycles more than it reads micro-ops.
        {events.uops_examined + 2 * events.instructions_examined, Counter::kComputeExamining},
        {events.instruction_bytes, Counter::kInstructionBytes},
        {events.uop_bytes, Counter::kUopBytes},
        {events.input_bytes, Counter::kInputBytes},
        {events.weight_bytes, Counter::kWeightBytes},
        {events.accumulator_bytes, Counter::kAccumulatorBytes},
        {events.output_bytes, Counter::kOutputBytes}};
    for (const auto& [counted, counter] : rows) {
      const CounterInfo& info = CounterTable()[static_cast<size_t>(counter)];
      EXPECT_EQ(counted, static_cast<int64_t>(c[counter])) << info.unit << " " << info.name << "\n"
                                                           << text;
    }
    CountEvents(program.instructions, config, &all);
  }
  // The programs have had everything in them.
  for (const int64_t steps : all.alu_steps) EXPECT_GT(steps, 0);
  EXPECT_GT(all.second_operands, 0);
  EXPECT_LT(all.second_operands, all.all_alu_steps());
  for (const int64_t count : {all.gemm_steps, all.reset_steps, all.uops_loaded, all.inputs_loaded,
                              all.weights_loaded, all.accumulators_loaded, all.outputs_stored}) {
    EXPECT_GT(count, 0);
  }
}

// Elements with their padding, which no counter sees; bytes are those without it.
TEST(VtaEvents, PaddingIsWrittenAndNotRead) {
  const Config config = PynqConfig();
  Instruction load{
      .opcode = Opcode::kLoad, .memory = Memory::kInput, .y_size = 3, .x_size = 5, .x_stride = 8};
  load.y_pad_before = load.x_pad_after = 1;
  const Events events = EventsOf({&load, 1}, config);
  EXPECT_EQ(events.inputs_loaded, 4 * 6);
  EXPECT_EQ(events.input_bytes, 3 * 5 * 16);
  const auto energy = EnergyOf(events, config, kDefaultNode);
  ASSERT_TRUE(energy.ok());
  for (const EnergyPart& part : energy->parts) {
    if (part.unit == "input buffer") {
      EXPECT_EQ(part.count, 4 * 6 * 128);
    } else if (part.unit == "outer memory") {
      EXPECT_EQ(part.count, 3 * 5 * 16 + 16);
    }
  }
}

// By hand: a GEMM instruction of the paper's machine, 256 products a step of which 16 lots of 16
// are summed.
TEST(VtaEnergy, OfOneInstruction) {
  const Config config = PynqConfig();
  const Instruction gemm{
      .opcode = Opcode::kGemm, .uop_begin = 0, .uop_end = 2, .outer = 3, .inner = 4};
  const auto energy = EnergyOf(EventsOf({&gemm, 1}, config), config, kDefaultNode);
  ASSERT_TRUE(energy.ok());
  constexpr int64_t kSteps = 24, kUopBits = 11 + 11 + 10;
  const std::tuple<const char*, const char*, int64_t> expected[] = {
      {"GEMM unit", "multiplications", kSteps * 256},
      {"GEMM unit", "additions of products", kSteps * 240},
      {"GEMM unit", "accumulations", kSteps * 16},
      {"GEMM unit", "register bits", kSteps * (256 * 16 + 16 * 20 + 2 * 512)},
      {"accumulators", "bits read and written", kSteps * 2 * 512},
      {"output buffer", "bits read and written", kSteps * 128},
      {"input buffer", "bits read and written", kSteps * 128},
      {"weight buffer", "bits read and written", kSteps * 2048},
      {"micro-op buffer", "bits read and written", (kSteps + 2) * kUopBits},
      {"memory port", "register bits", 128},
      {"fetch and queues", "register bits", 128},
      {"fetch and queues", "bits of the compute queue read and written", 2 * (128 + 32 + 4)},
      {"outer memory", "bytes", 16}};
  ASSERT_EQ(energy->parts.size(), std::size(expected));
  for (size_t i = 0; i < energy->parts.size(); ++i) {
    const auto& [unit, event, count] = expected[i];
    EXPECT_EQ(energy->parts[i].unit, unit);
    EXPECT_EQ(energy->parts[i].event, event);
    EXPECT_EQ(energy->parts[i].count, count) << unit << " " << event;
  }
  EXPECT_NEAR(energy->parts[0].picojoules_each, 0.2,
              0.005);  // Horowitz: a multiplication of 8 bits
}

TEST(VtaEnergy, ScalesByNode) {
  Random random(14);
  const Config config = RandomConfig(random);
  const Events events = EventsOf(MakeRandomProgram(random, config, 40).instructions, config);
  ExpectAllButOuterMemoryScalesByNode(
      [&](int node_nm) { return EnergyOf(events, config, node_nm); });
  EXPECT_FALSE(CostOf(config, 22).ok());
}

// That of a network is that of its launches, whatever the host has to do.
TEST(VtaEnergy, OfANetwork) {
  const VtaAccelerator accelerator(PynqConfig());
  RandomGraphOptions options;
  options.ops = {Op::kConv};
  Graph graph = RandomGraph(3, options);
  const Batch images = RandomImages(graph, 2, 5);
  const auto program = accelerator.Compile(Prepare(std::move(graph), images, Recipe()), {});
  ASSERT_TRUE(program.ok()) << program.status();
  const auto* compiled = dynamic_cast<const VtaProgram*>(program->get());
  ASSERT_NE(compiled, nullptr);
  Events events;
  for (const Step& step : compiled->parts().steps) {
    if (step.launch.has_value())
      CountEvents(step.launch->instructions, accelerator.config(), &events);
  }
  EXPECT_GT(events.gemm_steps, 0);
  const auto energy = accelerator.EstimateEnergy(*compiled, 16),
             again = EnergyOf(events, accelerator.config(), 16);
  ASSERT_TRUE(energy.ok() && again.ok());
  EXPECT_GT(energy->picojoules(), 0);
  EXPECT_EQ(energy->picojoules(), again->picojoules());
}

TEST(VtaCost, EveryDesignPointHasAnArea) {
  int points = 0;
  for (const auto& file : std::filesystem::directory_iterator("accelerators")) {
    if (!file.path().filename().string().starts_with("vta-")) continue;
    const auto config = LoadConfig(file.path().string());
    ASSERT_TRUE(config.ok()) << config.status();
    const auto cost = CostOf(*config, 45);
    ASSERT_TRUE(cost.ok()) << cost.status();
    ++points;
    EXPECT_TRUE(cost->missing.empty());
    EXPECT_EQ(cost->multipliers, int64_t{config->batch} * config->block_in * config->block_out);
    double sum = 0;
    int64_t bits = 0;
    for (const UnitArea& unit : cost->units) {
      EXPECT_GT(unit.total(), 0) << unit.unit;
      sum += unit.total();
      bits += unit.memory_bits;
    }
    EXPECT_NEAR(sum, cost->area_square_micrometres, 1e-6 * sum);
    EXPECT_EQ(bits, cost->on_chip_memory_bits);
    EXPECT_GT(cost->gate_equivalents, 0);
    EXPECT_LT(cost->area_error, 0.1);
    for (const EventEnergy& event : cost->events) EXPECT_GT(event.picojoules, 0) << event.event;
  }
  EXPECT_GE(points, 3);
}

// On-chip bits are those of the buffers, of the two further copies of the micro-ops, of the output
// buffer, and of the three queues with their instructions' numbers.
TEST(VtaCost, CountsTheMemoriesOfTheMachine) {
  const Config config = PynqConfig();
  const auto cost = CostOf(config, 45);
  ASSERT_TRUE(cost.ok());
  constexpr int64_t kKibibyte = 8 * 1024, kQueues = 512 * (160 + 164 + 160);
  EXPECT_EQ(cost->on_chip_memory_bits, (3 * 16 + 32 + 256 + 128 + 32) * kKibibyte + kQueues);
}

}  // namespace
}  // namespace kiln::vta
