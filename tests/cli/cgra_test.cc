// Tests of the commands of `kiln cgra`.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kiln/cli/application.h"
#include "kiln/hardware/rtl_project.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "tests/cli/call.h"
#include "tests/report/clipped_text.h"

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
  const std::string chart = *ReadFile(Path("compare.svg"));
  EXPECT_THAT(chart, HasSubstr("distance"));
  EXPECT_THAT(ClippedTexts(chart), testing::IsEmpty());
}

// No output overwrites a file that the command reads.
TEST_F(CgraCommands, KeepsTheFilesThatItReads) {
  const std::string machine = File("m.yaml", *ReadFile("accelerators/se-4.yaml"));
  const std::string policy = File("p.bin", *ReadFile("models/cgra_policy.bin"));
  const std::string mapping = Path("mapping.json");
  ASSERT_EQ(Call({"cgra", "map", "distance", "--on", machine, "--mapping", mapping}).code, kExitOk);
  const std::vector<std::vector<std::string>> calls = {
      {"map", "distance", "--on", machine, "--json", machine},
      {"map", "distance", "--on", "se-4", "--mapper", "ppo", "--policy", policy, "--chart", policy},
      {"check", "distance", mapping, "--on", machine, "--json", machine},
      {"compare", "distance", "--on", machine, "--chart", machine},
      {"compare", "distance", "--on", "se-4", "--policy", policy, "--chart", policy},
      {"simulate", "distance", "--on", "se-4", "--mapping", mapping, "--json", mapping},
      {"train", "--policy", policy, "--resume", policy}};
  for (std::vector<std::string> call : calls) {
    call.insert(call.begin(), "cgra");
    const Outcome outcome = Call(call);
    EXPECT_EQ(outcome.code, kExitError);
    EXPECT_THAT(outcome.err, HasSubstr("is read as well as written")) << call[1];
  }
  EXPECT_EQ(ReadFile(machine), ReadFile("accelerators/se-4.yaml"));
  EXPECT_EQ(ReadFile(policy), ReadFile("models/cgra_policy.bin"));
}

TEST_F(CgraCommands, SimulatesWhatItMaps) {
  // x + y in threads of two lanes, by hand.
  File("machine.yaml", "family: cgra\nname: two\ncolumns: 4\nlanes: 2\n");
  File("inputs.json", R"({"x": [1, [2, -3], 4], "y": [[10, 20], 30, 4294967295]})");
  const json run = Json(Call({"cgra", "simulate", "vector-add", "--on", Path("machine.yaml"),
                              "--inputs", Path("inputs.json"), "--json", "-"}));
  ASSERT_TRUE(run.is_object());
  EXPECT_EQ(run["threads"], 3);
  EXPECT_EQ(run["outputs"]["z"], json::parse("[[11, 21], [32, 27], [3, 3]]"));
  EXPECT_EQ(run["initiation_interval"], 1);
  EXPECT_EQ(run["latency_cycles"], 3);
  EXPECT_EQ(run["cycles"], 5);  // two threads later than one
  EXPECT_EQ(run["threads_in_flight"], 3);

  // From a file of a mapping, with loads and stores.
  const std::string mapping = Path("mapping.json"), fir = "tests/data/cgra/fir.json";
  ASSERT_EQ(Call({"cgra", "map", fir, "--on", "se-16", "--mapping", mapping}).code, kExitOk);
  const Outcome from = Call({"cgra", "simulate", fir, "--on", "se-16", "--mapping", mapping});
  EXPECT_EQ(from.code, kExitOk) << from.err;
  EXPECT_THAT(from.out, HasSubstr("from " + mapping));
  EXPECT_THAT(from.out, HasSubstr("64 with 16 lanes"));
  // Nothing is searched beside it.
  for (const std::vector<std::string>& search : {std::vector<std::string>{"--mapper", "greedy"},
                                                 {"--ii", "2"},
                                                 {"--seconds", "1"},
                                                 {"--steps", "9"},
                                                 {"--no-fuse"},
                                                 {"--policy", "p.bin"}}) {
    std::vector<std::string> call = {"cgra",  "simulate",  fir,    "--on",
                                     "se-16", "--mapping", mapping};
    call.insert(call.end(), search.begin(), search.end());
    const Outcome outcome = Call(call);
    EXPECT_EQ(outcome.code, kExitError);
    EXPECT_THAT(outcome.err, HasSubstr(search[0] + ": with --mapping nothing is searched"));
  }

  // Without a mapping it says what `kiln cgra map` says.
  const Outcome none = Call({"cgra", "simulate", "fft-4", "--on", "se-64", "--steps", "1"});
  EXPECT_EQ(none.code, kExitError);
  EXPECT_THAT(none.err, HasSubstr("which proves nothing"));
  EXPECT_EQ(none.err, Call({"cgra", "map", "fft-4", "--on", "se-64", "--steps", "1"}).err);
}

