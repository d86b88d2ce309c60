// Tests of the reader of Liberty files: cells, errors and budgets.
#include "kiln/hardware/liberty.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/support/budgets.h"

#include <string>

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
