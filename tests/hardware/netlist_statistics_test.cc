// Tests of Yosys' statistics: reading them, and summing resources by unit.
#include "kiln/hardware/netlist_statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fmt/format.h"
#include "kiln/support/budgets.h"

namespace kiln::hardware {
namespace {

using testing::ElementsAre;
using testing::Pair;

// As Yosys 0.23 prints it, its tree of the hierarchy in the middle.
constexpr const char* kStatistics = R"json({
   "creator": "Yosys 0.23 (git sha1 7ce5011c24b)",
   "invocation": "stat -json ",
   "modules": {
      "$paramod$1a0ce33222496f0c1b911406370ee1598d475037\\kiln_element": {
         "num_memory_bits":   0,
         "num_cells":         5,
         "num_cells_by_type": {
            "$dff": 2,
            "kiln_product": 1,
            "NAND": 2
         }
      },
      "$paramod\\kiln_element\\ROWS=s32'00000000000000000000000000000010": {
         "num_memory_bits":   0,
         "num_cells_by_type": {
            "$dff": 1
         }
      },
      "\\kiln_product": {
         "num_memory_bits":   0,
         "num_cells_by_type": {
            "NAND": 10
         }
      },
      "\\kiln_memory": {
         "num_memory_bits":   64,
         "num_cells_by_type": {

         }
      },
      "\\array": {
         "num_memory_bits":   0,
         "num_cells_by_type": {
            "$paramod$1a0ce33222496f0c1b911406370ee1598d475037\\kiln_element": 16,
            "$paramod\\kiln_element\\ROWS=s32'00000000000000000000000000000010": 1,
            "kiln_memory": 1,
            "NAND": 3
         }
      },
      "\\top": {
         "num_memory_bits":   0,
         "num_cells_by_type": {
            "array": 1
         }
      }
   },
       $paramod$1a0ce33222496f0c1b911406370ee1598d475037\kiln_element      16
         kiln_product      1
      "design": {
         "num_cells":         100,
         "num_cells_by_type": {
            "NAND": 3
         }
      }
}
)json";

NetlistStatistics Statistics() {
  const auto statistics = ParseStatistics(kStatistics);
  EXPECT_TRUE(statistics.ok()) << statistics.status();
  return statistics.ok() ? *statistics : NetlistStatistics();
}

StatusOr<Resources> AreaOf(const std::string& cell) {
  Resources resources;
  resources.cells = 1;
  resources.area = cell == "NAND" ? 4 : 100;
  resources.flip_flops = cell == "$dff" ? 1 : 0;
  return resources;
}

TEST(NetlistStatistics, ReadsModulesRoundTheTree) {
  const NetlistStatistics statistics = Statistics();
  ASSERT_EQ(statistics.size(), 6u);
  EXPECT_EQ(statistics.at("kiln_memory").memory_bits, 64);
  EXPECT_THAT(statistics.at("top").cells, ElementsAre(Pair("array", 1)));
  EXPECT_EQ(statistics.at("array").cells.size(), 4u);
}

TEST(NetlistStatistics, OtherTextIsAnError) {
  for (const char* text :
       {"", "{}", "ERROR: no such file", "{\"modules\": 3}", "{\"modules\": {\"a\": 1}}"}) {
    EXPECT_FALSE(ParseStatistics(text).ok()) << text;
  }
}

TEST(NetlistStatistics, NamesOfTheSource) {
  EXPECT_EQ(SourceName("$paramod$1a0c\\kiln_element"), "kiln_element");
  EXPECT_EQ(SourceName("$paramod\\kiln_element\\ROWS=s32'0010"), "kiln_element");
  EXPECT_EQ(SourceName("\\kiln_element"), "kiln_element");
  EXPECT_EQ(SourceName("kiln_element"), "kiln_element");
  EXPECT_EQ(SourceName("kiln_element$00c0ffee"), "kiln_element");
}

TEST(NetlistStatistics, ModulesThatKeepState) {
  EXPECT_THAT(SequentialModules(Statistics()),
              ElementsAre("$paramod$1a0ce33222496f0c1b911406370ee1598d475037\\kiln_element",
                          "$paramod\\kiln_element\\ROWS=s32'00000000000000000000000000000010",
                          "array", "kiln_memory", "top"));
}

