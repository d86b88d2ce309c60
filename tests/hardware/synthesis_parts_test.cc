// Tests of the parts that synthesis maps separately and reuses.
#include "kiln/hardware/synthesis_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fmt/format.h"

namespace kiln::hardware {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A module of a register of `bits` and instances of others.
std::string Module(const std::string& name, int bits, const std::vector<std::string>& instances) {
  std::string text =
      fmt::format("module {}\n  wire width {} input 1 \\d\n  wire input 2 \\clock\n", name, bits);
  for (const std::string& instance : instances) {
    text += fmt::format("  cell {} $auto${}\n    connect \\d \\d\n  end\n", instance, text.size());
  }
  return text + "end\n";
}

// Two specialisations with one content, one with another; each has a gate that becomes part of it,
// and a memory.
RtlilDesign Design() {
  const auto design =
      ParseRtlil(Module("\\memory", 8, {}) + Module("\\gate", 1, {}) +
                 Module("$paramod$1\\word", 4, {"\\gate", "\\memory", "\\gate"}) +
                 Module("$paramod$2\\word", 4, {"\\gate", "\\memory", "\\gate"}) +
                 Module("$paramod$3\\word", 5, {"\\gate", "\\memory", "\\gate"}) +
                 Module("\\top", 6, {"$paramod$1\\word", "$paramod$2\\word", "$paramod$3\\word"}));
  return *design;
}
Boundaries Kept() {
  return {.kept = {"memory", "$paramod$1\\word", "$paramod$2\\word", "$paramod$3\\word", "top"},
          .large = {"$paramod$3\\word"}};
}

TEST(SynthesisParts, EqualModulesAreOne) {
  const auto parts = CutIntoParts(Design(), Kept(), {"memory"}, "top", "clock");
  ASSERT_TRUE(parts.ok()) << parts.status();
  ASSERT_EQ(parts->size(), 3u);
  const MappingPart &narrow = (*parts)[0], &wide = (*parts)[1], &top = (*parts)[2];
  EXPECT_THAT(narrow.name, StartsWith("word$"));
  EXPECT_THAT(wide.name, StartsWith("word$"));
  EXPECT_NE(narrow.name, wide.name);
  EXPECT_FALSE(narrow.large);
  EXPECT_TRUE(wide.large);
  EXPECT_EQ(top.name, "top");

  EXPECT_THAT(narrow.design, StartsWith("module \\part\n"));
  EXPECT_THAT(narrow.design, HasSubstr("module \\inside$1\n  wire width 1 input 1 \\d\n"));
  EXPECT_THAT(narrow.design, HasSubstr("attribute \\blackbox 1\nmodule \\memory\n"));
  EXPECT_THAT(narrow.design, Not(HasSubstr("gate")));
  // The top has the first two by one name, as black boxes, and nothing of what is in them.
  EXPECT_THAT(top.design, HasSubstr(fmt::format("cell \\{} $1\n", narrow.name)));
  EXPECT_THAT(top.design, HasSubstr(fmt::format("cell \\{} $2\n", narrow.name)));
  EXPECT_THAT(top.design, HasSubstr(fmt::format("cell \\{} $3\n", wide.name)));
  EXPECT_THAT(top.design, HasSubstr("attribute \\clkbuf_sink 1\n  wire input 2 \\clock\n"));
  EXPECT_THAT(top.design, Not(HasSubstr("inside")));
}

TEST(SynthesisParts, NamesFollowFromContents) {
  const auto parts = CutIntoParts(Design(), Kept(), {"memory"}, "top", "clock");
  RtlilDesign changed = Design();
  const auto gate = ParseRtlil(Module("\\gate", 2, {}));
  changed["gate"] = gate->at("gate");  // in all words, and by their names in the top
  const auto others = CutIntoParts(changed, Kept(), {"memory"}, "top", "clock");
  ASSERT_TRUE(parts.ok() && others.ok());
  for (size_t i = 0; i < 2; ++i) EXPECT_NE((*parts)[i].name, (*others)[i].name);
  EXPECT_NE((*parts)[2].design, (*others)[2].design);
  // Another name of a specialisation is no other content.
  RtlilDesign renamed = Design();
  renamed["$paramod$9\\word"] = renamed.at("$paramod$1\\word");
  Boundaries kept = Kept();
  kept.kept[1] = "$paramod$9\\word";
  renamed.at("top").instances[0].module = "$paramod$9\\word";
  const auto same = CutIntoParts(renamed, kept, {"memory"}, "top", "clock");
  ASSERT_TRUE(same.ok()) << same.status();
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ((*parts)[i].design, (*same)[i].design);
}

TEST(SynthesisParts, BoundariesOfAnotherDesign) {
  EXPECT_FALSE(
      CutIntoParts(Design(), {.kept = {"none", "top"}, .large = {}}, {}, "top", "clock").ok());
}

TEST(SynthesisParts, ConstantsStandAroundThePart) {
  MappingPart part;
  part.name = "word$0011223344556677";
  part.design =
      "module \\part\n  wire width 4 input 1 \\d\nend\nattribute \\blackbox 1\nmodule "
      "\\memory\nend\n";
  part.ports = {"wire width 8 input 1 \\d", "wire input 2 \\e", "wire input 3 \\f",
                "wire width 2 output 4 \\q"};
  part.large = true;
  const MappingPart with = WithConstants(part, {{"d", "x01xx1xx"}, {"e", "1"}, {"f", "x"}});
  EXPECT_EQ(with.design,
            "module \\whole\n  wire width 4 input 1 \\d\nend\nattribute \\blackbox 1\nmodule "
            "\\memory\nend\n"
            "module \\part\n"
            "  wire width 8 input 1 \\d\n  wire input 2 \\e\n  wire input 3 \\f\n  wire width 2 "
            "output 4 \\q\n"
            "  cell \\whole \\whole\n"
            "    connect \\d { \\d [7:7] 2'01 \\d [4:3] 1'1 \\d [1:0] }\n"
            "    connect \\e 1'1\n    connect \\f \\f\n    connect \\q \\q\n  end\nend\n");
  EXPECT_THAT(with.name, StartsWith("word$"));
  EXPECT_NE(with.name, part.name);
  EXPECT_TRUE(with.large);
  EXPECT_EQ(WithConstants(part, {{"d", "x01xx1xx"}, {"e", "1"}, {"f", "x"}}).name, with.name);
  EXPECT_NE(WithConstants(part, {{"d", "x01xx1xx"}, {"e", "0"}, {"f", "x"}}).name, with.name);
  EXPECT_FALSE(WithConstants(part, {{"d", "0000xxxx"}, {"e", "1"}, {"f", "x"}}).large);
}

}  // namespace
}  // namespace kiln::hardware
