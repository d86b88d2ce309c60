// Tests of synthesis: reading the tools' output, collecting sources, and, if the tools are
// installed, complete runs of Yosys and OpenSTA.
#include "kiln/hardware/synthesis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>
#include <string_view>
#include <vector>

#include "fmt/format.h"
#include "kiln/hardware/liberty.h"
#include "kiln/hardware/rtl_format.h"
#include "kiln/hardware/synthesis_flow.h"
#include "kiln/hardware/synthesis_mapping.h"
#include "kiln/hardware/synthesis_parts.h"
#include "kiln/hardware/synthesis_timing.h"
#include "kiln/numerics/format.h"
#include "kiln/support/budgets.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"

namespace kiln::hardware {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST(SynthesisOutput, TimingHasSlackAndEnds) {
  const auto timing = ParseTiming(
      "Warning: time.tcl, 7 set_input_delay relative to a clock defined on the same port/pin not "
      "allowed.\n"
      "kiln_slack -2.149417e+00\nkiln_startpoint a/_12_/Q\nkiln_net_startpoint "
      "a/valid\nkiln_endpoint sum[3]\n",
      10);
  ASSERT_TRUE(timing.ok()) << timing.status();
  EXPECT_DOUBLE_EQ(timing->slack_ns, -2.149417);
  EXPECT_DOUBLE_EQ(timing->fastest_mhz, 1e3 / 12.149417);
  EXPECT_EQ(timing->from, "a/_12_/Q");
  EXPECT_EQ(timing->from_net, "a/valid");
  EXPECT_EQ(timing->to, "sum[3]");
  EXPECT_EQ(timing->to_net, "");
}

TEST(SynthesisOutput, TimingWithoutAPath) {
  const auto timing = ParseTiming("kiln_no_path\n", 10);
  ASSERT_TRUE(timing.ok());
  EXPECT_EQ(timing->from, "");
  EXPECT_EQ(timing->fastest_mhz, 0);
}

TEST(SynthesisOutput, TimingErrors) {
  EXPECT_THAT(
      MessageOf(ParseTiming("Error: netlist.v, line 3 syntax error\nkiln_slack 1\n", 10).status()),
      HasSubstr("sta: netlist.v, line 3 syntax error"));
  EXPECT_FALSE(ParseTiming("", 10).ok());
}

TEST(SynthesisOutput, YosysSaysWhatIsWrong) {
  EXPECT_EQ(YosysError("Warning: x\ntop.sv:5: ERROR: syntax error, unexpected '='\n"),
            "top.sv:5: syntax error, unexpected '='");
  EXPECT_EQ(YosysError("ERROR: Can't open it!"), "Can't open it!");
  EXPECT_EQ(YosysError("Warning: x\n"), "");
}

TEST(SynthesisOutput, PortsThatYosysResized) {
  EXPECT_EQ(
      ResizedPort("Warning: Resizing cell port $paramod$0a1b\\unit.place.in_data from 33 bits "
                  "to 19 bits.\nWarning: x\n"),
      "unit.place.in_data from 33 bits to 19 bits");
  EXPECT_EQ(ResizedPort("Warning: Resizing cell port top.u.a from 1 bits to 2 bits."),
            "top.u.a from 1 bits to 2 bits");
  EXPECT_EQ(ResizedPort("Warning: Replacing memory\n"), "");
}

TEST(SynthesisOutput, XilinxCells) {
  EXPECT_EQ(XilinxResources("LUT5").luts, 1);
  EXPECT_THAT(XilinxResources("LUT5").narrow_luts, testing::ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(XilinxResources("LUT6_2").narrow_luts, testing::ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(XilinxResources("LUT4").narrow_luts, testing::ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(XilinxResources("LUT2").narrow_luts, testing::ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(XilinxResources("INV").narrow_luts, testing::ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(XilinxResources("FDRE").narrow_luts, testing::ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(XilinxResources("FDRE").flip_flops, 1);
  EXPECT_EQ(XilinxResources("DSP48E2").dsps, 1);
  EXPECT_EQ(XilinxResources("RAMB18E2").block_rams, 0.5);
  EXPECT_EQ(XilinxResources("RAMB36E1").block_rams, 1);
  EXPECT_EQ(XilinxResources("RAM64M8").lut_memories, 8);
  EXPECT_EQ(XilinxResources("RAM64M").lut_memories, 4);
  EXPECT_EQ(XilinxResources("RAM32M16").lut_memories, 8);
  EXPECT_EQ(XilinxResources("MUXF7").luts, 0);
  EXPECT_EQ(XilinxResources("MUXF7").cells, 1);
}

TEST(SynthesisSources, Parameters) {
  const auto parameters = ParseParameters("ROWS=4,MASK=8'h2a,SHIFT=-3,INPUT_FORMAT=e4m3");
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  ASSERT_EQ(parameters->size(), 4u);
  EXPECT_EQ((*parameters)[0], std::make_pair(std::string("ROWS"), std::string("4")));
  EXPECT_EQ((*parameters)[1].second, "8'h2a");
  EXPECT_EQ((*parameters)[2].second, "32'd4294967293");
  EXPECT_THAT((*parameters)[3].second, testing::EndsWith("'h50400002000703041081"));
  EXPECT_TRUE(ParseParameters("")->empty());
  const auto quire = ParseParameters("PSUM_FORMAT=quire(e4m3*posit8_1)");
  ASSERT_TRUE(quire.ok()) << quire.status();
  EXPECT_EQ((*quire)[0].second, QuireDescriptor(*FindFormat("e4m3"), *FindFormat("posit8_1")));
}

TEST(SynthesisSources, UnsignedParametersAreNotNegative) {
  const auto sources = SourcesOfModule("kiln_fifo");
  ASSERT_TRUE(sources.ok()) << sources.status();
  EXPECT_TRUE(CheckParameters(*sources, *ParseParameters("WIDTH=4,DEPTH=32'd2")).ok());
  EXPECT_FALSE(CheckParameters(*sources, *ParseParameters("WIDTH=4,DEPTH=-1")).ok());
  const auto has_signed = SourcesOfModule("kiln_round_up");
  ASSERT_TRUE(has_signed.ok()) << has_signed.status();
  EXPECT_TRUE(CheckParameters(*has_signed, *ParseParameters("ROUNDING=-8")).ok());
}

TEST(SynthesisSources, ParametersThatAreNone) {
  for (const char* text :
       {"ROWS", "=4", "RO WS=4", "ROWS=", "ROWS=four", "ROWS=8'h2g", "ROWS=4;exec", "A=1,,B=2",
        "ROWS=99999999999999999999", "ROWS='h1", "ROWS=8'h", "P=quire(e4m3)", "P=quire(e4m3*)",
        "P=quire(e4m3*none)", "P=quire(posit16_4*fp32)", "A=1,B=2,A=1"}) {
    EXPECT_FALSE(ParseParameters(text).ok()) << text;
  }
}

class SynthesisSourcesOfFolder : public testing::Test {
 protected:
  SynthesisSourcesOfFolder() : folder_(*TemporaryFolder::Create("kiln-synthesis-test")) {}
  void Write(const char* name, const char* text) const {
    ASSERT_TRUE(WriteFile(folder_.path() / name, text).ok());
  }
  StatusOr<DesignSources> Sources(const std::string& top = "") const {
    return SourcesOfFolder(folder_.path(), top);
  }
  TemporaryFolder folder_;
};

TEST_F(SynthesisSourcesOfFolder, ComeFromItsList) {
  Write("filelist.f", "# packages\nfirst.sv\r\n\n// modules\ntop.sv  \n");
  Write("first.sv", "");
  Write("top.sv", "");
  Write("design.mk", "MAIN := x\nTOP := machine\n");
  const auto sources = Sources();
  ASSERT_TRUE(sources.ok()) << sources.status();
  EXPECT_EQ(sources->top, "machine");
  EXPECT_EQ(sources->folder, folder_.path());
  EXPECT_THAT(sources->files, testing::ElementsAre("first.sv", "top.sv"));
  EXPECT_EQ(Sources("other")->top, "other");
  EXPECT_FALSE(Sources("a; exec b").ok());
}

TEST_F(SynthesisSourcesOfFolder, ContentsOfMemoriesBelongToThem) {
  Write("filelist.f", "top.sv\n");
  Write("top.sv", "");
  EXPECT_THAT(Sources("top")->contents, testing::IsEmpty());
  fs::create_directory(folder_.path() / "memory");
  Write("memory/weights.hex", "00\n");
  Write("memory/scales.hex", "00\n");
  EXPECT_THAT(Sources("top")->contents,
              testing::ElementsAre("memory/scales.hex", "memory/weights.hex"));
  fs::create_symlink("/etc/passwd", folder_.path() / "memory" / "link.hex");
  EXPECT_THAT(MessageOf(Sources("top").status()), HasSubstr("'memory/link.hex' is no file"));
}

TEST_F(SynthesisSourcesOfFolder, ErrorsSayWhatIsMissing) {
  EXPECT_THAT(MessageOf(Sources().status()), HasSubstr("no filelist.f"));
  Write("filelist.f", "\n");
  EXPECT_THAT(MessageOf(Sources().status()), HasSubstr("names no files"));
  Write("filelist.f", "\ntop.sv\n");
  EXPECT_THAT(MessageOf(Sources().status()), HasSubstr("line 2: 'top.sv' is not there"));
  Write("top.sv", "");
  EXPECT_THAT(MessageOf(Sources().status()), HasSubstr("--top"));
}

TEST_F(SynthesisSourcesOfFolder, SettingsHaveALimit) {
  Write("filelist.f", "top.sv\n");
  Write("top.sv", "");
  const std::string top = "TOP\n TOP :=\tmachine x\nTOP := other\n#";
  std::string settings = top + std::string(budgets::kFileListBytes - top.size(), '\n');
  Write("design.mk", settings.c_str());
  EXPECT_EQ(Sources()->top, "machine");
  settings += '\n';
  Write("design.mk", settings.c_str());
  EXPECT_THAT(MessageOf(Sources().status()), HasSubstr("design.mk: 1048577 bytes are too many"));
}

// Files with holes, which take no room on disk.
TEST_F(SynthesisSourcesOfFolder, ResultsOfToolsHaveALimit) {
  fs::create_directories(folder_.path() / "parts");
  Write("parts/top.v", "");
  fs::resize_file(folder_.path() / "parts/top.v", budgets::kNetlistBytes);
  MappedParts mapped;
  mapped.files["top"] = "parts/top";
  const auto most = NetlistOf(mapped, "top", folder_.path());
  ASSERT_TRUE(most.ok()) << most.status();
  EXPECT_EQ(std::ssize(*most), budgets::kNetlistBytes);
  fs::resize_file(folder_.path() / "parts/top.v", budgets::kNetlistBytes + 1);
  EXPECT_THAT(MessageOf(NetlistOf(mapped, "top", folder_.path()).status()),
              HasSubstr("top.v: 1073741825 bytes are too many; at most 1073741824 bytes are read"));
}

TEST_F(SynthesisSourcesOfFolder, LibrariesHaveALimit) {
  if (!RunProgram({"which", "yosys"}, folder_.path() / "which.log").ok())
    GTEST_SKIP() << "yosys is not installed";
  Write("filelist.f", "top.sv\n");
  Write("top.sv", "module top; endmodule\n");
  Write("cells.lib", "");
  fs::create_directories(folder_.path() / "work");
  SynthesisOptions options;
  options.liberty = folder_.path() / "cells.lib";
  const auto error = [&](int64_t bytes) {
    fs::resize_file(options.liberty, bytes);
    return MessageOf(Synthesise(*Sources("top"), options, folder_.path() / "work").status());
  };
  EXPECT_THAT(error(budgets::kLibertyBytes), testing::Not(HasSubstr("too many")));
  EXPECT_THAT(error(budgets::kLibertyBytes + 1),
              HasSubstr("cells.lib: 536870913 bytes are too many"));
}

TEST(SynthesisSources, OfAModule) {
  const auto sources = SourcesOfModule("kiln_pulse_delay");
  ASSERT_TRUE(sources.ok()) << sources.status();
  EXPECT_EQ(sources->top, "kiln_pulse_delay");
  EXPECT_FALSE(SourcesOfModule("kiln_none").ok());
  EXPECT_FALSE(SourcesOfModule("kiln_format_pkg; exec x").ok());
}

// With the tools: small designs from end to end.
class Tools : public testing::Test {
 protected:
  Tools() : work_(*TemporaryFolder::Create("kiln-synthesis-test")) {}
  void SetUp() override {
    for (const char* tool : {"yosys", "sta"}) {
      if (!RunProgram({"which", tool}, work_.path() / "which.log").ok())
        GTEST_SKIP() << tool << " is not installed";
    }
    if (!fs::exists(DefaultLiberty())) GTEST_SKIP() << DefaultLiberty() << " is not installed";
  }
  DesignSources Design(const std::string& text) const {
    EXPECT_TRUE(WriteFile(work_.path() / "top.sv", text).ok());
    return {
        .folder = work_.path(), .files = {"top.sv"}, .folders = {}, .contents = {}, .top = "top"};
  }
  // Returns the netlists of mapped parts whose file names end with `suffix`.
  std::vector<fs::path> NetlistsOfParts(std::string_view suffix) const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(work_.path() / "parts")) {
      if (entry.path().filename().string().ends_with(suffix)) files.push_back(entry.path());
    }
    return files;
  }
  TemporaryFolder work_;
};

constexpr const char* kCounters = R"(
module increment #(parameter int WIDTH = 8) (input logic [WIDTH-1:0] a, output logic [WIDTH-1:0] b);
  assign b = a + 1;
endmodule
module counter #(parameter int WIDTH = 8) (input logic clock, output logic [WIDTH-1:0] count);
  logic [WIDTH-1:0] next;
  increment #(.WIDTH(WIDTH)) add (.a(count), .b(next));
  always_ff @(posedge clock) count <= next;
endmodule
module kiln_ram_1w (input logic clock, input logic [3:0] address, input logic [7:0] data, output logic [7:0] q);
  logic [7:0] words[16];
  always_ff @(posedge clock) begin
    words[address] <= data;
    q <= words[address];
  end
endmodule
module top #(parameter int WIDTH = 8) (input logic clock, output logic [WIDTH-1:0] x, output logic [4:0] y, output logic [7:0] q);
  counter #(.WIDTH(WIDTH)) wide (.clock, .count(x));
  counter #(.WIDTH(5)) narrow (.clock, .count(y));
  kiln_ram_1w memory (.clock, .address(y[3:0]), .data(x[7:0]), .q);
endmodule
)";

TEST_F(Tools, StandardCellsAreCountedByUnit) {
  SynthesisOptions options;
  options.parameters = {{"WIDTH", "12"}};
  const auto result = Synthesise(Design(kCounters), options, work_.path());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->library, "osu018_stdcells");
  EXPECT_EQ(result->design.name, "top");
  EXPECT_EQ(result->design.resources.flip_flops, 12 + 5);
  EXPECT_EQ(result->design.resources.memory_bits, 16 * 8);
  ASSERT_EQ(result->design.parts.size(), 1u);
  const SynthesisedUnit& counters = result->design.parts[0];
  EXPECT_EQ(counters.name, "counter");
  EXPECT_EQ(counters.instances, 2);
  EXPECT_TRUE(counters.parts.empty());
  EXPECT_GE(counters.resources.area, 17 * 96);  // of its flip-flops alone
  EXPECT_EQ(result->design.own.memory_bits, 16 * 8);
  ASSERT_TRUE(result->timing.has_value());
  EXPECT_GT(result->timing->slack_ns, 0);
  EXPECT_LT(result->timing->slack_ns, 10);
  EXPECT_THAT(result->timing->from, HasSubstr("wide/"));
}

TEST_F(Tools, AClockThatIsTooFastHasNegativeSlack) {
  SynthesisOptions options;
  options.clock_mhz = 5000;
  const auto result = Synthesise(Design(kCounters), options, work_.path());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_LT(result->timing->slack_ns, 0);
  EXPECT_LT(result->timing->fastest_mhz, 5000);
}

// A module with a long path, and one without.
constexpr const char* kAdder = R"(
module adder (input logic clock, input logic [63:0] a, output logic [63:0] sum);
  always_ff @(posedge clock) sum <= sum + a;
endmodule
module pulse (input logic clock, output logic [3:0] ring);
  always_ff @(posedge clock) ring <= {ring[2:0], ~ring[3]};
endmodule
module top (input logic clock, input logic [63:0] a, output logic [63:0] sum, output logic [3:0] ring);
  adder adds (.clock, .a, .sum);
  pulse turns (.clock, .ring);
endmodule
)";

TEST_F(Tools, WhatIsTooSlowIsMappedForSpeed) {
  SynthesisOptions options;
  options.clock_mhz = 10;
  const auto small = Synthesise(Design(kAdder), options, work_.path());
  ASSERT_TRUE(small.ok()) << small.status();
  EXPECT_EQ(small->timing->mapped_for_speed, 0);
  options.clock_mhz = 1000;
  const auto fast = Synthesise(Design(kAdder), options, work_.path());
  ASSERT_TRUE(fast.ok()) << fast.status();
  EXPECT_LT(fast->timing->slack_ns, 0);
  EXPECT_EQ(fast->timing->mapped_for_speed, 1);
  EXPECT_THAT(fast->timing->late, testing::ElementsAre(HasSubstr("adder$")));
  // A chain of 64 carries takes several times as long as a tree of them.
  EXPECT_GT(fast->timing->fastest_mhz, 1.5 * small->timing->fastest_mhz);
  EXPECT_GT(fast->design.resources.area, small->design.resources.area);
  // The netlist has the fast mapping. The files of both mappings are in the folder.
  const std::string netlist = *ReadFile(work_.path() / "netlist.v", budgets::kNetlistBytes);
  const std::vector<fs::path> fast_parts = NetlistsOfParts(".speed.v");
  EXPECT_EQ(fast_parts.size(), 1u);
  for (const fs::path& part : fast_parts)
    EXPECT_THAT(netlist, HasSubstr(*ReadFile(part, budgets::kNetlistBytes)));
}

// A sum of 48 bits enables two registers of 16 bits, and a bit of it one of two.
constexpr const char* kEnabled = R"(
module top (input logic clock, input logic [47:0] a, input logic [15:0] d,
            output logic [15:0] q, output logic [15:0] r, output logic [1:0] few);
  logic [47:0] sum;
  always_ff @(posedge clock) begin
    sum <= sum ^ a;
    if (sum + a > 48'h123456789abc) q <= d;
    if (sum + a > 48'h123456789abc) r <= ~d;
    if (sum[0]) few <= d[1:0];
  end
endmodule
)";

TEST_F(Tools, AClockGateTakesThePlaceOfMultiplexers) {
  SynthesisOptions options;
  options.clock_mhz = 50;
  const auto plain = Synthesise(Design(kEnabled), options, work_.path());
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(plain->design.resources.clock_gates, 0);
  EXPECT_FALSE(plain->timing->to_clock_gate);
  options.clock_gating = true;
  const auto gated = Synthesise(Design(kEnabled), options, work_.path());
  ASSERT_TRUE(gated.ok()) << gated.status();
  EXPECT_EQ(gated->design.resources.clock_gates,
            1);  // two registers share it; two bits are too few
  EXPECT_EQ(gated->design.resources.flip_flops, 48 + 16 + 16 + 2);
  const std::string netlist = *ReadFile(work_.path() / "netlist.v", budgets::kNetlistBytes);
  EXPECT_THAT(netlist, HasSubstr("LATCH "));
  // 32 multiplexers of 48 um2, or as much in other cells, against a latch, an AND and inverters.
  EXPECT_LT(gated->design.resources.area, plain->design.resources.area - 32 * 40 + 56 + 32 + 64);
  // The parts of both mappings stay in the folder.
  const size_t gated_parts = NetlistsOfParts(".gated.v").size();
  EXPECT_EQ(NetlistsOfParts(".v").size() - gated_parts, gated_parts);
  EXPECT_TRUE(fs::exists(work_.path() / kClockGateMap));
  // The path to the gate is the longest, and named after a register behind it.
  EXPECT_THAT(gated->timing->from_net, HasSubstr("sum["));
  EXPECT_THAT(gated->timing->to_net, testing::AnyOf(HasSubstr("q["), HasSubstr("r[")));
  EXPECT_TRUE(gated->timing->to_clock_gate);
}

// The path to a gate has the same length, whether it ends before the latch opens, while it is
// transparent, or after it has closed.
TEST_F(Tools, APathToAClockGateIsTimedAtAnyClock) {
  SynthesisOptions options;
  options.clock_mhz = 10;
  options.clock_gating = true;
  ASSERT_TRUE(Synthesise(Design(kEnabled), options, work_.path()).ok());
  const auto library = ParseLiberty(*ReadFile(DefaultLiberty(), budgets::kLibertyBytes), "cells");
  ASSERT_TRUE(library.ok());
  TimingSetup setup;
  setup.work = work_.path();
  setup.netlist = "netlist.v";
  setup.liberty = "cells.lib";
  setup.top = "top";
  setup.clock = "clock";
  setup.driver = "INVX4";
  setup.load = 0.1;
  setup.clock_gate = &*library->clock_gate;
  // OpenSTA's own time of arrival at the latch is the expected length, but for the latch's setup.
  ASSERT_TRUE(WriteFile(work_.path() / "arrival.tcl",
                        "read_liberty cells.lib\nread_verilog netlist.v\nlink_design top\n"
                        "create_clock -name clock -period 100 [get_ports clock]\n"
                        "set_input_delay 0 -clock clock [all_inputs]\n"
                        "set_driving_cell -lib_cell INVX4 [all_inputs]\n"
                        "set path [lindex [find_timing_paths -to [all_registers -level_sensitive "
                        "-data_pins]] 0]\nputs \"slack [get_property $path slack]\"\nexit\n")
                  .ok());
  const fs::path log = work_.path() / "arrival.log";
  ASSERT_TRUE(RunProgram({"sta", "-no_splash", "-exit", "arrival.tcl"}, log, work_.path()).ok());
  const std::string text = *ReadFile(log);
  double slack = 0;
  ASSERT_EQ(std::sscanf(text.c_str() + text.find("slack "), "slack %lf", &slack), 1) << text;
  const double arrival = 50 - slack;  // the latch opens at half of the period
  for (const double share : {0.2, 0.45, 0.7, 0.9, 1.05, 1.3, 1.9}) {
    setup.period_ns = arrival / share;
    const auto timing = FindWorstPath(setup);
    ASSERT_TRUE(timing.ok()) << timing.status();
    EXPECT_TRUE(timing->to_clock_gate) << share;
    EXPECT_NEAR(setup.period_ns - timing->slack_ns, arrival + 0.2, 0.1) << share;
  }
}

// The map of a library whose gate is one cell.
TEST(SynthesisFlow, AnIntegratedClockGateNeedsNoLatch) {
  ClockGate gate;
  gate.gate = "GATE";
  gate.gate_clock = "C";
  gate.gate_enable = "E";
  gate.gate_output = "Y";
  gate.gate_test = "T";
  const ClockGateFiles files = FilesOf(gate);
  EXPECT_EQ(files.cells,
            "(* blackbox *) module \\GATE (input \\C , input \\E , input \\T , output \\Y ); "
            "endmodule\n");
  EXPECT_THAT(files.map, HasSubstr("assign held = open;"));
  EXPECT_THAT(files.map,
              HasSubstr("\\GATE gate (.\\C (CLK), .\\E (held), .\\T (1'b0), .\\Y (gated));"));
}

// OpenSTA would leave the registers behind such a gate out of its paths.
TEST_F(Tools, AClockGateWithoutTimingIsAnError) {
  std::string text = *ReadFile(DefaultLiberty(), budgets::kLibertyBytes);
  text.insert(text.find("cell (LATCH)"),
              "cell (GATE) { area : 90; clock_gating_integrated_cell : \"latch_posedge\";\n"
              "pin(E) { direction : input; clock_gate_enable_pin : true; }\n"
              "pin(C) { direction : input; clock : true; clock_gate_clock_pin : true; }\n"
              "pin(G) { direction : output; clock_gate_out_pin : true; function : \"C\"; } }\n");
  const fs::path liberty = work_.path() / "other_cells.lib";
  ASSERT_TRUE(WriteFile(liberty, text).ok());
  SynthesisOptions options;
  options.liberty = liberty;
  options.clock_gating = true;
  EXPECT_THAT(MessageOf(Synthesise(Design(kEnabled), options, work_.path()).status()),
              HasSubstr("sta: registers behind clock gates have no clock"));
  options.timing = false;
  EXPECT_TRUE(Synthesise(Design(kEnabled), options, work_.path()).ok());
}

TEST_F(Tools, ALibraryThatCannotGateAClock) {
  std::string text = *ReadFile(DefaultLiberty(), budgets::kLibertyBytes);
  const size_t latch = text.find("cell (LATCH)");
  text.erase(latch, text.find("cell (MUX2X1)") - latch);
  const fs::path liberty = work_.path() / "other_cells.lib";
  ASSERT_TRUE(WriteFile(liberty, text).ok());
  SynthesisOptions options;
  options.liberty = liberty;
  options.clock_gating = true;
  EXPECT_THAT(MessageOf(Synthesise(Design(kEnabled), options, work_.path()).status()),
              HasSubstr("other_cells.lib: has no cells to gate a clock with: neither a "
                        "clock_gating_integrated_cell latch_posedge nor a latch and an AND"));
}

TEST_F(Tools, MemoriesCanBeRegisters) {
  SynthesisOptions options;
  options.memories = Memories::kRegisters;
  options.timing = false;
  const auto result = Synthesise(Design(kCounters), options, work_.path());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->design.resources.memory_bits, 0);
  EXPECT_EQ(result->design.resources.flip_flops, 8 + 5 + 16 * 8 + 8);
  EXPECT_FALSE(result->timing.has_value());
}

// A sum between a memory and a register, and one between a register and the memory's address.
constexpr const char* kSums = R"(
module kiln_ram_1w #(parameter int WORDS = 16) (
    input logic clock, input logic [7:0] address, output logic [7:0] q);
  logic [7:0] words[WORDS];
  always_ff @(posedge clock) q <= words[address];
endmodule
module top (input logic clock, input logic [7:0] a, output logic [7:0] sum);
  logic [7:0] address, q;
  kiln_ram_1w #(.WORDS(256)) memory (.clock, .address(address + sum), .q);
  always_ff @(posedge clock) begin
    address <= a;
    sum <= q + address;
  end
endmodule
)";

