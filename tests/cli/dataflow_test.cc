// Tests of the commands of `kiln dataflow`, and of networks that are cut over devices and passes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kiln/cli/application.h"
#include "kiln/hardware/rtl_project.h"
#include "kiln/support/file.h"
#include "tests/cli/call.h"

namespace kiln::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kDemo = "models/demo_fashion_mnist.onnx";

json Fold(std::vector<std::string> more, const std::string& device = "dataflow-zcu104") {
  std::vector<std::string> arguments = {"dataflow", "fold", kDemo, "--on", device, "--json", "-"};
  std::ranges::move(more, std::back_inserter(arguments));
  const Outcome outcome = Call(arguments);
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  return json::parse(outcome.out, nullptr, false);
}

class DataflowCommands : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }
  // Writes a design point: the ZCU104 with other values of some keys.
  std::string Device(const std::string& lines, int dsp = 1728, int lut = 230400) const {
    const std::string path = Path("device.yaml");
    EXPECT_TRUE(WriteFile(path, fmt::format("family: dataflow\nname: device\nfpga: xcup\ndsp: {}\n"
                                            "bram: 312\nuram: 96\nlut: {}\n{}",
                                            dsp, lut, lines))
                    .ok());
    return path;
  }
  const TemporaryFolder folder_ = *TemporaryFolder::Create("kiln-dataflow-commands");
};

TEST_F(DataflowCommands, FoldsWithinTheDeviceAsRunDoes) {
  const json fold = Fold({});
  ASSERT_TRUE(fold.is_object());
  EXPECT_TRUE(fold["certificate"]["optimal"]);
  int64_t slowest = 0, idle = 0, dsp = 0;
  for (const json& layer : fold["layers"]) {
    slowest = std::max(slowest, layer["cycles"].get<int64_t>());
    dsp += layer["resources"]["DSP"].get<int64_t>();
  }
  for (const json& layer : fold["layers"]) idle += slowest - layer["cycles"].get<int64_t>();
  EXPECT_EQ(fold["interval_cycles"], slowest);
  EXPECT_EQ(fold["idle_cycles"], idle);
  EXPECT_EQ(fold["resources"]["DSP"], dsp);
  EXPECT_LE(dsp, 1728);
  EXPECT_NEAR(fold["images_per_second"].get<double>(), 200e6 / static_cast<double>(slowest), 1e-6);
  const Outcome run =
      Call({"run", kDemo, "--on", "dataflow-zcu104", "--random", "1", "--json", "-"});
  ASSERT_EQ(run.code, kExitOk) << run.err;
  const json report = json::parse(run.out);
  EXPECT_EQ(report["interval_cycles"], slowest);
  EXPECT_EQ(report["levels_compared"]["different"], 0);
}

TEST_F(DataflowCommands, EverySearchFindsAFoldAndNoneABetterOne) {
  const std::string device = Device("", 400);
  const json exact = Fold({"--search", "exact"}, device);
  const auto best = exact["interval_cycles"].get<int64_t>();
  const json cbc = Fold({"--search", "cbc"}, device);
  EXPECT_EQ(cbc["interval_cycles"], best);
  EXPECT_EQ(cbc["idle_cycles"], exact["idle_cycles"]);
  for (const char* search : {"finn", "samo-rule", "samo-annealing"}) {
    const json found = Fold({"--search", search}, device);
    EXPECT_GE(found["interval_cycles"].get<int64_t>(), best) << search;
    EXPECT_FALSE(found["certificate"]["optimal"]) << search;
  }
}

TEST_F(DataflowCommands, TargetsTakeTheLeastResources) {
  const auto dsp = [](const json& fold) { return fold["resources"]["DSP"].get<int64_t>(); };
  const json fast = Fold({"--target-fps", "30000", "--order", "dsp"});
  const json slow = Fold({"--target-fps", "3000", "--order", "dsp"});
  EXPECT_GE(fast["images_per_second"].get<double>(), 30000);
  EXPECT_GE(slow["images_per_second"].get<double>(), 3000);
  EXPECT_LT(dsp(slow) * 4, dsp(fast));
  // Everything else about the same speed costs at least as many DSP slices.
  EXPECT_LE(dsp(slow), dsp(Fold({"--target-fps", "3000", "--order", "memory"})));
  EXPECT_LE(dsp(slow), dsp(Fold({"--target-fps", "3000"})));
}