// The wrapper is passed over; modules of one name are one unit.
TEST(NetlistStatistics, UnitsSumUpWhatIsBelow) {
  const auto design = SumUnits(Statistics(), "top", 2, AreaOf);
  ASSERT_TRUE(design.ok()) << design.status();
  EXPECT_EQ(design->name, "array");
  EXPECT_EQ(design->own.area, 12);
  ASSERT_EQ(design->parts.size(), 2u);
  const SynthesisedUnit& elements = design->parts[0];
  EXPECT_EQ(elements.name, "kiln_element");
  EXPECT_EQ(elements.instances, 17);
  EXPECT_EQ(elements.resources.flip_flops, 33);
  EXPECT_EQ(elements.resources.area, 16 * (200 + 8 + 40) + 100);
  EXPECT_EQ(elements.own.area, 16 * 208 + 100);
  ASSERT_EQ(elements.parts.size(), 1u);
  EXPECT_EQ(elements.parts[0].instances, 16);
  EXPECT_EQ(elements.parts[0].resources.cells, 160);
  EXPECT_EQ(design->resources.area, elements.resources.area + 12);
  EXPECT_EQ(design->resources.cells, 16 * 14 + 1 + 3);
}

TEST(NetlistStatistics, DepthLeavesPartsOut) {
  const auto design = SumUnits(Statistics(), "top", 0, AreaOf);
  ASSERT_TRUE(design.ok());
  EXPECT_TRUE(design->parts.empty());
  EXPECT_EQ(design->resources.flip_flops, 33);
}

TEST(NetlistStatistics, AnUnknownCellIsAnError) {
  const auto refuse = [](const std::string& cell) -> StatusOr<Resources> {
    return UnsupportedAt("x.lib", "", "has no " + cell, "");
  };
  EXPECT_FALSE(SumUnits(Statistics(), "top", 1, refuse).ok());
  EXPECT_FALSE(SumUnits(Statistics(), "elsewhere", 1, AreaOf).ok());
}

// Sums over the hierarchy recurse and multiply: what they cannot take is refused where it is read.
std::string ModuleText(const std::string& name, const std::string& cells,
                       const std::string& bits = "0") {
  return "\"" + name + "\": {\n\"num_memory_bits\": " + bits + ",\n\"num_cells_by_type\": {\n" +
         cells + "\n}\n}";
}
std::string ErrorOf(const std::string& modules) {
  const auto statistics = ParseStatistics("{\n\"modules\": {\n" + modules + "\n}\n}");
  return statistics.ok() ? "no error" : std::string(statistics.status().message());
}

TEST(NetlistStatistics, CountsAreWholeNumbers) {
  for (const char* count : {"-1", "1.5", "\"3\"", "9007199254740992", "1e30"}) {
    EXPECT_EQ(ErrorOf(ModuleText("a", "\"NAND\": " + std::string(count))),
              "Yosys' statistics have a 'NAND' that is not a count");
    EXPECT_EQ(ErrorOf(ModuleText("a", "", count)),
              "Yosys' statistics have a 'num_memory_bits' that is not a count");
  }
  EXPECT_EQ(ErrorOf("\"a\": {\n\"num_cells_by_type\": \"x\"\n}"),
            "Yosys' statistics of the module a have cells that are not an object");
}

TEST(NetlistStatistics, AModuleInsideItselfIsAnError) {
  EXPECT_EQ(ErrorOf(ModuleText("a", "\"a\": 1")),
            "Yosys' statistics have the module a inside itself");
  EXPECT_EQ(ErrorOf(ModuleText("a", "\"b\": 1") + ",\n" + ModuleText("b", "\"a\": 1")),
            "Yosys' statistics have the module a inside itself");
}

TEST(NetlistStatistics, DepthAtTheBudget) {
  for (const bool leaves_first : {false, true}) {
    const auto chain = [&](int64_t levels) {
      std::string modules;
      for (int64_t i = 0; i < levels; ++i) {
        const auto name = [&](int64_t level) {
          return fmt::format("m{:05}", leaves_first ? levels - level : level);
        };
        modules += (i > 0 ? ",\n" : "") +
                   ModuleText(name(i), i + 1 < levels ? fmt::format("\"{}\": 1", name(i + 1))
                                                      : "\"NAND\": 1");
      }
      return ErrorOf(modules);
    };
    EXPECT_EQ(chain(budgets::kNetlistDepth), "no error");
    EXPECT_EQ(chain(budgets::kNetlistDepth + 1),
              "Yosys' statistics have modules inside modules too deeply: at most 1024 levels");
  }
}

TEST(NetlistStatistics, AbsurdProductsAreErrors) {
  std::string modules = ModuleText("m0", "\"NAND\": 1000000");
  for (int i = 1; i < 4; ++i) {
    modules += ",\n" + ModuleText(fmt::format("m{}", i), fmt::format("\"m{}\": 1000000", i - 1));
  }
  EXPECT_EQ(ErrorOf(modules), "Yosys' statistics have more cells below m2 than any design");
}

}  // namespace
}  // namespace kiln::hardware