TEST_F(Tools, PathsFromMemoriesAndToThemAreTimed) {
  const auto timing = [this](std::optional<double> access, Memories memories = Memories::kCount) {
    SynthesisOptions options;
    options.memory_access_ns = access;
    options.memories = memories;
    const auto result = Synthesise(Design(kSums), options, work_.path());
    EXPECT_TRUE(result.ok()) << result.status();
    return *result->timing;
  };
  const Timing slow = timing(5), slower = timing(7.5);
  EXPECT_EQ(slower.memory_access_ns, 7.5);
  EXPECT_THAT(slow.from, testing::StartsWith("memory/"));
  EXPECT_NEAR(slow.slack_ns - slower.slack_ns, 2.5, 0.01);
  // 2 Kib take two gate delays less than 8 Kib.
  const Timing model = timing(std::nullopt);
  EXPECT_NEAR(model.memory_access_ns, 0.85 - 2 * 0.095, 1e-9);
  // With the least access time, the path to the address is the longest.
  const Timing fast = timing(0.001);
  EXPECT_THAT(fast.to, testing::StartsWith("memory/address["));
  EXPECT_GT(fast.slack_ns, model.slack_ns - 1e-3);
  EXPECT_EQ(timing(5, Memories::kRegisters).memory_access_ns, 0);
}

