// A netlist of standard cells, simulated with the cells' functions, does what its source does, and
// a netlist with one other cell does not. Expected values are those of C++ arithmetic.
#include "kiln/hardware/gate_level.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "kiln/hardware/liberty.h"
#include "kiln/hardware/netlist_models.h"
#include "kiln/hardware/rtl_project.h"
#include "kiln/support/budgets.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"

namespace kiln::hardware {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

// A product of 32 bits, a memory that keeps the last eight of them, and a vector each of whose bits
// depends on the one below.
constexpr char kDesign[] = R"(module products (
    input  logic        clock,
    input  logic [31:0] x,
    input  logic [31:0] y,
    input  logic [ 2:0] place,
    output logic [31:0] last,
    output logic [ 7:0] ones
);
  logic [31:0] product;
  logic [ 2:0] at;
  logic        all;
  always_comb begin
    all = 1'b1;
    for (int i = 0; i < 8; i = i + 1) begin
      all     = all && x[i];
      ones[i] = all;
    end
  end
  always_ff @(posedge clock) begin
    product <= x * y;
    at      <= place;
  end
  kiln_ram_1w #(
      .WIDTH(32),
      .WORDS(8),
      .INITIALLY_ZERO(1'b1)
  ) kept (
      .clock,
      .write_enable(1'b1),
      .write_address(at),
      .write_data(product),
      .read_enable(1'b1),
      .read_address(place),
      .read_data(last)
  );
endmodule
)";
constexpr char kMain[] = R"(#include <cstdio>
#include <random>
#include "Vproducts.h"
#include "verilated.h"
int main() {
  VerilatedContext context;
  context.randReset(2);
  Vproducts model(&context);
  std::mt19937 random(1);
  uint32_t kept[8] = {}, product = 0;
  int at = -1;
  for (int cycle = 0; cycle < 2000; ++cycle) {
    const uint32_t x = random(), y = random();
    const int place = random() % 8;
    model.clock = 0, model.x = x, model.y = y, model.place = place;
    model.eval();
    const uint32_t expected = kept[place], ones = (x ^ (x + 1)) >> 1 & 255;
    if (at >= 0) kept[at] = product;
    model.clock = 1;
    model.eval();
    if (cycle > 20 && (model.last != expected || model.ones != ones))
      return std::puts("differs"), 0;
    product = x * y, at = place;
  }
  std::puts("agrees");
}
)";

// Registers with enables: eight words, written one at a time; a sum, which a reset clears at
// any time; a word, which a reset sets only while it is enabled; and a single bit.
constexpr char kRegisters[] = R"(module registers (
    input  logic        clock,
    input  logic        reset,
    input  logic        write,
    input  logic [ 2:0] place,
    input  logic [ 7:0] x,
    output logic [ 7:0] word,
    output logic [15:0] sum,
    output logic [ 7:0] kept,
    output logic        bit_0
);
  logic [7:0] words[8];
  assign word = words[place];
  always_ff @(posedge clock) begin
    if (write) words[place] <= x;
    if (reset) sum <= '0;
    else if (write) sum <= sum + 16'(x);
    if (write) kept <= reset ? 8'h35 : x;
    if (write) bit_0 <= x[0];
  end
endmodule
)";
constexpr char kRegistersMain[] = R"(#include <cstdio>
#include <random>
#include "Vregisters.h"
#include "verilated.h"
int main() {
  VerilatedContext context;
  context.randReset(2);
  Vregisters model(&context);
  std::mt19937 random(1);
  uint8_t words[8] = {}, kept = 0, bit_0 = 0;
  uint16_t sum = 0;
  unsigned known = 0;  // words that were written
  for (int cycle = 0; cycle < 4000; ++cycle) {
    const bool reset = cycle == 0 || random() % 16 == 0, write = random() % 3 == 0;
    const unsigned place = random() % 8;
    const uint8_t x = random();
    model.clock = 0, model.reset = reset, model.write = write, model.place = place, model.x = x;
    model.eval();
    // Inputs that change while the clock is high come too late for the gate.
    model.clock = 1;
    model.eval();
    model.write = !write, model.reset = !reset;
    model.eval();
    if (write) words[place] = x, kept = reset ? 0x35 : x, bit_0 = x & 1, known |= 1u << place;
    sum = reset ? 0 : write ? sum + x : sum;
    const bool differs = model.sum != sum || (known >> place & 1 && model.word != words[place]) ||
                         (known != 0 && (model.kept != kept || model.bit_0 != bit_0));
    if (differs) return std::puts("differs"), 0;
  }
  std::puts("agrees");
}
)";

