// Tests of the text and JSON forms of synthesis results.
#include "kiln/report/synthesis_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace kiln {
namespace {

using hardware::Resources;

hardware::SynthesisResult Example() {
  hardware::SynthesisResult result;
  result.top = "machine";
  result.library = "cells";
  result.seconds = 1.25;
  result.design.name = "machine";
  result.design.resources = {.area = 4000, .cells = 100, .flip_flops = 20, .memory_bits = 1024};
  result.design.own = {.area = 1000, .cells = 25, .flip_flops = 20, .memory_bits = 1024};
  hardware::SynthesisedUnit lanes;
  lanes.name = "lane";
  lanes.instances = 16;
  lanes.resources = {.area = 3000, .cells = 75};
  result.design.parts = {lanes};
  result.timing = hardware::Timing{.slack_ns = -2.5,
                                   .fastest_mhz = 80,
                                   .from = "a/_1_/Q",
                                   .to = "q[3]",
                                   .from_net = "a/valid",
                                   .to_net = "",
                                   .instances_left_out = 1234,
                                   .memory_access_ns = 1.234,
                                   .mapped_for_speed = 12};
  return result;
}

hardware::SynthesisOptions For(const char* fpga) {
  hardware::SynthesisOptions options;
  options.fpga = fpga;
  return options;
}

TEST(SynthesisReport, TextHasUnitsAndThePath) {
  EXPECT_EQ(ToText(Example(), {}),
            "top      machine\n"
            "library  cells\n"
            "\n"
            "unit            instances  area um2   of all  cells  flip-flops  memory bits\n"
            "--------------  ---------  --------  -------  -----  ----------  -----------\n"
            "machine                 1     4,000  100.0 %    100          20        1,024\n"
            "  lane                 16     3,000   75.0 %     75           0            0\n"
            "  between them                1,000   25.0 %     25          20        1,024\n"
            "\n"
            "timing   worst slack -2.50 ns at 100 MHz; at most 80.0 MHz\n"
            "         from a/valid (a/_1_/Q)\n"
            "         to   q[3]\n"
            "         memories are read in 1.23 ns at most\n"
            "         mapped for speed: 12 modules\n"
            "         not timed: 1,234 instances of large modules, where others like them are\n"
            "time     1.2 s\n");
}

TEST(SynthesisReport, ClockGatesAreCountedWhereTheyAreAskedFor) {
  hardware::SynthesisResult result = Example();
  hardware::SynthesisOptions options;
  EXPECT_THAT(ToText(result, options), testing::Not(testing::HasSubstr("clocks")));
  EXPECT_FALSE(nlohmann::json::parse(ToJson(result, options)).contains("clock_gates"));
  EXPECT_EQ(nlohmann::json::parse(ToJson(result, options))["clock_gating"], false);
  result.design.resources.clock_gates = 1900;
  options.clock_gating = true;
  EXPECT_THAT(
      ToText(result, options),
      testing::HasSubstr(
          "\nclocks   1,900 clock gates, for registers of 3 or more bits with an enable\n"));
  EXPECT_EQ(nlohmann::json::parse(ToJson(result, options))["clock_gates"], 1900);
  result.timing->to_clock_gate = true;
  EXPECT_THAT(ToText(result, options), testing::HasSubstr("to   the clock gate of q[3]\n"));
  EXPECT_EQ(nlohmann::json::parse(ToJson(result, options))["timing"]["to_clock_gate"], true);
}

TEST(SynthesisReport, FpgasHaveColumnsOfTheirOwn) {
  hardware::SynthesisResult result = Example();
  result.design.parts.clear();
  result.design.resources = {.luts = 1200, .carries = 3, .dsps = 64, .block_rams = 1.5};
  result.timing.reset();
  EXPECT_EQ(ToText(result, For("xc7")),
            "top      machine\n"
            "FPGA     xc7\n"
            "\n"
            "unit     instances    LUT  LUT as memory  FF  carry  DSP  BRAM  URAM\n"
            "-------  ---------  -----  -------------  --  -----  ---  ----  ----\n"
            "machine          1  1,200              0   0      3   64   1.5     0\n"
            "\n"
            "time     1.2 s\n");
}

// 200 of 1,300 functions have two inputs and share 100 LUTs. With 10 LUTs as memory the design
// takes 1,210 of 2,000.
TEST(SynthesisReport, ADeviceIsComparedWithTheDesign) {
  hardware::SynthesisResult result = Example();
  result.design.parts.clear();
  result.design.resources = {.luts = 1300,
                             .lut_memories = 10,
                             .dsps = 80,
                             .narrow_luts = {0, 200, 0, 0},
                             .block_rams = 1.5};
  result.timing.reset();
  hardware::FpgaDevice device = {"PART", "xc7", 2000, 100, 4000, 2, 0, 100};
  hardware::SynthesisOptions options = For("xc7");
  options.device = &device;
  EXPECT_EQ(ToText(result, options),
            "top      machine\n"
            "FPGA     xc7\n"
            "\n"
            "unit     instances    LUT  LUT as memory  FF  carry  DSP  BRAM  URAM\n"
            "-------  ---------  -----  -------------  --  -----  ---  ----  ----\n"
            "machine          1  1,300             10   0      0   80   1.5     0\n"
            "\n"
            "device          used  available   share\n"
            "-------------  -----  ---------  ------\n"
            "LUT            1,210      2,000  60.5 %\n"
            "LUT as memory     10        100  10.0 %\n"
            "FF                 0      4,000   0.0 %\n"
            "DSP               80        100  80.0 %\n"
            "BRAM             1.5          2  75.0 %\n"
            "URAM               0          0       -\n"
            "\n"
            "1,300 functions share 1,200 LUTs, in pairs of at most five inputs together\n"
            "\n"
            "fit      PART holds the design\n"
            "\n"
            "time     1.2 s\n");
  auto json = nlohmann::json::parse(ToJson(result, options));
  EXPECT_EQ(json["device"]["part"], "PART");
  EXPECT_EQ(json["device"]["fits"], true);
  EXPECT_EQ(json["device"]["resources"]["luts"]["used"], 1210);
  EXPECT_EQ(json["device"]["resources"]["dsps"]["available"], 100);

  device.block_rams = 1;
  device.dsps = 79;
  EXPECT_THAT(ToText(result, options),
              testing::HasSubstr("\nfit      PART is too small: DSP, BRAM\n"));
  json = nlohmann::json::parse(ToJson(result, options));
  EXPECT_EQ(json["device"]["fits"], false);
}

TEST(SynthesisReport, JsonHasTheSame) {
  const auto json = nlohmann::json::parse(ToJson(Example(), {}));
  EXPECT_EQ(json["top"], "machine");
  EXPECT_EQ(json["design"]["area"], 4000);
  EXPECT_EQ(json["design"]["parts"][0]["instances"], 16);
  EXPECT_EQ(json["design"]["between_parts"]["memory_bits"], 1024);
  EXPECT_EQ(json["timing"]["slack_ns"], -2.5);
  EXPECT_EQ(json["timing"]["from_net"], "a/valid");
  EXPECT_EQ(json["timing"]["instances_left_out"], 1234);
  EXPECT_EQ(json["timing"]["memory_access_ns"], 1.234);
  EXPECT_EQ(json["timing"]["mapped_for_speed"], 12);
  const auto fpga = nlohmann::json::parse(ToJson(Example(), For("xcup")));
  EXPECT_EQ(fpga["fpga"], "xcup");
  EXPECT_EQ(fpga["design"]["dsps"], 0);
  EXPECT_FALSE(fpga["design"].contains("area"));
  EXPECT_FALSE(fpga.contains("device"));
}

}  // namespace
}  // namespace kiln
