// Tests of recipes: the ready-made files, all keys, names of types, errors, and globs.
#include "kiln/quantise/recipe.h"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kiln/quantise/recipe_names.h"

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

TEST(Recipe, ATypeSetsAllThatKeysCanRefine) {
  const auto recipe = ParseRecipe(
      "activations: {type: mxint8}\n"
      "weights: {type: mxfp4, block_size: 16, scale_format: ue5m3}\n"
      "biases: bf16\n"
      "equalise_weights: true\n"
      "correct_biases: true\n"
      "layers:\n"
      "  - {match: a, activations: {type: bf16}, inputs: {format: e4m3}, weights: {format: int4, "
      "scheme: "
      "per_channel}}\n"
      "  - {match: b, activations: {scheme: per_tensor, format: int6, symmetric: false}}\n",
      "r.yaml");
  ASSERT_TRUE(recipe.ok()) << recipe.status();
  EXPECT_EQ(recipe->activations.type, *FindQuantType("mxint8"));
  EXPECT_TRUE(recipe->activations.type.symmetric);
  EXPECT_EQ(recipe->weights.type.format.name, "e2m1");
  EXPECT_EQ(recipe->weights.type.block_size, 16);
  EXPECT_EQ(recipe->weights.type.scale_format.name, "ue5m3");
  EXPECT_EQ(recipe->biases->name, "bf16");
  EXPECT_TRUE(recipe->equalise_weights && recipe->correct_biases);
  EXPECT_EQ(recipe->layers[0].activations->type, *FindQuantType("bf16"));
  EXPECT_EQ(recipe->layers[0].inputs->type.format.name, "e4m3");
  EXPECT_EQ(recipe->layers[0].inputs->type.scheme, Scheme::kPerBlock);
  EXPECT_EQ(recipe->layers[0].weights->type.scheme, Scheme::kPerChannel);
  EXPECT_EQ(recipe->layers[0].weights->type.block_size, 0);
  EXPECT_FALSE(recipe->layers[1].activations->type.symmetric);
}

// The schemes are those of docs/recipe-keys.md: a scale per output channel for weights, one per
// tensor for activations, none for formats with enough range of their own.
TEST(Recipe, ATypeHasTheSchemeOfItsKindOfTensor) {
  struct Case {
    std::string_view type;
    Scheme activations, weights;
  };
  for (const Case& c :
       {Case{"int4", Scheme::kPerTensor, Scheme::kPerChannel},
        Case{"int8", Scheme::kPerTensor, Scheme::kPerChannel},
        Case{"int16", Scheme::kPerTensor, Scheme::kPerChannel},
        Case{"e4m3", Scheme::kPerTensor, Scheme::kPerChannel},
        Case{"nf4", Scheme::kPerTensor, Scheme::kPerChannel},
        Case{"bf16", Scheme::kNone, Scheme::kNone}, Case{"fp32", Scheme::kNone, Scheme::kNone},
        Case{"mxfp4", Scheme::kPerBlock, Scheme::kPerBlock}}) {
    const auto recipe = ParseRecipe(
        fmt::format("activations: {{type: {0}}}\nweights: {{type: {0}}}\nlayers:\n  - {{match: a, "
                    "activations: {{type: {0}}}, inputs: {{type: {0}}}, weights: {{type: {0}}}}}\n",
                    c.type),
        "r.yaml");
    ASSERT_TRUE(recipe.ok()) << recipe.status();
    EXPECT_EQ(recipe->activations.type.scheme, c.activations) << c.type;
    EXPECT_EQ(recipe->weights.type.scheme, c.weights) << c.type;
    EXPECT_EQ(recipe->layers[0].activations->type.scheme, c.activations) << c.type;
    EXPECT_EQ(recipe->layers[0].inputs->type.scheme, c.activations) << c.type;
    EXPECT_EQ(recipe->layers[0].weights->type.scheme, c.weights) << c.type;
  }
  const auto other = ParseRecipe("weights: {type: int4, scheme: per_tensor}\n", "r.yaml");
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(other->weights.type.scheme, Scheme::kPerTensor) << "the key beside it wins";
}

// Asymmetric settings below end where the format takes no zero point.
TEST(Recipe, AFormatWithoutZeroPointsIsSymmetric) {
  EXPECT_TRUE(
      ParseRecipe("activations: {format: posit8_1}\n", "r.yaml")->activations.type.symmetric);
}

TEST(Recipe, NamesGiveTheRecipesOfTheFiles) {
  for (std::string_view name :
       {"int8", "int6", "int4", "mxint8", "mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e3m2", "mxfp6_e2m3",
        "mxfp4", "e4m3", "e5m2", "posit8_1", "posit6_1", "nf4", "binary"}) {
    const auto named = RecipeByName(name);
    ASSERT_TRUE(named.ok()) << named.status();
    const auto file = LoadRecipe(fmt::format("recipes/{}.yaml", name));
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(PrintRecipe(*named), PrintRecipe(*file)) << name;
  }
}

