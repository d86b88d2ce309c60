// Tests of the choice of instances whose timing is analysed in large designs.
#include "kiln/hardware/synthesis_timing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fmt/format.h"

namespace kiln::hardware {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

ModuleStatistics Cells(int64_t gates, std::map<std::string, int64_t> modules = {}) {
  modules["NAND2X1"] = gates;
  return {.memory_bits = 0, .cells = std::move(modules)};
}

TEST(SynthesisTiming, SmallDesignsAreTimedWhole) {
  const NetlistStatistics design = {{"top", Cells(0, {{"stage", 12}})},
                                    {"stage", Cells(kTimedCells / 12)}};
  EXPECT_THAT(ModulesLeftOut(design, "top"), IsEmpty());
}

TEST(SynthesisTiming, OfLargeDesignsLargeModulesThatStandOften) {
  const NetlistStatistics design = {
      {"top", Cells(0, {{"stage", 12}, {"three", 3}, {"small", 100}})},
      {"stage", Cells(100, {{"lane", 4}})},
      {"lane", Cells(kTimedCells / 12)},
      {"three", Cells(kTimedCells / 3, {{"lane", 3}})},
      {"small", Cells(kLeftOutCells)}};
  EXPECT_THAT(ModulesLeftOut(design, "top"), UnorderedElementsAre(std::make_pair("top", "stage"),
                                                                  std::make_pair("stage", "lane")));
}

std::string InstanceText(const std::string& module, const std::string& name) {
  return fmt::format("  {}  {} (\n    .clock(clock)\n  );\n", module, name);
}

TEST(SynthesisTiming, TheFirstTwoAndTheLastStay) {
  std::string netlist = "module top(clock);\n  input clock;\n";
  for (const int i : {10, 2, 9, 1, 0})
    netlist += InstanceText("\\stage$0a ", fmt::format("\\stage[{}].unit ", i));
  netlist +=
      InstanceText("\\stage$0ab ", "\\other[5] ") + InstanceText("INVX1", "_1_") + "endmodule\n";
  int64_t count = 1;
  const std::string timed = LeaveInstancesOut(netlist, {"stage$0a"}, &count);
  EXPECT_EQ(count, 1 + 2);
  for (const int i : {0, 1, 10}) {
    EXPECT_THAT(timed, HasSubstr(fmt::format("  \\stage$0a   \\stage[{}].unit ", i)));
  }
  for (const int i : {2, 9}) {
    EXPECT_THAT(timed,
                HasSubstr(fmt::format("  \\kiln_not_timed$stage$0a   \\stage[{}].unit  (\n", i)));
  }
  EXPECT_THAT(timed, HasSubstr("\n  \\stage$0ab   \\other[5]  ("));
  EXPECT_EQ(LeaveInstancesOut(netlist, {"stage"}, &count), netlist);
  EXPECT_EQ(LeaveInstancesOut(netlist, {}, &count), netlist);
  EXPECT_EQ(count, 3);
}

}  // namespace
}  // namespace kiln::hardware
