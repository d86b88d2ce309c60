// Tests of time, rate and efficiency against figures by hand, and of what is said of clocks.
#include "kiln/report/performance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kiln/report/verify_report.h"

namespace kiln {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A machine at 200 MHz of 2 mm2 that takes 400,000 cycles and 5 uJ for an image of 10 million
// multiply-accumulates; the host does 1 million more.
RunReport Report() {
  RunReport report;
  RunReport::Machine machine;
  machine.clock_mhz = 200;
  machine.cost.node_nm = 45;
  machine.cost.area_square_micrometres = 2e6;
  machine.cost.clock.machine.top = "kiln_machine";
  machine.cost.clock.mhz = 250;
  report.machine = machine;
  report.energy = Energy{};
  report.energy->Add("array", "multiply-accumulates", 10'000'000, 0.5);
  KernelInfo kernel;
  kernel.macs = 10'000'000;
  kernel.certificate.unit = "cycles";
  kernel.certificate.cost = 350'000;
  report.kernels.push_back(kernel);
  kernel.macs = 1'000'000;
  kernel.host_reason = "no unit";
  kernel.certificate = {};
  report.kernels.push_back(kernel);
  report.cycles_per_image = {400'000};
  return report;
}

TEST(Performance, FiguresFollowFromCyclesAreaAndEnergy) {
  const Performance p = *PerformanceOf(Report());
  EXPECT_EQ(p.operations, 20'000'000);
  EXPECT_FALSE(p.estimated);
  EXPECT_DOUBLE_EQ(*p.seconds, 0.002);  // 400,000 / 200 MHz
  EXPECT_DOUBLE_EQ(*p.images_per_second, 500);
  EXPECT_DOUBLE_EQ(*p.gops, 10);  // 20 million * 500
  EXPECT_DOUBLE_EQ(*p.gops_per_mm2, 5);
  EXPECT_DOUBLE_EQ(*p.watts, 0.0025);     // 5 uJ * 500
  EXPECT_DOUBLE_EQ(*p.tops_per_watt, 4);  // 20 million / 5 million pJ
  EXPECT_EQ(SpeedLine(p),
            "2.00 ms per image, 500 images/s, 10.0 GOPS, 5.00 GOPS/mm², 0.00250 W, 4.00 TOPS/W at "
            "200 MHz; 20.0 M operations an image, 2 per multiply-accumulate");
}

TEST(Performance, ImagesAtOnceAndIntervalsCount) {
  RunReport report = Report();
  report.trace = Trace{};
  report.trace->images = 4;
  EXPECT_DOUBLE_EQ(*PerformanceOf(report)->images_per_second, 2000);
  EXPECT_THAT(SpeedLine(*PerformanceOf(report)), HasSubstr("2.00 ms per 4 images at once"));
  report.interval_cycles = 100'000;
  EXPECT_DOUBLE_EQ(*PerformanceOf(report)->images_per_second, 2000);
  EXPECT_DOUBLE_EQ(*PerformanceOf(report)->seconds, 0.002);
  report.interval_cycles = 50'000;
  EXPECT_DOUBLE_EQ(*PerformanceOf(report)->gops, 80);  // 20 million * 4,000
}

TEST(Performance, ProgramsThatHaveNotRunHaveEstimates) {
  RunReport report = Report();
  report.cycles_per_image.clear();
  const Performance p = *PerformanceOf(report);
  EXPECT_TRUE(p.estimated);
  EXPECT_EQ(p.cycles, 350'000);
  EXPECT_THAT(SpeedLine(p), HasSubstr("estimated 1.75 ms per image, 571 images/s"));
  // The kernels of machines that pipeline images overlap: the rate is known, the time is not.
  report.interval_cycles = 100'000;
  EXPECT_FALSE(PerformanceOf(report)->seconds.has_value());
  EXPECT_DOUBLE_EQ(*PerformanceOf(report)->images_per_second, 2000);
  report.interval_cycles = 0;
  // Estimates in other units than cycles give no time.
  report.kernels[0].certificate.unit = "pJ";
  EXPECT_FALSE(PerformanceOf(report)->seconds.has_value());
  EXPECT_EQ(SpeedLine(*PerformanceOf(report)),
            "4.00 TOPS/W at 200 MHz; 20.0 M operations an image, 2 per multiply-accumulate");
}

TEST(Performance, ClocksAreConfirmedOrNot) {
  RunReport report = Report();
  EXPECT_TRUE(PerformanceOf(report)->confirmed());
  EXPECT_EQ(ClockLine(*PerformanceOf(report)),
            "200 MHz by the design point; synthesis of the whole machine confirms up to 250 MHz at "
            "45 nm");
  report.machine->cost.clock.in_place = "with memory_latency 16 and 256";
  EXPECT_THAT(
      ClockLine(*PerformanceOf(report)),
      HasSubstr("; synthesis of the whole machine with memory_latency 16 and 256 confirms "));
  report.machine->cost.clock.in_place.clear();
  report.machine->clock_mhz = 251;
  EXPECT_FALSE(PerformanceOf(report)->confirmed());
  EXPECT_EQ(
      ClockLine(*PerformanceOf(report)),
      "251 MHz by the design point, NOT CONFIRMED: synthesis of the whole machine reaches 250 "
      "MHz at 45 nm");
  report.machine->clock_mhz = 0;
  EXPECT_THAT(ClockLine(*PerformanceOf(report)),
              AllOf(HasSubstr("not stated by the design point; synthesis of the whole machine "
                              "reaches 250 MHz at 45 nm"),
                    Not(HasSubstr("CONFIRMED"))));
}

// 400,000 cycles at no more than the 250 MHz of Report().
TEST(Performance, TimesAreAtAClockThatTheModelDoesNotRefute) {
  RunReport report = Report();
  report.machine->clock_mhz = 400;
  EXPECT_DOUBLE_EQ(PerformanceOf(report)->mhz, 250);
  EXPECT_DOUBLE_EQ(*PerformanceOf(report)->seconds, 0.0016);
  EXPECT_EQ(TimeText(*PerformanceOf(report)), "1.60 ms at 250 MHz, 625 images/s");
  EXPECT_DOUBLE_EQ(nlohmann::json::parse(ToJson(report))["performance"]["at_mhz"], 250);
  // Without a clock of the design point, times are at the modelled one; without both, not known.
  report.machine->clock_mhz = 0;
  EXPECT_DOUBLE_EQ(*PerformanceOf(report)->seconds, 0.0016);
  report.machine->cost.clock = {};
  EXPECT_FALSE(PerformanceOf(report)->seconds.has_value());
  EXPECT_EQ(TimeText(*PerformanceOf(report)), "");
  // Without a model, at the design point's.
  report.machine->clock_mhz = 100;
  EXPECT_EQ(TimeText(*PerformanceOf(report)), "4.00 ms at 100 MHz, 250 images/s");
}

TEST(Performance, UnknownClocksHaveAReason) {
  RunReport report = Report();
  report.machine->cost.clock.mhz = -1;
  EXPECT_FALSE(PerformanceOf(report)->modelled_mhz.has_value());
  EXPECT_EQ(ClockLine(*PerformanceOf(report)),
            "200 MHz by the design point, NOT CONFIRMED: this machine has not been synthesised; "
            "`kiln synth` finds its clock");
  report.machine->cost.clock = {};
  EXPECT_THAT(ClockLine(*PerformanceOf(report)), HasSubstr("NOT CONFIRMED: no clock model"));
  report.machine->cost.clock.no_model = "no tool times it";
  EXPECT_THAT(ClockLine(*PerformanceOf(report)), HasSubstr("NOT CONFIRMED: no tool times it"));
}

TEST(Performance, JsonHasNullForWhatIsNotKnown) {
  RunReport report = Report();
  report.machine->cost.area_square_micrometres = -1;
  report.machine->cost.clock.mhz = -1;
  const auto json = nlohmann::json::parse(ToJson(report))["performance"];
  EXPECT_EQ(json["cycles"], 400'000);
  EXPECT_DOUBLE_EQ(json["seconds"], 0.002);
  EXPECT_DOUBLE_EQ(json["gops"], 10);
  EXPECT_TRUE(json["gops_per_mm2"].is_null());
  EXPECT_TRUE(json["modelled_clock_mhz"].is_null());
  EXPECT_EQ(json["clock_confirmed"], false);
  EXPECT_EQ(json["clock_unknown_because"],
            "this machine has not been synthesised; `kiln synth` finds its clock");
  report.machine.reset();
  EXPECT_TRUE(nlohmann::json::parse(ToJson(report))["performance"].is_null());
}

TEST(Performance, VerifyStatesIt) {
  VerifyReport verify;
  EXPECT_THAT(ToText(verify), Not(HasSubstr("speed")));
  verify.performance = PerformanceOf(Report());
  EXPECT_THAT(ToText(verify), AllOf(HasSubstr("clock        200 MHz by the design point"),
                                    HasSubstr("speed        2.00 ms per image")));
  EXPECT_DOUBLE_EQ(nlohmann::json::parse(ToJson(verify))["performance"]["gops"], 10);
}

TEST(Performance, TimesAreMilliseconds) {
  EXPECT_EQ(Milliseconds(2.5), "2,500 ms");
  EXPECT_EQ(Milliseconds(0.9996), "1,000 ms");
  EXPECT_EQ(Milliseconds(0.0125), "12.5 ms");
  EXPECT_EQ(Milliseconds(3e-6), "0.00300 ms");
  EXPECT_EQ(ImagesPerSecond(70.96), "71.0");
  EXPECT_EQ(ImagesPerSecond(7892.6), "7,892");
}

}  // namespace
}  // namespace kiln
