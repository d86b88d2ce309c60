// Configurations as JSON, and pictures of mappings.

#include "kiln/targets/cgra/chart/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/targets/cgra/simulate/random_program.h"

namespace kiln::cgra {
namespace {

using testing::HasSubstr;
using testing::Not;

// Two inputs, a sum that a pass-through hands on, and a name that markup must not become.
struct Drawn {
  ComputationGraph graph;
  Mapping mapping;
  Config config;
};
Drawn MakeDrawn() {
  Drawn drawn;
  drawn.graph.name = "a<b>&\"c\"";
  drawn.graph.nodes = {{.name = "x", .op = Op::kInput, .label = "", .literal = {}},
                       {.name = "</svg><script>", .op = Op::kAdd, .label = "", .literal = 3},
                       {.name = "end", .op = Op::kMul, .label = "", .literal = 5},
                       {.name = "out", .op = Op::kOutput, .label = "", .literal = {}}};
  drawn.graph.edges = {
      {.source = 0, .target = 1}, {.source = 1, .target = 2}, {.source = 2, .target = 3}};
  drawn.mapping.initiation_interval = 2;
  drawn.mapping.places = {{}, {0, 0}, {4, 10}, {}};
  drawn.mapping.fused_into.assign(4, -1);
  drawn.mapping.provider = {-1, 0, -1};
  drawn.mapping.passes = {{1, -1, {2, 5}}};
  drawn.config.name = "five tiles";
  drawn.config.columns = 5;
  drawn.config.lanes = 2;
  drawn.config.wait_limit = 16;
  return drawn;
}

TEST(Chart, ConfigurationIsJson) {
  const Drawn drawn = MakeDrawn();
  const auto program = BuildConfiguration(drawn.graph, drawn.mapping, drawn.config);
  ASSERT_TRUE(program.ok()) << program.status();
  const auto json = nlohmann::json::parse(ConfigurationJson(*program));
  EXPECT_EQ(json["format"], "kiln-cgra-configuration-1");
  EXPECT_EQ(json["initiation_interval"], 2);
  EXPECT_EQ(json["latency"], 13);
  EXPECT_EQ(json["inputs"], std::vector<std::string>{"x"});
  EXPECT_EQ(json["outputs"][0]["issue"], 10);
  ASSERT_EQ(json["tiles"].size(), 5);
  ASSERT_EQ(json["base"].size(), 1);
  EXPECT_EQ(json["base"][0]["nodes"], "</svg><script>");
  // The words and texts say the same.
  for (const auto& tile : json["tiles"]) {
    for (const auto& spoke : tile["spoke_ram"]) {
      const auto word =
          static_cast<uint32_t>(std::stoul(spoke["word"].get<std::string>(), nullptr, 16));
      EXPECT_EQ(Print(DecodeSpoke(word)), spoke["text"].get<std::string>());
    }
    for (const auto& instruction : tile["instruction_ram"]) {
      const auto digits = instruction["word"].get<std::string>();
      ASSERT_EQ(digits.size(), 32);
      const InstructionWord word = {std::stoull(digits.substr(16), nullptr, 16),
                                    std::stoull(digits.substr(0, 16), nullptr, 16)};
      EXPECT_EQ(Print(DecodeInstruction(word)), instruction["text"].get<std::string>());
    }
  }
  EXPECT_EQ(json["tiles"][0]["spoke_ram"][0]["text"], "instruction=0 master=base links=3");
  EXPECT_EQ(json["deliveries"][0]["text"], "tile=0 memory=0 base=0");
  EXPECT_EQ(json["deliveries"][0]["input"], "x");
}

// x times a variable, and x times 7 plus 9 with a message that waits: what JSON says of memories,
// deliveries and instructions is what one finds by hand.
TEST(Chart, ConfigurationSaysWhatMemoriesHold) {
  ComputationGraph graph;
  graph.name = "two products";
  graph.nodes = {{.name = "x", .op = Op::kInput, .label = "", .literal = {}},
                 {.name = "v", .op = Op::kVariable, .label = "", .literal = 9},
                 {.name = "one", .op = Op::kMul, .label = "", .literal = {}},
                 {.name = "other", .op = Op::kMul, .label = "", .literal = 7},
                 {.name = "both", .op = Op::kAdd, .label = "", .literal = {}},
                 {.name = "out", .op = Op::kOutput, .label = "", .literal = {}}};
  graph.edges = {{.source = 0, .target = 2},
                 {.source = 1, .target = 2, .operand = 1},
                 {.source = 0, .target = 3},
                 {.source = 2, .target = 4},
                 {.source = 3, .target = 4, .operand = 1},
                 {.source = 4, .target = 5}};
  Mapping mapping;
  mapping.initiation_interval = 1;
  mapping.places = {{}, {}, {1, 0}, {3, 0}, {2, 4}, {}};
  mapping.fused_into.assign(6, -1);
  mapping.provider.assign(6, -1);
  Config config;
  config.name = "four tiles";
  config.columns = 4;
  config.lanes = 2;
  config.wait_limit = 4;
  const auto program = BuildConfiguration(graph, mapping, config);
  ASSERT_TRUE(program.ok()) << program.status();
  const auto json = nlohmann::json::parse(ConfigurationJson(*program));
  // One input goes to two tiles: the second delivery has the beat of the first one.
  ASSERT_EQ(json["deliveries"].size(), 2);
  EXPECT_EQ(json["deliveries"][0]["input"], "x");
  EXPECT_EQ(json["deliveries"][1]["input"], "x");
  std::set<int> tiles;
  for (size_t i = 0; i < 2; ++i) {
    const auto word = std::stoul(json["deliveries"][i]["word"].get<std::string>(), nullptr, 16);
    EXPECT_EQ(word >> 21 & 1, i);
    tiles.insert(static_cast<int>(word & 255));
  }
  EXPECT_EQ(tiles, (std::set<int>{1, 3}));
  // The variable is in one memory of the tile that reads it.
  ASSERT_EQ(json["tiles"][1]["memory"].size(), 1);
  EXPECT_EQ(json["tiles"][1]["memory"][0]["name"], "v");
  EXPECT_EQ(json["tiles"][1]["memory"][0]["lanes"], (std::vector<int>{9, 9}));
  for (const int tile : {0, 2, 3}) EXPECT_TRUE(json["tiles"][tile]["memory"].empty()) << tile;
  // Operations and literals by the bits of docs/cgra-machine.md.
  const auto bits = [&](int tile) {
    const auto digits = json["tiles"][tile]["instruction_ram"][0]["word"].get<std::string>();
    return std::pair(std::stoull(digits.substr(0, 16), nullptr, 16),
                     std::stoull(digits.substr(16), nullptr, 16));
  };
  EXPECT_EQ(bits(1).second & 255, 1);  // a product and nothing after it
  EXPECT_EQ(bits(3).second & 255, 1);
  EXPECT_EQ(bits(3).first >> 32, 7);
  EXPECT_EQ(bits(2).second & 255, 1 << 3);  // in1 + in3
  EXPECT_TRUE(json["tiles"][0]["instruction_ram"].empty());
  ASSERT_EQ(json["base"].size(), 2);
  EXPECT_EQ(json["base"][0]["nodes"], "one");
  EXPECT_EQ(json["base"][1]["nodes"], "other");
  EXPECT_EQ(json["machine"]["lanes"], 2);
  EXPECT_EQ(json["machine"]["wait_limit"], 4);
  EXPECT_EQ(json["latency"], 7);
}

int Count(const std::string& text, std::string_view part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Chart, PictureShowsEveryInstructionTwice) {
  const Drawn drawn = MakeDrawn();
  const std::string svg = MappingSvg(drawn.graph, drawn.mapping, drawn.config);
  EXPECT_THAT(svg, Not(HasSubstr("<script>")));
  EXPECT_THAT(svg, HasSubstr("a&lt;b&gt;&amp;&quot;c&quot;: initiation interval 2, latency 13"));
  EXPECT_EQ(Count(svg, "<title>&lt;/svg&gt;&lt;script&gt;, tile 0, slot 0, cycle 0</title>"), 2);
  EXPECT_EQ(Count(svg, "<title>end, tile 4, slot 0, cycle 10</title>"), 2);
  EXPECT_EQ(Count(svg, ", tile 2, slot 1, cycle 5</title>"), 2);
  EXPECT_EQ(Count(svg, "<rect "), 1 + 2 * 3);
  EXPECT_EQ(Count(svg, "marker-end"), 2);  // to the pass-through and from it
  EXPECT_EQ(
      Count(MappingSvg(drawn.graph, drawn.mapping, drawn.config, {.arrows = false}), "marker-end"),
      0);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_EQ(Count(svg, "<g>"), Count(svg, "</g>"));
  EXPECT_EQ(Count(svg, "<text "), Count(svg, "</text>"));
}

// An element of an HTML page has no namespace, and its ids are its own. All else is as in the file.
TEST(Chart, PictureIsAnElementOfAPage) {
  const Drawn drawn = MakeDrawn();
  const std::string file = MappingSvg(drawn.graph, drawn.mapping, drawn.config);
  const std::string element =
      MappingSvg(drawn.graph, drawn.mapping, drawn.config, {.id = "launch7-"});
  EXPECT_TRUE(element.starts_with("<svg class=\"paper\" viewBox="));
  EXPECT_THAT(element, Not(HasSubstr("http")));
  EXPECT_EQ(Count(element, "id=\"launch7-head\""), 1);
  EXPECT_EQ(Count(element, "url(#launch7-head)"), Count(element, "marker-end"));
  EXPECT_GT(Count(element, "marker-end"), 0);
  EXPECT_EQ(
      std::regex_replace(std::regex_replace(element, std::regex("launch7-"), ""),
                         std::regex("class=\"paper\""), "xmlns=\"http://www.w3.org/2000/svg\""),
      file);
}

// Compiled networks begin the names of nodes with the graph's. Boxes leave it out, and folders of
// long paths; titles have all.
TEST(Chart, BoxesShowTheLastPartOfLongNames) {
  Drawn drawn = MakeDrawn();
  drawn.graph.name = "/stem/conv+/stem/relu";
  drawn.graph.nodes[1].name = "/stem/conv+/stem/relu shift";
  drawn.graph.nodes[2].name = "/stage1/body/0/Add";
  const std::string svg = MappingSvg(drawn.graph, drawn.mapping, drawn.config);
  EXPECT_EQ(Count(svg, "<title>/stem/conv+/stem/relu shift, tile 0"), 2);
  EXPECT_EQ(Count(svg, "text-anchor=\"middle\">shift</text>"), 2);
  EXPECT_EQ(Count(svg, "text-anchor=\"middle\">→ shift</text>"), 2);
  EXPECT_EQ(Count(svg, "text-anchor=\"middle\">Add</text>"), 2);
  // The title of the picture is as wide as the picture.
  drawn.graph.name = std::string(300, 'x');
  EXPECT_THAT(MappingSvg(drawn.graph, drawn.mapping, drawn.config),
              testing::ContainsRegex(">xxxxxxxxxxx*…: initiation interval 2, latency 13"));
}

// A box of the picture: its title and where it is.
struct Box {
  std::string title, fill;
  int x = 0, y = 0, width = 0, height = 0;
};
std::vector<Box> BoxesOf(const std::string& svg) {
  static const std::regex form(
      "<title>([^<]*)</title><rect x=\"(\\d+)\" y=\"(\\d+)\" width=\"(\\d+)\" "
      "height=\"(\\d+)\" rx=\"3\" fill=\"([^\"]*)\"");
  std::vector<Box> boxes;
  for (std::sregex_iterator at(svg.begin(), svg.end(), form), end; at != end; ++at) {
    boxes.push_back({.title = (*at)[1],
                     .fill = (*at)[6],
                     .x = std::stoi((*at)[2]),
                     .y = std::stoi((*at)[3]),
                     .width = std::stoi((*at)[4]),
                     .height = std::stoi((*at)[5])});
  }
  return boxes;
}

// Boxes are where tile, slot and cycle say: columns are equally wide, rows equally high, and no two
// boxes overlap. The first box of an instruction is in the schedule, the second in the thread.
TEST(Chart, PicturePlacesBoxesByTileAndCycle) {
  const Drawn drawn = MakeDrawn();
  const std::vector<Box> boxes =
      BoxesOf(MappingSvg(drawn.graph, drawn.mapping, drawn.config, {.arrows = false}));
  ASSERT_EQ(boxes.size(), 6);  // first, end and the pass-through: tiles 0, 4, 2; cycles 0, 10, 5
  const Box &first = boxes[0], &end = boxes[2], &pass = boxes[4];
  const Box &first_cycle = boxes[1], &end_cycle = boxes[3], &pass_cycle = boxes[5];
  EXPECT_EQ(pass.title.substr(pass.title.find(',')), ", tile 2, slot 1, cycle 5");
  EXPECT_EQ(end.title, end_cycle.title);
  const int column = (end.x - first.x) / 4;
  EXPECT_GT(column, first.width);
  EXPECT_EQ(end.x, first.x + 4 * column);
  EXPECT_EQ(pass.x, first.x + 2 * column);
  for (const auto& [in_schedule, in_thread] :
       {std::pair(first, first_cycle), {end, end_cycle}, {pass, pass_cycle}}) {
    EXPECT_EQ(in_schedule.x, in_thread.x);
    EXPECT_EQ(in_schedule.fill, in_thread.fill);
  }
  const int row = pass.y - first.y;  // slots 0 and 1
  EXPECT_GT(row, first.height);
  EXPECT_EQ(end.y, first.y);                    // slot 0
  EXPECT_GE(first_cycle.y, first.y + 2 * row);  // below the schedule's two slots
  EXPECT_EQ(pass_cycle.y, first_cycle.y + 5 * row);
  EXPECT_EQ(end_cycle.y, first_cycle.y + 10 * row);
  EXPECT_EQ(first.fill, end.fill);  // one flow
}

// Two inputs that never meet: flows of different colours. A fused product is in the box of its sum.
TEST(Chart, PictureColoursFlows) {
  ComputationGraph graph;
  graph.name = "flows";
  graph.nodes = {{.name = "x", .op = Op::kInput, .label = "", .literal = {}},
                 {.name = "product", .op = Op::kMul, .label = "", .literal = 3},
                 {.name = "sum", .op = Op::kAdd, .label = "", .literal = 4},
                 {.name = "apart", .op = Op::kSub, .label = "", .literal = 5},
                 {.name = "out", .op = Op::kOutput, .label = "", .literal = {}},
                 {.name = "out2", .op = Op::kOutput, .label = "", .literal = {}}};
  graph.edges = {{.source = 0, .target = 1},
                 {.source = 1, .target = 2},
                 {.source = 0, .target = 3},
                 {.source = 2, .target = 4},
                 {.source = 3, .target = 5}};
  Mapping mapping;
  mapping.initiation_interval = 1;
  mapping.places = {{}, {0, 0}, {0, 0}, {1, 0}, {}, {}};
  mapping.fused_into = {-1, 2, -1, -1, -1, -1};
  mapping.provider.assign(5, -1);
  Config config;
  config.columns = 2;
  const std::vector<Box> boxes = BoxesOf(MappingSvg(graph, mapping, config));
  ASSERT_EQ(boxes.size(), 4);
  EXPECT_EQ(boxes[0].title, "product + sum, tile 0, slot 0, cycle 0");
  EXPECT_EQ(boxes[2].title, "apart, tile 1, slot 0, cycle 0");
  EXPECT_NE(boxes[0].fill, boxes[2].fill);
}

}  // namespace
}  // namespace kiln::cgra