TEST(Recipe, NamesOfTypes) {
  EXPECT_EQ(RecipeByName("int16")->weights.type.scheme, Scheme::kPerChannel);
  EXPECT_FALSE(RecipeByName("int16")->activations.type.symmetric);
  EXPECT_EQ(RecipeByName("bf16")->activations.type, *FindQuantType("bf16"));
  EXPECT_EQ(RecipeByName("int8/int4")->weights.type.format.name, "int4");
  EXPECT_EQ(RecipeByName("ternary")->activations.type.format.name, "int8");
  EXPECT_EQ(RecipeByName("mxint8/nf4")->activations.type, *FindQuantType("mxint8"));
  EXPECT_FALSE(RecipeByName("int8/binary")->activations.type.symmetric);
  for (const char* name : {"int1", "int8/int1"}) {
    EXPECT_EQ(
        MessageOf(RecipeByName(name).status()),
        "'int1' has no code above 0; binary for weights of one bit, or an integer of two bits "
        "or more");
  }
  for (const char* yaml : {"weights: {type: int1}", "activations: {format: int1}"}) {
    EXPECT_THAT(MessageOf(ParseRecipe(yaml, "r.yaml").status()),
                testing::HasSubstr("'int1' has no code above 0"));
  }
  EXPECT_TRUE(RecipeByName("int8/nf4")->activations.type.symmetric)
      << "no exact correction for a zero point";
  EXPECT_FALSE(RecipeByName("int99").ok());
  EXPECT_FALSE(RecipeByName("int8/").ok());
}

TEST(Recipe, PrintedRecipesReadBack) {
  for (const auto& entry : std::filesystem::directory_iterator("recipes")) {
    const auto recipe = LoadRecipe(entry.path());
    ASSERT_TRUE(recipe.ok()) << recipe.status();
    const auto again = ParseRecipe(PrintRecipe(*recipe, "again"), "again.yaml");
    ASSERT_TRUE(again.ok()) << again.status() << PrintRecipe(*recipe);
    EXPECT_EQ(PrintRecipe(*again), PrintRecipe(*recipe));
  }
  const auto layered = ParseRecipe(
      "activations: {type: mxint8}\nlayers:\n"
      "  - {match: \"a\\\"b\", operator: Conv, position: last, optional: true, keep: float}\n"
      "  - {position: 2, inputs: {type: bf16}, weights: {format: int4, scheme: per_tensor, "
      "calibration: percentile, "
      "percentile: 99}}\n",
      "r.yaml");
  ASSERT_TRUE(layered.ok()) << layered.status();
  const auto again = ParseRecipe(PrintRecipe(*layered), "again.yaml");
  ASSERT_TRUE(again.ok()) << again.status() << PrintRecipe(*layered);
  EXPECT_EQ(again->layers.size(), 2u);
  EXPECT_EQ(again->layers[0].match, "a\"b");
  EXPECT_EQ(*again->layers[1].weights, *layered->layers[1].weights);
  EXPECT_EQ(PrintRecipe(*again), PrintRecipe(*layered));
}

