// Comparisons of runs, on runs written by hand.
#include "kiln/report/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kiln/report/run_report.h"
#include "kiln/report/saved_run.h"
#include "kiln/support/budgets.h"
#include "tests/report/example_report.h"
#include "tests/report/well_formed.h"

namespace kiln {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

SavedRun RunOf(const std::string& accelerator, const std::string& file) {
  SavedRun run;
  run.file = file;
  run.model = "net";
  run.accelerator = accelerator;
  run.format = "int8";
  run.macs = 1e6;
  run.clock_confirmed = true;
  run.accuracy = 0.92;
  run.seconds = 0.004;
  run.images_per_second = 250;
  run.cycles = 2e6;
  run.area_um2 = 1e6;
  run.kernels = {{"conv", "conv 3x3", false, 1.5e6},
                 {"pool", "max pool", false, 0.5e6},
                 {"sort", "topk", true, std::nullopt}};
  return run;
}

Comparison TwoRuns() {
  SavedRun small = RunOf("small", "a.json"), large = RunOf("large", "b.json");
  large.accuracy = 0.931;
  large.seconds = 0.001;
  large.images_per_second = 1000;
  large.cycles = 5e5;
  large.area_um2 = std::nullopt;
  large.kernels = {{"conv", "conv 3x3", false, 3e5}, {"gemm", "matmul", false, 2e5}};
  auto comparison = Compare({small, large}, false);
  EXPECT_TRUE(comparison.ok()) << comparison.status();
  return *std::move(comparison);
}

TEST(Comparison, MatchesKernelsByNameInOrder) {
  const Comparison c = TwoRuns();
  EXPECT_THAT(c.labels, ElementsAre("small int8", "large int8"));
  ASSERT_EQ(c.kernels.size(), 4u);
  EXPECT_EQ(c.kernels[0].name, "conv");
  EXPECT_THAT(c.kernels[0].places, ElementsAre(0, 0));
  EXPECT_THAT(c.kernels[1].places, ElementsAre(1, -1));
  EXPECT_THAT(c.kernels[2].places, ElementsAre(2, -1));
  EXPECT_EQ(c.kernels[3].name, "gemm");
  EXPECT_THAT(c.kernels[3].places, ElementsAre(-1, 1));
}

// Kernels of one name are paired in their order.
TEST(Comparison, PairsKernelsOfTheSameName) {
  SavedRun first = RunOf("a", "a.json"), second = RunOf("b", "b.json");
  first.kernels = {{"x", "", false, 1}, {"x", "", false, 2}};
  second.kernels = {{"x", "", false, 3}, {"y", "", false, 4}, {"x", "", false, 5}};
  const Comparison c = *Compare({first, second}, false);
  ASSERT_EQ(c.kernels.size(), 3u);
  EXPECT_THAT(c.kernels[0].places, ElementsAre(0, 0));
  EXPECT_THAT(c.kernels[1].places, ElementsAre(1, 2));
  EXPECT_THAT(c.kernels[2].places, ElementsAre(-1, 1));
}

// What differs may be due to another memory or objective, not to the machine.
TEST(Comparison, SaysWhichMemoryAndObjectiveRunsHad) {
  SavedRun first = RunOf("a", "a.json"), second = RunOf("a", "b.json");
  first.objective = second.objective = "cycles";
  const Comparison same = *Compare({first, second}, false);
  EXPECT_TRUE(same.notes.empty());
  EXPECT_THAT(ToText(same, 1), AllOf(Not(HasSubstr("memory")), Not(HasSubstr("schedules"))));
  second.memory = "19.2GB/s,100ns";
  second.objective = "energy";
  const Comparison c = *Compare({first, second}, false);
  EXPECT_THAT(c.notes, ElementsAre("b.json and a.json: memory 19.2GB/s,100ns and ideal, schedules "
                                   "for least energy and cycles; a part of what differs is due to "
                                   "that"));
  const std::string text = ToText(c, 1);
  EXPECT_THAT(text, ContainsRegex("memory +ideal +19.2GB/s,100ns"));
  EXPECT_THAT(text, ContainsRegex("schedules for least +cycles +energy"));
  EXPECT_THAT(ToHtml(c), HasSubstr("<td>memory</td>"));
  // A run at the reference level has neither.
  SavedRun reference = RunOf("", "r.json");
  EXPECT_EQ(Compare({reference, first, second}, false)->notes, c.notes);
  const Comparison with_reference = *Compare({reference, first}, false);
  EXPECT_TRUE(with_reference.notes.empty());
  EXPECT_THAT(ToText(with_reference, 1), Not(HasSubstr("schedules")));
  const auto json = nlohmann::json::parse(ToJson(c));
  EXPECT_EQ(json["runs"][0]["memory"], nullptr);
  EXPECT_EQ(json["runs"][1]["memory"], "19.2GB/s,100ns");
  EXPECT_EQ(json["runs"][1]["optimise"], "energy");
}

TEST(Comparison, TextHasFiguresRatiosAndKernels) {
  const std::string text = ToText(TwoRuns(), 10);
  EXPECT_THAT(text, ContainsRegex("accuracy +92.00 % +93.10 % +.1.10 points"));
  EXPECT_THAT(text, ContainsRegex("time per image +4.00 ms +1.00 ms +x 0.250"));
  EXPECT_THAT(text, ContainsRegex("images a second +250 +1,000 +x 4.00"));
  EXPECT_THAT(text, ContainsRegex("cycles per image +2,000,000 +500,000 +x 0.250"));
  EXPECT_THAT(text, ContainsRegex("area +1.000 mm² +-"));
  EXPECT_THAT(text, Not(HasSubstr("energy")));  // no run has any
  EXPECT_THAT(text, ContainsRegex("conv +1,500,000 +300,000 +x 0.200"));
  EXPECT_THAT(text, ContainsRegex("pool +500,000 +- +only in small int8"));
  EXPECT_THAT(text, ContainsRegex("gemm +- +200,000 +only in large int8"));
  EXPECT_THAT(text, ContainsRegex("sort +host +- +only in small int8"));
  EXPECT_THAT(ToText(TwoRuns(), 1),
              AllOf(HasSubstr("conv"), Not(HasSubstr("pool")), HasSubstr("and 3 others")));
  EXPECT_THAT(ToText(TwoRuns(), 0), Not(HasSubstr("by kernel")));
}

// With three runs, what is said of a kernel is the shorter.
TEST(Comparison, NamesTheRunsThatLackAKernel) {
  SavedRun a = RunOf("a", "a.json"), b = RunOf("b", "b.json"), c = RunOf("c", "c.json");
  c.kernels.pop_back();
  c.kernels.pop_back();
  const std::string text = ToText(*Compare({a, b, c}, true), 10);
  EXPECT_THAT(text, ContainsRegex("pool .*not in c int8"));
}

// What a stage of a pipeline adds to a run has no ratio to a kernel's cycles.
TEST(Comparison, StagesOfPipelinesHaveNoRatios) {
  SavedRun plain = RunOf("a", "a.json"), pipeline = RunOf("b", "b.json");
  pipeline.pipelined = true;
  for (const auto& runs : {std::vector{plain, pipeline}, std::vector{pipeline, plain}}) {
    const Comparison c = *Compare(runs, false);
    const std::string text = ToText(c, 10);
    EXPECT_THAT(text, HasSubstr("b.json: its kernels are stages of a pipeline"));
    EXPECT_THAT(text, ContainsRegex("conv +1,500,000 +1,500,000 *\n"));
    const auto json = nlohmann::json::parse(ToJson(c));
    EXPECT_EQ(json["kernels"][0]["name"], "conv");
    EXPECT_TRUE(json["kernels"][0]["runs"][1]["cycles_to_first"].is_null());
    EXPECT_THAT(text, ContainsRegex("time per image +4.00 ms +4.00 ms +x 1.00"));
  }
}

TEST(Comparison, JsonHasEverything) {
  const auto json = nlohmann::json::parse(ToJson(TwoRuns()));
  EXPECT_EQ(json["runs"][1]["label"], "large int8");
  EXPECT_EQ(json["runs"][1]["cycles"], 5e5);
  EXPECT_EQ(json["runs"][1]["ratio_to_first"]["cycles"], 0.25);
  EXPECT_TRUE(json["runs"][1]["area_um2"].is_null());
  EXPECT_TRUE(json["runs"][1]["ratio_to_first"]["area_um2"].is_null());
  EXPECT_EQ(json["kernels"][0]["runs"][1]["cycles_to_first"], 0.2);
  EXPECT_TRUE(json["kernels"][1]["runs"][1].is_null());
  EXPECT_EQ(json["kernels"][2]["runs"][0]["on_host"], true);
}

TEST(Comparison, PageIsWellFormedAndEscaped) {
  SavedRun odd = RunOf("<b>&\"", "c.json");
  odd.kernels[0].name = "<script>";
  const std::string page = ToHtml(*Compare({RunOf("small", "a.json"), odd}, false));
  EXPECT_EQ(WellFormedFault(page), "");
  EXPECT_THAT(page, AllOf(HasSubstr("&lt;script&gt;"), Not(HasSubstr("<script")),
                          HasSubstr("1,500,000"), HasSubstr("only in small int8")));
}

TEST(Comparison, HostSharesMustAgreeOrBeStated) {
  SavedRun half = RunOf("large", "b.json");
  half.host_share = 0.5;
  const auto refused = Compare({RunOf("small", "a.json"), half}, false);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(MessageOf(refused.status()),
            "b.json: the host does 50.00 % of the operations, in a.json 0.00 %; compare runs with "
            "the same share, or add --any-host to compare what the accelerators did all the same");
  const auto stated = Compare({RunOf("small", "a.json"), half}, true);
  ASSERT_TRUE(stated.ok());
  EXPECT_THAT(ToText(*stated, 3), HasSubstr("note: b.json: the host does 50.00 %"));
  half.host_share = 0.00005;
  EXPECT_TRUE(Compare({RunOf("small", "a.json"), half}, false).ok());
}

TEST(Comparison, OtherNetworksAreNoted) {
  SavedRun other = RunOf("large", "b.json");
  other.model = "other";
  EXPECT_THAT(ToText(*Compare({RunOf("small", "a.json"), other}, false), 3),
              HasSubstr("note: b.json: runs 'other' (1.00 M multiply-accumulates), a.json runs "
                        "'net'"));
}

TEST(Comparison, LabelsOfRunsDiffer) {
  const Comparison c =
      *Compare({RunOf("a", "x/1.json"), RunOf("a", "x/2.json"), RunOf("a", "y/2.json")}, false);
  EXPECT_THAT(c.labels, ElementsAre("a int8 (1)", "a int8 (2)", "a int8 (2) #2"));
}

// Long labels would make columns of their width, or be cut to names of another machine.
TEST(Comparison, RunsWithLongLabelsAreNumbered) {
  const std::string text =
      ToText(*Compare({RunOf("systolic-int8-16x16-with-a-wide-a-input-port-of-32-bytes", "a.json"),
                       RunOf("systolic-int8-16x16-with-a-wide-b-input-port-of-32-bytes", "b.json")},
                      false),
             0);
  EXPECT_THAT(text,
              testing::StartsWith(
                  "run 1: systolic-int8-16x16-with-a-wide-a-input-port-of-32-bytes int8\n"
                  "run 2: systolic-int8-16x16-with-a-wide-b-input-port-of-32-bytes int8\n\n"));
  EXPECT_THAT(text, ContainsRegex("\n +run 1 +run 2\n"));
  EXPECT_THAT(text, Not(HasSubstr("…")));
  EXPECT_THAT(ToText(TwoRuns(), 0), Not(HasSubstr("run 1")));
}

// A window of 1280 pixels has margins of 3 rem; columns do not shrink below their least width.
TEST(Comparison, ThePageHasRoomForEightRuns) {
  std::vector<SavedRun> runs;
  for (int i = 0; i < 8; ++i)
    runs.push_back(RunOf("machine-with-a-long-name-" + std::to_string(i), "long/path/to/a.json"));
  const std::string page = ToHtml(*Compare(runs, false));
  const std::string rule = "table.runs th.n { white-space: normal; min-width: ";
  const size_t at = page.find(rule);
  ASSERT_NE(at, std::string::npos);
  constexpr double kRem = 16, kPage = 1280 - 3 * kRem, kNames = 10.5 * kRem;
  EXPECT_LE(kNames + 8 * kRem * std::stod(page.substr(at + rule.size())), kPage);
  // Words may break anywhere, and a ratio is below its figure.
  EXPECT_THAT(page, HasSubstr("<td class=\"words\">long/path/to/a.json</td>"));
  EXPECT_THAT(page, AllOf(HasSubstr("table.runs td.words { text-align: right; overflow-wrap: any"),
                          HasSubstr("table.runs td.n .faint { display: block; }")));
}

TEST(Comparison, OneRunIsNoComparison) {
  const auto one = Compare({RunOf("a", "a.json")}, false);
  EXPECT_EQ(MessageOf(one.status()),
            "a.json: one run cannot be compared; name two or more reports of `kiln run --json`");
}

TEST(Comparison, RunsAreLimited) {
  const std::vector<SavedRun> most(budgets::kComparedRuns, RunOf("a", "a.json"));
  EXPECT_TRUE(Compare(most, false).ok());
  std::vector<SavedRun> more = most;
  more.push_back(RunOf("b", "b.json"));
  EXPECT_EQ(MessageOf(Compare(more, false).status()),
            "a.json: 33 runs are too many to compare; at most 32");
}

TEST(SavedRun, AnAreaWithoutModulesIsIncomplete) {
  RunReport report = ExampleReport();
  report.machine->cost.missing = {"kiln_user_unit"};
  const auto run = ParseSavedRun(ToJson(report), "run.json");
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_TRUE(run->area_incomplete);
  const auto compared = Compare({RunOf("a", "a.json"), *run}, true);
  ASSERT_TRUE(compared.ok()) << compared.status();
  EXPECT_THAT(ToText(*compared, 10), HasSubstr("area INCOMPLETE"));
}

// What the writer writes the reader reads. The figures are those of example_report.h, by hand:
// energy 26,000 * 0.3 + 100,000 * 0.01 + 64 * 162.5 pJ.
TEST(SavedRun, ReadsWhatAReportWrites) {
  RunReport report = ExampleReport();
  report.machine->clock_mhz = 100;
  const auto run = ParseSavedRun(ToJson(report), "run.json");
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->accelerator, "toy-4x4");
  EXPECT_EQ(run->format, "int8");
  EXPECT_EQ(run->macs, 26000);
  EXPECT_EQ(run->accuracy, 0.92);
  EXPECT_EQ(run->cycles, 4000);
  EXPECT_NEAR(*run->seconds, 4e-5, 1e-12);
  EXPECT_EQ(run->mhz, 100);
  EXPECT_NEAR(*run->picojoules, 7800 + 1000 + 10400, 1e-9);
  EXPECT_EQ(run->area_um2, 50000);
  EXPECT_FALSE(run->area_incomplete);
  EXPECT_FALSE(run->estimated);
  EXPECT_FALSE(run->clock_confirmed);
  ASSERT_EQ(run->kernels.size(), 4u);
  EXPECT_EQ(run->kernels[0].name, "conv1+relu1");
  EXPECT_EQ(run->kernels[0].cycles, 2500);
  EXPECT_EQ(run->kernels[1].cycles, 500);  // it begins while conv1 still runs
  EXPECT_TRUE(run->kernels[2].on_host);
  EXPECT_EQ(run->kernels[3].cycles, 1000);
  EXPECT_FALSE(run->pipelined);
  report.interval_cycles = 800;
  EXPECT_TRUE(ParseSavedRun(ToJson(report), "run.json")->pipelined);
}