TEST_F(DataflowCommands, TheFrontTradesSlicesForCycles) {
  const json front = Fold({"--pareto"});
  EXPECT_TRUE(front["complete"]);
  const json& points = front["points"];
  ASSERT_GT(points.size(), 4u);
  EXPECT_EQ(points[0]["interval_cycles"], Fold({})["interval_cycles"]);
  for (size_t i = 1; i < points.size(); ++i) {
    EXPECT_GT(points[i]["interval_cycles"], points[i - 1]["interval_cycles"]);
    EXPECT_LT(points[i]["resources"]["DSP"], points[i - 1]["resources"]["DSP"]);
    // What the next faster point needs is that point's.
    EXPECT_EQ(points[i]["next"]["needs"]["DSP"], points[i - 1]["resources"]["DSP"]);
    EXPECT_EQ(points[i]["next"]["cycles"], points[i - 1]["interval_cycles"]);
  }
  EXPECT_TRUE(points[0]["next"]["beyond_device"]);
  EXPECT_GT(points[0]["next"]["needs"]["DSP"], 1728);
  // With as many slices, the next faster interval is reached; with one less it is not.
  const auto needs = points[0]["next"]["needs"]["DSP"].get<int>();
  const auto cycles = points[0]["next"]["cycles"].get<int64_t>();
  EXPECT_EQ(Fold({}, Device("", needs))["interval_cycles"], cycles);
  EXPECT_GT(Fold({}, Device("", needs - 1))["interval_cycles"], cycles);
}