// The model's access times are of 0.18 um cells; a library of another name may be of any process.
TEST_F(Tools, MemoriesOfOtherLibrariesAreTimedWhenAnAccessTimeIsGiven) {
  SynthesisOptions options;
  options.liberty = work_.path() / "other.lib";
  fs::copy_file(DefaultLiberty(), options.liberty);
  const fs::path work = work_.path() / "work";
  fs::create_directory(work);
  const auto untimed = Synthesise(Design(kSums), options, work);
  ASSERT_TRUE(untimed.ok()) << untimed.status();
  EXPECT_EQ(untimed->timing->memory_access_ns, 0);
  options.memory_access_ns = 5;
  const auto timed = Synthesise(Design(kSums), options, work);
  ASSERT_TRUE(timed.ok()) << timed.status();
  EXPECT_EQ(timed->timing->memory_access_ns, 5);
  EXPECT_LT(timed->timing->slack_ns, untimed->timing->slack_ns);
}

TEST_F(Tools, CombinationalDesignsAreTimedFromPortToPort) {
  const auto result = Synthesise(Design("module top (input logic [7:0] a, b, output logic [7:0] "
                                        "c);\n  assign c = a + b;\nendmodule\n"),
                                 {}, work_.path());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->design.resources.flip_flops, 0);
  EXPECT_THAT(result->timing->to, HasSubstr("c["));
  EXPECT_LT(result->timing->slack_ns, 10);
}