// `kiln compile --json` has no trace: the kernels' cycles are the certificates' costs of
// example_report.h, and the comparison says so.
TEST(SavedRun, ReadsTheEstimatesOfAProgramThatHasNotRun) {
  RunReport report = ExampleReport();
  report.trace.reset();
  report.cycles_per_image.clear();
  const auto run = ParseSavedRun(ToJson(report), "compiled.json");
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_TRUE(run->kernels_estimated);
  ASSERT_EQ(run->kernels.size(), 4u);
  EXPECT_EQ(run->kernels[0].cycles, report.kernels[0].certificate.cost);
  EXPECT_EQ(run->kernels[2].cycles, std::nullopt) << "on the host";
  const Comparison c = *Compare({*run, RunOf("a", "a.json")}, true);
  EXPECT_THAT(c.notes, testing::Contains("compiled.json: nothing has run; the cycles of its "
                                         "kernels are the compiler's estimates"));
  EXPECT_FALSE(ParseSavedRun(ToJson(ExampleReport()), "run.json")->kernels_estimated);
}

TEST(SavedRun, RefusesOtherFiles) {
  const auto message = [](const std::string& text) {
    const auto run = ParseSavedRun(text, "r.json");
    return run.ok() ? "accepted" : MessageOf(run.status());
  };
  EXPECT_THAT(message("{"), HasSubstr("r.json"));
  EXPECT_EQ(
      message("[]"),
      "r.json: is no report of a run; the JSON of `kiln run --json` or `kiln compile --json`");
  EXPECT_EQ(message("{}"), message("[]"));
  EXPECT_EQ(message(R"({"kiln_report": 7})"),
            "r.json: key 'kiln_report': 7 is another version; 3: write the report again with this "
            "version of Kiln");
  EXPECT_EQ(message(R"({"kiln_report": 3})"),
            "r.json: key 'model': is missing; write the report again with this version of Kiln");
  auto json = nlohmann::json::parse(ToJson(ExampleReport()));
  json["kernels"][1]["name"] = 3;
  EXPECT_THAT(message(json.dump()), HasSubstr("kernels[1].name"));
  json = nlohmann::json::parse(ToJson(ExampleReport()));
  json["performance"]["cycles"] = -1;
  EXPECT_THAT(message(json.dump()), HasSubstr("performance.cycles"));
  json = nlohmann::json::parse(ToJson(ExampleReport()));
  json["partial"] = "yes";
  EXPECT_THAT(message(json.dump()), HasSubstr("neither true nor false"));
  json = nlohmann::json::parse(ToJson(ExampleReport()));
  json["kernels"] = nlohmann::json::array();
  for (int k = 0; k <= budgets::kReportKernels; ++k) json["kernels"].push_back(nullptr);
  EXPECT_THAT(message(json.dump()), HasSubstr("65537 are too many"));
}

}  // namespace
}  // namespace kiln
