// Tests of sweeps: the design points that patterns name, variants of them, and a sweep whose rows
// are compared with single runs.
#include "kiln/flow/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "kiln/report/performance.h"
#include "kiln/support/budgets.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "kiln/targets/registry.h"

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> NamesOf(const StatusOr<std::vector<SweepPoint>>& points) {
  EXPECT_TRUE(points.ok()) << points.status();
  std::vector<std::string> names;
  for (const SweepPoint& point : *points) names.push_back(point.name);
  return names;
}

TEST(Sweep, PatternsNameDesignPointsOnce) {
  EXPECT_THAT(NamesOf(FindSweepPoints({"*e4m3-16*"})),
              ElementsAre("systolic-e4m3-16x16", "systolic-mxfp8_e4m3-16x16"));
  EXPECT_THAT(
      NamesOf(FindSweepPoints({"vta-default", "*-default", "accelerators/vta-default.yaml"})),
      ElementsAre("vta-default"));
  EXPECT_THAT(NamesOf(FindSweepPoints({"se-1?"})), ElementsAre("se-16"));
  EXPECT_THAT(NamesOf(FindSweepPoints({"accelerators/se-?.yaml"})), ElementsAre("se-4"));
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("accelerators"))
    files += entry.path().extension() == ".yaml" ? 1 : 0;
  EXPECT_EQ(NamesOf(FindSweepPoints({})).size(), files);
}

TEST(Sweep, PatternsThatNameNothingAreErrors) {
  EXPECT_EQ(MessageOf(FindSweepPoints({"*-int9-*"}).status()),
            "--on: no design point is called '*-int9-*'; see kiln list accelerators");
  EXPECT_EQ(MessageOf(FindSweepPoints({"none/*.yaml"}).status()),
            "--on: no design point is called 'none/*.yaml'; see kiln list accelerators");
  EXPECT_THAT(MessageOf(FindSweepPoints({"se-61"}).status()),
              HasSubstr("--on: se-61: no such file"));
}

TEST(Sweep, TwoFilesOfOneNameAreAnError) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-sweep-test");
  const std::string copy = (folder.path() / "vta-default.yaml").string();
  ASSERT_TRUE(WriteFile(copy, *ReadFile("accelerators/vta-default.yaml")).ok());
  EXPECT_THAT(MessageOf(FindSweepPoints({"vta-default", copy}).status()),
              HasSubstr("has the same name as"));
}

TEST(Sweep, VariedKeysAreParsed) {
  const StatusOr<VariedKey> key = ParseVariedKey("input_port_bytes=8,16");
  ASSERT_TRUE(key.ok()) << key.status();
  EXPECT_EQ(key->key, "input_port_bytes");
  EXPECT_THAT(key->values, ElementsAre("8", "16"));
  for (const char* text : {"", "lanes", "=1", "a b=1", "lanes=", "lanes=1,", "lanes=1,1",
                           "lanes=../x", "lanes=a/b", "lanes=[1]", "lanes=1\n2", "lanes=..",
                           "lanes=a: b", "lanes=-", "name=x", "family=x", "lanes=#"}) {
    EXPECT_THAT(MessageOf(ParseVariedKey(text).status()), HasSubstr("--vary: '")) << text;
  }
}

// A variant is the file with other values: all other keys, and comments, stay.
TEST(Sweep, VariantsReplaceKeysAndAddAbsentOnes) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-sweep-test");
  const std::filesystem::path file = folder.path() / "toy.yaml";
  ASSERT_TRUE(WriteFile(file,
                        "# A toy.\nfamily: toy\nname: toy\nlanes: [1,\n  2]\nstages:\n- 1\n- "
                        "2\nwidth: 3  # wide\nwidth_of_b: 4\n")
                  .ok());
  const auto variants = VariantsOf(
      {{"toy", file}},
      {{"lanes", {"1", "2"}}, {"stages", {"5"}}, {"width", {"7"}}, {"depth", {"8"}}}, "runs");
  EXPECT_THAT(NamesOf(variants), ElementsAre("toy-lanes-1-stages-5-width-7-depth-8",
                                             "toy-lanes-2-stages-5-width-7-depth-8"));
  const SweepPoint& second = (*variants)[1];
  EXPECT_EQ(second.file, "runs/toy-lanes-2-stages-5-width-7-depth-8.yaml");
  EXPECT_EQ(second.base, file);
  EXPECT_THAT(second.varied, ElementsAre(std::pair("lanes", "2"), std::pair("stages", "5"),
                                         std::pair("width", "7"), std::pair("depth", "8")));
  EXPECT_EQ(second.text,
            "# A toy.\nfamily: toy\nname: 'toy-lanes-2-stages-5-width-7-depth-8'\nlanes: 2\n"
            "stages: 5\nwidth: 7\nwidth_of_b: 4\ndepth: 8\n");
  const auto more = VariantsOf({{"toy", file}}, {{"a", {"1", "2"}}, {"b", {"3", "4"}}}, "runs");
  EXPECT_THAT(NamesOf(more),
              ElementsAre("toy-a-1-b-3", "toy-a-1-b-4", "toy-a-2-b-3", "toy-a-2-b-4"));
}

