// Tests of reading module instances and their input bits from netlists, and of replacing instances
// by name.
#include "kiln/hardware/synthesis_instances.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kiln::hardware {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

// As Yosys writes it, shortened: bits with the lowest first, constants as strings.
constexpr const char* kDesign = R"({
  "creator": "Yosys",
  "modules": {
    "lane$1f": {"attributes": {"blackbox": "1"}, "ports": {}, "cells": {}, "netnames": {}},
    "LUT6": {"attributes": {"blackbox": "1"}, "ports": {}, "cells": {"timing": {"type": "$specify2", "connections": {"SRC": [2]}}}},
    "top": {
      "cells": {
        "g_lane[0].compute": {
          "hide_name": 0, "type": "lane$1f",
          "port_directions": {"a": "input", "b": "input", "y": "output"},
          "connections": {"a": ["0", "1", 7, "x"], "b": [8], "y": ["0", 9]}
        },
        "instance0_": {
          "type": "lane$1f", "port_directions": {"a": "input", "b": "input", "y": "output"},
          "connections": {"a": [2, 3, 4, 5], "b": [6], "y": [10, 11]}
        }
      }
    }
  }
})";

TEST(SynthesisInstances, HaveTheBitsOfTheirInputs) {
  const auto instances = ParseInstances(kDesign);
  ASSERT_TRUE(instances.ok()) << instances.status();
  ASSERT_EQ(instances->size(), 2u);
  const MappedInstance& lane = (*instances)[0];
  EXPECT_EQ(lane.name, "g_lane[0].compute");
  EXPECT_EQ(lane.module, "lane$1f");
  EXPECT_THAT(lane.inputs, UnorderedElementsAre(Pair("a", "xx10"), Pair("b", "x")));
  EXPECT_TRUE(HasManyConstants(lane));
  EXPECT_FALSE(HasManyConstants((*instances)[1]));
}

TEST(SynthesisInstances, FewConstantsAreNotMany) {
  MappedInstance instance{
      .name = "i", .module = "m", .inputs = {{"a", std::string(30, 'x')}, {"b", "0"}}};
  EXPECT_FALSE(HasManyConstants(instance));
  instance.inputs["b"] = "01";
  EXPECT_TRUE(HasManyConstants(instance));
  instance.inputs.clear();
  EXPECT_FALSE(HasManyConstants(instance));
}

TEST(SynthesisInstances, WhatYosysDoesNotWriteIsAnError) {
  for (const char* text :
       {"", "[]", "{}", R"({"modules": 1})", R"({"modules": {"m": {"cells": {"i": {}}}}})",
        R"({"modules": {"m": {"cells": {"i": {"type": "t", "connections": {"a": 1}}}}}})"}) {
    EXPECT_FALSE(ParseInstances(text).ok()) << text;
  }
}

constexpr const char* kNetlist =
    "module \\top$0a (x);\n"
    "  \\lane$1f  \\g_lane[0].compute  (\n    .a(x)\n  );\n"
    "  \\lane$1f  instance0_ (\n    .a(x)\n  );\n"
    "  \\lane$1f0  other (\n    .a(\\lane$1f )\n  );\n"
    "endmodule\n";

TEST(SynthesisInstances, StandInNetlists) {
  std::vector<std::string> names;
  for (const NetlistPlace& place : PlacesOf(kNetlist, "lane$1f"))
    names.emplace_back(place.instance);
  EXPECT_THAT(names, ElementsAre("g_lane[0].compute", "instance0_"));
}

TEST(SynthesisInstances, AreReplacedByName) {
  EXPECT_EQ(ReplaceInstances(kNetlist, {}), kNetlist);
  EXPECT_EQ(ReplaceInstances(kNetlist, {{"instance0_", "lane$1f", "lane$77"},
                                        {"other", "lane$1f", "lane$88"},
                                        {"g_lane[0].compute", "lane$1f", "lane$999"}}),
            "module \\top$0a (x);\n"
            "  \\lane$999  \\g_lane[0].compute  (\n    .a(x)\n  );\n"
            "  \\lane$77  instance0_ (\n    .a(x)\n  );\n"
            "  \\lane$1f0  other (\n    .a(\\lane$1f )\n  );\n"
            "endmodule\n");
}

}  // namespace
}  // namespace kiln::hardware
