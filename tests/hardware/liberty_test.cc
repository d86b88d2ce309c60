// Tests of the reader of Liberty files: cells, errors and budgets.
#include "kiln/hardware/liberty.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "kiln/support/budgets.h"
#include "kiln/support/file.h"

namespace kiln::hardware {
namespace {

using testing::HasSubstr;

constexpr const char* kLibrary = R"liberty(/* a
   comment */
library (small) {
  time_unit : "1ns";
  capacitive_load_unit (1,pf);
  lu_table_template (t_2x1) { variable_1 : total_output_net_capacitance; index_1 ("0.1, \
    0.2"); }
  cell (INVX1) {
    area : 10;
    pin(A) { direction : input; capacitance : 0.01; }
    pin(Y) { direction : output; function : "(!A)"; timing() { related_pin : "A"; cell_rise(t_2x1) { values ("1, 2"); } } }
  }
  cell ("INVX4") {
    area : 22.5;
    pin(A) { direction : input; capacitance : 0.04; }
    pin(Y) { direction : output; function : "A'"; }
  }
  cell (BUFX1) {
    area : 12;
    pin(A) { direction : input; capacitance : 0.02; }
    pin(Y) { direction : output; function : "A"; }
  }
  cell (DFF) {
    area : 96;
    ff (IQ, IQN) { next_state : "D"; clocked_on : "CLK"; }
    pin(D) { direction : input; capacitance : 0.01; }
    pin(CLK) { direction : input; clock : true; capacitance : 0.03; }
    pin(Q) { direction : output; function : "IQ"; }
  }
  cell (LATCH) { area : 60; latch (IQ, IQN) { data_in : "D"; enable : "E"; } }
}
)liberty";

TEST(Liberty, CellsHaveAreaKindAndLoad) {
  const auto library = ParseLiberty(kLibrary, "small.lib");
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_EQ(library->name, "small");
  ASSERT_EQ(library->cells.size(), 5u);
  EXPECT_EQ(library->cells.at("INVX4").area, 22.5);
  EXPECT_EQ(library->cells.at("INVX4").input_capacitance, 0.04);
  EXPECT_EQ(library->cells.at("DFF").input_capacitance, 0.03);
  for (const auto& [name, cell] : library->cells) {
    EXPECT_EQ(cell.is_inverter, name.starts_with("INV")) << name;
    EXPECT_EQ(cell.is_flip_flop, name == "DFF") << name;
    EXPECT_EQ(cell.is_latch, name == "LATCH") << name;
  }
  EXPECT_EQ(library->MiddleInverter(), "INVX4");  // the larger of two
}

TEST(Liberty, FaultsNameFileAndLine) {
  const auto fault = [](const std::string& text) {
    return MessageOf(ParseLiberty(text, "x.lib").status());
  };
  EXPECT_THAT(fault(""), HasSubstr("x.lib: line 1: is no Liberty file"));
  EXPECT_THAT(fault("module a; endmodule"), HasSubstr("is no Liberty file"));
  EXPECT_THAT(fault("library (a) {\n cell (b) {\n area : 1;\n"),
              HasSubstr("line 4: ends inside a group"));
  EXPECT_THAT(fault("library (a) {\n area 7 }"),
              HasSubstr("line 2: ':' or '(' expected after a name"));
  EXPECT_THAT(fault("library (a) { cell (b) { area : 1; } }"),
              HasSubstr("no cell that is a flip-flop"));
}

// Returns a library with further cells and without the latch of kLibrary.
std::string WithCells(const std::string& cells) {
  std::string text = kLibrary;
  text.erase(text.find("  cell (LATCH)"));
  return text + cells + "}\n";
}
constexpr const char* kAnd = R"liberty(
  cell (AND2) { area : 30;
    pin(A) { direction : input; } pin(B) { direction : input; }
    pin(Y) { direction : output; function : "(A	B)"; } }
  cell (WIDE_AND) { area : 31;
    pin(A) { direction : input; } pin(B) { direction : input; }
    pin(Y) { direction : output; function : "A & B"; } }
  cell (OR2) { area : 1;
    pin(A) { direction : input; } pin(B) { direction : input; }
    pin(Y) { direction : output; function : "(A | B)"; } }
)liberty";
constexpr const char* kLatches = R"liberty(
  cell (LATCH_LOW) { area : 50; latch ("IQ", "IQN") { data_in : "D"; enable : "(!G)"; }
    pin(D) { direction : input; } pin(G) { direction : input; clock : true; }
    pin(Q) { direction : output; function : "IQ"; }
    pin(N) { direction : output; function : "IQN"; } }
  cell (LATCH_CLEARED) { area : 40; latch (IQ, IQN) { data_in : "D"; enable : "G"; clear : "R"; }
    pin(D) { direction : input; } pin(G) { direction : input; } pin(R) { direction : input; }
    pin(Q) { direction : output; function : "IQ"; } }
)liberty";