// A large multiplier that stands three times is mapped once, alone, and counted three times.
TEST_F(Tools, LargeLogicThatStandsOftenKeepsItsBoundary) {
  const DesignSources sources = Design(R"(
module product (input logic [31:0] a, b, output logic [63:0] c);
  assign c = a * b;
endmodule
module increment (input logic [31:0] a, output logic [31:0] b);
  assign b = a + 1;
endmodule
module top (input logic clock, input logic [31:0] a, b, output logic [63:0] x, y, z);
  logic [31:0] next;
  logic [63:0] ab, bn, an;
  increment add (.a(b), .b(next));
  product p (.a, .b, .c(ab)), q (.a(b), .b(next), .c(bn)), r (.a, .b(next), .c(an));
  always_ff @(posedge clock) {x, y, z} <= {ab, bn, an};
endmodule
)");
  SynthesisOptions options;
  options.timing = false;
  const auto whole = Synthesise(sources, options, work_.path());
  ASSERT_TRUE(whole.ok()) << whole.status();
  ASSERT_EQ(whole->design.parts.size(), 1u);  // increment is part of the top
  const SynthesisedUnit& products = whole->design.parts[0];
  EXPECT_EQ(products.name, "product");
  EXPECT_EQ(products.instances, 3);
  EXPECT_EQ(whole->design.own.flip_flops, 3 * 64);
  EXPECT_DOUBLE_EQ(whole->design.resources.area, whole->design.own.area + products.resources.area);
  EXPECT_EQ(whole->design.resources.cells, whole->design.own.cells + products.resources.cells);

  DesignSources alone = sources;
  alone.top = "product";
  const auto one = Synthesise(alone, options, work_.path());
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_NEAR(products.resources.area / 3, one->design.resources.area,
              0.08 * one->design.resources.area);
}

