// Tests of the texts about area and energy.
#include "kiln/report/cost_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/report/html.h"
#include "tests/report/example_report.h"

namespace kiln {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(CostReport, UnitsHaveTheirAreaAndTheirEnergy) {
  const RunReport report = ExampleReport();
  const std::vector<CostRow> rows = CostRows(report.machine->cost, report.energy);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].unit, "array");
  EXPECT_DOUBLE_EQ(rows[0].area, 30000);
  EXPECT_DOUBLE_EQ(rows[0].picojoules, 26000 * 0.3 + 100000 * 0.01);
  EXPECT_DOUBLE_EQ(rows[1].memory, 20000);
  EXPECT_EQ(rows[1].picojoules, 0);
  EXPECT_EQ(rows[2].unit, "outer memory");
  EXPECT_EQ(rows[2].area, 0);
  double sum = 0;
  for (const CostRow& row : rows) sum += row.picojoules;
  EXPECT_DOUBLE_EQ(sum, report.energy->picojoules());
}

TEST(CostReport, FiguresHaveUnits) {
  EXPECT_EQ(Joules(0.3), "0.300 pJ");
  EXPECT_EQ(Joules(1234), "1.23 nJ");
  EXPECT_EQ(Joules(12345678), "12.3 uJ");
  EXPECT_EQ(Joules(4e9), "4.00 mJ");
  EXPECT_EQ(SquareMillimetres(1234567), "1.235 mm²");
  EXPECT_EQ(SquareMillimetres(50000), "0.0500 mm²");
}

// The host's energy is not modelled, so that none is not an energy of zero.
TEST(CostReport, NoEnergyIsNotZeroEnergy) {
  EXPECT_EQ(EnergyLine({}), "none is modelled: no kernel runs on the accelerator");
  RunReport report = ExampleReport();
  report.energy->parts.clear();
  EXPECT_THAT(ToHtml(report),
              AllOf(Not(HasSubstr("energy per image")), HasSubstr("none is modelled: no kernel")));
}

TEST(CostReport, SaysWhatItIsBasedOn) {
  const RunReport report = ExampleReport();
  const std::string table = CostTable(report.machine->cost, report.energy);
  EXPECT_THAT(table, HasSubstr("based on: a library & a table"));
  EXPECT_THAT(table, HasSubstr("note: without wires"));
  EXPECT_THAT(AreaLine(report.machine->cost),
              HasSubstr("logic off by 3.0 % on average (worst model 12.0 %: vector lane)"));
}

// An error is of what was checked, and how much that is stands beside it.
TEST(CostReport, SaysHowMuchIsChecked) {
  RunReport report = ExampleReport();
  Cost& cost = report.machine->cost;
  cost.area_checked_share = 0.382;
  EXPECT_THAT(AreaLine(cost), HasSubstr("; checked 38.2 % of the logic off by 3.0 % on average "
                                        "(worst model 12.0 %: vector lane)"));
  cost.area_checked_share = 0;
  EXPECT_THAT(AreaLine(cost), HasSubstr("; logic by models that were never checked"));
  EXPECT_THAT(AreaLine(cost), Not(HasSubstr("off by")));
}

TEST(CostReport, SaysWhatIsNotInIt) {
  RunReport report = ExampleReport();
  report.machine->cost.missing = {"one part", "another"};
  EXPECT_THAT(AreaLine(report.machine->cost), HasSubstr("INCOMPLETE, without one part, another"));
}

TEST(CostReport, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(CostTable({}, std::nullopt), "");
  EXPECT_EQ(AreaLine({}), "");
  RunReport report = ExampleReport();
  const std::string area_only = CostTable(report.machine->cost, std::nullopt);
  EXPECT_THAT(area_only, Not(HasSubstr("energy")));
  report.machine->cost = {};
  EXPECT_THAT(CostTable(report.machine->cost, report.energy), Not(HasSubstr("area")));
}

}  // namespace
}  // namespace kiln