TEST_F(DataflowCommands, ExplainsWhatLimitsAndWhatMoreBuys) {
  const std::string device = Device("", 500);
  const Outcome outcome = Call({"dataflow", "explain", kDemo, "--on", device, "--json", "-"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  const json found = json::parse(outcome.out);
  const json fold = Fold({}, device);
  EXPECT_EQ(found["interval_cycles"], fold["interval_cycles"]);
  std::vector<std::string> slowest;
  for (const json& layer : fold["layers"]) {
    if (layer["cycles"] == fold["interval_cycles"]) slowest.push_back(layer["name"]);
  }
  EXPECT_EQ(found["slowest_layers"].get<std::vector<std::string>>(), slowest);
  EXPECT_EQ(found["more"][0]["resource"], "DSP");
  const auto needs = found["more"][0]["needs"].get<int>();
  EXPECT_EQ(Fold({}, Device("", needs))["interval_cycles"], found["more"][0]["interval_cycles"]);
  EXPECT_GT(Fold({}, Device("", needs - 1))["interval_cycles"],
            found["more"][0]["interval_cycles"]);
  EXPECT_LE(found["floor"]["interval_cycles"], found["interval_cycles"]);
  const Outcome text = Call({"dataflow", "explain", kDemo, "--on", device});
  EXPECT_THAT(text.out, HasSubstr(fmt::format("more DSP     {} of it", needs)));
}

TEST_F(DataflowCommands, DrawsTheChart) {
  const Outcome outcome =
      Call({"dataflow", "fold", kDemo, "--on", "dataflow-zcu104", "--chart", Path("folds.svg")});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("####################"));
  const auto svg = ReadFile(Path("folds.svg"));
  ASSERT_TRUE(svg.ok()) << svg.status();
  EXPECT_THAT(*svg, HasSubstr("/stage1/Add"));
  EXPECT_TRUE(svg->ends_with("</svg>\n"));
}

TEST_F(DataflowCommands, SlackSavesResources) {
  const json exact = Fold({});
  const Outcome run =
      Call({"run", kDemo, "--on", Device("slack_percent: 100\n"), "--random", "1", "--json", "-"});
  ASSERT_EQ(run.code, kExitOk) << run.err;
  const auto interval = json::parse(run.out)["interval_cycles"].get<int64_t>();
  const auto fastest = exact["interval_cycles"].get<int64_t>();
  EXPECT_GT(interval, fastest);
  EXPECT_LE(interval, 2 * fastest);
}

// Cut networks compute the same bits at both levels, and the cut is worth it.
TEST_F(DataflowCommands, CutsOverDevicesAndPasses) {
  const auto run = [&](const std::string& lines) {
    const Outcome outcome = Call(
        {"run", kDemo, "--on", Device(lines, 200), "--random", "2", "--limit", "2", "--json", "-"});
    EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
    json report = json::parse(outcome.out, nullptr, false);
    EXPECT_EQ(report["levels_compared"]["different"], 0) << lines;
    return report["interval_cycles"].get<int64_t>();
  };
  const int64_t alone = run("");
  const int64_t two = run("devices: 2\n"), four = run("devices: 4\n");
  EXPECT_LT(two, alone);
  EXPECT_LE(four, two);
  EXPECT_LE(run("passes: 4\n"), alone);
  // A link of one bit per cycle carries a map of some thousand codes no faster than that.
  EXPECT_GT(run("devices: 2\nlink_bits: 1\n"), two);
  // Reloads that take longer than everything else: one pass is best.
  EXPECT_EQ(run("passes: 4\nreload_cycles: 1000000000\n"), alone);
}

// The network adds its input, an image of one channel in NCHW, to the map of its last layer.
TEST_F(DataflowCommands, AnImageIsJoinedWithAMap) {
  const Outcome run = Call({"run", "models/vdsr5.onnx", "--on", "dataflow-zcu104", "--random", "1",
                            "--level", "functional", "--json", "-"});
  ASSERT_EQ(run.code, kExitOk) << run.err;
  EXPECT_EQ(json::parse(run.out)["host_share"], 0.0);
}

TEST_F(DataflowCommands, AnswersWrongCallsInOneLine) {
  const auto error = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "dataflow");
    const Outcome outcome = Call(arguments);
    EXPECT_NE(outcome.code, kExitOk);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
    return outcome.err;
  };
  EXPECT_THAT(error({"fold", kDemo, "--on", "vta-pynq"}), HasSubstr("is of the family vta"));
  EXPECT_THAT(error({"fold", kDemo, "--on", "dataflow-zcu104", "--pareto", "dsp,ff"}),
              HasSubstr("'ff' is no resource"));
  EXPECT_THAT(error({"fold", kDemo, "--on", "dataflow-zcu104", "--pareto", "--search", "finn"}),
              HasSubstr("--search: does not go with --pareto"));
  EXPECT_THAT(error({"fold", kDemo, "--on", "dataflow-zcu104", "--goal", "resources"}),
              HasSubstr("--target-fps"));
  EXPECT_THAT(error({"fold", kDemo, "--on", Device("", 10)}), HasSubstr("the device has 10"));
  EXPECT_THAT(error({"fold", kDemo, "--on", "dataflow-zcu104", "--target-fps", "1000000"}),
              HasSubstr("/stem"));
  EXPECT_THAT(error({"explain", kDemo, "--on", Device("", 1728, 3000)}), HasSubstr("LUT"));
  EXPECT_THAT(error({"explain", kDemo, "--on", Device("devices: 2\npasses: 2\n")}),
              HasSubstr("devices"));
}

// A picture of the pipeline: layers with their busy share and the fills of the queues in front.
TEST_F(DataflowCommands, ReportsDrawThePipeline) {
  ASSERT_TRUE(WriteFile(Path("net.kir"), R"(graph "residual" {
  input %x : f32[1x1x8x8]
  const %w : f32[1x1x3x3] = [0.25, 0.5, -0.25, 0.125, 1.0, 0.5, -0.5, 0.25, 0.75]
  %0 = conv %x, %w {pads=[1, 1, 1, 1]} "first" : f32[1x1x8x8]
  %1 = conv %0, %w {pads=[1, 1, 1, 1]} "long" : f32[1x1x8x8]
  %2 = add %1, %0 "join" : f32[1x1x8x8]
  output %2
}
)")
                  .ok());
  const Outcome run = Call({"run", Path("net.kir"), "--on", "dataflow-small", "--random", "1",
                            "--report", Path("run.html"), "--json", "-"});
  ASSERT_EQ(run.code, kExitOk) << run.err;
  const json report = json::parse(run.out);
  ASSERT_EQ(report["units"].size(), 3u);
  // Behind the source, the three layers, and the fork with its two branches.
  ASSERT_EQ(report["queues"].size(), 6u);
  json skip;
  for (const json& queue : report["queues"]) {
    EXPECT_LE(queue["highest"], queue["depth"]);
    EXPECT_GE(queue["highest"], 1);
    if (queue["to"] == "join" && queue["from"] == "first") skip = queue;
  }
  // The first result needs a row and two pixels, which the skip holds meanwhile.
  ASSERT_TRUE(skip.is_object());
  EXPECT_GE(skip["highest"], 8 + 2);
  const std::string html = *ReadFile(Path("run.html"));
  EXPECT_THAT(html, HasSubstr("<h2>Pipeline</h2>"));
  for (const char* unit : {"first", "long", "join"})
    EXPECT_THAT(html,
                testing::ContainsRegex("<title>" + std::string(unit) + ": busy in [0-9]+ cyc"));
  EXPECT_THAT(html, HasSubstr(fmt::format("<title>{}: {} of {} words</title>",
                                          skip["name"].get<std::string>(),
                                          skip["highest"].get<int>(), skip["depth"].get<int>())));
}