// Multipliers of which most bits of a factor are 0, as a decoder with a boundary of its own hands
// them over: they keep their boundary, and what is mapped for them is a product with few bits. The
// third one has other constants.
TEST_F(Tools, ConstantsAtInputsGoIntoWhatIsMapped) {
  const char* const source = R"(
module decode (input logic [3:0] a, output logic [27:0] b);
  assign b = {a & 4'b1011, 24'd0} >> (a == 4'd4 ? 1 : 0);
endmodule
module product (input logic [27:0] a, b, output logic [55:0] c);
  assign c = a * b;
endmodule
module top (input logic clock, input logic [3:0] d, input logic [27:0] a, b, output logic [55:0] x, y, z);
  logic [27:0] few;
  logic [55:0] p0, p1, p2;
  decode decoded (.a(d), .b(few));
  product p (.a, .b(few), .c(p0)), q (.a(b), .b(few), .c(p1)), r (.a(PLACE), .b, .c(p2));
  always_ff @(posedge clock) {x, y, z} <= {p0, p1, p2};
endmodule
)";
  const auto synthesise = [&](const char* third) {
    SynthesisOptions options;
    const auto result =
        Synthesise(Design(std::regex_replace(source, std::regex("PLACE"), third).c_str()), options,
                   work_.path());
    EXPECT_TRUE(result.ok()) << result.status();
    return *result;
  };
  const SynthesisResult some = synthesise("a");
  ASSERT_EQ(some.design.parts.size(), 1u);
  const SynthesisedUnit& products = some.design.parts[0];
  EXPECT_EQ(products.name, "product");
  EXPECT_EQ(products.instances, 3);
  // With one factor 8 as well the third product is wires; the two others, with three or four bits,
  // are small beside it.
  const SynthesisedUnit three = synthesise("28'd8").design.parts[0];
  EXPECT_EQ(three.instances, 3);
  EXPECT_LT(three.resources.area, 0.5 * products.resources.area);
  EXPECT_TRUE(some.timing.has_value());  // OpenSTA has found every module of the netlist
}

