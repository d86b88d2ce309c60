// The sizes of isa/derived.h are those that Yosys finds in the RTL.
#include "kiln/targets/cgra/isa/derived.h"

#include <gtest/gtest.h>

#include "kiln/targets/cgra/config/keys.h"
#include "kiln/targets/cgra/emit/emit.h"
#include "tests/targets/elaborated.h"

namespace kiln::cgra {
namespace {

Config DerivedPoint() {
  Config config;
  config.name = "small";
  config.columns = 3;
  config.reach = 1;
  config.lanes = 2;
  config.memory_depth = 64;
  config.instruction_depth = 8;
  config.spoke_depth = 4;
  config.ring_entries = 8;
  config.output_depth = 8;
  config.outputs = 2;
  config.wait_limit = 5;
  return config;
}

TEST(CgraDerived, SizesAreTheRtls) {
  const Config config = DerivedPoint();
  const auto project = ProjectOf(config);
  ASSERT_TRUE(project.ok()) << project.status();
  hardware::Elaborated rtl;
  rtl.Read(project->top_text, {"kiln_cgra", "kiln_cgra_dispatch", "kiln_cgra_fabric",
                               "kiln_cgra_tile", "kiln_cgra_outputs"});
  if (HasFatalFailure()) return;
  const auto expect_memory = [&](const char* module, const char* instance, int width, int words) {
    EXPECT_EQ(rtl.Parameter(module, instance, "WIDTH"), width) << module << " " << instance;
    EXPECT_EQ(rtl.Parameter(module, instance, "WORDS"), words) << module << " " << instance;
  };
  expect_memory("kiln_cgra_dispatch", "table_of_deliveries", kDeliveryBits, kDeliveryEntries);
  expect_memory("kiln_cgra_tile", "spokes", kSpokeBits, config.spoke_depth);
  expect_memory("kiln_cgra_tile", "instructions", kInstructionBits, config.instruction_depth);
  EXPECT_EQ(rtl.ModuleParameter("kiln_cgra_outputs", "RESERVE"), kReservedEntries);
  EXPECT_EQ(rtl.Parameter("kiln_cgra_outputs", "g_output[1].queue", "DEPTH"), config.output_depth);
}

TEST(CgraKeys, GiveAllParametersOfTheMachine) {
  hardware::ExpectKeysGiveAllParameters("rtl/cgra/kiln_cgra.sv", Keys().RtlParameters(Config()));
}

}  // namespace
}  // namespace kiln::cgra
