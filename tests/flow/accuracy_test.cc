// Tests of `kiln accuracy`: the table over many formats, and formats that cannot run.
#include "kiln/flow/accuracy.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "kiln/support/file.h"
#include "kiln/support/process.h"

namespace kiln {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// The demo network on noise: no labels, so that decibels against fp32 are the measure.
AccuracyOptions DemoOn(std::vector<std::string> formats) {
  AccuracyOptions options;
  options.flow.model = "models/demo_fashion_mnist.onnx";
  options.flow.accelerator = "systolic-int8-8x8";
  options.flow.images.random = 6;
  options.flow.calibration_images = 6;
  options.formats = std::move(formats);
  return options;
}

TEST(Accuracy, MoreBitsAreMoreExact) {
  const auto table = MeasureAccuracy(DemoOn({"int8", "int4", "mxint8", "mxfp4", "e4m3"}));
  ASSERT_TRUE(table.ok()) << table.status();
  ASSERT_EQ(table->rows.size(), 6u);
  EXPECT_EQ(table->rows[0].format, "fp32");
  for (const AccuracyTable::Row& row : table->rows) EXPECT_EQ(row.fault, "") << row.format;
  const auto decibels = [&](size_t i) { return table->rows[i].output_sqnr_db().value_or(0); };
  EXPECT_GT(decibels(1), decibels(2));
  EXPECT_GT(decibels(3), decibels(4));
  EXPECT_GT(decibels(3), decibels(5))
      << "six bits of fraction and a scale for each block, against three bits";
  EXPECT_DOUBLE_EQ(table->rows[1].weight_bits, 8);
  EXPECT_LT(table->rows[2].picojoules, table->rows[1].picojoules);
}

TEST(Accuracy, GivesWhatRunGives) {
  const AccuracyOptions options = DemoOn({"int8"});
  const auto table = MeasureAccuracy(options);
  ASSERT_TRUE(table.ok()) << table.status();
  FlowOptions flow = options.flow;
  flow.evaluate.cycle_limit = 0;
  const auto report = RunFlow(flow);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(table->rows[1].output_sqnr_db(), report->output_sqnr_db());
}

// What a network quantises itself, no format changes; the rows say so.
TEST(Accuracy, SaysWhatTheNetworkQuantisesItself) {
  AccuracyOptions options = DemoOn({"int8", "int4"});
  options.flow.model = "models/fashion_mlp_w1a8.onnx";
  const auto table = MeasureAccuracy(options);
  ASSERT_TRUE(table.ok()) << table.status();
  ASSERT_EQ(table->rows.size(), 3U);
  EXPECT_FALSE(table->rows[0].keeps_own);
  EXPECT_EQ(table->rows[2].format, "int4");
  EXPECT_EQ(table->rows[2].label(), "own, int4 for the rest");
  EXPECT_THAT(table->notes, Contains(AllOf(StartsWith("the network quantises "),
                                           HasSubstr("own_parameters: replace"))));
  EXPECT_THAT(ToText(*table), HasSubstr("\nown, int4 for the rest  "));

  const auto plain = MeasureAccuracy(DemoOn({"int8"}));
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(plain->rows[1].label(), "int8");
  EXPECT_THAT(plain->notes, Not(Contains(StartsWith("the network quantises "))));
}

TEST(Accuracy, RecipesOfFilesHaveShortNames) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-accuracy");
  std::vector<std::string> files;
  for (const char* name : {"a/mixed.yaml", "b/mixed.yaml", "b/other.yaml"}) {
    const std::filesystem::path path = folder.path() / name;
    std::filesystem::create_directories(path.parent_path());
    ASSERT_TRUE(WriteFile(path, "activations: {type: int8}\nweights: {type: int8}\n").ok());
    files.push_back(path.string());
  }
  const auto table = MeasureAccuracy(DemoOn(files));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->rows[1].format, files[0]);
  EXPECT_EQ(table->rows[2].format, files[1]);
  EXPECT_EQ(table->rows[3].format, "other");
}