// A hierarchy of registers and logic of all kinds; `counter` stands three times, twice with the
// same width.
constexpr const char* kHierarchy = R"(
module counter #(parameter int WIDTH = 4) (input logic clock, step, output logic [WIDTH-1:0] count);
  always_ff @(posedge clock) count <= count + WIDTH'(step);
endmodule
module product (input logic signed [7:0] a, b, output logic signed [15:0] c);
  assign c = a * b;
endmodule
module lane (input logic clock, step, input logic signed [7:0] a, output logic signed [15:0] sum);
  logic [7:0] place;
  logic signed [15:0] next;
  counter #(.WIDTH(8)) places (.clock, .step, .count(place));
  product p (.a, .b(place), .c(next));
  always_ff @(posedge clock) sum <= sum + next;
endmodule
module top (input logic clock, input logic [1:0] step, input logic [7:0] a, output logic [15:0] x, y, output logic [4:0] z);
  lane left (.clock, .step(step[0]), .a, .sum(x)), right (.clock, .step(step[1]), .a(~a), .sum(y));
  counter #(.WIDTH(5)) both (.clock, .step(&step), .count(z));
endmodule
)";

// Cells of the whole design by type, modules multiplied out.
std::map<std::string, int64_t> CellsBelow(const NetlistStatistics& statistics,
                                          const std::string& module) {
  std::map<std::string, int64_t> sum;
  for (const auto& [cell, count] : statistics.at(module).cells) {
    if (!statistics.contains(cell)) {
      sum[cell] += count;
      continue;
    }
    for (const auto& [below, number] : CellsBelow(statistics, cell)) sum[below] += count * number;
  }
  return sum;
}

// What `counts`, the statistics of the parts in a folder, come to with the top's.
NetlistStatistics StatisticsOf(const fs::path& parts) {
  NetlistStatistics all;
  for (const auto& entry : fs::directory_iterator(parts)) {
    if (entry.path().extension() != ".json") continue;
    const auto statistics = ParseStatistics(*ReadFile(entry.path()));
    EXPECT_TRUE(statistics.ok()) << entry.path();
    all.insert(statistics->begin(), statistics->end());
  }
  return all;
}

// One run of Yosys over the whole hierarchy finds what one for each module does, but for the noise
// of ABC, which goes by the names of nets.
class Whole : public Tools {
 protected:
  // `kept`: modules that keep their boundary, as Yosys' patterns. `commands`: for kPartModule, in
  // the work folder.
  void ExpectTheSame(const char* source, const SynthesisOptions& options, const std::string& kept,
                     size_t parts, const std::string& commands) {
    const auto result = Synthesise(Design(source), options, work_.path());
    ASSERT_TRUE(result.ok()) << result.status();
    const NetlistStatistics of_parts = StatisticsOf(work_.path() / "parts");
    EXPECT_EQ(of_parts.size(), parts);

    const fs::path counts = work_.path() / "whole.json", script = work_.path() / "whole.ys";
    ASSERT_TRUE(
        WriteFile(
            script,
            fmt::format("read_rtlil {}\nrename top {}\nsetattr -mod -set keep_hierarchy 1 {}\n{}"
                        "clean -purge\ntee -q -o {} stat -json\n",
                        (work_.path() / "elaborated.il").string(), kPartModule, kept, commands,
                        counts.string()))
            .ok());
    const Status whole =
        RunProgram({"yosys", "-q", "-s", script.string()}, work_.path() / "whole.log");
    ASSERT_TRUE(whole.ok()) << whole;
    const auto statistics = ParseStatistics(*ReadFile(counts));
    ASSERT_TRUE(statistics.ok());
    of_parts_ = CellsBelow(of_parts, "top");
    of_whole_ = CellsBelow(*statistics, kPartModule);
  }
  std::string Path(const char* name) const { return (work_.path() / name).string(); }
  std::map<std::string, int64_t> of_parts_, of_whole_;
};

TEST_F(Whole, StandardCells) {
  SynthesisOptions options;
  options.timing = false;
  // The top, lanes and two kinds of counters; products are parts of lanes.
  ExpectTheSame(kHierarchy, options, "part lane *counter*", 4,
                CellCommands({Path("cells.lib"), Path("ports.constr"), 10}, false));
  EXPECT_EQ(of_parts_.at("DFFPOSX1"), of_whole_.at("DFFPOSX1"));
  const auto library = ParseLiberty(*ReadFile(Path("cells.lib")), "cells.lib");
  ASSERT_TRUE(library.ok());
  const auto area = [&library](const std::map<std::string, int64_t>& cells) {
    double sum = 0;
    for (const auto& [cell, count] : cells)
      sum += library->cells.at(cell).area * static_cast<double>(count);
    return sum;
  };
  EXPECT_NEAR(area(of_parts_), area(of_whole_), 0.08 * area(of_whole_));
}

