// Tests of the comparison of levels and of its text.
#include "kiln/report/verify_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace kiln {
namespace {

using testing::HasSubstr;
using testing::Not;

class OneKernel final : public Program {
 public:
  OneKernel() {
    KernelInfo kernel;
    kernel.name = "conv";
    kernel.operations = 300;
    kernels_.push_back(kernel);
  }
  std::string Print() const override { return ""; }
};

// A run that left nothing behind but its time.
RunResult ExampleRun() {
  RunResult result;
  result.trace.cycles = 100;
  result.trace.kernels = {{.kernel = 0, .begin = 0, .end = 100, .macs = 0}};
  result.trace.units = {{.name = "array",
                         .busy_cycles = 60,
                         .stall_cycles = {{"weights", 7}},
                         .bytes_read = 0,
                         .bytes_written = 0},
                        {.name = "vector",
                         .busy_cycles = 20,
                         .stall_cycles = {},
                         .bytes_read = 48,
                         .bytes_written = 16}};
  result.cycles_per_image = {100};
  return result;
}

VerifyReport Compared(const RunResult& cycle, const RunResult& rtl, bool timed = true) {
  VerifyReport report;
  report.images = 1;
  report.timed = timed;
  CompareLevels(OneKernel(), ExampleRun(), cycle, rtl, &report);
  return report;
}

TEST(VerifyReport, EqualRunsAgree) {
  const VerifyReport report = Compared(ExampleRun(), ExampleRun());
  EXPECT_TRUE(report.agrees());
  ASSERT_EQ(report.counters.size(), 5u);  // what never counted is left out
  EXPECT_THAT(ToText(report), Not(HasSubstr("DIFFERENT")));
  EXPECT_THAT(ToText(report), HasSubstr("waiting: weights"));
}

// What the host runs is not compared, and the report says so in text and JSON.
TEST(VerifyReport, TellsWhatWasComparedAndWhatTheHostRan) {
  class WithHostKernel final : public Program {
   public:
    WithHostKernel() {
      KernelInfo conv, softmax;
      conv.name = "conv";
      conv.operations = 300;
      softmax.name = "softmax";
      softmax.operation = "softmax 10";
      softmax.operations = 100;
      softmax.host_reason = "the machine has no such function";
      kernels_ = {conv, softmax};
    }
    std::string Print() const override { return ""; }
  };
  VerifyReport report;
  report.images = 1;
  report.seed = 9;
  report.objective = "edp";
  CompareLevels(WithHostKernel(), ExampleRun(), ExampleRun(), ExampleRun(), &report);
  EXPECT_THAT(
      ToText(report),
      HasSubstr("\nverified     1 of 2 kernels, with 75.00 % of the operations; the host runs "
                "the other, with 25.00 %, the same at every level\n"));
  EXPECT_THAT(ToText(report), HasSubstr("random at power-up, seed 9"));
  EXPECT_THAT(ToText(report),
              testing::ContainsRegex("softmax +softmax 10 +100 +the machine has no such function"));
  const auto json = nlohmann::json::parse(ToJson(report));
  EXPECT_EQ(json["verified_share"], 0.75);
  EXPECT_EQ(json["host_share"], 0.25);
  EXPECT_EQ(json["seed"], 9);
  EXPECT_EQ(json["optimise"], "edp");
  ASSERT_EQ(json["kernels"].size(), 1u);
  EXPECT_EQ(json["kernels"][0]["operations"], 300);
  ASSERT_EQ(json["host_kernels"].size(), 1u);
  EXPECT_EQ(json["host_kernels"][0]["name"], "softmax");
  EXPECT_EQ(json["host_kernels"][0]["because"], "the machine has no such function");

  // Without a host kernel nothing is said of the host.
  EXPECT_THAT(
      ToText(Compared(ExampleRun(), ExampleRun())),
      testing::AllOf(HasSubstr("verified     1 of 1 kernel, with 100.00 % of the operations\n"),
                     Not(HasSubstr("host"))));
}

TEST(VerifyReport, ACounterThatDiffersIsAFault) {
  for (const auto change : {+[](UnitTrace& unit) { unit.busy_cycles += 1; },
                            +[](UnitTrace& unit) { unit.stall_cycles.clear(); },
                            +[](UnitTrace& unit) { unit.stall_cycles["input bank empty"] = 1; },
                            +[](UnitTrace& unit) { unit.bytes_written = 4; }}) {
    RunResult rtl = ExampleRun();
    change(rtl.trace.units[0]);
    const VerifyReport report = Compared(ExampleRun(), rtl);
    EXPECT_FALSE(report.counters_agree());
    EXPECT_FALSE(report.agrees());
    EXPECT_THAT(ToText(report), HasSubstr("DIFFERENT"));
    EXPECT_FALSE(nlohmann::json::parse(ToJson(report))["counters_agree"].get<bool>());
  }
}

// Behind another memory than an ideal one cycles are what they are; bytes are not.
TEST(VerifyReport, BytesAreComparedBehindAnyMemory) {
  RunResult rtl = ExampleRun();
  rtl.trace.units[1].busy_cycles = 35;
  EXPECT_TRUE(Compared(ExampleRun(), rtl, /*timed=*/false).agrees());
  rtl.trace.units[1].bytes_read = 47;
  const VerifyReport report = Compared(ExampleRun(), rtl, /*timed=*/false);
  EXPECT_FALSE(report.agrees());
  const auto json = nlohmann::json::parse(ToJson(report));
  EXPECT_EQ(json["counters"][2]["name"], "busy");
  EXPECT_FALSE(json["counters"][2]["compared"].get<bool>());
  EXPECT_EQ(json["counters"][3]["rtl"], 47);
}

// The image whose signals are worth a look.
TEST(VerifyReport, FirstDifferentImage) {
  EXPECT_EQ(Compared(ExampleRun(), ExampleRun()).first_different_image, -1);
  RunResult rtl = ExampleRun(), cycle = ExampleRun();
  cycle.cycles_per_image = rtl.cycles_per_image = {100, 100, 100};
  rtl.cycles_per_image[2] = 101;
  EXPECT_EQ(Compared(cycle, rtl).first_different_image, 2);
  EXPECT_EQ(Compared(cycle, rtl, /*timed=*/false).first_different_image, -1);
  rtl.trace.units[0].busy_cycles += 1;  // counted of the first image
  rtl.cycles_per_image[2] = 100;
  EXPECT_EQ(Compared(cycle, rtl).first_different_image, 0);
}

TEST(VerifyReport, SaysWhatWasRecorded) {
  VerifyReport report = Compared(ExampleRun(), ExampleRun());
  EXPECT_THAT(ToText(report), Not(HasSubstr("waveform")));
  report.waveform.emplace();
  EXPECT_THAT(ToText(report), HasSubstr("waveform     none: no image differs"));
  EXPECT_TRUE(nlohmann::json::parse(ToJson(report))["waveform"].is_null());
  report.waveform = {.file = "a.fst",
                     .kernel = "conv",
                     .image = 3,
                     .window = {.recorded = true, .kernel = 0, .begin = 1000, .end = 2345},
                     .fault = ""};
  EXPECT_THAT(ToText(report),
              HasSubstr("a.fst: image 3, cycles 1,000 to 2,345, first different kernel conv"));
  EXPECT_EQ(nlohmann::json::parse(ToJson(report))["waveform"]["end"], 2345);
  report.waveform = {.file = "a.fst", .kernel = "", .image = 3, .window = {}, .fault = "no space"};
  EXPECT_THAT(ToText(report), HasSubstr("waveform     none: no space"));
  EXPECT_EQ(nlohmann::json::parse(ToJson(report))["no_waveform_because"], "no space");
}

}  // namespace
}  // namespace kiln
