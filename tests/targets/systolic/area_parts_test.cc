// The modules that a machine's area is summed over: how often each is there, and the sizes of its
// ports, against what rtl/systolic/kiln_systolic.sv puts together for a machine of 4 x 4.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "kiln/hardware/area_fit.h"
#include "kiln/hardware/technology.h"
#include "kiln/targets/systolic/cost/cost.h"
#include "tests/targets/systolic/fp32_machine.h"

namespace kiln::systolic {
namespace {

Config SmallConfig() {
  Config c = Fp32Machine();
  c.name = "small";
  c.array_rows = c.array_columns = 4;
  c.input_buffer_words = 64;
  c.weight_buffer_words = 32;
  c.accumulation_buffer_words = 16;
  c.depthwise_multipliers = 3;
  c.depthwise_buffer_words = 128;
  c.memory_latency = 16;
  c.vector_stages = 3;
  c.vector_function_stages = 0b001;  // the first stage
  c.vector_divide_stages = 0b101;    // the first and the third
  c.input_port_bytes = 8;
  c.weight_port_bytes = 16;
  c.operand_port_bytes = 32;
  c.output_port_bytes = 64;
  return c;
}

// "unit: module", and how many of it, whatever their parameters.
std::map<std::string, int64_t> ModulesOf(const Config& config) {
  std::map<std::string, int64_t> modules;
  for (const UnitParts& unit : UnitsOf(config)) {
    for (const ModuleInstances& module : unit.modules) {
      modules[fmt::format("{}: {}", unit.unit, module.module)] += module.count;
    }
  }
  return modules;
}

TEST(SystolicAreaParts, ModulesOfASmallMachine) {
  constexpr int64_t kLanes = 4, kStages = 3;
  EXPECT_EQ(ModulesOf(SmallConfig()),
            (std::map<std::string, int64_t>{
                {"array: kiln_processing_element", 16},
                {"array: kiln_systolic_array", 1},
                {"array: kiln_array_sequencer", 1},
                {"weight buffer: kiln_weight_buffer", 1},
                {"weight buffer: kiln_weight_loader", 1},
                {"accumulators: kiln_accumulation_buffer", 1},
                {"depthwise unit: kiln_depthwise_cluster", 1},
                {"input fetch: kiln_input_fetch", 1},
                {"input fetch: kiln_read_channel", 1},
                {"weight fetch: kiln_weight_fetch", 1},
                {"weight fetch: kiln_read_channel", 1},
                {"channel parameters: kiln_parameter_fetch", 1},
                {"vector unit: kiln_vector_unit", 1},
                {"vector unit: kiln_vector_issue", 1},
                {"vector unit: kiln_operand_buffer", 1},
                {"vector unit: kiln_operand_decoder", kLanes},
                {"vector unit: kiln_quantiser", kLanes},
                {"vector unit: kiln_read_channel", 1},
                {"vector unit: kiln_write_channel", 1},
                {"vector unit: kiln_vector_source", 1},
                {"vector unit: kiln_reduction", 1},
                // Stages of the lanes, and of the one lane that rows are reduced to.
                {"vector unit: kiln_vector_stage", 2 * kStages},
                {"vector unit: kiln_vector_lane", (kLanes + 1) * kStages},
                {"vector unit: kiln_spline", (kLanes + 1) * 1},
                // Of each stage, of the source, and of the two levels of the tree over four lanes.
                {"vector unit: kiln_vector_registers", 2 * kStages + 1 + 2},
                {"command processor: kiln_command_processor", 1},
            }));
}

TEST(SystolicAreaParts, UnitsThatAreThereOrNot) {
  Config config = SmallConfig();
  config.depthwise_multipliers = 0;
  EXPECT_FALSE(ModulesOf(config).contains("depthwise unit: kiln_depthwise_cluster"));
  config = SmallConfig();
  config.input_format = config.weight_format = *FindFormat("e4m3");
  config.block_size = 4;
  SetDefaultSums(&config);
  const auto modules = ModulesOf(config);
  EXPECT_EQ(modules.at("block scales: kiln_block_scales"), 1);
  EXPECT_EQ(modules.at("block scales: kiln_read_channel"), 3);  // of inputs, weights, operands
  EXPECT_EQ(modules.at("block scales: kiln_write_channel"), 1);
  EXPECT_EQ(modules.at("vector unit: kiln_vector_blocks"), 1);
  config = SmallConfig();
  config.other_precisions = {{*FindFormat("int4"), *FindFormat("int4")}};
  EXPECT_EQ(ModulesOf(config).at("array: kiln_processing_element"), 2 * 16);
}

// Lanes by what they have: of the stages 0 to 2 the first has functions and a divider, the third a
// divider.
TEST(SystolicAreaParts, LanesHaveWhatTheirStagesHave) {
  std::map<std::pair<int64_t, int64_t>, int64_t> lanes;
  for (const UnitParts& unit : UnitsOf(SmallConfig())) {
    for (const ModuleInstances& module : unit.modules) {
      if (module.module != std::string("kiln_vector_lane")) continue;
      lanes[{module.parameters.Number("HAS_FUNCTIONS", -1),
             module.parameters.Number("HAS_DIVIDER", -1)}] += module.count;
    }
  }
  EXPECT_EQ(lanes, (std::map<std::pair<int64_t, int64_t>, int64_t>{
                       {{1, 1}, 5}, {{0, 1}, 5}, {{0, 0}, 5}}));
}

// Bytes of a beat and of the longest word, bits of what comes back with it, requests in flight.
TEST(SystolicAreaParts, PortsHaveTheSizesOfTheMachine) {
  std::vector<std::string> ports;
  for (const UnitParts& unit : UnitsOf(SmallConfig())) {
    for (const ModuleInstances& module : unit.modules) {
      const hardware::ModuleParameters& p = module.parameters;
      if (p.Number("MAX_BYTES", -1) < 0) continue;
      ports.push_back(fmt::format("{} {} {} {} {} {}", unit.unit, module.module,
                                  p.Number("DATA_BYTES", -1), p.Number("MAX_BYTES", -1),
                                  p.Number("TAG_BITS", -1), p.Number("OUTSTANDING", -1)));
    }
  }
  EXPECT_THAT(ports, testing::ElementsAre(
                         // Tag: 3 bits, a place of 128, two counts of 0 to 4, a code.
                         "input fetch kiln_read_channel 8 4 24 20",
                         // Tag: 4 bits, a tile of 8, a place of 4, a count of 0 to 4.
                         "weight fetch kiln_read_channel 16 4 12 20",
                         // Words of 4 numbers of 32 bits.
                         "vector unit kiln_write_channel 64 16 1 20",
                         "vector unit kiln_read_channel 32 16 24 20"));
}

// Sums and errors over two modelled modules, one without a model and one without points that check
// it, by hand.
TEST(AreaSums, OfModulesByHand) {
  using hardware::FittedModel;
  using hardware::ModuleModel;
  using hardware::ModuleParameters;
  const auto always = [](const ModuleParameters&) { return true; };
  const auto width = [](const ModuleParameters& p,
                        const std::vector<FittedModel>&) -> std::vector<hardware::Feature> {
    return {{"width", static_cast<double>(p.Number("WIDTH", 0))}, {"one", 1}};
  };
  const std::vector<ModuleModel> models = {{"adder", "kiln_adder", "", always, width},
                                           {"tree", "kiln_tree", "", always, width},
                                           {"rare", "kiln_rare", "", always, width}};
  const std::vector<FittedModel> fitted = {
      {"adder", {10, 4}, {5, 0.01, 0.02}, {3, 0.10, 0.30}},  // 10 um2 a bit and 4
      {"tree", {100, 0}, {5, 0.01, 0.02}, {2, 0.02, 0.05}},
      {"rare", {1, 0}, {1, 0, 0}, {0, 0, 0}},  // nothing checks it
  };
  ModuleParameters eight, two;
  eight.Set("WIDTH", 8);
  two.Set("WIDTH", 2);
  const std::vector<UnitParts> units = {
      {"first", {{"kiln_adder", eight, 3}, {"kiln_unknown", eight, 7}}, {{2, 1024}}},
      {"second", {{"kiln_tree", two, 1}, {"kiln_rare", eight, 5}}, {}},
  };
  auto cost = CostAt(180);  // the node of the models
  ASSERT_TRUE(cost.ok());
  AddAreas(units, {models, fitted}, &*cost);
  constexpr double kAdders = 3 * 84, kTree = 200, kRare = 5 * 8;
  ASSERT_EQ(cost->units.size(), 2u);
  EXPECT_DOUBLE_EQ(cost->units[0].logic, kAdders);
  EXPECT_DOUBLE_EQ(cost->units[0].memory, 2 * hardware::MemoryArea(1024, 180));
  EXPECT_EQ(cost->units[0].memory_bits, 2048);
  EXPECT_DOUBLE_EQ(cost->units[1].logic, kTree + kRare);
  EXPECT_EQ(cost->units[1].memory_bits, 0);
  EXPECT_DOUBLE_EQ(cost->area_square_micrometres,
                   kAdders + kTree + kRare + 2 * hardware::MemoryArea(1024, 180));
  EXPECT_DOUBLE_EQ(cost->gate_equivalents, (kAdders + kTree + kRare) / 24);
  // Errors of what has been checked, by its area; the worst of all; and its share.
  EXPECT_DOUBLE_EQ(cost->area_error, (0.10 * kAdders + 0.02 * kTree) / (kAdders + kTree));
  EXPECT_DOUBLE_EQ(cost->area_error_worst, 0.30);
  EXPECT_EQ(cost->area_error_worst_model, "adder");
  EXPECT_DOUBLE_EQ(cost->area_checked_share, (kAdders + kTree) / (kAdders + kTree + kRare));
  EXPECT_THAT(cost->missing, testing::ElementsAre("kiln_unknown"));
  EXPECT_EQ(MemoryBitsOf(units), 2048);
  EXPECT_FALSE(CostAt(22).ok());

  auto at_45 = CostAt(45);
  ASSERT_TRUE(at_45.ok());
  AddAreas(units, {models, fitted}, &*at_45);
  EXPECT_NEAR(at_45->units[0].logic, kAdders * hardware::AreaScale(180, 45), 1e-9);
  EXPECT_DOUBLE_EQ(at_45->gate_equivalents, cost->gate_equivalents);
  EXPECT_DOUBLE_EQ(at_45->units[0].memory, 2 * hardware::MemoryArea(1024, 45));
}

}  // namespace
}  // namespace kiln::systolic