// Pads and clock buffers included.
TEST_F(Whole, Fpga) {
  SynthesisOptions options;
  options.fpga = "xc7";
  ExpectTheSame(R"(
module sum (input logic clock, input logic [7:0] a, b, output logic [7:0] c);
  always_ff @(posedge clock) c <= c ^ (a + b);
endmodule
module top (input logic clock, input logic [7:0] a, b, output logic [7:0] x, y);
  sum first (.clock, .a, .b, .c(x)), second (.clock, .a(x), .b, .c(y));
endmodule
)",
                options, "part sum", 2, FpgaCommands({"xc7", Path("fpga_cells.il")}, false, true));
  EXPECT_EQ(of_parts_, of_whole_);
}

// OpenSTA's reader of Verilog takes no concatenations on the left of an assignment.
TEST_F(Tools, NetlistsAssignSingleNets) {
  SynthesisOptions options;
  const auto result =
      Synthesise(Design("module top (input logic clock, input logic [3:0] a, output logic [3:0] b, "
                        "output logic [7:0] c);\n"
                        "  logic [7:0] d;\n  assign {d[7:6], d[4:1]} = {a[1:0], 4'd0};\n"
                        "  always_ff @(posedge clock) b <= a;\n  always_ff @(posedge clock) {d[5], "
                        "d[0]} <= a[3:2];\n"
                        "  assign c = d;\nendmodule\n"),
                 options, work_.path());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(*ReadFile(work_.path() / "netlist.v"), testing::Not(HasSubstr("assign {")));
}

// A product that is added to a wider sum is a product of its own width and an adder: no more cells
// than the two have.
TEST_F(Tools, ProductsAreNotExtendedToTheWidthOfSums) {
  const auto cells = [this](const char* module) {
    SynthesisOptions options;
    options.timing = false;
    const auto result = Synthesise(Design(module), options, work_.path());
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? result->design.resources.area : 0;
  };
  const double product = cells(
      "module top (input logic signed [7:0] a, b, output logic signed [15:0] c);\n  assign c = a * "
      "b;\nendmodule\n");
  const double sum = cells(
      "module top (input logic signed [15:0] a, input logic signed [31:0] b, output logic signed "
      "[31:0] c);\n"
      "  assign c = a + b;\nendmodule\n");
  const double both = cells(
      "module top (input logic signed [7:0] a, b, input logic signed [31:0] c, output logic signed "
      "[31:0] d);\n"
      "  assign d = c + 32'(a * b);\nendmodule\n");
  EXPECT_LT(both, 1.1 * (product + sum));
}

TEST_F(Tools, JobsDoNotMatter) {
  const DesignSources sources = Design(kHierarchy);
  SynthesisOptions options;
  std::map<std::string, int64_t> told;
  options.progress = [&told](const SynthesisProgress& p) { ++told[p.step]; };
  const auto one = Synthesise(sources, options, work_.path());
  EXPECT_EQ(told, (std::map<std::string, int64_t>{{"elaborate", 1}, {"map", 4}, {"time", 1}}));
  ASSERT_TRUE(one.ok()) << one.status();
  const std::string netlist = *ReadFile(work_.path() / "netlist.v");

  const TemporaryFolder other = *TemporaryFolder::Create("kiln-synthesis-test");
  options.jobs = 3;
  options.progress = nullptr;
  const auto three = Synthesise(sources, options, other.path());
  ASSERT_TRUE(three.ok()) << three.status();
  EXPECT_EQ(*ReadFile(other.path() / "netlist.v"), netlist);
  EXPECT_EQ(three->timing->slack_ns, one->timing->slack_ns);
  EXPECT_EQ(three->design.resources.area, one->design.resources.area);
}

// The first failure in the order of the parts, whatever the jobs do.
TEST_F(Tools, AModuleThatCannotBeMapped) {
  SynthesisOptions options;
  options.jobs = 4;
  const auto result =
      Synthesise(Design("module top (input logic [3:0] a, b, output logic [3:0] c);\n"
                        "  assign c = a ** b;\nendmodule\n"),
                 options, work_.path());
  EXPECT_FALSE(result.ok());
}

class Again : public Tools {
 protected:
  // The number of cells that a run comes to in the work folder.
  int64_t Cells(const SynthesisOptions& options, const char* source = kHierarchy) {
    const auto result = Synthesise(Design(source), options, work_.path());
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? result->design.resources.cells : -1;
  }
  // Makes the files of parts say that there are more inverters, to see whether they are read.
  void Spoil() {
    for (const auto& entry : fs::directory_iterator(work_.path() / "parts")) {
      if (entry.path().extension() != ".json") continue;
      ASSERT_TRUE(WriteFile(entry.path(),
                            std::regex_replace(*ReadFile(entry.path()),
                                               std::regex("\"DFFPOSX1\": *"), "\"DFFPOSX1\": 1000"))
                      .ok());
    }
  }
};

TEST_F(Again, WhatIsThereIsNotMappedAgain) {
  SynthesisOptions options;
  options.timing = false;
  const int64_t cells = Cells(options);
  Spoil();
  EXPECT_GT(Cells(options), cells + 1000);
  // Another clock is another mapping.
  options.clock_mhz = 50;
  EXPECT_LT(Cells(options), cells + 1000);
  // What was broken off is done again.
  Spoil();
  for (const auto& entry : fs::directory_iterator(work_.path() / "parts")) {
    if (entry.path().extension() == ".done") fs::remove(entry.path());
  }
  EXPECT_LT(Cells(options), cells + 1000);
  // Changed sources are elaborated again, and what did not change is not mapped again.
  Spoil();
  const std::string changed = std::regex_replace(kHierarchy, std::regex("~a"), "a");
  EXPECT_GT(Cells(options, changed.c_str()), cells + 1000);
  EXPECT_NE(Cells(options, kCounters), cells);
}

TEST_F(Tools, FpgasCountTheirOwnCells) {
  SynthesisOptions options;
  options.fpga = "xc7";
  const auto result = Synthesise(Design("module top (input logic clock, input logic signed [7:0] "
                                        "a, b, output logic signed [15:0] c);\n"
                                        "  always_ff @(posedge clock) c <= a * b;\nendmodule\n"),
                                 options, work_.path());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->design.resources.dsps, 1);
  EXPECT_EQ(result->library, "");
}