TEST(Sweep, FilesWhoseKeysCannotBeReplacedAreErrors) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-sweep-test");
  const std::filesystem::path file = folder.path() / "toy.yaml";
  for (const char* text :
       {"{family: toy, name: toy, lanes: 1}\n", "family: toy\nname: toy\n\"lanes\": 1\n",
        "family: toy\nname: toy\nlanes : 1\n",
        "family: toy\nname: toy\nlanes:\n- 1\n# more\n- 2\n"}) {
    ASSERT_TRUE(WriteFile(file, text).ok());
    EXPECT_THAT(MessageOf(VariantsOf({{"toy", file}}, {{"lanes", {"2"}}}, "runs").status()),
                HasSubstr("toy.yaml: --vary: its keys cannot be replaced line by line"))
        << text;
  }
  ASSERT_TRUE(WriteFile(file, "not: [a mapping").ok());
  EXPECT_THAT(MessageOf(VariantsOf({{"toy", file}}, {{"a", {"1"}}}, "runs").status()),
              HasSubstr("toy.yaml"));
}

// Values with a dash can make two names equal.
TEST(Sweep, TwoVariantsOfOneNameAreAnError) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-sweep-test");
  const std::filesystem::path file = folder.path() / "toy.yaml";
  ASSERT_TRUE(WriteFile(file, "family: toy\nname: toy\n").ok());
  EXPECT_THAT(
      MessageOf(VariantsOf({{"toy", file}}, {{"a", {"1", "1-b-2"}}, {"b", {"2-b-2", "2"}}}, "runs")
                    .status()),
      HasSubstr("two variants are called 'toy-a-1-b-2-b-2'"));
}

TEST(Sweep, VariantsDoNotReplaceOtherFiles) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-sweep-test");
  const auto variants = VariantsOf(*FindSweepPoints({"systolic-int8-8x8"}),
                                   {{"input_port_bytes", {"8", "16"}}}, folder.path());
  ASSERT_TRUE(WriteVariants(*variants).ok());
  EXPECT_TRUE(WriteVariants(*variants).ok()) << "the same text may be there";
  ASSERT_TRUE(std::filesystem::remove((*variants)[0].file));
  ASSERT_TRUE(WriteFile((*variants)[1].file, "family: other\n").ok());
  EXPECT_THAT(MessageOf(WriteVariants(*variants)), HasSubstr("exists with another text"));
  EXPECT_FALSE(std::filesystem::exists((*variants)[0].file)) << "written before the error";
}

TEST(Sweep, VariantsAreLimited) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-sweep-test");
  const std::filesystem::path file = folder.path() / "toy.yaml";
  ASSERT_TRUE(WriteFile(file, "family: toy\nname: toy\n").ok());
  const auto variants = [&file](int64_t lanes, int64_t depths) {
    std::vector<VariedKey> keys = {{"lanes", {}}, {"depth", {}}};
    for (int64_t v = 0; v < lanes; ++v) keys[0].values.push_back(std::to_string(v));
    for (int64_t v = 0; v < depths; ++v) keys[1].values.push_back(std::to_string(v));
    return VariantsOf({{"toy", file}}, keys, "none");
  };
  EXPECT_EQ(std::ssize(*variants(budgets::kSweptPoints / 32, 32)), budgets::kSweptPoints);
  EXPECT_EQ(MessageOf(variants(41, 25).status()),
            "--vary: 1025 design points are too many; at most 1024");
}

SweepOptions SweepOfDemo(const std::vector<std::string>& patterns) {
  SweepOptions options;
  options.flow.model = "models/demo_fashion_mnist.onnx";
  options.flow.images.random = 1;
  options.flow.evaluate.level = Level::kCycle;
  options.flow.evaluate.limit = 1;
  options.flow.evaluate.run_fp32 = false;
  options.points = *FindSweepPoints(patterns);
  return options;
}

// The figures are those of runs one by one; a design point that cannot run does not end the sweep.
TEST(Sweep, RowsAreRuns) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-sweep-test");
  const std::string broken = (folder.path() / "broken.yaml").string();
  ASSERT_TRUE(WriteFile(broken, "family: none\n").ok());
  SweepOptions options = SweepOfDemo({"systolic-int8-8x8", "systolic-int8-16x16", broken});
  std::vector<std::string> saved;
  options.save = [&saved](const SweepPoint& point, const RunReport&) {
    saved.push_back(point.name);
    return OkStatus();
  };
  const StatusOr<SweepTable> table = Sweep(options);
  ASSERT_TRUE(table.ok()) << table.status();
  ASSERT_EQ(table->rows.size(), 3u);
  EXPECT_THAT(saved, ElementsAre("systolic-int8-8x8", "systolic-int8-16x16"));
  EXPECT_EQ(table->rows[0].design_point, "systolic-int8-16x16");
  EXPECT_EQ(table->rows[2].design_point, "broken");
  EXPECT_THAT(table->rows[2].fault, testing::StartsWith("key 'family'"));
  for (size_t r = 0; r < 2; ++r) {
    FlowOptions flow = options.flow;
    flow.accelerator = table->rows[r].design_point;
    const StatusOr<RunReport> run = RunFlow(flow);
    ASSERT_TRUE(run.ok()) << run.status();
    const std::optional<Performance> performance = PerformanceOf(*run);
    EXPECT_EQ(table->rows[r].run->cycles, run->cycles_per_image[0]);
    EXPECT_DOUBLE_EQ(*table->rows[r].run->seconds, *performance->seconds);
    EXPECT_DOUBLE_EQ(*table->rows[r].run->picojoules, run->energy->picojoules());
  }
}

