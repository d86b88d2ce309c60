// Configurations as JSON, and pictures of mappings.

#include "kiln/targets/cgra/chart/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/targets/cgra/simulate/random_program.h"

namespace kiln::cgra {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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

}  // namespace
}  // namespace kiln::cgra
