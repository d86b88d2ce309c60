// The keys of recipes (recipe.h) as a table, for `kiln list recipe-keys` and docs/recipe-keys.md.
// The reader of recipes (recipe_yaml.cc) does not use the table; a test compares the two.
#ifndef KILN_QUANTISE_RECIPE_KEYS_H_
#define KILN_QUANTISE_RECIPE_KEYS_H_

#include <string>
#include <vector>

namespace kiln {

// A key of recipes as users see it.
struct RecipeKey {
  std::string name;        // the path from the root: "weights.format", "layers[].match"
  std::string type;        // "format", "choice", "integer", ...
  std::string values;      // "1 to 65536"
  std::string by_default;  // the value of an absent key; "none" if an absent key has no effect
  std::string help;
};

// Returns all keys in the order of a printed recipe.
std::vector<RecipeKey> AllRecipeKeys();

// Returns the text of docs/recipe-keys.md: how to write recipes, and a list with one item per key.
std::string RecipeKeysPage();

}  // namespace kiln

#endif  // KILN_QUANTISE_RECIPE_KEYS_H_