// A device with few memory blocks: queues that do not fit there move to LUTs, so that the machine
// is as fast as the fold, which does not count them.
TEST_F(DataflowCommands, QueuesMoveToLutsWhereBlocksAreFew) {
  ASSERT_TRUE(WriteFile(Path("device.yaml"),
                        "family: dataflow\nname: device\nfpga: xcup\ndsp: 360\nbram: 8\n"
                        "lut: 100000\nweight_ports: 2\n")
                  .ok());
  const json fold = Fold({}, Path("device.yaml"));
  const Outcome outcome =
      Call({"run", kDemo, "--on", Path("device.yaml"), "--random", "1", "--json", "-"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  const json run = json::parse(outcome.out);
  EXPECT_LE(run["interval_cycles"].get<int64_t>(),
            fold["interval_cycles"].get<int64_t>() * 101 / 100);
  EXPECT_THAT(outcome.out, HasSubstr(" of 8 RAMB36"));
}

// The least latency at a target is at most the latency of the fastest fold, and needs a target.
TEST_F(DataflowCommands, LatencyIsAtMostThatOfTheFastestFold) {
  const json fastest = Fold({}, "dataflow-pynq");
  const json least = Fold({"--goal", "latency", "--target-fps", "1900"}, "dataflow-pynq");
  EXPECT_LE(least["latency_cycles"], fastest["latency_cycles"]);
  const Outcome outcome =
      Call({"dataflow", "fold", kDemo, "--on", "dataflow-pynq", "--goal", "latency"});
  EXPECT_THAT(outcome.err, HasSubstr("--target-fps"));
}

// Returns `count` constants of a graph text between -1 and 1.
std::string Constants(int count) {
  std::vector<std::string> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(fmt::format("{}", (i * 37 % 17 - 8) / 8.0));
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

// The device's memories hold only the weights of the first layer. The second layer reads its
// weights from memory, and all levels agree. The first layer computes channels that are dropped.
TEST_F(DataflowCommands, WeightsThatDoNotFitAreStreamed) {
  const std::string network = fmt::format(R"(graph "large" {{
  input %x : f32[1x8x6x6]
  const %w : f32[14x8x3x3] = {}
  const %v : f32[20x14x6x6] = {}
  %0 = conv %x, %w {{pads=[1, 1, 1, 1]}} "first" : f32[1x14x6x6]
  %1 = conv %0, %v "second" : f32[1x20x1x1]
  output %1
}}
)",
                                          Constants(14 * 8 * 9), Constants(20 * 14 * 36));
  ASSERT_TRUE(WriteFile(Path("net.kir"), network).ok());
  const auto device = [&](const std::string& keys) {
    const std::string text =
        "family: dataflow\nname: device\nfpga: xcup\ndsp: 70\nbram: 1\nlut: 30000\n" + keys;
    EXPECT_TRUE(WriteFile(Path("device.yaml"), text).ok());
    return Path("device.yaml");
  };
  const Outcome refused = Call({"run", Path("net.kir"), "--on", device(""), "--random", "1"});
  EXPECT_EQ(refused.code, kExitError);
  EXPECT_THAT(refused.err, HasSubstr("does not hold the network"));
  const std::string streaming =
      device("weight_ports: 1\nweight_port_bytes: 8\nweight_latency: 20\nchannel_padding: true\n");
  const Outcome fold =
      Call({"dataflow", "fold", Path("net.kir"), "--on", streaming, "--json", "-"});
  ASSERT_EQ(fold.code, kExitOk) << fold.err;
  const json folds = json::parse(fold.out);
  EXPECT_EQ(folds["resources"]["memory ports"], 1);
  EXPECT_EQ(folds["layers"][0]["resources"]["memory ports"], 0);
  EXPECT_EQ(folds["layers"][1]["resources"]["memory ports"], 1);
  const Outcome verified = Call({"verify", Path("net.kir"), "--on", streaming, "--random", "2",
                                 "--seed", "5", "--emit", Path("design")});
  EXPECT_EQ(verified.code, kExitOk) << verified.out << verified.err;
  EXPECT_THAT(verified.out, HasSubstr("cycles       the same"));
  // The whole weights of the second layer, in beats of 8 bytes.
  EXPECT_GE(std::filesystem::file_size(Path("design/weights.bin")), 20u * 14 * 36);
  const Outcome stalled = Call({"verify", Path("net.kir"), "--on", streaming, "--random", "1",
                                "--seed", "3", "--stalls", "0.3"});
  EXPECT_EQ(stalled.code, kExitOk) << stalled.out << stalled.err;
  // Streams and weights behind one memory.
  const Outcome dram = Call({"verify", Path("net.kir"), "--on", streaming, "--random", "1",
                             "--dram", "5", "--memory-latency", "33", "--row-miss", "21"});
  EXPECT_EQ(dram.code, kExitOk) << dram.out << dram.err;
  EXPECT_THAT(dram.out, HasSubstr("cycles       the same"));
}

