// The files of a program's project, against what the program itself says.

#include "kiln/targets/cgra/emit/emit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "kiln/targets/cgra/config/keys.h"
#include "kiln/targets/cgra/isa/configure.h"

namespace kiln::cgra {
namespace {

using ::testing::HasSubstr;

// y = 5 x on a machine of 4 tiles and 2 lanes, a thread in every second cycle.
CgraProgram FiveTimes() {
  ComputationGraph graph;
  graph.name = "five times";
  graph.nodes = {{.name = "x", .op = Op::kInput, .label = "", .literal = {}},
                 {.name = "product", .op = Op::kMul, .label = "", .literal = 5},
                 {.name = "y", .op = Op::kOutput, .label = "", .literal = {}}};
  graph.edges = {{.source = 0, .target = 1}, {.source = 1, .target = 2}};
  EXPECT_TRUE(VerifyAndSort(&graph).ok());
  Mapping mapping;
  mapping.initiation_interval = 2;
  mapping.places = {{}, {1, 0}, {}};
  mapping.fused_into.assign(3, -1);
  mapping.provider.assign(2, -1);
  Config config;
  config.name = "small";
  config.columns = 4;
  config.lanes = 2;
  config.wait_limit = 7;
  auto program = BuildConfiguration(graph, mapping, config);
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}

TEST(CgraEmit, FilesSayWhatTheProgramSays) {
  const CgraProgram program = FiveTimes();
  const ExampleRun example = MakeExample(program);
  ASSERT_EQ(example.threads, 4);
  ASSERT_EQ(example.data.size(), 4 * 2);  // threads, lanes of the one input
  const auto project = ProjectOf(program, example);
  ASSERT_TRUE(project.ok()) << project.status();
  std::map<std::string, std::string> files(project->others.begin(), project->others.end());
  EXPECT_EQ(files.size(), project->others.size());
  EXPECT_EQ(files["design.yaml"], PrintConfig(program.config));
  EXPECT_EQ(files["program.txt"], Print(program));

  const auto json = nlohmann::json::parse(files["configuration.json"]);
  EXPECT_EQ(json["name"], "five times");
  EXPECT_EQ(json["machine"]["tiles"], 4);
  EXPECT_EQ(json["initiation_interval"], 2);
  EXPECT_EQ(json["latency"], 3);
  EXPECT_EQ(json["tiles"][1]["spoke_ram"][0]["nodes"], "product");

  // Beats of 8 bytes: those that load the program, then header, parameters and data of a run.
  const std::string& load = files["configuration.bin"];
  const std::string& all = files["example.bin"];
  EXPECT_EQ(load.size(), 8 * static_cast<size_t>(LoadBeats(program)));
  ASSERT_EQ(all.size(), load.size() + 8 * (2 + 4));
  EXPECT_EQ(all.substr(0, load.size()), load);
  EXPECT_EQ(all[load.size()], 2);      // a run
  EXPECT_EQ(all[load.size() + 8], 4);  // of four threads
  for (size_t i = 0; i < example.data.size(); ++i) {
    uint32_t lane = 0;
    for (size_t byte = 4; byte-- > 0;)
      lane = lane << 8 | static_cast<uint8_t>(all[load.size() + 16 + 4 * i + byte]);
    EXPECT_EQ(static_cast<int32_t>(lane), example.data[i]) << i;
  }
  EXPECT_EQ(project->simulation_arguments, "--memory example.bin --beats 4");
}

std::vector<uint64_t> WordsOf(const std::string& bytes) {
  std::vector<uint64_t> words(bytes.size() / 8);
  for (size_t i = 0; i < 8 * words.size(); ++i)
    words[i / 8] |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * (i % 8));
  return words;
}

// The beats that load the program, written by hand from docs/cgra-machine.md: two spoke entries for
// each tile, one instruction, one delivery.
TEST(CgraEmit, BeatsAreTheOnesOfTheContract) {
  const CgraProgram program = FiveTimes();
  const auto project = ProjectOf(program, MakeExample(program));
  ASSERT_TRUE(project.ok()) << project.status();
  std::map<std::string, std::string> files(project->others.begin(), project->others.end());
  const auto write = [](uint64_t target, uint64_t tile, uint64_t beats) {
    return 1 | target << 4 | tile << 8 | beats << 32;
  };
  std::vector<uint64_t> expected;
  for (uint64_t tile = 0; tile < 4; ++tile) {
    // Valid, instruction 0, base, to output 0.
    const uint64_t spoke = tile == 1 ? 1 | 1 << 7 | 1 << 27 : 0;
    expected.insert(expected.end(), {write(2, tile, 2), spoke, 0});
    if (tile != 1) continue;
    // A product, in1 from memory 0 (kind 2), in2 the literal (kind 4), which is 5; the address of
    // memory 0 has its bit `ring`.
    const uint64_t low = 1 | 2ULL << 10 | 4ULL << 24, high = 1 | 5ULL << 32;
    expected.insert(expected.end(), {write(3, tile, 2), low, high});
  }
  expected.insert(expected.end(), {write(4, 0, 1), 1});  // to tile 1, memory 0, address 0
  EXPECT_EQ(WordsOf(files["configuration.bin"]), expected);
  // The run: interval 2, latency 3, one delivery, one output; four threads, all are sent.
  const std::vector<uint64_t> all = WordsOf(files["example.bin"]);
  ASSERT_EQ(all.size(), expected.size() + 2 + 4);
  EXPECT_EQ(all[expected.size()], 2 | 2ULL << 16 | 3ULL << 32 | 1ULL << 48 | 1ULL << 56);
  EXPECT_EQ(all[expected.size() + 1], 4);
}

TEST(CgraEmit, TheTopHasTheParametersOfTheDesignPoint) {
  Config config = FiveTimes().config;
  config.reach = 3;
  config.memory_depth = 64;
  config.ring_entries = 8;
  config.outputs = 2;
  config.floats = true;
  config.pipeline_latency = 5;
  const auto project = ProjectOf(config);
  ASSERT_TRUE(project.ok()) << project.status();
  EXPECT_EQ(project->top, "kiln_accelerator");
  for (const char* parameter :
       {"kiln_cgra #(", ".TILES(4)", ".LANES(2)", ".REACH(3)", ".MEMORY_DEPTH(64)", ".RING(8)",
        ".OUTPUTS(2)", ".WAIT_LIMIT(7)", ".FLOATS(1'b1)", "[63:0] in_tdata", "[63:0] out_tdata"}) {
    EXPECT_THAT(project->top_text, HasSubstr(parameter));
  }
  std::map<std::string, std::string> files(project->others.begin(), project->others.end());
  EXPECT_THAT(files["design.h"], HasSubstr("kInBytes = 8, kOutBytes = 8"));
  EXPECT_EQ(files["design.yaml"], PrintConfig(config));
  EXPECT_EQ(files.size(), 2);  // without a program there is no example
  EXPECT_EQ(project->simulation_arguments, "");
}

TEST(CgraEmit, ExamplesDependOnTheSeed) {
  const CgraProgram program = FiveTimes();
  EXPECT_EQ(MakeExample(program, 3).data, MakeExample(program, 3).data);
  EXPECT_NE(MakeExample(program, 3).data, MakeExample(program, 4).data);
}

TEST(CgraEmit, RefusesWhatHardwareDoesNotHave) {
  Config config = FiveTimes().config;
  config.pipeline_latency = 4;
  EXPECT_THAT(ProjectOf(config).status().message(), HasSubstr("pipeline_latency"));
}

}  // namespace
}  // namespace kiln::cgra