TEST(Liberty, ClockGatesAreALatchAndAnAndOrOneCell) {
  const auto gate_of = [](const std::string& cells) {
    const auto library = ParseLiberty(WithCells(cells), "gates.lib");
    EXPECT_TRUE(library.ok()) << library.status();
    return library->clock_gate;
  };
  EXPECT_FALSE(gate_of("").has_value());
  EXPECT_FALSE(gate_of(kAnd).has_value());
  EXPECT_FALSE(gate_of(kLatches).has_value());
  const auto separate = gate_of(std::string(kAnd) + kLatches);
  ASSERT_TRUE(separate.has_value());
  EXPECT_EQ(separate->gate, "AND2");
  EXPECT_EQ(separate->gate_clock, "A");
  EXPECT_EQ(separate->gate_enable, "B");
  EXPECT_EQ(separate->gate_output, "Y");
  EXPECT_EQ(separate->latch, "LATCH_LOW");
  EXPECT_EQ(separate->latch_data, "D");
  EXPECT_EQ(separate->latch_enable, "G");
  EXPECT_EQ(separate->latch_output, "Q");
  EXPECT_TRUE(separate->latch_is_transparent_low);
  const auto integrated = gate_of(std::string(kAnd) + kLatches + R"liberty(
  cell (GATE_OR) { area : 60; clock_gating_integrated_cell : "latch_negedge";
    pin(C) { direction : input; clock_gate_clock_pin : true; }
    pin(E) { direction : input; clock_gate_enable_pin : true; }
    pin(Y) { direction : output; clock_gate_out_pin : true; } }
  cell (GATE) { area : 90; clock_gating_integrated_cell : "latch_posedge_precontrol";
    pin(C) { direction : input; clock_gate_clock_pin : true; }
    pin(E) { direction : input; clock_gate_enable_pin : true; }
    pin(T) { direction : input; clock_gate_test_pin : true; }
    pin(Y) { direction : output; clock_gate_out_pin : true; } }
)liberty");
  ASSERT_TRUE(integrated.has_value());
  EXPECT_EQ(integrated->gate, "GATE");
  EXPECT_EQ(integrated->gate_clock, "C");
  EXPECT_EQ(integrated->gate_enable, "E");
  EXPECT_EQ(integrated->gate_test, "T");
  EXPECT_EQ(integrated->gate_output, "Y");
  EXPECT_EQ(integrated->latch, "");
}

// A cell that could be a clock gate but for what `text` says.
TEST(Liberty, CellsThatGateNoClock) {
  const auto gate_of = [](const std::string& cell) {
    const auto library = ParseLiberty(WithCells(kAnd + cell), "gates.lib");
    EXPECT_TRUE(library.ok()) << library.status();
    return library->clock_gate;
  };
  const auto cell = [](const std::string& name, const std::string& kind, const std::string& text) {
    return "  cell (" + name + ") { area : 90; clock_gating_integrated_cell : \"" + kind + "\";\n" +
           "    pin(C) { direction : input; clock_gate_clock_pin : true; }\n"
           "    pin(E) { direction : input; clock_gate_enable_pin : true; }\n"
           "    pin(Y) { direction : output; clock_gate_out_pin : true; }\n" +
           text + " }\n";
  };
  for (const char* kind : {"latch_posedge", "latch_posedge_precontrol", "latch_posedge_postcontrol",
                           "latch_posedge_postcontrol_obs"}) {
    EXPECT_TRUE(gate_of(cell("GATE", kind, "")).has_value()) << kind;
  }
  for (const char* kind : {"none_posedge", "latch_negedge", "latch_posedgeactivelow"})
    EXPECT_FALSE(gate_of(cell("GATE", kind, "")).has_value()) << kind;
  for (const char* text : {"pin(R) { direction : input; }", "dont_use : true;",
                           "is_isolation_cell : true;", "pin(\"O-1\") { direction : output; }"}) {
    EXPECT_FALSE(gate_of(cell("GATE", "latch_posedge", text)).has_value()) << text;
  }
  EXPECT_FALSE(gate_of(cell("GATE-X1", "latch_posedge", "")).has_value());
  EXPECT_TRUE(gate_of(cell("GATE", "latch_posedge", "dont_use : false;")).has_value());
}