class GateLevelSimulation : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("KILN_QUICK_BUILD", "1", 1);
    const fs::path library = *RtlLibrary();
    sources_ = {{"Makefile", *ReadFile(library / "testbench/Makefile")},
                {"design.mk", "TOP := products\nMAIN := main.cc\n"},
                {"filelist.f", "rtl/kiln_ram_1w.sv\nproducts.sv\n"},
                {"products.sv", kDesign},
                {"main.cc", kMain},
                {"rtl/kiln_ram_1w.sv", *ReadFile(library / "memory/kiln_ram_1w.sv")},
                {"waivers.vlt", *ReadFile(library / "waivers.vlt")}};
  }
  void TearDown() override { ::unsetenv("KILN_QUICK_BUILD"); }
  // Builds and runs a simulation and returns what it prints.
  std::string Prints(const SimulationSources& sources) {
    const auto program = cache_.ProgramOf(sources, /*trace=*/false);
    EXPECT_TRUE(program.ok()) << program.status();
    const fs::path log = folder_.path() / "log";
    if (!program.ok() || !RunProgram({program->string()}, log).ok()) return "";
    return *ReadFile(log);
  }
  SimulationSources sources_;
  const TemporaryFolder folder_ = *TemporaryFolder::Create("kiln-gates");
  SimulationCache cache_;
};

TEST_F(GateLevelSimulation, DoesWhatTheSourceDoesUnlessOneCellIsAnother) {
  EXPECT_EQ(Prints(sources_), "agrees\n");
  const StatusOr<SimulationSources> netlist = NetlistSources(sources_);
  ASSERT_TRUE(netlist.ok()) << netlist.status();
  EXPECT_FALSE(netlist->contains("products.sv"));
  EXPECT_EQ(Prints(*netlist), "agrees\n");

  SimulationSources faulty = *netlist;
  std::string& text = faulty["expressions.v"];
  EXPECT_THAT(text, Not(HasSubstr("XOR2X1")));  // no cell is an instance
  const size_t cell = text.find(" ^ ");
  ASSERT_NE(cell, std::string::npos);
  text.replace(cell, 3, " | ");
  EXPECT_EQ(Prints(faulty), "differs\n");
}

class GatedClocks : public GateLevelSimulation {
 protected:
  void SetUp() override {
    GateLevelSimulation::SetUp();
    sources_.erase("products.sv");
    sources_["registers.sv"] = kRegisters;
    sources_["filelist.f"] = "registers.sv\n";
    sources_["main.cc"] = kRegistersMain;
    sources_["design.mk"] = "TOP := registers\nMAIN := main.cc\n";
  }
};

// The cells of other libraries: a gate in one cell, with and without a test input, and a latch that
// is transparent while its enable is low. Their names are keywords of Verilog.
TEST_F(GatedClocks, CellsOfOtherLibraries) {
  const std::string library = *ReadFile(DefaultLiberty(), budgets::kLibertyBytes);
  const size_t latch = library.find("cell (LATCH)"), next = library.find("cell (MUX2X1)");
  ASSERT_LT(latch, next);
  const std::string ports = R"(
    latch (IQ, IQN) { data_in : "D"; enable : "!G"; }
    pin(D) { direction : input; clock_gate_enable_pin : true; }
    pin(G) { direction : input; clock_gate_clock_pin : true; clock : true; }
)";
  const std::string integrated =
      "cell (reg) { area : 50; clock_gating_integrated_cell : \"latch_posedge\";" + ports +
      "    pin(Q) { direction : output; clock_gate_out_pin : true; function : \"(G IQ)\"; } }\n";
  std::string tested = integrated;
  tested.replace(tested.find("latch_posedge"), 13, "latch_posedge_postcontrol");
  tested.replace(tested.find("(G IQ)"), 6, "(G (IQ+T))");
  tested.insert(tested.rfind('}'), "pin(T) { direction : input; clock_gate_test_pin : true; } ");
  const std::string low = "cell (wire) { area : 50;" + ports +
                          "    pin(Q) { direction : output; function : \"IQ\"; } }\n";
  for (const std::string& cell : {integrated, tested, low}) {
    const fs::path liberty = folder_.path() / "cells.lib";
    ASSERT_TRUE(WriteFile(liberty, library.substr(0, latch) + cell + library.substr(next)).ok());
    const auto netlist = NetlistSources(sources_, /*clock_gating=*/true, liberty);
    ASSERT_TRUE(netlist.ok()) << netlist.status() << cell;
    EXPECT_THAT(netlist->at("expressions.v"), HasSubstr("  always @*\n    if (")) << cell;
    EXPECT_EQ(Prints(*netlist), "agrees\n") << cell;
  }
}

TEST_F(GatedClocks, AreAStepOfTheSimulation) {
  const StatusOr<Preparation> plain = GateLevel(NetlistKind::kPlain),
                              gated = GateLevel(NetlistKind::kGated);
  ASSERT_TRUE(plain.ok() && gated.ok());
  EXPECT_NE(plain->name, gated->name);
  const auto sources = gated->run(sources_);
  ASSERT_TRUE(sources.ok()) << sources.status();
  EXPECT_THAT(sources->at("expressions.v"), HasSubstr("  always @*\n    if ("));
  EXPECT_THAT(plain->run(sources_)->at("expressions.v"), Not(HasSubstr("always @*")));
}