// The host runs a node in the middle: a folder for each segment, and a page that tells their order.
TEST_F(DataflowCommands, EmitsAFolderForEachSegment) {
  ASSERT_TRUE(WriteFile(Path("net.kir"), R"(graph "small" {
  input %image : f32[1x2x4x4]
  const %w : f32[2x2x1x1] = [1, -2, 3, 4]
  %1 = conv %image, %w {kernel_shape=[1, 1]} "first" : f32[1x2x4x4]
  %2 = softmax %1 {axis=1} "middle" : f32[1x2x4x4]
  %3 = conv %2, %w {kernel_shape=[1, 1]} "last" : f32[1x2x4x4]
  output %3
}
)")
                  .ok());
  for (const std::string command : {"compile", "verify", "compile"}) {
    const Outcome emitted = Call({command, Path("net.kir"), "--on", "dataflow-small", "--random",
                                  "1", "--emit", Path("design")});
    ASSERT_EQ(emitted.code, kExitOk) << emitted.out << emitted.err;
    if (command == "compile") {
      for (const char* segment : {"segment0", "segment1"}) {
        EXPECT_THAT(emitted.out, HasSubstr(fmt::format(" make -C {}/{} lint, sim, waves, synth\n",
                                                       Path("design"), segment)));
      }
    }
    const std::string readme = ReadFile(Path("design/README.md")).value_or("");
    EXPECT_THAT(readme, HasSubstr("\n1. `segment0`: send `image`, and take `1`.\n"
                                  "2. Compute `middle` on the host.\n"
                                  "3. `segment1`: send `2`, and take `3`.\n"));
    EXPECT_THAT(readme, HasSubstr("\n## Figures\n"));
    EXPECT_THAT(readme,
                HasSubstr("\n## Segments in one system\n\nModules and headers of different "));
    // A segment's page names nothing outside of its folder, and no figures of all segments.
    const std::string of_segment = ReadFile(Path("design/segment0/README.md")).value_or("");
    EXPECT_THAT(of_segment, HasSubstr("\n## Start a run\n"));
    for (const char* other : {"## Kernels of the host", "## Figures", "kernels.txt"})
      EXPECT_THAT(of_segment, testing::Not(HasSubstr(other)));
    for (const char* file : {"segment0/README.md", "segment1/README.md", "segment1/design.core",
                             "segment1/sample/steps.txt", "kernels.txt"}) {
      EXPECT_TRUE(std::filesystem::exists(Path("design") + "/" + file)) << file;
    }
  }
  EXPECT_TRUE(std::filesystem::exists(Path("design/segment1/build/simulate")));
}

