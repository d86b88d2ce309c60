#include "kiln/quantise/recipe.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace kiln {
namespace {

TEST(Recipe, BuiltInRecipe) {
  const Recipe recipe = Int8Recipe();
  EXPECT_EQ(recipe.activations.type.format.name, "int8");
  EXPECT_FALSE(recipe.activations.type.symmetric);
  EXPECT_EQ(recipe.weights.type.scheme, Scheme::kPerChannel);
  EXPECT_TRUE(recipe.weights.type.symmetric);
  EXPECT_FALSE(recipe.quantise_outputs);
}

TEST(Recipe, TheFileInt8IsTheBuiltInRecipe) {
  const auto file = LoadRecipe("recipes/int8.yaml");
  ASSERT_TRUE(file.ok()) << file.status();
  const Recipe built_in = Int8Recipe();
  EXPECT_EQ(file->activations, built_in.activations);
  EXPECT_EQ(file->weights, built_in.weights);
  EXPECT_EQ(file->quantise_outputs, built_in.quantise_outputs);
  EXPECT_EQ(file->calibration_images, built_in.calibration_images);
  EXPECT_EQ(file->layers.size(), built_in.layers.size());
}

TEST(Recipe, EveryReadyMadeRecipeReads) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("recipes")) {
    const auto recipe = LoadRecipe(entry.path());
    EXPECT_TRUE(recipe.ok()) << recipe.status();
    ++count;
  }
  EXPECT_GE(count, 5);
}

TEST(Recipe, ReadsEveryKey) {
  const auto recipe = ParseRecipe(
      "activations: {format: uint8, scheme: per_tensor, symmetric: false, calibration: percentile, percentile: 99.9}\n"
      "weights: {format: int4, scheme: per_tensor, symmetric: true, calibration: entropy}\n"
      "outputs: quantised\n"
      "calibration: {images: 12}\n"
      "layers:\n"
      "  - match: conv1*\n"
      "    keep: float\n"
      "  - operator: MatMul\n"
      "    position: last\n"
      "    activations: {calibration: min_max}\n"
      "    weights: {format: int8}\n"
      "  - position: 3\n"
      "    keep: float\n",
      "r.yaml");
  ASSERT_TRUE(recipe.ok()) << recipe.status();
  EXPECT_EQ(recipe->activations.type.format.name, "uint8");
  EXPECT_EQ(recipe->activations.calibration, Calibration::kPercentile);
  EXPECT_EQ(recipe->activations.percentile, 99.9);
  EXPECT_EQ(recipe->weights.type.format.name, "int4");
  EXPECT_EQ(recipe->weights.type.scheme, Scheme::kPerTensor);
  EXPECT_TRUE(recipe->quantise_outputs);
  EXPECT_EQ(recipe->calibration_images, 12);
  ASSERT_EQ(recipe->layers.size(), 3u);
  EXPECT_TRUE(recipe->layers[0].keep_float);
  EXPECT_EQ(recipe->layers[1].op, Op::kMatMul);
  EXPECT_EQ(recipe->layers[1].position, Position{-1});
  // An override starts from the recipe's own settings.
  EXPECT_EQ(recipe->layers[1].activations->type.format.name, "uint8");
  EXPECT_EQ(recipe->layers[1].activations->calibration, Calibration::kMinMax);
  EXPECT_EQ(recipe->layers[1].weights->type.format.name, "int8");
  EXPECT_EQ(recipe->layers[2].position, Position{3});
  EXPECT_EQ(recipe->layers[1].Describe(1), "layers[1] (operator MatMul, position last)");
}

struct ErrorCase {
  std::string_view text;
  std::string_view message;
};
class RecipeErrors : public testing::TestWithParam<ErrorCase> {};