TEST(Recipe, ReadsEveryKey) {
  const auto recipe = ParseRecipe(
      "activations: {format: uint8, scheme: per_tensor, symmetric: false, calibration: percentile, "
      "percentile: 99.9}\n"
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
      "    optional: true\n"
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
  EXPECT_FALSE(recipe->layers[1].optional);
  EXPECT_TRUE(recipe->layers[2].optional);
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
        ErrorCase{"weights: {format: int99}\n",
                  "r.yaml: line 1, key 'weights.format': unknown format 'int99'; a name that 'kiln "
                  "list formats' prints"},
        ErrorCase{"weights: {format: mxint8}\n",
                  "r.yaml: line 1, key 'weights.format': 'mxint8' is a type with blocks, not a "
                  "number format; type: mxint8"},
        ErrorCase{
            "weights: {scheme: per_block}\n",
            "r.yaml: line 1, key 'weights.scheme': blocks without a size; block_size: 32, say"},
        ErrorCase{"weights: {block_size: 32}\n",
                  "r.yaml: line 1, key 'weights.block_size': has no meaning with scheme "
                  "'per_channel'; leave it out, or "
                  "write scheme: per_block"},
        ErrorCase{"activations: {scheme: none, scale_format: fp32}\n",
                  "r.yaml: line 1, key 'activations.scale_format': has no meaning with scheme "
                  "'none'; leave it out, or "
                  "choose another scheme"},
        ErrorCase{"activations: {scale_format: int8}\n",
                  "r.yaml: line 1, key 'activations.scale_format': scales cannot be int8; fp32, "
                  "power_of_two, or a float "
                  "format"},
        ErrorCase{"activations: {type: mxint8, calibration: mse}\n",
                  "r.yaml: line 1, key 'activations.calibration': there is nothing to choose under "
                  "scheme 'per_block'; "
                  "leave it out"},
        ErrorCase{"activations: {format: e4m3, symmetric: false}\n",
                  "r.yaml: line 1, key 'activations.symmetric': e4m3 takes no zero point; "
                  "symmetric: true, or a whole "
                  "integer format such as int8"},
        ErrorCase{"activations: {type: mxint8, symmetric: false}\n",
                  "r.yaml: line 1, key 'activations.symmetric': fixed8_6 takes no zero point; "
                  "symmetric: true, or a whole "
                  "integer format such as int8"},
        ErrorCase{"activations: {format: int8, scheme: none, symmetric: false}\n",
                  "r.yaml: line 1, key 'activations.symmetric': scheme 'none' takes no zero point; "
                  "symmetric: true"},
        ErrorCase{"weights: {calibration: percentile_per_channel}\n",
                  "r.yaml: line 1, key 'weights.calibration': percentile_per_channel is for "
                  "activations; scheme: "
                  "per_channel, calibration: percentile"},
        ErrorCase{"activations: {scheme: per_channel}\n",
                  "r.yaml: line 1, key 'activations.scheme': unknown value 'per_channel'; one of: "
                  "none, per_tensor, "
                  "per_block"},
        ErrorCase{"activations:\n  calibration: best\n",
                  "r.yaml: line 2, key 'activations.calibration': unknown calibration 'best'; one "
                  "of: min_max, "
                  "percentile, percentile_per_channel, mse, entropy"},
        ErrorCase{"activations: {calibration: percentile, percentile: 0.9}\n",
                  "r.yaml: line 1, key 'activations.percentile': 0.9 is out of range; a number "
                  "from 50 to 100"},
        ErrorCase{"activations: {calibration: mse, percentile: 99}\n",
                  "r.yaml: line 1, key 'activations.percentile': has no meaning with calibration "
                  "'mse'; leave it out, or "
                  "write calibration: percentile"},
        ErrorCase{"weights:\n  symmetric: false\n",
                  "r.yaml: line 2, key 'weights.symmetric': weights with a zero point are not "
                  "supported; symmetric: "
                  "true"},
        ErrorCase{"outputs: int8\n",
                  "r.yaml: line 1, key 'outputs': unknown value 'int8'; one of: fp32, quantised"},
        ErrorCase{"calibration: {images: 0}\n",
                  "r.yaml: line 1, key 'calibration.images': 0 is out of range; a whole number "
                  "from 1 to 1000000"},
        ErrorCase{
            "layers:\n  - keep: float\n",
            "r.yaml: line 2, key 'layers[0]': names no nodes; give match, operator or position"},
        ErrorCase{"layers:\n  - match: a\n",
                  "r.yaml: line 2, key 'layers[0]': changes nothing; give keep, activations, "
                  "inputs or weights"},
        ErrorCase{"layers:\n  - {match: a, weight: {format: int4}}\n",
                  "r.yaml: line 2, key 'layers[0].weight': unknown key; did you mean 'weights'?"},
        ErrorCase{"layers:\n  - {mach: a, keep: float}\n",
                  "r.yaml: line 2, key 'layers[0].mach': unknown key; did you mean 'match'?"},
        ErrorCase{"layers:\n  - {match: a, weights: {typ: int4}}\n",
                  "r.yaml: line 2, key 'layers[0].weights.typ': unknown key; did you mean 'type'?"},
        ErrorCase{"layers:\n  - {match: a, keep: float, weights: {format: int4}}\n",
                  "r.yaml: line 2, key 'layers[0].keep': a layer that stays float has no other "
                  "settings; leave out "
                  "activations, inputs and weights"},
        ErrorCase{"layers:\n  - {operator: Convolution, keep: float}\n",
                  "r.yaml: line 2, key 'layers[0].operator': unknown operator 'Convolution'; an "
                  "ONNX operator name, such "
                  "as Conv or MatMul"},
        ErrorCase{"layers:\n  - {operator: Matmul, keep: float}\n",
                  "r.yaml: line 2, key 'layers[0].operator': unknown operator 'Matmul'; the "
                  "nearest is MatMul"},
        ErrorCase{"layers:\n  - {match: a, optional: perhaps, keep: float}\n",
                  "r.yaml: line 2, key 'layers[0].optional': 'perhaps' is not a boolean; true or "
                  "false"},
        ErrorCase{"layers:\n  - {position: -1, keep: float}\n",
                  "r.yaml: line 2, key 'layers[0].position': unknown position '-1'; first, last, "
                  "or a number from 0"}));

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