// Emits and verifies a small network with a copy of the hardware library that has faults.
class DataflowWaves : public DataflowCommands {
 protected:
  void SetUp() override {
    ASSERT_TRUE(WriteFile(Path("net.kir"), R"(graph "small" {
  input %image : f32[1x2x4x4]
  const %w : f32[2x2x1x1] = [1, -2, 3, 4]
  const %v : f32[1x2x1x1] = [2, 1]
  %1 = conv %image, %w {kernel_shape=[1, 1]} "first" : f32[1x2x4x4]
  %2 = sigmoid %1 "shape" : f32[1x2x4x4]
  %3 = max_pool %2 {kernel_shape=[2, 2], strides=[2, 2]} "pool" : f32[1x2x2x2]
  %4 = conv %3, %v {kernel_shape=[1, 1]} "last" : f32[1x1x2x2]
  output %4
}
)")
                    .ok());
    const auto library = hardware::RtlLibrary();
    ASSERT_TRUE(library.ok()) << library.status();
    std::filesystem::copy(*library, Path("rtl"), std::filesystem::copy_options::recursive);
    setenv("KILN_RTL", Path("rtl").c_str(), 1);
  }
  void TearDown() override { unsetenv("KILN_RTL"); }
  void Spoil(const std::string& file, const std::string& right, const std::string& wrong) const {
    std::string text = *ReadFile(Path("rtl/dataflow/" + file));
    const size_t at = text.find(right);
    ASSERT_NE(at, std::string::npos) << file;
    text.replace(at, right.size(), wrong);
    ASSERT_TRUE(WriteFile(Path("rtl/dataflow/" + file), text).ok());
  }
  Outcome Verify() const {
    return Call({"verify", Path("net.kir"), "--on", "dataflow-small", "--random", "1", "--seed",
                 "1", "--wave", Path("wave.fst")});
  }
};

// A maximum that is a minimum: the last layer hides which layer is wrong.
TEST_F(DataflowWaves, WrongBitsOfALayerAreRecorded) {
  Spoil("kiln_dataflow_max_tree.sv", "left < right ? other : one", "left < right ? one : other");
  const Outcome differs = Verify();
  EXPECT_EQ(differs.code, kExitError) << differs.out << differs.err;
  EXPECT_THAT(differs.out, HasSubstr("\nbits         DIFFERENT"));
  EXPECT_THAT(differs.out, HasSubstr("\ncycles       the same: "));
  EXPECT_THAT(differs.out, testing::ContainsRegex(
                               "wave.fst: image 0, cycles .*, first different kernel pool\n"));
  EXPECT_GT(std::filesystem::file_size(Path("wave.fst")), 1'000u);
}

// A table that takes a word in every other cycle: the layer in front of it waits.
TEST_F(DataflowWaves, ALateLayerIsRecorded) {
  Spoil("kiln_dataflow_table.sv", "  assign in_pop = in_valid && out_room;\n",
        "  logic odd;\n"
        "  always_ff @(posedge clock) odd <= !reset && !odd;\n"
        "  assign in_pop = in_valid && out_room && odd;\n");
  const Outcome late = Verify();
  EXPECT_EQ(late.code, kExitError) << late.out << late.err;
  EXPECT_THAT(late.out, HasSubstr("\ncycles       DIFFERENT: "));
  EXPECT_THAT(late.out, HasSubstr("\nbits         the same: "));
  EXPECT_THAT(late.out, testing::ContainsRegex(
                            "wave.fst: image 0, cycles .*, first different kernel shape\n"));
  EXPECT_GT(std::filesystem::file_size(Path("wave.fst")), 1'000u);
}

TEST_F(DataflowWaves, NothingIsRecordedIfTheLevelsAgree) {
  const Outcome agree = Verify();
  EXPECT_EQ(agree.code, kExitOk) << agree.out << agree.err;
  EXPECT_FALSE(std::filesystem::exists(Path("wave.fst")));
}

}  // namespace
}  // namespace kiln::cli