TEST_P(RecipeErrors, NameFileLineKeyAndRemedy) {
  const auto recipe = ParseRecipe(GetParam().text, "r.yaml");
  ASSERT_FALSE(recipe.ok());
  EXPECT_EQ(MessageOf(recipe.status()), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Golden, RecipeErrors,
    testing::Values(
        ErrorCase{"activation: {format: int8}\n",
                  "r.yaml: line 1, key 'activation': unknown key; did you mean 'activations'?"},
        ErrorCase{
            "weights: {format: int99}\n",
            "r.yaml: line 1, key 'weights.format': unknown format 'int99'; a name that 'kiln list formats' prints"},
        ErrorCase{"weights: {format: int32}\n",
                  "r.yaml: line 1, key 'weights.format': format 'int32' cannot be calibrated; an integer format of at "
                  "most 16 bits, such as int8; `keep: float` leaves a layer in fp32"},
        ErrorCase{"activations: {scheme: per_channel}\n",
                  "r.yaml: line 1, key 'activations.scheme': unknown value 'per_channel'; one of: per_tensor"},
        ErrorCase{"activations:\n  calibration: best\n",
                  "r.yaml: line 2, key 'activations.calibration': unknown calibration 'best'; one of: min_max, "
                  "percentile, mse, entropy"},
        ErrorCase{"activations: {calibration: percentile, percentile: 0.9}\n",
                  "r.yaml: line 1, key 'activations.percentile': 0.9 is out of range; a number from 50 to 100"},
        ErrorCase{
            "activations: {calibration: mse, percentile: 99}\n",
            "r.yaml: line 1, key 'activations.percentile': has no meaning with calibration 'mse'; leave it out, or "
            "write calibration: percentile"},
        ErrorCase{"weights:\n  symmetric: false\n",
                  "r.yaml: line 2, key 'weights.symmetric': weights with a zero point are not supported; symmetric: "
                  "true"},
        ErrorCase{"outputs: int8\n", "r.yaml: line 1, key 'outputs': unknown value 'int8'; one of: fp32, quantised"},
        ErrorCase{"calibration: {images: 0}\n",
                  "r.yaml: line 1, key 'calibration.images': 0 is out of range; a whole number from 1 to 1000000"},
        ErrorCase{"layers:\n  - keep: float\n",
                  "r.yaml: line 2, key 'layers[0]': names no nodes; give match, operator or position"},
        ErrorCase{"layers:\n  - match: a\n",
                  "r.yaml: line 2, key 'layers[0]': changes nothing; give keep, activations or weights"},
        ErrorCase{"layers:\n  - {match: a, keep: float, weights: {format: int4}}\n",
                  "r.yaml: line 2, key 'layers[0].keep': a layer that stays float has no other settings; leave out "
                  "activations and weights"},
        ErrorCase{
            "layers:\n  - {operator: Convolution, keep: float}\n",
            "r.yaml: line 2, key 'layers[0].operator': unknown operator 'Convolution'; an ONNX operator name, such "
            "as Conv or MatMul"},
        ErrorCase{"layers:\n  - {position: -1, keep: float}\n",
                  "r.yaml: line 2, key 'layers[0].position': unknown position '-1'; first, last, or a number from 0"}));

TEST(Recipe, MissingFile) {
  const auto recipe = LoadRecipe("no/such/recipe.yaml");
  ASSERT_FALSE(recipe.ok());
  EXPECT_NE(MessageOf(recipe.status()).find("no/such/recipe.yaml"), std::string::npos);
}

TEST(MatchesGlob, StarsAndQuestionMarks) {
  EXPECT_TRUE(MatchesGlob("", ""));
  EXPECT_TRUE(MatchesGlob("*", ""));
  EXPECT_TRUE(MatchesGlob("conv*", "conv_12"));
  EXPECT_TRUE(MatchesGlob("*/Conv", "layer1/0/Conv"));
  EXPECT_TRUE(MatchesGlob("a*b*c", "aXbbXc"));
  EXPECT_TRUE(MatchesGlob("a?c", "abc"));
  EXPECT_FALSE(MatchesGlob("a?c", "ac"));
  EXPECT_FALSE(MatchesGlob("conv", "conv1"));
  EXPECT_FALSE(MatchesGlob("a*b", "ac"));
  // Many stars must not take exponential time.
  std::string glob;
  for (int i = 0; i < 50; ++i) glob += "*a";
  EXPECT_FALSE(MatchesGlob(glob + "b", std::string(2000, 'a')));
}

}  // namespace
}  // namespace kiln
