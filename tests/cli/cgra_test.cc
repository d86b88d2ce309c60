// Tests of the commands of `kiln cgra`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kiln/cli/application.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "tests/cli/call.h"

namespace kiln::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class CgraCommands : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string File(const std::string& name, const std::string& text) const {
    EXPECT_TRUE(WriteFile(Path(name), text).ok());
    return Path(name);
  }
  static json Json(const Outcome& outcome) {
    EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
    return json::parse(outcome.out, nullptr, false);
  }
  const TemporaryFolder folder_ = *TemporaryFolder::Create("kiln-cgra-commands");
};

TEST_F(CgraCommands, MapsTheWorkedExampleOfThePaper) {
  const json map =
      Json(Call({"cgra", "map", "distance", "--on", "se-16", "--ii", "3", "--json", "-"}));
  ASSERT_TRUE(map.is_object());
  EXPECT_EQ(map["initiation_interval"], 3);
  // The drawing of the paper takes 15 cycles.
  EXPECT_LE(map["latency_cycles"], 15);
  EXPECT_TRUE(map["optimal"]);
  std::set<std::pair<int, int>> cells;
  int instructions = 0;
  for (const json& row : map["instructions"]) {
    if (row["operator"].get<std::string>().find("instruction of") != std::string::npos) continue;
    ++instructions;
    EXPECT_TRUE(cells.emplace(row["tile"], row["issue"].get<int>() % 3).second);
  }
  // The drawing has seven: one of three products shares an instruction with a sum. Two may.
  EXPECT_GE(instructions, 6);
  EXPECT_LE(instructions, 7);
}

TEST_F(CgraCommands, ChecksWhatItMaps) {
  const std::string mapping = Path("mapping.json");
  for (const char* graph : {"distance", "multiply-add", "tests/data/cgra/fir.json"}) {
    ASSERT_EQ(
        Call({"cgra", "map", graph, "--on", "se-16", "--mapper", "greedy", "--mapping", mapping})
            .code,
        kExitOk)
        << graph;
    const json check =
        Json(Call({"cgra", "check", graph, mapping, "--on", "se-16", "--json", "-"}));
    EXPECT_TRUE(check["legal"]) << graph;
  }
}

TEST_F(CgraCommands, ReportsEveryBrokenRuleByItsNodes) {
  const std::string mapping = Path("mapping.json");
  ASSERT_EQ(Call({"cgra", "map", "distance", "--on", "se-16", "--mapping", mapping}).code, kExitOk);
  json text = json::parse(*ReadFile(mapping));
  // Everything goes to the cell of the first instruction.
  for (json& place : text["places"]) {
    place["tile"] = text["places"][0]["tile"];
    place["issue"] = text["places"][0]["issue"];
  }
  File("mapping.json", text.dump());
  const Outcome outcome =
      Call({"cgra", "check", "distance", mapping, "--on", "se-16", "--json", "-"});
  EXPECT_NE(outcome.code, kExitOk);
  EXPECT_THAT(outcome.err, HasSubstr("breaks rules in"));
  const json check = json::parse(outcome.out);
  EXPECT_FALSE(check["legal"]);
  std::set<std::string> rules;
  for (const json& broken : check["broken"]) {
    rules.insert(broken["rule"]);
    EXPECT_FALSE(broken["nodes"].empty());
  }
  EXPECT_TRUE(rules.contains("cell"));
  EXPECT_TRUE(rules.contains("arrival"));
}

TEST_F(CgraCommands, WritesWhatMemoriesHoldAndAChart) {
  const Outcome outcome = Call({"cgra", "map", "multiply-add", "--on", "se-4", "--configuration",
                                Path("configuration.json"), "--chart", Path("tiles.svg")});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  const json configuration = json::parse(*ReadFile(Path("configuration.json")));
  EXPECT_EQ(configuration["format"], "kiln-cgra-configuration-1");
  EXPECT_THAT(*ReadFile(Path("tiles.svg")), HasSubstr("</svg>"));
}

TEST_F(CgraCommands, LeavesNoFileWhereAConfigurationCannotBeBuilt) {
  // Loads need memory interfaces, which the stream machine does not have.
  const Outcome outcome =
      Call({"cgra", "map", "tests/data/cgra/fir.json", "--on", "se-16", "--mapper", "greedy",
            "--mapping", Path("mapping.json"), "--configuration", Path("configuration.json")});
  EXPECT_NE(outcome.code, kExitOk);
  EXPECT_FALSE(std::filesystem::exists(Path("mapping.json")));
  EXPECT_FALSE(std::filesystem::exists(Path("configuration.json")));
}

TEST_F(CgraCommands, ComparesMappers) {
  const Outcome outcome = Call({"cgra", "compare", "distance", "multiply-add", "--on", "se-16",
                                "--mappers", "exact,greedy,random", "--steps", "200", "--chart",
                                Path("compare.svg"), "--json", "-"});
  const json compare = Json(outcome);
  ASSERT_EQ(compare.size(), 2U);
  for (const json& graph : compare) {
    ASSERT_EQ(graph["runs"].size(), 3U);
    const json& exact = graph["runs"][0];
    for (const json& run : graph["runs"]) {
      if (run["initiation_interval"].is_null()) continue;
      EXPECT_GE(run["initiation_interval"], exact["interval_bound"]);
      if (exact["optimal"] && run["initiation_interval"] == exact["initiation_interval"]) {
        EXPECT_GE(run["latency_cycles"], exact["latency_cycles"]);
      }
    }
  }
  EXPECT_THAT(*ReadFile(Path("compare.svg")), HasSubstr("distance"));
}

TEST_F(CgraCommands, MapsAnElementWiseNetwork) {
  const std::string network = File("network.kir",
                                   "graph \"products\" {\n"
                                   "  input %x : f32[1x64]\n"
                                   "  input %y : f32[1x64]\n"
                                   "  %1 = mul %x, %y \"product\" : f32[1x64]\n"
                                   "  %2 = add %1, %x \"sum\" : f32[1x64]\n"
                                   "  output %2\n"
                                   "}\n");
  const Outcome outcome = Call({"cgra", "map", network, "--on", "se-16", "--json", "-"});
  const json map = Json(outcome);
  EXPECT_EQ(map["initiation_interval"], 1);
}

TEST_F(CgraCommands, ListsItsGraphs) {
  const Outcome outcome = Call({"cgra", "graphs"});
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_THAT(outcome.out, HasSubstr("distance"));
  EXPECT_THAT(outcome.out, HasSubstr("multiply-add"));
}

}  // namespace
}  // namespace kiln::cli