// Small parts of an FPGA share a run of Yosys: `lane` instantiates `counter`, which is in the same
// run. SAT proves that the netlist is the source for eight cycles after a reset.
TEST_F(Tools, PartsThatShareARunAreTheSource) {
  const DesignSources sources = Design(R"(
module counter #(parameter int WIDTH = 4)
  (input logic clock, reset, step, output logic [WIDTH-1:0] count);
  always_ff @(posedge clock) count <= reset ? 0 : count + WIDTH'(step);
endmodule
module lane (input logic clock, reset, step, input logic [3:0] a, output logic [5:0] sum);
  logic [3:0] place;
  counter places (.clock, .reset, .step, .count(place));
  always_ff @(posedge clock) sum <= reset ? 0 : sum + 6'(a ^ place) + 6'(a[1:0] & place[3:2]);
endmodule
module top (input logic clock, reset, input logic [1:0] step, input logic [3:0] a,
            output logic [5:0] x, y, output logic [4:0] z);
  lane left (.clock, .reset, .step(step[0]), .a, .sum(x));
  lane right (.clock, .reset, .step(step[1]), .a(~a), .sum(y));
  counter #(.WIDTH(5)) both (.clock, .reset, .step(&step), .count(z));
endmodule
)");
  SynthesisOptions options;
  options.fpga = "xc7";
  const auto result = Synthesise(sources, options, work_.path());
  ASSERT_TRUE(result.ok()) << result.status();
  int64_t runs = 0;
  for (const auto& entry : fs::directory_iterator(work_.path() / "parts"))
    runs += entry.path().extension() == ".done" ? 1 : 0;
  EXPECT_EQ(runs, 2);  // counters and lane; the top with its pads

  ASSERT_TRUE(
      WriteFile(work_.path() / "prove.ys",
                "read_verilog -sv top.sv\nhierarchy -top top\nproc\nflatten\nopt_clean\n"
                "rename top source\ndesign -stash source\n"
                "read_verilog netlist.v\nread_verilog +/xilinx/cells_sim.v\nhierarchy -top top\n"
                "proc\nflatten\nopt_clean\nrename top netlist\n"
                "design -copy-from source -as source source\n"
                "miter -equiv -flatten -make_outputs source netlist both\n"
                "sat -verify -prove trigger 0 -seq 9 -prove-skip 1 -set-at 1 in_reset 1 "
                "-show-inputs both\n")
          .ok());
  const Status proof =
      RunProgram({"yosys", "-q", "-s", "prove.ys"}, work_.path() / "prove.log", work_.path());
  EXPECT_TRUE(proof.ok()) << *ReadFile(work_.path() / "prove.log");

  const TemporaryFolder other = *TemporaryFolder::Create("kiln-synthesis-test");
  options.jobs = 3;
  const auto again = Synthesise(sources, options, other.path());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*ReadFile(other.path() / "netlist.v"), *ReadFile(work_.path() / "netlist.v"));
}

// The contents decide the logic: a bit that is the same in all words needs none.
TEST_F(Tools, MemoriesHaveTheirContents) {
  const char* const text =
      "module top (input logic clock, input logic [3:0] address, output logic [3:0] word);\n"
      "  (* logic_block *) logic [3:0] words[16];\n"
      "  initial $readmemh(\"memory/words.hex\", words);\n"
      "  always_ff @(posedge clock) word <= words[address];\nendmodule\n";
  const auto flip_flops = [&](const std::string& words) -> int64_t {
    EXPECT_TRUE(WriteFile(work_.path() / "design/top.sv", text).ok());
    EXPECT_TRUE(WriteFile(work_.path() / "design/filelist.f", "top.sv\n").ok());
    EXPECT_TRUE(WriteFile(work_.path() / "design/memory/words.hex", words).ok());
    const auto sources = SourcesOfFolder(work_.path() / "design", "top");
    EXPECT_TRUE(sources.ok()) << sources.status();
    SynthesisOptions options;
    options.timing = false;
    const auto result = Synthesise(*sources, options, work_.path() / "work");
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? result->design.resources.flip_flops : -1;
  };
  for (const char* folder : {"design", "design/memory", "work"})
    fs::create_directory(work_.path() / folder);
  EXPECT_EQ(flip_flops("1 2 4 8 3 5 6 7 9 a b c d e f 0\n"), 4);
  EXPECT_EQ(flip_flops("1 1 1 1 1 1 1 0 1 0 1 0 1 0 0 0\n"), 1);
}

TEST_F(Tools, FaultsOfTheSourceComeInYosysWords) {
  const auto result = Synthesise(
      Design("module top (input logic a);\n  absent x (.a);\nendmodule\n"), {}, work_.path());
  EXPECT_THAT(MessageOf(result.status()), HasSubstr("absent"));
  EXPECT_THAT(MessageOf(result.status()), HasSubstr("yosys"));
}

// Yosys 0.23 keeps all 8 bits of `word.code` here, so that the flag before it is lost.
TEST_F(Tools, ACastThatYosysIgnoresIsAnError) {
  const std::string delay =
      "module delay (input logic [4:0] in, output logic [4:0] out);\n"
      "  assign out = in;\nendmodule\n";
  const auto top = [&](const std::string& connection) {
    return Design(delay +
                  "module top (input logic flag, input logic [7:0] bits, output logic [4:0] out);\n"
                  "  typedef struct packed {logic [7:0] code;} word_t;\n"
                  "  word_t word;\n  assign word.code = bits;\n"
                  "  logic [3:0] code;\n  assign code = 4'(word.code);\n"
                  "  delay hold (.in(" +
                  connection + "), .out);\nendmodule\n");
  };
  const auto result = Synthesise(top("{flag, 4'(word.code)}"), {}, work_.path());
  EXPECT_EQ(MessageOf(result.status()),
            "yosys: module top: the width of a connection changed at port top.hold.in from 9 bits "
            "to 5 bits; connect as many bits as the port has; Yosys ignores the cast of a "
            "structure's member within a concatenation");
  const auto named = Synthesise(top("{flag, code}"), {}, work_.path());
  EXPECT_TRUE(named.ok()) << named.status();
}

// A library whose cells cannot build what is asked for.
TEST_F(Tools, ALibraryWithoutACellThatIsNeeded) {
  SynthesisOptions options;
  options.timing = false;
  const auto result = Synthesise(Design("module top (input logic e, d, output logic q);\n  "
                                        "always_latch if (e) q = d;\nendmodule\n"),
                                 options, work_.path());
  EXPECT_THAT(MessageOf(result.status()), HasSubstr("has no cell for the design's $_DLATCH_P_"));
}

}  // namespace
}  // namespace kiln::hardware
