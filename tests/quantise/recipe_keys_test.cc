// The table of recipe keys has the reader's keys, and docs/recipe-keys.md is made from it.
#include "kiln/quantise/recipe_keys.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>

#include "kiln/quantise/recipe.h"
#include "kiln/support/file.h"

namespace kiln {
namespace {

// Returns the keys that the reader knows in the map at `path`: those that it lists in the error
// about an unknown key. `begin` and `end` are the YAML around the key.
std::set<std::string> KnownTo(const std::string& path, const std::string& begin,
                              const std::string& end) {
  const auto recipe = ParseRecipe(begin + "something_of_nobody: 1" + end, "r.yaml");
  const std::string error = recipe.ok() ? "no error" : MessageOf(recipe.status());
  const std::string before = "unknown key; one of: ";
  const size_t at = error.find(before);
  EXPECT_NE(at, std::string::npos) << error;
  std::set<std::string> known;
  if (at == std::string::npos) return known;
  std::istringstream names(error.substr(at + before.size()));
  for (std::string name; std::getline(names, name, ',');) {
    name.erase(0, name.find_first_not_of(' '));
    known.insert(path + name);
  }
  return known;
}

TEST(RecipeKeys, AreThoseOfTheReader) {
  std::set<std::string> known;
  for (const auto& [path, begin, end] :
       {std::tuple("", "", "\n"),
        {"activations.", "activations: {", "}\n"},
        {"weights.", "weights: {", "}\n"},
        {"calibration.", "calibration: {", "}\n"},
        {"layers[].", "layers:\n  - {match: a, keep: float, ", "}\n"}}) {
    known.merge(KnownTo(path, begin, end));
  }
  // The names of maps are part of the names of their keys.
  for (const char* map : {"activations", "weights", "calibration"}) {
    EXPECT_EQ(known.erase(map), 1u) << map;
  }
  std::set<std::string> described;
  for (const RecipeKey& key : AllRecipeKeys()) {
    EXPECT_TRUE(described.insert(key.name).second) << key.name << " twice";
    EXPECT_NE(key.help, "") << key.name;
  }
  EXPECT_EQ(described, known);
}

// The settings of a layer have the keys of `activations` and `weights`, as the table says.
TEST(RecipeKeys, OfLayersAreThoseOfTheRecipe) {
  const std::set<std::string> activations = KnownTo("", "activations: {", "}\n");
  const std::set<std::string> weights = KnownTo("", "weights: {", "}\n");
  for (const char* key : {"activations", "inputs", "weights"}) {
    const std::string begin = fmt::format("layers:\n  - {{match: a, {}: {{", key);
    EXPECT_EQ(KnownTo("", begin, "}}\n"), key == std::string("weights") ? weights : activations)
        << key;
  }
}

// A recipe with a key at its default is the recipe without the key.
TEST(RecipeKeys, HaveTheDefaultsOfTheReader) {
  const std::string plain = PrintRecipe(*ParseRecipe("{}\n", "r.yaml"));
  int compared = 0;
  for (const RecipeKey& key : AllRecipeKeys()) {
    if (key.by_default == "none" || key.name.starts_with("layers[]")) continue;
    const std::string value = key.by_default.substr(0, key.by_default.find(';'));
    const size_t dot = key.name.find('.');
    std::string text = key.name + ": " + value;
    std::string base = "{}\n";
    if (dot != std::string::npos) {
      const std::string map = key.name.substr(0, dot), own = key.name.substr(dot + 1);
      const std::string calibration = own == "percentile" ? "calibration: percentile, " : "";
      text = fmt::format("{}: {{{}{}: {}}}\n", map, calibration, own, value);
      if (!calibration.empty()) base = map + ": {calibration: percentile}\n";
    }
    const auto recipe = ParseRecipe(text, "r.yaml");
    ASSERT_TRUE(recipe.ok()) << recipe.status();
    EXPECT_EQ(PrintRecipe(*recipe), PrintRecipe(*ParseRecipe(base, "r.yaml"))) << key.name;
    ++compared;
  }
  EXPECT_EQ(compared, 18) << "6 of activations, 6 of weights, 6 others";
  EXPECT_THAT(plain, testing::HasSubstr("mse"));
}

TEST(RecipeKeys, ThePageIsGenerated) {
  EXPECT_EQ(ReadFile("docs/recipe-keys.md").value_or(""), RecipeKeysPage())
      << "write it again: kiln list recipe-keys --markdown > docs/recipe-keys.md";
}

}  // namespace
}  // namespace kiln
