// Rankings of design points, on runs written by hand.
#include "kiln/report/sweep_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/report/well_formed.h"

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

SweepTable::Row RowOf(const std::string& name, double milliseconds, double microjoules,
                      double square_millimetres) {
  SavedRun run;
  run.accelerator = name;
  run.latency = run.seconds = milliseconds * 1e-3;
  run.images_per_second = 1e3 / milliseconds;
  run.picojoules = microjoules * 1e6;
  run.area_um2 = square_millimetres * 1e6;
  run.mhz = 500;
  run.clock_confirmed = true;
  SweepTable::Row row;
  row.design_point = name;
  row.run = run;
  return row;
}

// By hand: "large" is the fastest, "small" the smallest, "middle" takes the least energy; "poor" is
// worse than "middle" in all, "slow" takes the least energy of all but 3 ms.
SweepTable FiveRows() {
  SweepTable table;
  table.model = "net";
  table.objective = "cycles";
  table.node_nm = 45;
  table.limit_seconds = 1e-3;
  table.rows = {RowOf("poor", 0.6, 300, 5), RowOf("large", 0.1, 200, 9), RowOf("slow", 3, 50, 1.5),
                RowOf("small", 0.9, 250, 1), RowOf("middle", 0.5, 150, 4)};
  return table;
}

std::vector<std::string> NamesOf(const SweepTable& table) {
  std::vector<std::string> names;
  for (const SweepTable::Row& row : table.rows) names.push_back(row.design_point);
  return names;
}

TEST(SweepTable, RanksByEachFigureUnderTheLimit) {
  const auto ranked = [](SweepRank rank) {
    SweepTable table = FiveRows();
    table.rank = rank;
    table.Rank();
    return NamesOf(table);
  };
  EXPECT_THAT(ranked(SweepRank::kEnergy), ElementsAre("middle", "large", "small", "poor", "slow"));
  EXPECT_THAT(ranked(SweepRank::kTime), ElementsAre("large", "middle", "poor", "small", "slow"));
  EXPECT_THAT(ranked(SweepRank::kArea), ElementsAre("small", "middle", "poor", "large", "slow"));
  // 20, 75, 180 and 225 nJs.
  EXPECT_THAT(ranked(SweepRank::kEdp), ElementsAre("large", "middle", "poor", "small", "slow"));
}

// A machine that works on several images at once has a higher rate at the same time, and the limit
// is for the time, not for an image's share of it.
TEST(SweepTable, RanksByTheRateOfImages) {
  SweepTable table = FiveRows();
  table.rows[3].run->images_per_second = 1e6;
  table.rows[2].run->seconds = 1e-6;
  table.rank = SweepRank::kRate;
  table.Rank();
  EXPECT_THAT(NamesOf(table), ElementsAre("small", "large", "middle", "poor", "slow"));
}

TEST(SweepTable, EfficientRowsAreThoseThatNoRankedRowBeats) {
  SweepTable table = FiveRows();
  table.Rank();
  for (const SweepTable::Row& row : table.rows) {
    EXPECT_EQ(row.efficient, row.design_point != "poor" && row.design_point != "slow")
        << row.design_point;
  }
  // Without a limit, slow takes the least energy, and middle is faster.
  table.limit_seconds.reset();
  table.Rank();
  EXPECT_EQ(table.rows[0].design_point, "slow");
  EXPECT_TRUE(table.rows[0].efficient);
  // Equal rows do not beat each other.
  table.rows = {RowOf("a", 1, 1, 1), RowOf("b", 1, 1, 1)};
  table.Rank();
  EXPECT_THAT(NamesOf(table), ElementsAre("a", "b"));
  EXPECT_TRUE(table.rows[0].efficient && table.rows[1].efficient);
}

TEST(SweepTable, EqualFiguresAreToldApartByTheOthers) {
  SweepTable table;
  table.rows = {RowOf("slow", 0.5, 100, 2), RowOf("large", 0.2, 100, 2),
                RowOf("small", 0.2, 100, 1)};
  table.Rank();
  EXPECT_THAT(NamesOf(table), ElementsAre("small", "large", "slow"));
}

TEST(SweepTable, ALimitIncludesItsEnd) {
  SweepTable table = FiveRows();
  table.limit_seconds = *table.rows[2].run->latency;
  table.Rank();
  EXPECT_EQ(table.rows[0].design_point, "slow");
  EXPECT_EQ(table.rows[0].standing, SweepTable::Standing::kRanked);
}

// Figures leave out what the host does, so that they are not of the same work.
TEST(SweepTable, RanksOnlyWhatTheHostDoesTheLeastFor) {
  SweepTable table = FiveRows();
  table.rows[4].run->host_share = 0.03;
  table.Rank();
  EXPECT_THAT(NamesOf(table), ElementsAre("large", "small", "poor", "slow", "middle"));
  EXPECT_EQ(table.rows[4].standing, SweepTable::Standing::kMoreOnHost);
  EXPECT_THAT(ToText(table), HasSubstr("not ranked, 3.00 % on the host"));
  table.any_host = true;
  table.Rank();
  EXPECT_EQ(table.rows[0].design_point, "middle");
  // If the host does as much for all, all are ranked.
  table.any_host = false;
  for (SweepTable::Row& row : table.rows) row.run->host_share = 0.03;
  table.Rank();
  EXPECT_EQ(table.rows[0].design_point, "middle");
}