// Each recipe calibrates on as many images as it says, whatever the others of the table need.
TEST(Accuracy, EveryRecipeHasItsOwnCalibrationImages) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() /
                                       ("kiln_accuracy_images_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::vector<std::string> recipes;
  std::vector<double> alone;
  for (const int images : {6, 1}) {
    recipes.push_back((folder / fmt::format("of_{}.yaml", images)).string());
    ASSERT_TRUE(WriteFile(recipes.back(),
                          fmt::format("activations: {{format: int8, calibration: min_max}}\n"
                                      "weights: {{format: int8}}\ncalibration: {{images: {}}}\n",
                                      images))
                    .ok());
    AccuracyOptions options = DemoOn({recipes.back()});
    options.flow.calibration_images = 0;
    const auto table = MeasureAccuracy(options);
    ASSERT_TRUE(table.ok()) << table.status();
    alone.push_back(table->rows[1].output_sqnr_db().value_or(0));
  }
  EXPECT_NE(alone[0], alone[1]);
  AccuracyOptions options = DemoOn(recipes);
  options.flow.calibration_images = 0;
  const auto together = MeasureAccuracy(options);
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(together.ok()) << together.status();
  for (size_t i = 0; i < 2; ++i)
    EXPECT_EQ(together->rows[i + 1].output_sqnr_db().value_or(0), alone[i]) << recipes[i];
}

// A format of a user's own, from a file: encode, tables, array and vector unit take it without
// touching code.
TEST(Accuracy, CodebookFromYamlRunsEndToEnd) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("kiln_accuracy_test_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::filesystem::path file = folder / "powers.yaml";
  ASSERT_TRUE(
      WriteFile(
          file,
          "name: powers\nbits: 4\n"
          "values: [-1, -0.5, -0.25, -0.125, -0.0625, -0.03125, 0, 0.03125, 0.0625, 0.125, 0.25, "
          "0.5, 0.75, 1]\n")
          .ok());
  const auto table =
      MeasureAccuracy(DemoOn({"int8/" + file.string(), "bf16/" + file.string(), "nf4"}));
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(table.ok()) << table.status();
  for (size_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(table->rows[i].fault, "") << table->rows[i].format;
    EXPECT_GT(table->rows[i].output_sqnr_db().value_or(0), 5) << table->rows[i].format;
    EXPECT_DOUBLE_EQ(table->rows[i].weight_bits, 4);
    // Only the products of two activations, in attention, have no operand in the array's weight
    // format.
    EXPECT_LT(table->rows[i].host_share, 0.05) << table->rows[i].format;
    EXPECT_THAT(table->AllNotes(),
                Contains(AllOf(StartsWith(table->rows[i].format + ": "),
                               HasSubstr("of the operations on the host"),
                               HasSubstr("because activations used as weights are "))));
  }
}

// What the array's variant cannot hold is on the host with a reason, or no result where the host is
// not to help.
TEST(Accuracy, WithoutTheHostAFormatThatNeedsItIsAFault) {
  AccuracyOptions options = DemoOn({"int8", "nf4"});
  options.flow.compile.host_fallback = false;
  const auto table = MeasureAccuracy(options);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->rows[1].fault, "");
  EXPECT_FALSE(table->rows[1].host_reason.has_value());
  EXPECT_THAT(table->rows[2].fault, HasSubstr("the array takes nf4"));
  EXPECT_THAT(table->AllNotes(), Not(Contains(HasSubstr("on the host"))));
}

// A recipe whose layers have other formats than the rest of the network. The variant for int4 takes
// no int8, but the design point takes both: the result equals that of `kiln run`, as a note says.
TEST(Accuracy, ARecipeOfLayersInSeveralFormatsRunsAsInRun) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("kiln-layers-{}.yaml", getpid());
  ASSERT_TRUE(WriteFile(path,
                        "activations: {format: int4}\nweights: {format: int4}\nlayers:\n"
                        "  - {position: first, inputs: {format: int8}, "
                        "weights: {format: int8}}\n")
                  .ok());
  const AccuracyOptions options = DemoOn({"int4", path.string()});
  const auto table = MeasureAccuracy(options);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->rows[1].machine, "systolic-int8-8x8 as int4 x int4");
  EXPECT_EQ(table->rows[2].machine, "systolic-int8-8x8");
  EXPECT_EQ(table->rows[2].host_share, 0);
  EXPECT_THAT(table->AllNotes(), Contains(AllOf(StartsWith(path.stem().string() + ": runs on "),
                                                HasSubstr("systolic-int8-8x8 itself"))));
  FlowOptions flow = options.flow;
  flow.evaluate.cycle_limit = 0;
  flow.recipe = path.string();
  const auto report = RunFlow(flow);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(HostShare(*report), 0);
  EXPECT_EQ(table->rows[2].output_sqnr_db(), report->output_sqnr_db());
  std::filesystem::remove(path);
}

