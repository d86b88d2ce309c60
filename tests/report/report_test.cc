// Tests of run reports: the text, JSON, Chrome trace and HTML forms, and their derived figures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "kiln/report/chrome_trace.h"
#include "kiln/report/html.h"
#include "kiln/report/run_report.h"
#include "kiln/support/file.h"
#include "tests/report/clipped_text.h"
#include "tests/report/example_report.h"
#include "tests/report/well_formed.h"

namespace kiln {
namespace {

using testing::HasSubstr;
using testing::Not;

// Compares with tests/report/golden/<name>; with KILN_UPDATE_GOLDEN set, writes the file and fails,
// so that nobody updates by accident.
void ExpectGolden(const std::string& name, const std::string& text) {
  const std::string path = "tests/report/golden/" + name;
  if (std::getenv("KILN_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(WriteFile(path, text).ok());
    FAIL() << path << " written anew; look at the difference and run again";
  }
  const StatusOr<std::string> golden = ReadFile(path);
  ASSERT_TRUE(golden.ok()) << golden.status();
  EXPECT_EQ(text, *golden) << "KILN_UPDATE_GOLDEN=1 writes it anew";
}

TEST(RunReport, TextIsStable) { ExpectGolden("run.txt", ToText(ExampleReport())); }
TEST(RunReport, JsonIsStable) { ExpectGolden("run.json", ToJson(ExampleReport())); }
TEST(RunReport, ChromeTraceIsStable) {
  const RunReport report = ExampleReport();
  ExpectGolden("trace.json",
               nlohmann::json::parse(ToChromeTrace(*report.trace, report.kernels)).dump(1) + "\n");
}

TEST(RunReport, KernelsAreChargedWhatTheyAdd) {
  const RunReport report = ExampleReport();
  const std::vector<KernelRow> rows = KernelRows(report);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].cycles, 2500);
  EXPECT_EQ(rows[1].cycles, 500);
  EXPECT_EQ(rows[2].cycles, 0);
  EXPECT_EQ(rows[3].cycles, 1000);
  EXPECT_DOUBLE_EQ(rows[0].share, 0.625);
  EXPECT_DOUBLE_EQ(*rows[0].utilisation, 0.5);
  EXPECT_DOUBLE_EQ(Utilisation(report).value(), 26000.0 / (4000.0 * 16));
  EXPECT_DOUBLE_EQ(HostShare(report), 160.0 / 26224);
  // More than the machine can do in 500 cycles: the kernel worked beside the first one.
  RunReport pipelined = report;
  pipelined.kernels[1].macs = 500 * 16 + 1;
  EXPECT_FALSE(KernelRows(pipelined)[1].utilisation.has_value());
}

// Names of layers that differ in their middle differ in the table, too.
TEST(RunReport, NamesOfKernelsStayDifferent) {
  RunReport report = ExampleReport();
  report.kernels[0].name = "/encoder/layers/layer.10/attention/self/query/MatMul";
  report.kernels[3].name = "/encoder/layers/layer.11/attention/self/query/MatMul";
  const std::string text = ToText(report);
  EXPECT_THAT(text, HasSubstr("\n/encoder/layers/layer.10/at…y/MatMul  "));
  EXPECT_THAT(text, HasSubstr("\n/encoder/layers/layer.11/at…y/MatMul  "));
}

// A peak of a million is not "1e+06".
TEST(RunReport, LargeNumbersHaveNoExponent) {
  RunReport report = ExampleReport();
  report.machine->peak_macs_per_cycle = 1998720;
  EXPECT_THAT(ToText(report), HasSubstr(": 1,998,720 multiply-accumulates a cycle"));
  const std::string page = ToHtml(report);
  EXPECT_THAT(page, HasSubstr("1,998,720 multiply-accumulates a cycle"));
  EXPECT_THAT(page, Not(HasSubstr("e+06")));
}

// 0.0 % would say that the machine idles.
TEST(RunReport, UtilisationIsUnknownWithoutMultiplyAccumulates) {
  RunReport report = ExampleReport();
  EXPECT_EQ(UtilisationText(report), "40.6 %");
  for (KernelInfo& kernel : report.kernels) kernel.macs = kernel.macs > 0 ? 1 : 0;
  EXPECT_EQ(UtilisationText(report), "under 0.1 %");
  EXPECT_THAT(ToText(report), testing::HasSubstr("under 0.1 % of the peak"));
  for (KernelInfo& kernel : report.kernels) kernel.macs = 0;
  EXPECT_EQ(UtilisationText(report), "-");
  EXPECT_THAT(
      ToText(report),
      testing::HasSubstr("unknown: the accelerator's kernels have no multiply-accumulates"));
  EXPECT_THAT(ToJson(report), testing::HasSubstr("\"utilisation\": null"));
  report = ExampleReport();
  report.machine->peak_macs_per_cycle = 0;
  EXPECT_EQ(UtilisationText(report), "-");
}

TEST(RunReport, SlowSimulationsHaveASpeed) {
  RunReport report = ExampleReport();
  report.images_run = 1;
  report.run_seconds = 2.64;
  EXPECT_THAT(ToText(report), HasSubstr("1 image in 2.64 s, 0.379 images/s"));
  EXPECT_THAT(ToHtml(report), HasSubstr("0.379 images/s"));
}

// The fastest and the slowest image can be at any position.
TEST(RunReport, ShowsTheFastestAndTheSlowestImage) {
  RunReport report = ExampleReport();
  report.cycles_per_image = {4000, 3500, 5200, 4100};
  EXPECT_THAT(ToText(report), HasSubstr("3,500 cycles per image at least, 5,200 at most"));
  EXPECT_THAT(ToHtml(report), HasSubstr("3,500 to 5,200"));
  report.cycles_per_image = {4000, 4000};
  EXPECT_THAT(ToText(report), HasSubstr("4,000 cycles per image"));
  EXPECT_THAT(ToText(report), Not(HasSubstr("at most")));
}

// Counts by hand: of 10 places with label 0, 3 are taken for class 2; one of label 1 has no answer.
TEST(RunReport, ShowsWhichClassesAreConfused) {
  RunReport report = ExampleReport();
  EXPECT_EQ(report.confusion(), nullptr);
  EXPECT_THAT(ToHtml(report), Not(HasSubstr("Confusion of classes")));
  report.fp32->confusion.emplace().counts = {{{0, 0}, 10}};
  EXPECT_EQ(report.confusion(), nullptr) << "the level under test is the quantised one";
  Confusion& confusion = report.quantised->confusion.emplace();
  confusion.counts = {{{0, 0}, 7}, {{0, 2}, 3}, {{1, Confusion::kNoClass}, 1}};
  EXPECT_EQ(report.confusion(), &confusion);
  EXPECT_THAT(ToText(report), HasSubstr("label  taken for  times  of the label\n"
                                        "-----  ---------  -----  ------------\n"
                                        "    0          2      3        30.0 %\n"
                                        "    1        NaN      1       100.0 %\n"));
  const auto json = nlohmann::json::parse(ToJson(report));
  const nlohmann::json expected = {{{"label", 0}, {"answer", 0}, {"count", 7}},
                                   {{"label", 0}, {"answer", 2}, {"count", 3}},
                                   {{"label", 1}, {"answer", nullptr}, {"count", 1}}};
  EXPECT_EQ(json["accuracy"]["quantised"]["confusion"], expected);
  const std::string page = ToHtml(report);
  EXPECT_EQ(WellFormedFault(page), "");
  EXPECT_THAT(page, HasSubstr("Confusion of classes"));
  EXPECT_THAT(page, HasSubstr("<title>label 0, given class 2: 3</title>"));
  // More classes than the picture has room for leave the table.
  confusion.counts[{40, 40}] = 1;
  EXPECT_THAT(ToHtml(report), Not(HasSubstr("given class")));
  EXPECT_THAT(ToHtml(report), HasSubstr("taken for"));
  confusion.counts = {{{0, 0}, 7}};
  EXPECT_THAT(ToText(report), HasSubstr("no label was taken for another class\n"));
}

TEST(RunReport, ReasonOfTheHostsLargestShare) {
  RunReport report = ExampleReport();
  EXPECT_EQ(LargestHostReason(report)->reason, "no unit computes erf");
  EXPECT_EQ(Because(LargestHostReason(report), HostShare(report)),
            ", because no unit computes erf");
  // 100 + 100 operations for one reason are more than 160 for the other.
  for (int i = 0; i < 2; ++i) {
    KernelInfo kernel = report.kernels[0];
    kernel.operations = 100;
    kernel.host_reason = "too wide";
    report.kernels.push_back(kernel);
  }
  const auto reason = LargestHostReason(report);
  EXPECT_EQ(reason->reason, "too wide");
  EXPECT_DOUBLE_EQ(reason->share, 200.0 / 26424);
  EXPECT_EQ(Because(reason, HostShare(report)), ", 0.76 % because too wide");
  for (KernelInfo& kernel : report.kernels) kernel.host_reason = "";
  report.kernels[0].host_reason = "first; second; third";
  EXPECT_EQ(LargestHostReason(report)->reason, "first (and 2 reasons more)");
  report.kernels[0].host_reason = "";
  EXPECT_FALSE(LargestHostReason(report).has_value());
  EXPECT_EQ(Because(std::nullopt, 0), "");
}

// Whatever the order and overlap of kernels, their cycles sum to the latest end, and none is
// negative.
TEST(RunReport, SharesSumToTheWhole) {
  RunReport report = ExampleReport();
  std::vector<KernelTrace>& kernels = report.trace->kernels;
  std::sort(kernels.begin(), kernels.end(),
            [](const KernelTrace& a, const KernelTrace& b) { return a.end < b.end; });
  do {
    int64_t sum = 0;
    for (const KernelRow& row : KernelRows(report)) {
      EXPECT_GE(row.cycles, 0);
      sum += row.cycles;
    }
    EXPECT_EQ(sum, 4000);
  } while (std::next_permutation(
      kernels.begin(), kernels.end(),
      [](const KernelTrace& a, const KernelTrace& b) { return a.end < b.end; }));
}

TEST(RunReport, TraceWithForeignKernelsIsSurvived) {
  RunReport report = ExampleReport();
  report.trace->kernels.push_back({.kernel = 99, .begin = 0, .end = 1, .macs = 0});
  report.trace->spans.push_back({.unit = 7, .kernel = -1, .begin = 0, .end = 1});
  EXPECT_EQ(KernelRows(report).size(), 4u);
  EXPECT_EQ(WellFormedFault(ToHtml(report)), "");
}

TEST(Html, IsWellFormedAndComplete) {
  const RunReport report = ExampleReport();
  const std::string html = ToHtml(report);
  EXPECT_EQ(WellFormedFault(html), "");
  for (const char* name : {"conv1+relu1", "pool&lt;1&gt;", "odd\xef\xbf\xbdop", "fc",
                           "no unit computes erf", "93.00 %", "92.00 %", "-1.00 points", "4,000",
                           "input bank empty", "tiny &lt;net&gt; &amp; &quot;co&quot;"}) {
    EXPECT_THAT(html, HasSubstr(name));
  }
  EXPECT_THAT(html, Not(HasSubstr("<net>")));
  EXPECT_THAT(html, Not(HasSubstr("class=\"\"")));  // what has no class is black
  for (const char* fetched : {"<script", "http", "src=", "@import", "url("})
    EXPECT_THAT(html, Not(HasSubstr(fetched)));
}

// The family's pictures are below the kernels, and the first one is open.
TEST(Html, HasTheFamilysPicturesOfKernels) {
  RunReport report = ExampleReport();
  EXPECT_THAT(ToHtml(report), Not(HasSubstr("How kernels run")));
  report.pictures = {{.kernel = 1, .title = "a <b>", .svg = "<svg class=\"paper\"><g/></svg>"},
                     {.kernel = 0, .title = "second", .svg = "<svg class=\"paper\"></svg>"},
                     {.kernel = 0, .title = "not drawn: <3>", .svg = ""}};
  const std::string html = ToHtml(report);
  EXPECT_EQ(WellFormedFault(html), "");
  const size_t begin = html.find("<h2>How kernels run</h2>");
  ASSERT_LT(html.find("<h2>Kernels</h2>"), begin);
  EXPECT_THAT(html.substr(begin),
              HasSubstr("<details open=\"\"><summary>1 pool&lt;1&gt;: a &lt;b&gt;</summary>"
                        "<div class=\"scroll\"><svg class=\"paper\"><g/></svg></div></details>"));
  EXPECT_THAT(html.substr(begin), HasSubstr("<details><summary>0 conv1+relu1: second</summary>"));
  EXPECT_THAT(html.substr(begin), HasSubstr("<p class=\"note\">not drawn: &lt;3&gt;</p>"));
}

// A picture of the units in order, for machines with queues between them only.
TEST(Html, DrawsQueuesBetweenUnits) {
  RunReport report = ExampleReport();
  EXPECT_THAT(ToHtml(report), Not(HasSubstr("<h2>Pipeline</h2>")));
  report.trace->units.push_back({.name = "join <1>", .busy_cycles = 1000, .stall_cycles = {}});
  report.trace->queues = {{.name = "in to array", .to = 0, .depth = 4, .highest = 1},
                          {.name = "array to store", .from = 0, .to = 1, .depth = 8, .highest = 2},
                          {.name = "array to join", .from = 0, .to = 2, .depth = 30, .highest = 30},
                          {.name = "store to join", .from = 1, .to = 2, .depth = 2, .highest = 1},
                          {.name = "join to <out>", .from = 2, .depth = 7, .highest = 0}};
  const std::string html = ToHtml(report);
  EXPECT_EQ(WellFormedFault(html), "");
  const size_t begin = html.find("<h2>Pipeline</h2>"), end = html.find("<h2>Kernels</h2>");
  ASSERT_LT(begin, end);
  const std::string picture = html.substr(begin, end - begin);
  // Bars: 2600 of 4000 cycles of 330 units' width; 2 of 8 words of half of the 534 on the right.
  EXPECT_THAT(picture,
              HasSubstr(R"(width="214.50" height="18"><title>array: busy in 2,600 cycles, )"
                        "65.0 %</title>"));
  EXPECT_THAT(picture,
              HasSubstr(R"(width="66.75" height="18"><title>array to store: 2 of 8 words)"));
  // The join has two queues, each with half of the place. The full one has another colour.
  EXPECT_THAT(picture, HasSubstr(R"(<rect class="u2" x="530.00" y="85" width="133.50" height="18">)"
                                 "<title>array to join: 30 of 30 words</title>"));
  EXPECT_THAT(picture, HasSubstr(R"(<rect class="u1" x="797.00" y="85" width="66.75" height="18">)"
                                 "<title>store to join: 1 of 2 words</title>"));
  EXPECT_THAT(picture, HasSubstr("join to &lt;out&gt;: 0 of 7 words"));
  EXPECT_THAT(picture, HasSubstr(">output</text>"));
  // One curve, for the queue that skips a unit.
  EXPECT_EQ(picture.find("<path"), picture.rfind("<path"));
  EXPECT_NE(picture.find("<path"), std::string::npos);
  // A share is written beside the bar, or on it where the bar leaves no room.
  EXPECT_THAT(picture, HasSubstr(R"(<text class="faint" x="454" y="42" text-anchor="end">65.0 %)"));
  RunReport busy = report;
  busy.trace->units[0].busy_cycles = 3560;  // to 130 + 293.7
  EXPECT_THAT(ToHtml(busy),
              HasSubstr(R"(<text class="on-bar" x="418" y="42" text-anchor="end">89.0 %)"));
  busy.trace->units[0].busy_cycles = 4000;
  EXPECT_THAT(ToHtml(busy),
              HasSubstr(R"(<text class="on-bar" x="454" y="42" text-anchor="end">100.0 %)"));
  // The same in JSON, by name.
  EXPECT_THAT(ToJson(report), HasSubstr(R"("name": "array to join",
      "from": "array",
      "to": "join <1>",
      "depth": 30,
      "highest": 30)"));
  // Foreign units are survived.
  report.trace->queues.push_back({.name = "odd", .from = 9, .to = 12});
  EXPECT_EQ(WellFormedFault(ToHtml(report)), "");
}

// Names of stages are long, and the last marks of axes are at the edges of the pictures.
TEST(Html, PicturesHoldTheirText) {
  RunReport report = ExampleReport();
  report.trace->units[0].name = "stage WWWW/Conv with a name that no label has room for, A";
  report.trace->units[1].name = "stage WWWW/Conv with a name that no label has room for, B";
  report.trace->queues = {{.name = "in", .to = 0, .depth = 1 << 20, .highest = 1 << 20}};
  report.traffic = Traffic::For({{.name = "reads", .bytes_per_cycle = 8}}, report.kernels.size());
  report.traffic->bytes = {{4}, {900}, {0}, {1500}};  // 10,000 operations a byte
  for (const int64_t cycles : {4000, 4100, 999999, 1000000, 123456789}) {
    report.trace->cycles = cycles;
    EXPECT_THAT(ClippedTexts(ToHtml(report)), testing::IsEmpty()) << cycles;
  }
  EXPECT_THAT(ClippedTexts(R"re(<svg viewBox="0 0 100 9"><text x="20" text-anchor="end">)re"
                           R"re(<title>long</title>abc</text><text x="80">abc</text></svg>)re"),
              testing::ElementsAre("abc", "abc"));
}

// Units wait for up to 15 causes: each has a colour of the style sheet.
TEST(Html, CausesOfWaitingHaveColoursOfTheirOwn) {
  RunReport report = ExampleReport();
  report.trace->units[0].stall_cycles.clear();
  for (int cause = 0; cause < 15; ++cause)
    report.trace->units[0].stall_cycles["cause " + std::to_string(cause)] = 10;
  const std::string html = ToHtml(report);
  for (int colour = 1; colour <= 15; ++colour) {
    const std::string name = "u" + std::to_string(colour);
    EXPECT_THAT(html, HasSubstr("." + name + " { fill: var(--" + name + "); }"));
    EXPECT_THAT(html, testing::ContainsRegex("class=\"" + name + "\" [^>]*><title>cause "));
  }
}

TEST(Html, TellsALessFortunateRun) {
  RunReport report;
  report.model.name = "m";
  EXPECT_EQ(WellFormedFault(ToHtml(report)), "");
  report = ExampleReport();
  report.different_images = 1;
  EXPECT_THAT(ToHtml(report), HasSubstr(R"(<div class="figure bad">different</div>)"));
  EXPECT_THAT(ToText(report), HasSubstr("DIFFER on 1 of 1"));
}

// Spans a pixel apart or less are joined, so that a long trace gives a page of bounded size.
TEST(Html, SaysWhyThereIsNoAccuracyAndWhatWasWritten) {
  RunReport report = ExampleReport();
  EXPECT_THAT(ToHtml(report), Not(HasSubstr("<dt>accuracy</dt>")));
  EXPECT_THAT(ToHtml(report), Not(HasSubstr("<dt>written</dt>")));
  report.no_accuracy = "t.idx has no <labels>";
  report.outputs_file = "new/out.npz";
  report.written = {{"logits", "logits", "f32", {100, 10}, "int8 per_tensor"},
                    {"b", "b", "i64", {100}, ""}};
  const std::string html = ToHtml(report);
  EXPECT_EQ(WellFormedFault(html), "");
  EXPECT_THAT(html, HasSubstr("<dt>accuracy</dt><dd>none: t.idx has no &lt;labels&gt;</dd>"));
  EXPECT_THAT(
      html,
      HasSubstr("<dt>written</dt><dd>new/out.npz: logits f32 100x10 with codes, b i64 100</dd>"));
}

TEST(Html, LongTracesStaySmall) {
  RunReport report = ExampleReport();
  report.trace->cycles = 10'000'000;
  report.trace->spans.clear();
  for (int64_t at = 0; at < 1'000'000; ++at) {
    report.trace->spans.push_back({.unit = 0, .kernel = 0, .begin = at * 10, .end = at * 10 + 5});
  }
  EXPECT_LT(ToHtml(report).size(), 100'000u);
}

TEST(WellFormed, FindsFaults) {  // the checker itself can fail
  EXPECT_EQ(WellFormedFault("<!DOCTYPE html>\n<a b=\"1\"><c/>x &amp; y</a>"), "");
  for (const char* bad : {"<a>", "<a></b>", "<a b=1></a>", "<a>&</a>", "<a>&nosuch;</a>",
                          "<a></a><b></b>", "<a", "<a>\xff</a>", "<a b=\"<\"></a>"}) {
    EXPECT_NE(WellFormedFault(bad), "") << bad;
  }
}

}  // namespace
}  // namespace kiln
