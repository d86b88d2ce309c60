// The modules and memories that a machine's area is summed over, against what rtl/dataflow puts
// together for a small machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "kiln/hardware/technology.h"
#include "kiln/targets/dataflow/cost/area_model.h"
#include "kiln/targets/dataflow/cost/cost.h"
#include "kiln/targets/dataflow/cost/parts.h"
#include "tests/targets/dataflow/cost/small_machine.h"

namespace kiln::dataflow {
namespace {

using hardware::ModuleParameters;

std::vector<UnitParts> Units() {
  const Pipeline pipeline = SmallMachine();
  const Pipeline* const one[] = {&pipeline};
  return UnitsOf(one, true);
}

// "unit: module x count PARAMETER=value ..." with the parameters that are named.
std::vector<std::string> PartsWith(const std::vector<const char*>& names) {
  std::vector<std::string> parts;
  for (const auto& unit : Units()) {
    for (const auto& module : unit.modules) {
      std::string line = fmt::format("{}: {} x {}", unit.unit, module.module, module.count);
      for (const char* name : names) {
        const int64_t value = module.parameters.Number(name, -1);
        if (value >= 0) line += fmt::format(" {}={}", name, value);
      }
      parts.push_back(line);
    }
  }
  return parts;
}

TEST(DataflowAreaParts, ModulesOfASmallMachine) {
  ASSERT_EQ(CheckPipeline(SmallMachine()), OkStatus());
  EXPECT_THAT(PartsWith({}),
              testing::ElementsAre(
                  "conv: kiln_dataflow_rows x 1", "conv: kiln_dataflow_reader x 1",
                  "conv: kiln_dataflow_columns x 1",
                  "conv: kiln_dataflow_multiplier x 36",  // 18 terms of 4 elements, two in one
                  "conv: kiln_sum_tree x 4", "conv: kiln_dataflow_convolution x 1",
                  "conv: kiln_dataflow_rom x 1",  // weights
                  "conv: kiln_dataflow_requantise x 1", "conv: kiln_dataflow_scale x 4",
                  "conv: kiln_dataflow_rom x 1",  // addends
                  "pool: kiln_dataflow_rows x 1", "pool: kiln_dataflow_reader x 1",
                  "pool: kiln_dataflow_columns x 1", "pool: kiln_dataflow_max_tree x 4",
                  "pool: kiln_dataflow_max_pool x 1", "dense: kiln_dataflow_pointwise x 1",
                  "dense: kiln_dataflow_multiplier x 8", "dense: kiln_sum_tree x 2",
                  "dense: kiln_dataflow_convolution x 1",
                  "dense: kiln_dataflow_rom x 1",  // weights
                  "dense: kiln_dataflow_requantise x 1", "dense: kiln_dataflow_thresholds x 1",
                  "dense: kiln_dataflow_rom x 1",  // the thresholds of each level
                  "dense: kiln_dataflow_rom x 1", "streams: kiln_dataflow_source x 1",
                  "streams: kiln_dataflow_sink x 1", "channels: kiln_dataflow_channel x 1",
                  "channels: kiln_dataflow_channel x 1", "channels: kiln_dataflow_channel x 1",
                  "channels: kiln_dataflow_channel x 1", "control: kiln_dataflow_control x 1"));
}

TEST(DataflowAreaParts, SizesOfModules) {
  EXPECT_THAT(PartsWith({"TERMS", "BITS", "ACC_BITS", "SUM_BITS", "C_BITS", "WORDS", "WIDTH",
                         "DEPTH", "MEMORY", "KEEP", "MASK", "PACK", "CHANNELS", "IN_BEATS"}),
              testing::IsSupersetOf({
                  // Products of 16 bits, and sums of 21 although 20 would suffice.
                  std::string("conv: kiln_sum_tree x 4 TERMS=18 BITS=16"),
                  std::string("conv: kiln_dataflow_convolution x 1 ACC_BITS=21 PACK=2"),
                  // A word of 72 weights in each of 2 passes over 2 words.
                  std::string("conv: kiln_dataflow_rom x 1 WIDTH=576 DEPTH=4"),
                  std::string("conv: kiln_dataflow_scale x 4 SUM_BITS=21 C_BITS=11 WORDS=2"),
                  // All multipliers are the same; of the addends all 11 bits differ, in 4 lanes.
                  std::string("conv: kiln_dataflow_rom x 1 WIDTH=44 DEPTH=2"),
                  std::string("conv: kiln_dataflow_columns x 1 MEMORY=0 KEEP=1 MASK=1"),
                  // A pool without padding never looks beside the map, and reads a window once.
                  std::string("pool: kiln_dataflow_columns x 1 MEMORY=0 KEEP=0 MASK=0"),
                  std::string("pool: kiln_dataflow_max_tree x 4 TERMS=4 BITS=8"),
                  // Weights are gates also where an FPGA has them in block memory.
                  std::string("dense: kiln_dataflow_rom x 1 WIDTH=32 DEPTH=36"),
                  std::string("dense: kiln_dataflow_rom x 1 WIDTH=16 DEPTH=4"),
                  std::string("dense: kiln_dataflow_rom x 1 WIDTH=16 DEPTH=8"),
                  std::string("channels: kiln_dataflow_channel x 1 WIDTH=16 DEPTH=8 MEMORY=0"),
                  std::string("channels: kiln_dataflow_channel x 1 WIDTH=32 DEPTH=5 MEMORY=1"),
                  std::string("control: kiln_dataflow_control x 1 CHANNELS=4 IN_BEATS=72"),
              }));
}

TEST(DataflowAreaParts, MemoriesOfASmallMachine) {
  std::map<std::string, std::vector<std::pair<int64_t, int64_t>>> memories;
  for (const auto& unit : Units()) {
    for (const auto& memory : unit.memories)
      memories[unit.unit].emplace_back(memory.count, memory.bits);
  }
  using Memories = std::vector<std::pair<int64_t, int64_t>>;
  EXPECT_EQ(memories, (std::map<std::string, Memories>{
                          {"conv", {{3, 6 * 2 * 16}}},  // rows of 6 pixels of 2 words
                          {"pool", {{2, 6 * 2 * 32}}},  // likewise
                          {"channels", {{1, 5 * 32}}},
                      }));
}

// The area of a unit is the sum over its modules and memories.
TEST(DataflowAreaParts, AreaOfAStage) {
  const Pipeline pipeline = SmallMachine();
  const Pipeline* const one[] = {&pipeline};
  const auto cost = PipelineCost(one, Config(), 45);
  ASSERT_TRUE(cost.ok()) << cost.status();
  const auto parameters = [](const char* text) { return *ModuleParameters::Parse(text); };
  const auto area = [&](const char* module, const char* text) {
    return hardware::ModuleArea(FamilyAreaModels(), module, parameters(text)) *
           hardware::AreaScale(hardware::kAreaNode, 45);
  };
  const UnitArea& pool = cost->units[1];
  EXPECT_EQ(pool.unit, "pool");
  const double logic =
      area("kiln_dataflow_rows",
           "LANES=4 CODE_BITS=8 H=6 W=6 CG=2 OH=3 KY=2 SY=2 PT=0 DY=1 EXTRA_ROWS=0") +
      area("kiln_dataflow_reader", "W=6 OH=3 OW=3 KX=2 SX=2 PL=0 DX=1 G=1 OG=1 IG=2") +
      area("kiln_dataflow_columns", "LANES=4 CODE_BITS=8 CG=2 KY=2 KX=2 DX=1 KEEP=0 MASK=0") +
      4 * area("kiln_dataflow_max_tree", "TERMS=4 BITS=8") +
      area("kiln_dataflow_max_pool", "KY=2 KX=2");
  EXPECT_NEAR(pool.logic, logic, 1e-9 * logic);
  const double memory = 2 * hardware::MemoryArea(6 * 2 * 32, 45);
  EXPECT_NEAR(pool.memory, memory, 1e-9 * memory);

  double sum = 0;
  for (const UnitArea& unit : cost->units) {
    EXPECT_GT(unit.total(), 0) << unit.unit;
    sum += unit.total();
  }
  EXPECT_NEAR(cost->area_square_micrometres, sum, 1e-9 * sum);
  // Weights, rows, and the words of the channels; rows and one channel are memories.
  EXPECT_EQ(cost->on_chip_memory_bits,
            8 * 36 * 8 + 4 * 72 * 4 + 3 * 192 + 2 * 384 + (16 * 8 + 32 * 5 + 32 * 2 + 2 * 4));
  EXPECT_THAT(cost->notes, testing::Contains(testing::HasSubstr("not for the FPGA")));
  EXPECT_THAT(cost->notes, testing::Contains(testing::StartsWith("1504 of the 5160 on-chip bits")));
  EXPECT_TRUE(cost->missing.empty());
  EXPECT_GT(cost->gate_equivalents, 0);
  EXPECT_GT(cost->area_checked_share, 0.999);
  EXPECT_LT(cost->area_error, 0.1);
}

// Stages of the same name in two machines are one unit, and so are their channels.
TEST(DataflowAreaParts, OfTwoMachines) {
  const Pipeline pipeline = SmallMachine();
  const Pipeline* const two[] = {&pipeline, &pipeline};
  const std::vector<UnitParts> one = Units(), both = UnitsOf(two, true);
  ASSERT_EQ(both.size(), one.size());
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(both[i].unit, one[i].unit);
    EXPECT_EQ(both[i].modules.size(), 2 * one[i].modules.size());
    EXPECT_EQ(both[i].memories.size(), 2 * one[i].memories.size());
  }
}

}  // namespace
}  // namespace kiln::dataflow
