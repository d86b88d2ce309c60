// Units and events against counts by hand.
#include "kiln/targets/cgra/cost/cost.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "kiln/targets/cgra/cost/events.h"

namespace kiln::cgra {
namespace {

Config FourTiles() {
  Config config;
  config.name = "four";
  config.columns = 4;
  config.lanes = 4;
  config.memory_depth = 64;
  config.ring_entries = 8;
  config.output_depth = 8;
  config.outputs = 2;
  config.wait_limit = 7;
  return config;
}

const UnitParts* Find(const std::vector<UnitParts>& units, const char* name) {
  for (const UnitParts& unit : units) {
    if (unit.unit == name) return &unit;
  }
  return nullptr;
}

TEST(Cost, CountsModulesAndMemories) {
  const std::vector<UnitParts> units = UnitsOf(FourTiles());
  ASSERT_NE(Find(units, kLaneUnit), nullptr);
  EXPECT_EQ(Find(units, kLaneUnit)->modules[0].count, 16);
  EXPECT_EQ(Find(units, kOperandUnit)->modules[0].count, 12);
  // Of four tiles in a row, six links are of one tile and four of two; each tile has its own line.
  EXPECT_EQ(Find(units, kDelayUnit)->modules[0].count, 14);
  EXPECT_EQ(Find(units, kDelayUnit)->memories[0].count, 3 * 14);
  EXPECT_EQ(Find(units, kDelayUnit)->memories[0].bits, 8 * 128);
  EXPECT_EQ(Find(units, kMemoryUnit)->memories[0].count, 8);
  EXPECT_EQ(Find(units, kMemoryUnit)->memories[0].bits, 64 * 128);
  EXPECT_EQ(Find(units, kOutputUnit)->memories[0].bits, 8 * 128);
  // Two links lead to the tiles at the ends, three to the ones between.
  const std::vector<ModuleInstances>& control = Find(units, kControlUnit)->modules;
  ASSERT_EQ(control.size(), 2u);
  EXPECT_EQ(control[0].count, 2);
  EXPECT_EQ(control[0].parameters.Number("PRESENT", 0), 0b11);
  EXPECT_EQ(control[1].count, 2);
  EXPECT_EQ(control[1].parameters.Number("PRESENT", 0), 0b111);
}

TEST(Cost, EveryModuleHasAnArea) {
  for (const bool floats : {false, true}) {
    Config config = FourTiles();
    config.floats = floats;
    config.pipeline_latency = floats ? 5 : 3;
    const auto cost = MachineCost(config, 180);
    ASSERT_TRUE(cost.ok()) << cost.status();
    EXPECT_TRUE(cost->missing.empty()) << cost->missing[0];
    EXPECT_GT(cost->area_square_micrometres, 0);
  }
}

// `kiln synth --module kiln_cgra` found these areas with OSU's cells at 180 nm (measurements-cgra.md);
// no whole machine is in the fit.
TEST(Cost, WholeMachinesHaveTheAreaOfSynthesis) {
  Config small = FourTiles();
  small.memory_depth = 32;
  small.ring_entries = small.output_depth = 16;
  small.outputs = 4;
  Config floats = small;
  floats.floats = true;
  floats.pipeline_latency = 5;
  Config wide = small;
  wide.columns = 16;
  wide.lanes = 2;
  wide.memory_depth = 512;
  wide.ring_entries = 32;
  wide.wait_limit = 15;
  for (const auto& [config, area] :
       {std::pair(small, 3951355.0), {floats, 9232620.0}, {wide, 9115975.0}}) {
    const auto cost = MachineCost(config, 180);
    ASSERT_TRUE(cost.ok()) << cost.status();
    double logic = 0;
    for (const UnitArea& unit : cost->units) logic += unit.logic;
    EXPECT_NEAR(logic / area, 1, 0.02) << logic;
  }
}

TEST(Cost, AMachineThatIsNotBuiltHasNoArea) {
  Config grid = FourTiles();
  grid.rows = grid.columns = 2;
  const auto cost = MachineCost(grid, 45);
  ASSERT_TRUE(cost.ok()) << cost.status();
  EXPECT_LT(cost->area_square_micrometres, 0);
  ASSERT_EQ(cost->notes.size(), 1u);
  EXPECT_NE(cost->notes[0].find("rows"), std::string::npos);
  EXPECT_FALSE(MachineCost(FourTiles(), 3).ok());
}

// One tile multiplies an input by its own result and sends it two tiles on, to a tile that adds a
// literal.
TEST(Cost, CountsWhatInstructionsDo) {
  CgraProgram program;
  program.config = FourTiles();
  program.interval = 1;
  program.latency = 8;
  program.tiles.resize(4);
  for (TileProgram& tile : program.tiles) {
    tile.spokes.resize(1);
    tile.names.resize(1);
  }
  InstructionEntry multiply;
  multiply.multiply = MultiplyOp::kMultiply;
  multiply.in[0].kind = OperandKind::kMemory0;
  multiply.in[1].kind = OperandKind::kMessage;
  program.tiles[0].instructions = {multiply};
  program.tiles[0].spokes[0] = {.valid = true, .base = true, .links = 8};
  InstructionEntry add;
  add.logic = LogicOp::kAdd;
  add.in[0].kind = OperandKind::kMessage;
  add.in[2].kind = OperandKind::kLiteral;
  program.tiles[2].instructions = {add};
  program.tiles[2].spokes[0] = {.valid = true, .output = 0};
  program.deliveries.resize(1);
  program.beats = {0};
  program.outputs = {"out"};
  const LaunchEvents events =
      EventsOf({.program = &program, .runs = 3, .threads = 5, .first_sent = 4});
  EXPECT_EQ(events.integer_products, 15);
  EXPECT_EQ(events.integer_logic, 15);
  EXPECT_EQ(events.float_products + events.float_logic, 0);
  EXPECT_EQ(events.memory_reads, 15);
  EXPECT_EQ(events.memory_writes, 15);
  EXPECT_EQ(events.line_reads, 30);
  EXPECT_EQ(events.line_writes, 3 * 15);  // own results of both, and one over the link
  EXPECT_EQ(events.hops, 30);             // link 3 leads two tiles to the right
  EXPECT_EQ(events.instructions, 30);
  EXPECT_EQ(events.beats_in, 15 + 3 * 2 + LoadBeats(program));
  EXPECT_EQ(events.beats_out, 3);
}

}  // namespace
}  // namespace kiln::cgra