TEST_F(GatedClocks, WriteTheSameRegisters) {
  EXPECT_EQ(Prints(sources_), "agrees\n");
  const StatusOr<SimulationSources> netlist = NetlistSources(sources_, /*clock_gating=*/true);
  ASSERT_TRUE(netlist.ok()) << netlist.status();
  EXPECT_EQ(Prints(*netlist), "agrees\n");

  // One gate for each word, and one each for the sum and the word that is kept.
  SimulationSources faulty = *netlist;
  std::string& text = faulty["expressions.v"];
  const auto count = [&text](std::string_view part) {
    int found = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
      ++found;
    return found;
  };
  EXPECT_EQ(count("  always @*\n    if ("), 10);
  // A latch that is always transparent lets the clock through for inputs that come late.
  const size_t latch = text.find("if (", text.find("  always @*\n"));
  ASSERT_NE(latch, std::string::npos);
  text.replace(latch, text.find(')', latch) + 1 - latch, "if (1'b1)");
  EXPECT_EQ(Prints(faulty), "differs\n");
}

TEST_F(GateLevelSimulation, TakesTheSynthesisForAStepOfItsOwn) {
  const StatusOr<Preparation> gates = GateLevel(NetlistKind::kPlain);
  ASSERT_TRUE(gates.ok()) << gates.status();
  SimulationSources wrong = sources_;
  wrong["products.sv"] = "module products;\n  absent unit ();\nendmodule\n";
  EXPECT_THAT(std::string(cache_.ProgramOf(wrong, false, {}, *gates).status().message()),
              HasSubstr("absent"));
}

TEST(NetlistModels, AMemoryHasItsNameInTheNetlistAndItsParameters) {
  const StatusOr<RtlilDesign> design = ParseRtlil(
      "module $paramod$1\\kiln_ram_1w\n  parameter \\WIDTH 4'1000\n  parameter \\WORDS 3\n"
      "  wire input 1 \\clock\n  wire width 8 output 2 \\read_data\nend\n");
  ASSERT_TRUE(design.ok()) << design.status();
  const auto& [name, memory] = *design->begin();
  EXPECT_EQ(
      MemoryModel(memory, name),
      "module \\$paramod$1\\kiln_ram_1w (\n    input wire clock,\n"
      "    output wire [7:0] read_data\n);\n  kiln_ram_1w #(\n      .WIDTH(4'b1000),\n"
      "      .WORDS(3)\n  ) memory (\n      .clock(clock),\n      .read_data(read_data)\n  );\n"
      "endmodule\n");
  EXPECT_EQ(MemoryModel(memory, "kiln_ram_1w"), "");
}

TEST(NetlistModels, ALibraryOfMemoriesStatesTheirTiming) {
  const StatusOr<RtlilDesign> design = ParseRtlil(
      "module $paramod$1\\kiln_ram_1w\n  wire input 1 \\clock\n  wire width 4 input 2 \\address\n"
      "  wire input 3 \\enable\n  wire width 8 output 4 \\data\nend\n");
  ASSERT_TRUE(design.ok()) << design.status();
  const auto& [name, memory] = *design->begin();
  const std::string library = MemoryLibrary({{.name = name, .module = &memory, .access_ns = 1.5}});
  const auto parsed = ParseLiberty(library, "memories.lib");  // as the library of cells is parsed
  EXPECT_THAT(std::string(parsed.status().message()), HasSubstr("flip-flop")) << library;
  const std::string cell = library.substr(library.find("  cell"));
  EXPECT_EQ(cell, R"(  cell ("$paramod$1\\kiln_ram_1w") {
    area : 0;
    pin (clock) { direction : input; clock : true; capacitance : 0.01; }
    bus (address) { bus_type : bits4; direction : input; capacitance : 0.01;
      timing () { related_pin : "clock"; timing_type : setup_rising;
        rise_constraint (scalar) { values ("0.2"); }
        fall_constraint (scalar) { values ("0.2"); } } }
    pin (enable) { direction : input; capacitance : 0.01;
      timing () { related_pin : "clock"; timing_type : setup_rising;
        rise_constraint (scalar) { values ("0.2"); }
        fall_constraint (scalar) { values ("0.2"); } } }
    bus (data) { bus_type : bits8; direction : output;
      timing () { related_pin : "clock"; timing_type : rising_edge;
        cell_rise (load) { values ("1.5, 1.95"); }
        rise_transition (load) { values ("0.05, 0.6"); }
        cell_fall (load) { values ("1.5, 1.95"); }
        fall_transition (load) { values ("0.05, 0.6"); }
      } }
  }
}
)");
}

}  // namespace
}  // namespace kiln::hardware