TEST_F(CgraCommands, SimulationSaysWhatIsWrongWithItsInputs) {
  const auto error = [&](const std::string& text, std::vector<std::string> more = {}) {
    std::vector<std::string> call = {
        "cgra", "simulate", "vector-add", "--on", "se-4", "--inputs", File("inputs.json", text)};
    call.insert(call.end(), more.begin(), more.end());
    const Outcome outcome = Call(call);
    EXPECT_EQ(outcome.code, kExitError) << text;
    return outcome.err;
  };
  EXPECT_THAT(error("[1]"), HasSubstr(R"(is no JSON object; an object: {"key": value})"));
  EXPECT_THAT(error(R"({"x": [1]})"), HasSubstr("key 'y'"));
  EXPECT_THAT(error(R"({"x": [1], "y": [1], "q": [1]})"),
              HasSubstr("key 'q': the graph has no such input; its inputs: x, y"));
  EXPECT_THAT(error(R"({"x": [1, 2], "y": [1]})"), HasSubstr("has 1 value for 2 threads"));
  EXPECT_THAT(error(R"({"x": [1], "y": [1]})", {"--threads", "2"}),
              HasSubstr("key 'x': has 1 value for 2 threads"));
  EXPECT_THAT(error(R"({"x": [], "y": []})"), HasSubstr("has 0 values for 1 thread"));
  EXPECT_THAT(error(R"({"x": [1.5], "y": [1]})"),
              HasSubstr("key 'x[0]': is 1.5; an integer of 32 bits, or a list of 4"));
}

// The rules of mappings leave out what hardware has besides.
TEST_F(CgraCommands, SaysWhatHardwareCannotBeConfiguredWith) {
  const Outcome outcome = Call({"cgra", "map", "tests/data/sums.kir", "--on", "se-16"});
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_THAT(outcome.out, HasSubstr("'fadd' computes in binary32"));
  const json fits = Json(Call({"cgra", "map", "distance", "--on", "se-16", "--json", "-"}));
  EXPECT_EQ(fits["configuration_fault"], "");
}

TEST_F(CgraCommands, SaysWhatIsWrongWithArguments) {
  const Outcome twice =
      Call({"cgra", "compare", "distance", "--on", "se-16", "--mappers", "exact,sat,exact"});
  EXPECT_EQ(twice.code, kExitUsage);
  EXPECT_THAT(twice.err, HasSubstr("'exact' is there twice"));
  const Outcome unused = Call({"cgra", "map", "distance", "--on", "se-16", "--policy", "p.bin"});
  EXPECT_EQ(unused.code, kExitError);
  EXPECT_THAT(unused.err, HasSubstr("--policy: exact uses none"));

  const Outcome mappers =
      Call({"cgra", "compare", "distance", "--on", "se-16", "--mappers", "exact,fast"});
  EXPECT_EQ(mappers.code, kExitUsage);
  EXPECT_THAT(mappers.err, HasSubstr("'fast' is no mapper; exact, "));
  const Outcome seed = Call({"cgra", "map", "distance", "--on", "se-16", "--seed", "-1"});
  EXPECT_EQ(seed.code, kExitUsage);
  EXPECT_THAT(seed.err, HasSubstr("--seed: Value -1 not in range 0 to 9223372036854775807"));
  const Outcome file = Call({"cgra", "map", "./nofile", "--on", "se-16"});
  EXPECT_EQ(file.code, kExitError);
  EXPECT_THAT(file.err, HasSubstr("./nofile: "));
  EXPECT_THAT(file.err, testing::Not(HasSubstr("there is no graph")));
  for (const char* mapper : {"exact", "greedy", "ppo"}) {
    const Outcome interval =
        Call({"cgra", "map", "distance", "--on", "se-16", "--ii", "17", "--mapper", mapper});
    EXPECT_EQ(interval.code, kExitError);
    EXPECT_THAT(interval.err, HasSubstr("--ii: an interval of 17 cycles; 1 to 16 cycles"));
  }
}

