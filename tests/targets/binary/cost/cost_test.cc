// Units against the modules that Yosys elaborates and against counts by hand; the areas of whole
// machines against synthesis.
#include "kiln/targets/binary/cost/cost.h"
#include "kiln/targets/binary/config/keys.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "kiln/targets/binary/emit/emit.h"
#include "kiln/targets/binary/isa/derived.h"
#include "tests/targets/elaborated.h"

namespace kiln::binary {
namespace {

// accelerators/binary-small.yaml.
Config Small() {
  Config config;
  config.name = "small";
  config.stages = 2;
  config.channels_0 = 8;
  config.channels_1 = 4;
  config.columns_0 = config.columns_1 = 2;
  config.column_depth = 8;
  config.row_words = 128;
  config.weight_words = 64;
  config.skip_beats = 128;
  config.beat_bytes = 8;
  return config;
}

const UnitParts& Find(const std::vector<UnitParts>& units, const std::string& name) {
  for (const UnitParts& unit : units) {
    if (unit.unit == name) return unit;
  }
  ADD_FAILURE() << "no unit " << name;
  return units.front();
}

int64_t BitsOf(const std::vector<UnitParts>& units, const std::string& name) {
  return MemoryBitsOf({Find(units, name)});
}

TEST(Cost, CountsModules) {
  const std::vector<UnitParts> units = UnitsOf(Config());  // binary-176
  EXPECT_EQ(Find(units, kTableUnit).modules.size(), 3u);
  int64_t columns = 0, requantisers = 0;
  for (const ModuleInstances& m : Find(units, kColumnUnit).modules)
    columns += m.module == std::string("kiln_binary_column") ? m.count : 0;
  for (const ModuleInstances& m : Find(units, kRequantisationUnit).modules) requantisers += m.count;
  EXPECT_EQ(columns, 8 + 4 + 4);
  EXPECT_EQ(requantisers, 4 + 2 + 2);
  // Each writer has a tree of adders for both digits.
  EXPECT_EQ(Find(units, kWalkUnit).modules[2].count, 2);
  EXPECT_EQ(Find(units, kStreamUnit).modules[0].count, 2);
}

TEST(Cost, CountsSharedRequantisers) {
  Config config;
  const auto count = [&](int share) {
    config.columns_per_requantiser = share;
    int64_t requantisers = 0;
    for (const ModuleInstances& m : Find(UnitsOf(config), kRequantisationUnit).modules)
      requantisers += m.count;
    return requantisers;
  };
  EXPECT_EQ(count(1), 8 + 4 + 4);
  EXPECT_EQ(count(4), 2 + 1 + 1);
  EXPECT_EQ(count(8), 1 + 1 + 1);  // four columns are all that the second and third stage have
  EXPECT_EQ(count(32), 1 + 1 + 1);
}

TEST(Cost, CountsMemories) {
  const std::vector<UnitParts> units = UnitsOf(Small());
  // Three memories of 128 words: 8 and 4 codes of 8 bits, with two sums of 8 and 7 bits.
  EXPECT_EQ(BitsOf(units, kRowUnit), 3 * 128 * (64 + 2 * 8) + 3 * 128 * (32 + 2 * 7));
  // A column of 24 and one of 12 tables: 64 words of 3 bits for each table; of 8 output channels
  // four sums of 28 bits that two ports read, four thresholds, a limit, and 64 bits of parameters.
  const int64_t channels = 8 * (2 * 4 * 28 + 4 * 28 + 28 + 64);
  EXPECT_EQ(BitsOf(units, kColumnUnit), 2 * (64 * 72 + channels) + 2 * (64 * 36 + channels));
  EXPECT_EQ(BitsOf(units, kWalkUnit), 2 * 64 * 32);
  EXPECT_EQ(BitsOf(units, kResultUnit), 2 * 128 * 64);
  EXPECT_EQ(BitsOf(units, kTableUnit) + BitsOf(units, kRequantisationUnit) +
                BitsOf(units, kDispatchUnit) + BitsOf(units, kStreamUnit),
            0);
}

TEST(Cost, ModulesHaveTheParametersThatYosysElaborates) {
  const Config config = Small();
  const std::string top = ProjectOf(config).top_text;
  hardware::Elaborated design;
  design.Read(top, {"kiln_binary"});
  const std::vector<UnitParts> units = UnitsOf(config);
  const auto expect = [&](const char* unit, size_t number, const char* instance,
                          std::vector<const char*> names) {
    const ModuleInstances& found = Find(units, unit).modules.at(number);
    for (const char* name : names) {
      EXPECT_EQ(found.parameters.Number(name, -2), design.Parameter("kiln_binary", instance, name))
          << instance << " " << name;
    }
  };
  expect(kDispatchUnit, 0, "g_stage[0].g_first.pack", {"WIDTH", "RATIO"});
  expect(kDispatchUnit, 1, "dispatch",
         {"STAGES", "BEAT_BITS", "CODE_BITS", "WORD_BEATS_0", "WORD_BEATS_1", "WORD_BEATS_2"});
  expect(kResultUnit, 1, "g_stage[0].skip_queue", {"WIDTH", "DEPTH"});
  expect(kResultUnit, 4, "g_stage[1].g_next.pack", {"WIDTH", "RATIO"});
  expect(kStreamUnit, 0, "source", {"DATA_BYTES"});
  for (const auto& [number, instance] :
       {std::pair<size_t, const char*>{0, "g_stage[0].stage"}, {2, "g_stage[1].stage"}}) {
    expect(kResultUnit, number, instance,
           {"CHANNELS", "COLUMNS", "COLUMNS_PER_REQUANTISER", "GROUP", "STEPS", "ACTIVATION_BITS",
            "ACCUMULATOR_BITS", "COLUMN_DEPTH", "ROW_WORDS", "WEIGHT_WORDS", "BEAT_BITS"});
  }
}

TEST(Cost, PartsOfAStageHaveTheParametersThatYosysElaborates) {
  Config config = Small();
  config.stages = 1;
  config.group = 4;
  config.columns_per_requantiser = 2;
  hardware::Elaborated design;
  design.Read(ProjectOf(config).top_text, {"kiln_binary", "kiln_binary_stage"});
  const std::vector<UnitParts> units = UnitsOf(config);
  const auto expect = [&](const char* unit, size_t number, const char* instance,
                          std::vector<const char*> names) {
    const ModuleInstances& found = Find(units, unit).modules.at(number);
    for (const char* name : names) {
      EXPECT_EQ(found.parameters.Number(name, -2),
                design.Parameter("kiln_binary_stage", instance, name))
          << instance << " " << name;
    }
  };
  expect(kTableUnit, 0, "tables_of_rounds",
         {"CHANNELS", "GROUP", "STEPS", "ACTIVATION_BITS", "ROW_WORDS"});
  expect(kWalkUnit, 0, "walk", {"GROUP", "STEPS"});
  expect(kWalkUnit, 1, "writer", {"CHANNELS", "GROUP", "ACTIVATION_BITS", "ROW_WORDS"});
  const std::vector<const char*> column = {"TABLES", "GROUP", "ACCUMULATOR_BITS", "COLUMN_DEPTH",
                                           "WEIGHT_WORDS"};
  expect(kColumnUnit, 0, "g_column[1].column", column);
  EXPECT_EQ(design.Parameter("kiln_binary_stage", "g_column[2].column", "TABLES"), -1);
  expect(kRequantisationUnit, 0, "g_requantiser[0].requantise",
         {"ACCUMULATOR_BITS", "ACTIVATION_BITS"});
  EXPECT_EQ(Find(units, kRequantisationUnit).modules.at(0).count, 1);
  EXPECT_EQ(design.Parameter("kiln_binary_stage", "g_requantiser[1].requantise", "ACTIVATION_BITS"),
            -1);
  for (const char* queue : {"forward_queue", "emit_queue"}) {
    EXPECT_EQ(kResultQueueWords, design.Parameter("kiln_binary_stage", queue, "DEPTH")) << queue;
  }
  // 24 tables of 8 entries, and sums of both digits of words and windows.
  EXPECT_EQ(24 * EntriesOf(4) * EntryBits(4), design.WireBits("kiln_binary_stage", "tables"));
  EXPECT_EQ(2 * WordSumBits(8), design.WireBits("kiln_binary_stage", "sums_data"));
  EXPECT_EQ(2 * WindowSumBits(8), design.WireBits("kiln_binary_stage", "sums"));
}

TEST(Cost, TreesAddInLevelsOfHalfAsManyNumbers) {
  // 9 numbers of 7 bits: 4, 2, 1 and 1 adders; registers behind the second and the last level.
  std::vector<int64_t> adders, bits, stored;
  ForTreeLevels(9, 7, [&](const TreeLevel& level) {
    adders.push_back(level.adders);
    bits.push_back(level.bits);
    stored.push_back(level.registers ? level.sums : 0);
  });
  EXPECT_EQ(adders, (std::vector<int64_t>{4, 2, 1, 1}));
  EXPECT_EQ(bits, (std::vector<int64_t>{8, 9, 10, 11}));
  EXPECT_EQ(stored, (std::vector<int64_t>{0, 3, 0, 1}));
  EXPECT_EQ(TreeCycles(9), 2);
}

// `kiln synth --module kiln_binary` found these areas with OSU's cells at 180 nm
// (docs/measurements-binary.md); no whole machine is in the fit. Yosys counts the bits of a memory
// with two read ports once.
TEST(Cost, WholeMachinesHaveTheAreaOfSynthesis) {
  struct Synthesis {
    Config config;
    double area;
    int64_t bits, sums;
  };
  for (const Synthesis& found : {Synthesis{Small(), 2816195, 92800, 4 * 4 * 8 * 28},
                                 Synthesis{Config(), 16586087, 906496, 16 * 4 * 16 * 28}}) {
    const auto cost = MachineCost(found.config, 180);
    ASSERT_TRUE(cost.ok()) << cost.status();
    double logic = 0;
    for (const UnitArea& unit : cost->units) logic += unit.logic;
    EXPECT_NEAR(logic / found.area, 1, 0.02) << logic;
    EXPECT_EQ(cost->on_chip_memory_bits, found.bits + found.sums);
  }
}

TEST(Cost, EveryModuleHasAnArea) {
  for (const Config& config : {Config(), Small()}) {
    const auto cost = MachineCost(config, 180);
    ASSERT_TRUE(cost.ok()) << cost.status();
    EXPECT_TRUE(cost->missing.empty()) << cost->missing[0];
    EXPECT_GT(cost->area_square_micrometres, 0);
    EXPECT_EQ(cost->units.size(), 8u);
    EXPECT_EQ(cost->area_checked_share, 1);
  }
  EXPECT_FALSE(MachineCost(Small(), 3).ok());
}

TEST(BinaryKeys, GiveAllParametersOfTheMachine) {
  hardware::ExpectKeysGiveAllParameters("rtl/binary/kiln_binary.sv",
                                        Keys().RtlParameters(Config()));
}

}  // namespace
}  // namespace kiln::binary
