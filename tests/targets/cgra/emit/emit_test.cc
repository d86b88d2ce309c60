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

TEST(CgraEmit, ExamplesDependOnTheSeed) {
  const CgraProgram program = FiveTimes();
  EXPECT_EQ(MakeExample(program, 3).data, MakeExample(program, 3).data);
  EXPECT_NE(MakeExample(program, 3).data, MakeExample(program, 4).data);
}

TEST(CgraEmit, MachinesWithoutProgramHaveNoExample) {
  const auto project = ProjectOf(FiveTimes().config);
  ASSERT_TRUE(project.ok()) << project.status();
  std::vector<std::string> names;
  for (const auto& [name, text] : project->others) names.push_back(name);
  EXPECT_THAT(names, ::testing::Not(::testing::Contains("example.bin")));
  EXPECT_THAT(names, ::testing::Contains("design.yaml"));
}

TEST(CgraEmit, RefusesWhatHardwareDoesNotHave) {
  Config config = FiveTimes().config;
  config.pipeline_latency = 4;
  EXPECT_THAT(ProjectOf(config).status().message(), HasSubstr("pipeline_latency"));
}

}  // namespace
}  // namespace kiln::cgra