// The file of the layout says what the Liberty file does not.
TEST(Liberty, TheLatchOfTheDefaultLibraryHasTheAreaOfItsLayout) {
  const auto lef = ReadFile(DefaultLiberty().parent_path() / "osu018_stdcells.lef");
  if (!lef.ok()) GTEST_SKIP() << "qflow-tech-osu018 is not installed";
  const auto area_of = [&lef](const std::string& cell) {
    const size_t macro = lef->find("MACRO " + cell + "\n"), size = lef->find("SIZE ", macro);
    double width = 0, height = 0;
    EXPECT_EQ(std::sscanf(lef->c_str() + size, "SIZE %lf BY %lf", &width, &height), 2) << cell;
    return width * height;
  };
  const auto liberty = ReadFile(DefaultLiberty());
  ASSERT_TRUE(liberty.ok());
  const auto library = ParseLiberty(*liberty, "osu018");
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_EQ(library->cells.at("DFFPOSX1").area, area_of("DFFPOSX1"));
  EXPECT_EQ(library->cells.at("LATCH").area, 0);
  EXPECT_EQ(kOsuLatchArea, area_of("LATCH"));
  ASSERT_TRUE(library->clock_gate.has_value());
  EXPECT_EQ(library->clock_gate->latch, "LATCH");
}

// Whatever a file is cut down to, there is an answer.
TEST(Liberty, AnyBeginningOfAFileIsAnError) {
  const std::string whole = kLibrary;
  const size_t end = whole.rfind('}');
  for (size_t length = 0; length <= end; ++length) {
    EXPECT_FALSE(ParseLiberty(whole.substr(0, length), "cut.lib").ok()) << length;
  }
}

TEST(Liberty, DeepNestingIsAnError) {
  std::string text = "library (a) {";
  for (int i = 0; i < 100'000; ++i) text += "g () {";
  EXPECT_THAT(MessageOf(ParseLiberty(text, "deep.lib").status()), HasSubstr("nested too deeply"));
}

TEST(Liberty, DepthAtTheBudget) {
  const auto nested = [](int64_t levels) {  // the library is a level, too
    std::string text = kLibrary;
    text.erase(text.rfind('}'));
    for (int64_t i = 1; i < levels; ++i) text += "g () {\n";
    for (int64_t i = 0; i < levels; ++i) text += "}";
    const auto library = ParseLiberty(text, "deep.lib");
    return library.ok() ? "no error" : MessageOf(library.status());
  };
  EXPECT_EQ(nested(budgets::kLibertyDepth), "no error");
  EXPECT_THAT(nested(budgets::kLibertyDepth + 1),
              HasSubstr(": groups are nested too deeply; at most 64 levels"));
}

// Inverters are sorted by area, which NaN does not bear.
TEST(Liberty, NumbersAreFinite) {
  for (const char* area : {"nan", "inf", "-1", "many", "\"\"", "1x"}) {
    const std::string text =
        "library (a) {\n cell (b) {\n area : " + std::string(area) + ";\n ff (Q, N) {} } }";
    EXPECT_THAT(MessageOf(ParseLiberty(text, "x.lib").status()), HasSubstr("x.lib: line 3: area '"))
        << area;
  }
  const std::string pin =
      "library (a) {\n cell (b) {\n pin (c) { capacitance : nan; } ff (Q, N) {} } }";
  EXPECT_THAT(MessageOf(ParseLiberty(pin, "x.lib").status()),
              HasSubstr("x.lib: line 3: capacitance 'nan' is not a number of 0 or more"));
}

}  // namespace
}  // namespace kiln::hardware