// A family without variants runs the formats that its design point takes; others name these.
TEST(Accuracy, ADesignPointWithFixedFormatsRunsItsOwn) {
  AccuracyOptions options = DemoOn({"int8", "bf16"});
  options.flow.accelerator = "se-16";
  const auto table = MeasureAccuracy(options);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->rows[1].fault, "");
  FlowOptions flow = options.flow;
  flow.recipe = "int8";
  flow.evaluate.cycle_limit = 0;
  const auto report = RunFlow(flow);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(table->rows[1].output_sqnr_db(), report->output_sqnr_db());
  EXPECT_EQ(table->rows[1].host_share, HostShare(*report));
  EXPECT_THAT(table->rows[2].fault,
              AllOf(HasSubstr("formats of the"), HasSubstr("are fixed; activations in int16"),
                    HasSubstr("weights in int8, int7")));
}

TEST(Accuracy, ErrorsNameTheFormat) {
  for (const auto& [name, meant] : {std::pair("E4M3", "e4m3"), {"MXINT8", "mxint8"}}) {
    EXPECT_EQ(MessageOf(MeasureAccuracy(DemoOn({name})).status()),
              fmt::format("--formats: {}: no recipe and no type; did you mean '{}'?", name, meant));
  }
  const auto table = MeasureAccuracy(DemoOn({"int8", "int99"}));
  ASSERT_FALSE(table.ok());
  EXPECT_THAT(std::string(table.status().message()), HasSubstr("int99"));
}

std::string Replaced(std::string text, const std::string& what, const std::string& by) {
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

// Products of 16 bits leave the accumulator of 32; the note says so, and what it calls right is
// right.
TEST(Accuracy, SumsThatWrapAreTold) {
  const auto wrapped = MeasureAccuracy(DemoOn({"int8", "int16"}));
  ASSERT_TRUE(wrapped.ok()) << wrapped.status();
  EXPECT_THAT(
      wrapped->notes,
      Contains(AllOf(StartsWith("int16: sums of int16 x int16 can wrap in accumulation_format "
                                "int32 in "),
                     HasSubstr("longest in '"),
                     EndsWith("right would be psum_format: fp32, accumulation_format: fp32, "
                              "activations without zero point"))));
  EXPECT_THAT(wrapped->notes, Not(Contains(StartsWith("int8: "))));

  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("kiln_accuracy_sums_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::string design = *ReadFile("accelerators/systolic-int8-8x8.yaml");
  design = Replaced(design, "input_format: int8", "input_format: int16");
  design = Replaced(design, "weight_format: int8", "weight_format: int16");
  design = Replaced(design, "psum_format: int32", "psum_format: fp32");
  design = Replaced(design, "accumulation_format: int32", "accumulation_format: fp32");
  ASSERT_TRUE(WriteFile(folder / "wide.yaml", design).ok());
  ASSERT_TRUE(WriteFile(folder / "symmetric.yaml",
                        "activations: {format: int16, symmetric: true, calibration: min_max}\n"
                        "weights: {format: int16}\n")
                  .ok());
  AccuracyOptions options = DemoOn({(folder / "symmetric.yaml").string()});
  options.flow.accelerator = folder / "wide.yaml";
  const auto right = MeasureAccuracy(options);
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(right.ok()) << right.status();
  EXPECT_THAT(right->notes, Not(Contains(HasSubstr("can wrap"))));
  // What remains is the rounding of the vector unit in bf16, of values and scales.
  EXPECT_GT(right->rows[1].output_sqnr_db().value_or(0), 39);
  EXPECT_GT(right->rows[1].output_sqnr_db().value_or(0),
            wrapped->rows[2].output_sqnr_db().value_or(0) + 20);
}

// Fewer bits in one layer are a greater error of that layer; all others keep theirs.
TEST(Accuracy, LayersAreMeasuredByFormat) {
  AccuracyOptions options = DemoOn({"int8", "int4"});
  options.layer_images = 3;
  const auto table = MeasureAccuracy(options);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_FALSE(table->rows[0].layers.has_value());
  const LayerErrors &int8 = *table->rows[1].layers, &int4 = *table->rows[2].layers;
  EXPECT_EQ(int8.images, 3);
  EXPECT_FALSE(int8.exact.has_value()) << "noise has no labels";
  ASSERT_EQ(int8.layers.size(), int4.layers.size());
  ASSERT_GT(int8.layers.size(), 5u);
  for (size_t i = 0; i < int8.layers.size(); ++i) {
    EXPECT_EQ(int8.layers[i].name, int4.layers[i].name);
    ASSERT_FALSE(int8.layers[i].values.empty());
    if (!int4.layers[i].alone.sqnr_db()) continue;
    EXPECT_GT(int8.layers[i].alone.sqnr_db().value_or(1000), *int4.layers[i].alone.sqnr_db())
        << int8.layers[i].name;
  }
}

}  // namespace
}  // namespace kiln
