// Mapping files: round trips, names and keys of errors, budgets.

#include "kiln/targets/cgra/graph/mapping_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fmt/format.h"
#include "kiln/support/budgets.h"
#include "kiln/targets/cgra/graph/named_graphs.h"
#include "tests/test_data.h"

namespace kiln::cgra {
namespace {

using testing::HasSubstr;

ComputationGraph Chain() {
  ComputationGraph graph{"chain", "chain.json", {}, {}};
  graph.nodes = {{"a", Op::kPass, "", std::nullopt},
                 {"b", Op::kMul, "", std::nullopt},
                 {"c", Op::kAdd, "", std::nullopt},
                 {"\"d\\", Op::kPass, "", std::nullopt}};
  graph.edges = {{0, 1, 0}, {0, 1, 1}, {1, 2, 0}, {2, 3, 0}};
  EXPECT_TRUE(VerifyAndSort(&graph).ok());
  return graph;
}

std::string Form(const std::string& rest) {
  return R"({"format": "kiln-cgra-mapping-1", "graph": "chain", "initiation_interval": 2)" +
         (rest.empty() ? "" : ", " + rest) + "}";
}

TEST(MappingFileTest, WrittenMappingsReadAsTheSame) {
  const ComputationGraph graph = Chain();
  Mapping mapping;
  mapping.initiation_interval = 5;
  mapping.places = {{3, 0}, {1, 1048576}, {1023, 7}, {}};
  mapping.fused_into = {-1, 2, -1, -1};
  mapping.passes = {{0, -1, {2, 4}}, {0, 0, {4, 9}}, {3, -1, {0, 0}}};
  mapping.provider = {-1, 1, -1, 2};
  const auto again = ParseMapping(PrintMapping(mapping, graph), "again", graph);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, mapping);
  mapping.passes.clear();
  mapping.provider = {-1, -1, -1, -1};
  mapping.fused_into[1] = -1;
  const std::string text = PrintMapping(mapping, graph);
  EXPECT_EQ(text,
            "{\n \"format\": \"kiln-cgra-mapping-1\",\n \"graph\": \"chain\",\n"
            " \"initiation_interval\": 5,\n \"places\": [\n"
            "  {\"node\":\"a\",\"tile\":3,\"issue\":0},\n"
            "  {\"node\":\"b\",\"tile\":1,\"issue\":1048576},\n"
            "  {\"node\":\"c\",\"tile\":1023,\"issue\":7}\n ]\n}\n");
  const auto plain = ParseMapping(text, "again", graph);
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(*plain, mapping);
}

TEST(MappingFileTest, ReadsTheWorkedExample) {
  const auto graph = MakeNamedGraph("distance");
  ASSERT_TRUE(graph.ok());
  const auto mapping = ReadMapping(TestData("cgra/distance_mapping.json"), *graph);
  ASSERT_TRUE(mapping.ok()) << mapping.status();
  EXPECT_EQ(mapping->initiation_interval, 3);
  int placed = 0;
  for (const Place& place : mapping->places) placed += place.tile >= 0 ? 1 : 0;
  EXPECT_EQ(placed, 8);
  const auto other = MakeNamedGraph("fir-4");
  EXPECT_THAT(MessageOf(ReadMapping(TestData("cgra/distance_mapping.json"), *other).status()),
              HasSubstr("distance_mapping.json: key 'graph': the mapping is one of 'distance'; a "
                        "mapping of 'fir-4'"));
}

TEST(MappingFileTest, BadMappingsAreRefusedByKeyOrNode) {
  const ComputationGraph graph = Chain();
  const auto error = [&](const std::string& text) {
    return MessageOf(ParseMapping(text, "m.json", graph).status());
  };
  EXPECT_THAT(error("[]"), HasSubstr("m.json: is no JSON object"));
  EXPECT_THAT(error("{}"), HasSubstr("key 'format': the file is no mapping"));
  const std::pair<const char*, const char*> rows[] = {
      {"", "m.json: key 'places': is missing"},
      {R"("places": {})", "key 'places': is no list"},
      {R"("places": [], "tiles": 4)", "key 'tiles': is not known; one of format, graph,"},
      {R"("places": [4])", "key 'places[0]': 4 is no object"},
      {R"("places": [{"node": "e", "tile": 0, "issue": 0}])",
       "key 'places[0].node': the graph has no node 'e'; a node of 'chain.json'"},
      {R"("places": [{"node": "a", "tile": -1, "issue": 0}])",
       "key 'places[0].tile': -1 is no count; a whole number from 0 to 1023"},
      {R"("places": [{"node": "a", "tile": 1024, "issue": 0}])", "key 'places[0].tile': 1024"},
      {R"("places": [{"node": "a", "tile": 0, "issue": 1048577}])", "key 'places[0].issue'"},
      {R"("places": [{"node": "a", "tile": 0}])", "key 'places[0].issue': is missing"},
      {R"("places": [{"node": "a", "tile": 0, "issue": 0, "slot": 0}])",
       "key 'places[0].slot': is not known; one of node, tile, issue"},
      {R"("places": [{"node": "a", "tile": 0, "issue": 0}, {"node": "a", "tile": 0, "issue": 0}])",
       "key 'places[1].node': 'a' has a place already"},
      {R"("places": [], "fused": [{"node": "b", "into": "x"}])",
       "key 'fused[0].into': the graph has no node 'x'"},
      {R"("places": [], "fused": [{"node": "b", "into": "c"}, {"node": "b", "into": "c"}])",
       "key 'fused[1].node': 'b' is fused into another already"},
      {R"("places": [], "passes": [{"node": "a", "from": 0, "tile": 0, "issue": 0}])",
       "key 'passes[0].from': pass-through 0 is not before it"},
      {R"("places": [], "providers": [{"edge": 0, "source": "a", "target": "b", "pass": 0}])",
       "key 'providers[0].pass': there is no pass-through 0"},
      {R"("places": [], "providers": [{"edge": 2, "source": "a", "target": "b", "pass": 0}])",
       "key 'providers[0].edge': edge 2 of the graph does not lead from 'a' to 'b'"},
      {R"("places": [], "providers": [{"edge": 4, "source": "a", "target": "b", "pass": 0}])",
       "key 'providers[0].edge': edge 4 of the graph does not lead from 'a' to 'b'"},
      {R"("places": [], "passes": [{"node": "a", "tile": 0, "issue": 0}],
          "providers": [{"edge": 0, "source": "a", "target": "b", "pass": 0},
                        {"edge": 0, "source": "a", "target": "b", "pass": 0}])",
       "key 'providers[1].edge': edge 0 has a provider already"},
  };
  for (const auto& [rest, message] : rows) {
    EXPECT_THAT(error(Form(rest)), HasSubstr(message)) << rest;
  }
  EXPECT_THAT(error(R"({"format": "kiln-cgra-mapping-1", "graph": "chain", "places": [],
                        "initiation_interval": 0})"),
              HasSubstr("key 'initiation_interval': 0 cycles are too few"));
}

TEST(MappingFileTest, Budgets) {
  const ComputationGraph graph = Chain();
  std::string text = Form(R"("places": [])");
  text.resize(static_cast<size_t>(budgets::kComputationGraphBytes), ' ');
  EXPECT_TRUE(ParseMapping(text, "m", graph).ok());
  EXPECT_THAT(MessageOf(ParseMapping(text + " ", "m", graph).status()),
              HasSubstr("4194305 bytes are too many; at most 4194304"));
  std::string passes;
  for (int i = 0; i < budgets::kComputationNodes; ++i) {
    passes += fmt::format("{}{{\"node\":\"a\",\"tile\":0,\"issue\":{}}}", i > 0 ? "," : "", i);
  }
  EXPECT_TRUE(ParseMapping(Form("\"places\":[],\"passes\":[" + passes + "]"), "m", graph).ok());
  passes += R"(,{"node":"a","tile":0,"issue":0})";
  EXPECT_THAT(
      MessageOf(
          ParseMapping(Form("\"places\":[],\"passes\":[" + passes + "]"), "m", graph).status()),
      HasSubstr("key 'passes': there are too many; at most 4096"));
}

}  // namespace
}  // namespace kiln::cgra