TEST(SweepTable, RowsWithoutTheFigureAreNotRanked) {
  SweepTable table = FiveRows();
  table.rows[1].run->area_um2.reset();
  table.rows[3].run->latency.reset();
  table.rank = SweepRank::kArea;
  table.Rank();
  EXPECT_THAT(NamesOf(table), ElementsAre("middle", "poor", "slow", "small", "large"));
  EXPECT_EQ(table.rows[3].standing, SweepTable::Standing::kUnknown) << "no time to be limited";
  EXPECT_EQ(table.rows[4].standing, SweepTable::Standing::kUnknown);
  // Without a limit the time need not be known.
  table.limit_seconds.reset();
  table.Rank();
  EXPECT_THAT(NamesOf(table), ElementsAre("small", "slow", "middle", "poor", "large"));
}

TEST(SweepTable, TextAnswersTheQuestion) {
  SweepTable table = FiveRows();
  table.rows[4].run->clock_confirmed = false;
  table.rows[3].run->area_incomplete = true;
  SweepTable::Row failed;
  failed.design_point = "broken";
  failed.fault = "key 'lanes': 0 is too few";
  table.rows.push_back(failed);
  table.notes = {"made-up weights"};
  for (size_t r = 0; r < 5; ++r) table.rows[r].notes = {"of many"};
  table.rows[2].notes.push_back("of one");
  table.Rank();
  const std::string text = ToText(table);
  EXPECT_THAT(text, HasSubstr("memory   ideal"));
  EXPECT_THAT(text, HasSubstr("schedules for least cycles, areas and energies at 45 nm"));
  EXPECT_THAT(text, HasSubstr("note: made-up weights\n"));
  EXPECT_THAT(text, HasSubstr("\nnote: middle, large, small and 2 others: of many\nnote: slow: of "
                              "one\n"));
  EXPECT_THAT(text, HasSubstr("1*  middle"));
  EXPECT_THAT(text, HasSubstr(" 4  poor"));
  EXPECT_THAT(text, HasSubstr("500 MHz  clock not confirmed\n"));
  EXPECT_THAT(text, HasSubstr("500 MHz  area INCOMPLETE\n"));
  EXPECT_THAT(text, HasSubstr("500 MHz  too slow\n"));
  EXPECT_THAT(text, HasSubstr("\nbroken: key 'lanes': 0 is too few\n"));
  EXPECT_THAT(text, Not(HasSubstr("accuracy"))) << "no row has one";
  EXPECT_THAT(text,
              HasSubstr("\nleast energy under 1.00 ms: middle: 0.500 ms, 150 uJ, 4.000 mm²\n"));
  table.limit_seconds = 1e-5;
  table.Rank();
  EXPECT_THAT(ToText(table), HasSubstr("least energy under 0.0100 ms: no design point; the fastest "
                                       "is large: 0.100 ms, 200 uJ, 9.000 mm²\n"));
}

TEST(SweepTable, JsonHasEveryRow) {
  SweepTable table = FiveRows();
  table.rows[0].run->accuracy = 0.9;
  table.rows[0].notes = {"a note"};
  table.rows[0].varied = {{"lanes", "8"}};
  table.Rank();
  const auto json = nlohmann::json::parse(ToJson(table));
  EXPECT_EQ(json["kiln_sweep"], 1);
  EXPECT_EQ(json["rank"], "energy");
  EXPECT_EQ(json["limit_seconds"], 1e-3);
  EXPECT_EQ(json["memory"], nullptr);
  ASSERT_EQ(json["rows"].size(), 5u);
  EXPECT_EQ(json["rows"][0]["design_point"], "middle");
  EXPECT_EQ(json["rows"][0]["standing"], "ranked");
  EXPECT_EQ(json["rows"][0]["efficient"], true);
  EXPECT_EQ(json["rows"][0]["accuracy"], nullptr);
  EXPECT_EQ(json["rows"][3]["accuracy"], 0.9);
  EXPECT_EQ(json["rows"][3]["notes"][0], "a note");
  EXPECT_EQ(json["rows"][3]["varied"], nlohmann::json({{"lanes", "8"}}));
  EXPECT_EQ(json["rows"][0]["varied"], nlohmann::json::object());
  EXPECT_EQ(json["rows"][0]["latency_seconds"], 5e-4);
  EXPECT_EQ(json["rows"][4]["standing"], "too_slow");
  EXPECT_DOUBLE_EQ(json["rows"][4]["picojoules"], 50e6);
}

TEST(SweepTable, ThePageIsWellFormedAndHasACircleForEachRow) {
  SweepTable table = FiveRows();
  table.rows[1].design_point = "<large> & fast";
  SweepTable::Row failed;
  failed.design_point = "broken";
  failed.fault = "a <fault>";
  table.rows.push_back(failed);
  table.Rank();
  const std::string page = ToHtml(table);
  EXPECT_EQ(WellFormedFault(page), "");
  size_t circles = 0;
  for (size_t at = 0; (at = page.find("<circle", at)) != std::string::npos; ++at) ++circles;
  EXPECT_EQ(circles, 5u);
  EXPECT_THAT(page, HasSubstr("&lt;large&gt; &amp; fast"));
  EXPECT_THAT(page, HasSubstr("does not run: a &lt;fault&gt;"));
  EXPECT_THAT(page, HasSubstr(">limit</text>"));
}

TEST(SweepTable, RanksHaveNames) {
  EXPECT_EQ(*FindSweepRank("energy"), SweepRank::kEnergy);
  EXPECT_EQ(*FindSweepRank("rate"), SweepRank::kRate);
  EXPECT_EQ(MessageOf(FindSweepRank("cost").status()),
            "unknown rank 'cost'; one of: energy, time, edp, area, rate");
}

}  // namespace
}  // namespace kiln