TEST(Sweep, KeysThatAFamilyLacksAreErrors) {
  const auto message = [](const char* key) {
    return MessageOf(
        VariantsOf(*FindSweepPoints({"systolic-int8-8x8"}), {{key, {"8"}}}, "none").status());
  };
  EXPECT_EQ(
      message("array_rwos"),
      "accelerators/systolic-int8-8x8.yaml: --vary: its family has no key 'array_rwos'; did you "
      "mean 'array_rows'?");
  EXPECT_THAT(message("bram"), HasSubstr("see kiln list keys "));
}

TEST(Sweep, ASweepInWhichNothingRunsIsAnError) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-sweep-test");
  SweepOptions options = SweepOfDemo({"systolic-int8-8x8"});
  options.points = *VariantsOf(options.points, {{"weight_port_bytes", {"2", "4"}}}, folder.path());
  ASSERT_TRUE(WriteVariants(options.points).ok());
  EXPECT_EQ(MessageOf(Sweep(options).status()),
            "systolic-int8-8x8-weight_port_bytes-2: key 'weight_port_bytes': 2 is out of range; a "
            "whole number from 8 to 128");
}

TEST(Sweep, AVariantIsAnotherMachine) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-sweep-test");
  SweepOptions options = SweepOfDemo({"systolic-int8-8x8"});
  options.points = *VariantsOf(options.points, {{"input_port_bytes", {"8", "32"}}}, folder.path());
  ASSERT_TRUE(WriteVariants(options.points).ok());
  options.rank = SweepRank::kTime;
  const StatusOr<SweepTable> table = Sweep(options);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->rows[0].design_point, "systolic-int8-8x8-input_port_bytes-32");
  EXPECT_LT(*table->rows[0].run->cycles, *table->rows[1].run->cycles);
}

// A machine that works on four images at once needs their time for one, and has four times the
// rate. Noise has as many samples.
TEST(Sweep, BatchesHaveTheTimeOfAllTheirImages) {
  FlowOptions flow = SweepOfDemo({"vta-batch-4"}).flow;
  flow.accelerator = "vta-batch-4";
  flow.images.random = flow.evaluate.limit = 4;
  const StatusOr<RunReport> run = RunFlow(flow);
  ASSERT_TRUE(run.ok()) << run.status();
  const std::optional<Performance> performance = PerformanceOf(*run);
  ASSERT_EQ(performance->images, 4);
  const StatusOr<SweepTable> table = Sweep(SweepOfDemo({"vta-batch-4"}));
  ASSERT_TRUE(table.ok()) << table.status();
  const SavedRun& row = *table->rows[0].run;
  EXPECT_DOUBLE_EQ(*row.latency, *performance->seconds);
  EXPECT_DOUBLE_EQ(*row.images_per_second, 4 / *performance->seconds);
  SweepOptions limited = SweepOfDemo({"vta-batch-4"});
  limited.limit_seconds = *performance->seconds / 2;
  EXPECT_EQ(Sweep(limited)->rows[0].standing, SweepTable::Standing::kTooSlow);
}

TEST(Sweep, AMachineThatRunsNothingIsNotRanked) {
  const StatusOr<SweepTable> table = Sweep(SweepOfDemo({"cgra-grid-4x4", "systolic-int8-8x8"}));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->rows[0].design_point, "systolic-int8-8x8");
  EXPECT_FALSE(table->rows[1].run.has_value());
  EXPECT_THAT(table->rows[1].fault, HasSubstr("the host runs the whole network"));
}

// Faults of the model are not those of a design point.
TEST(Sweep, AModelThatIsNotThereIsAnErrorOfItsOwn) {
  SweepOptions options = SweepOfDemo({"systolic-int8-8x8"});
  options.flow.model = "none.onnx";
  EXPECT_THAT(MessageOf(Sweep(options).status()), testing::StartsWith("none.onnx: no such file"));
  options = SweepOfDemo({"systolic-int8-8x8"});
  options.flow.recipe = "int77";
  EXPECT_THAT(MessageOf(Sweep(options).status()), testing::StartsWith("int77"));
}

}  // namespace
}  // namespace kiln
