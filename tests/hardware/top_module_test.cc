// The text of a top module, by hand.
#include "kiln/hardware/top_module.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace kiln::hardware {
namespace {

std::string NamesOf(const std::vector<Signal>& signals, bool output) {
  std::string names;
  for (const Signal& signal : signals) {
    if (signal.output == output) names += std::string(signal.name) + ' ';
  }
  return names;
}

TEST(TopModule, HasPortsWiresAndInstances) {
  TopModule top;
  top.name = "small";
  top.comment = "A small machine.";
  top.buses = {{"in", AxiStreamSinkSignals(4)}, {"out", AxiStreamSourceSignals(1, true)}};
  top.ports = {{true, 1, "irq"}, {false, 2, "mode"}};
  top.observed_comment = "For testbenches.";
  top.observed = {{true, 16, "finished"}, {true, 1, "running"}};
  top.wires = {{"between", {{true, 1, "valid"}, {true, 8, "data"}}}};
  Instance unit;
  unit.module = "kiln_unit";
  unit.name = "unit";
  unit.parameters = {RtlParameter{"ROWS", "4"}, RtlParameter{"FORMAT", "8'd3"}};
  TieOff({"scale", {{false, 1, "ready"}, {true, 8, "data"}}}, &unit);
  Instance plain;
  plain.module = "kiln_plain";
  plain.name = "plain";
  top.instances = {unit, plain};
  EXPECT_EQ(SystemVerilogOf(top),
            "// A small machine.\n"
            "module small (\n"
            "    input  logic clock,\n"
            "    input  logic reset,\n"
            "    input  logic in_tvalid,\n"
            "    output logic in_tready,\n"
            "    input  logic [31:0] in_tdata,\n"
            "    output logic out_tvalid,\n"
            "    input  logic out_tready,\n"
            "    output logic [7:0] out_tdata,\n"
            "    output logic out_tlast,\n"
            "    output logic irq,\n"
            "    input  logic [1:0] mode,\n"
            "    // For testbenches.\n"
            "    output logic [15:0] finished,\n"
            "    output logic running\n"
            ");\n"
            "  logic between_valid;\n"
            "  logic [7:0] between_data;\n"
            "  kiln_unit #(\n"
            "      .ROWS(4),\n"
            "      .FORMAT(8'd3)\n"
            "  ) unit (\n"
            "      .scale_ready('0),\n"
            "      .scale_data(),\n"
            "      .*\n"
            "  );\n"
            "  kiln_plain plain (.*);\n"
            "endmodule\n");
}

TEST(TopModule, MastersHaveProtAndCache) {
  TopModule top;
  top.comment = "A reader and registers.";
  top.buses = {{"control", AxiLiteSignals()}, {"weights", AxiReadSignals(8, 40)}};
  for (Bus& bus : top.buses) AddAttributes(&bus);
  const std::string text = SystemVerilogOf(top);
  EXPECT_NE(text.find("module kiln_accelerator #(\n"
                      "    parameter logic [2:0] AXI_PROT = 3'h0,\n"
                      "    parameter logic [3:0] AXI_CACHE = 4'h3\n"
                      ") (\n"
                      "    input  logic clock,\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("    output logic [2:0] weights_arprot,\n"
                      "    output logic [3:0] weights_arcache\n"
                      ");\n"
                      "  assign weights_arprot = AXI_PROT;\n"
                      "  assign weights_arcache = AXI_CACHE;\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("control_arprot"), std::string::npos);
  EXPECT_EQ(text.find("awprot"), std::string::npos);
}

TEST(TopModule, MemoryBaseIsAddedToAddresses) {
  TopModule top;
  top.comment = "A reader and a writer.";
  top.buses = {{"read", AxiReadSignals(8, 40)}, {"write", AxiWriteSignals(8, 36)}};
  Instance machine = {"kiln_machine", "machine"};
  // The machine's reads reach a part of what the bus does.
  const std::vector<Bus> buses = top.buses;
  AddMemoryBase(buses[0], 32, &machine, &top);
  AddMemoryBase(buses[1], 36, &machine, &top);
  top.instances = {machine};
  const std::string text = SystemVerilogOf(top);
  EXPECT_NE(text.find("module kiln_accelerator #(\n"
                      "    parameter logic [39:0] MEMORY_BASE = 40'h0\n"
                      ") (\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  logic [31:0] machine_read_araddr;\n"
                      "  assign read_araddr = 40'(machine_read_araddr) + MEMORY_BASE;\n"
                      "  logic [35:0] machine_write_awaddr;\n"
                      "  assign write_awaddr = machine_write_awaddr + 36'(MEMORY_BASE);\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("      .read_araddr(machine_read_araddr),\n"
                      "      .write_awaddr(machine_write_awaddr),\n"),
            std::string::npos)
      << text;
  const std::vector<TopParameter> parameters = ParametersOf(top);
  ASSERT_EQ(parameters.size(), 1u);
  EXPECT_EQ(parameters[0].name, kMemoryBase);
  EXPECT_EQ(parameters[0].bits, 40);
  EXPECT_EQ(parameters[0].value, 0u);
}

TEST(TopModule, CheckersAreLeftOutOfSynthesis) {
  TopModule top;
  top.comment = "One stream.";
  top.buses = {{"in", AxiStreamSinkSignals(1)}};
  top.instances = {{.module = "kiln_handshake_checker",
                    .name = "checker",
                    .parameters = {{"WIDTH", "8"}},
                    .connections = {{"valid", "in_tvalid"}},
                    .only_in_simulation = true}};
  EXPECT_EQ(SystemVerilogOf(top),
            "// One stream.\n"
            "module kiln_accelerator (\n"
            "    input  logic clock,\n"
            "    input  logic reset,\n"
            "    input  logic in_tvalid,\n"
            "    output logic in_tready,\n"
            "    input  logic [7:0] in_tdata\n"
            ");\n"
            "`ifndef SYNTHESIS\n"
            "  kiln_handshake_checker #(\n"
            "      .WIDTH(8)\n"
            "  ) checker (\n"
            "      .valid(in_tvalid),\n"
            "      .*\n"
            "  );\n"
            "`endif\n"
            "endmodule\n");
}

// AMBA AXI, A2 to A5: who drives which signal, and how wide it is.
TEST(AxiSignals, AMasterDrivesWhatTheStandardSays) {
  const std::vector<Signal> bus = AxiSignalsWithIds(16, 40, 3);
  EXPECT_EQ(NamesOf(bus, /*output=*/true),
            "arvalid araddr arlen arsize arburst rready awvalid awaddr awlen awsize awburst wvalid "
            "wdata wstrb wlast bready arid awid ");
  EXPECT_EQ(NamesOf(bus, /*output=*/false),
            "arready rvalid rdata rresp rlast awready wready bvalid bresp rid bid ");
  std::map<std::string, int> bits;
  for (const Signal& signal : bus) bits[signal.name] = signal.bits;
  EXPECT_EQ(bits["rdata"], 128);
  EXPECT_EQ(bits["wdata"], 128);
  EXPECT_EQ(bits["wstrb"], 16);
  EXPECT_EQ(bits["araddr"], 40);
  EXPECT_EQ(bits["bid"], 3);
}

TEST(AxiSignals, AStreamHasTwoEnds) {
  EXPECT_EQ(NamesOf(AxiStreamSinkSignals(8), /*output=*/true), "tready ");
  EXPECT_EQ(NamesOf(AxiStreamSourceSignals(8, true), /*output=*/false), "tready ");
  EXPECT_EQ(NamesOf(AxiStreamSourceSignals(8, true), /*output=*/true), "tvalid tdata tlast ");
}

}  // namespace
}  // namespace kiln::hardware