// With a period of the tiles, an interval may be longer than the spoke RAM: as long as 8 bits of a
// program say, in multiples of the period.
TEST_F(CgraCommands, MapsAtTheLongestIntervalOfAMachineWithATilePeriod) {
  const std::string machine =
      File("period.yaml", "family: cgra\nname: period\ncolumns: 4\ntile_period: 5\n");
  const auto map = [&](const char* interval) {
    return Call({"cgra", "map", "distance", "--on", machine, "--ii", interval, "--mapping",
                 Path("m.json")});
  };
  ASSERT_EQ(map("255").code, kExitOk) << map("255").err;
  const Outcome check = Call({"cgra", "check", "distance", Path("m.json"), "--on", machine});
  EXPECT_EQ(check.code, kExitOk) << check.err;
  EXPECT_THAT(check.out, HasSubstr("legal: an interval of 255 "));
  EXPECT_THAT(map("254").err, HasSubstr("a multiple of the tiles' period of 5 cycles"));
  const Outcome more = map("256");
  EXPECT_EQ(more.code, kExitUsage);
  EXPECT_THAT(more.err, HasSubstr("--ii: Value 256 not in range 1 to 255"));
}

TEST_F(CgraCommands, CountsOneStep) {
  const Outcome outcome =
      Call({"cgra", "map", "vector-add", "--on", "se-16", "--mapper", "ppo", "--steps", "1"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("ppo, 1 step in "));
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

// Verifies a small network on a small machine with a copy of the hardware library that has faults.
class CgraWaves : public CgraCommands {
 protected:
  void SetUp() override {
    File("net.kir",
         "graph \"two\" {\n"
         "  input %x : f32[1x24]\n"
         "  input %y : f32[1x24]\n"
         "  %1 = mul %x, %y \"product\" : f32[1x24]\n"
         "  %2 = softmax %1 {axis=-1} \"soft\" : f32[1x24]\n"
         "  %3 = max %2, %x \"greatest\" : f32[1x24]\n"
         "  output %3\n"
         "}\n");
    File("small.yaml",
         "family: cgra\nname: small\ncolumns: 4\nlanes: 2\nmemory_depth: 32\nring_entries: 8\n"
         "outputs: 2\noutput_depth: 8\nwait_limit: 12\n");
    const auto library = hardware::RtlLibrary();
    ASSERT_TRUE(library.ok()) << library.status();
    std::filesystem::copy(*library, Path("rtl"), std::filesystem::copy_options::recursive);
    setenv("KILN_RTL", Path("rtl").c_str(), 1);
  }
  void TearDown() override { unsetenv("KILN_RTL"); }
  void Spoil(const std::string& file, const std::string& right, const std::string& wrong) const {
    std::string text = *ReadFile(Path("rtl/cgra/" + file));
    const size_t at = text.find(right);
    ASSERT_NE(at, std::string::npos) << file;
    text.replace(at, right.size(), wrong);
    ASSERT_TRUE(WriteFile(Path("rtl/cgra/" + file), text).ok());
  }
  Outcome Verify() const {
    return Call({"verify", Path("net.kir"), "--on", Path("small.yaml"), "--random", "1", "--seed",
                 "1", "--wave", Path("wave.fst")});
  }
};

// A shift that loses the sign.
TEST_F(CgraWaves, WrongBitsAreRecorded) {
  Spoil("kiln_cgra_multiply_lane.sv", "_SIGNED && in1[31]", "_SIGNED && !in1[31]");
  const Outcome differs = Verify();
  EXPECT_EQ(differs.code, kExitError) << differs.out << differs.err;
  EXPECT_THAT(differs.out, HasSubstr("\nbits         DIFFERENT"));
  EXPECT_THAT(differs.out, HasSubstr("\ncycles       the same: "));
  EXPECT_THAT(differs.out,
              testing::ContainsRegex(
                  "wave.fst: image 0, cycles 0 to [0-9]*, first different kernel product\n"));
  EXPECT_GT(std::filesystem::file_size(Path("wave.fst")), 1'000u);
}

// A sequencer that begins periods in every other cycle alone.
TEST_F(CgraWaves, LateCyclesAreRecorded) {
  Spoil("kiln_cgra_sequencer.sv", "logic begins, waits, ends;",
        "logic begins, waits, ends, odd;\n"
        "  always_ff @(posedge clock) odd <= !reset && !odd;");
  Spoil("kiln_cgra_sequencer.sv", "begins && ((base_valid", "begins && (odd || (base_valid");
  const Outcome late = Verify();
  EXPECT_EQ(late.code, kExitError) << late.out << late.err;
  EXPECT_THAT(late.out, HasSubstr("\nbits         the same: "));
  EXPECT_THAT(late.out, HasSubstr("\ncycles       DIFFERENT: "));
  EXPECT_THAT(late.out, testing::ContainsRegex("wave.fst: image 0, cycles 0 to "));
  EXPECT_GT(std::filesystem::file_size(Path("wave.fst")), 1'000u);
}

TEST_F(CgraWaves, NothingIsRecordedIfTheLevelsAgree) {
  const Outcome agree = Verify();
  EXPECT_EQ(agree.code, kExitOk) << agree.out << agree.err;
  EXPECT_FALSE(std::filesystem::exists(Path("wave.fst")));
}

// The timeline has spans of every unit that works, named by the kernel.
TEST_F(CgraCommands, TracesShowTheLaunches) {
  const std::string network = File("network.kir",
                                   "graph \"products\" {\n"
                                   "  input %x : f32[1x64]\n"
                                   "  input %y : f32[1x64]\n"
                                   "  %1 = mul %x, %y \"product\" : f32[1x64]\n"
                                   "  %2 = softmax %1 {axis=-1} \"soft\" : f32[1x64]\n"
                                   "  output %2\n"
                                   "}\n");
  const Outcome outcome = Call({"run", network, "--on", "se-4", "--random", "1", "--level", "cycle",
                                "--trace", Path("trace.json")});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  const json trace = json::parse(*ReadFile(Path("trace.json")));
  std::map<int, std::string> threads;
  std::map<std::string, std::pair<int64_t, int64_t>> spans;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "M") threads[event["tid"]] = event["args"]["name"];
    if (event["ph"] != "X") continue;
    EXPECT_EQ(event["name"], "product");
    const int64_t begin = event["ts"], end = begin + event["dur"].get<int64_t>();
    EXPECT_LE(end, trace["otherData"]["cycles"].get<int64_t>());
    spans[threads[event["tid"]]] = {begin, end};
  }
  for (const char* unit : {"load", "dispatch", "fabric", "out"})
    ASSERT_TRUE(spans.contains(unit)) << unit;
  // The program is loaded before threads run; results leave until the end.
  EXPECT_LE(spans["load"].second, spans["fabric"].first);
  EXPECT_LE(spans["fabric"].second, spans["out"].second);
  EXPECT_EQ(spans["out"].second, trace["otherData"]["cycles"].get<int64_t>());
  int tiles = 0;
  for (const auto& [unit, span] : spans) {
    if (!unit.starts_with("tile ")) continue;
    ++tiles;
    EXPECT_GE(span.first, spans["fabric"].first);
    EXPECT_LE(span.second, spans["fabric"].second);
  }
  EXPECT_GE(tiles, 1);
}

}  // namespace
}  // namespace kiln::cli
