// A recipe resolved for the nodes of one graph.
#ifndef KILN_QUANTISE_LAYER_SETTINGS_H_
#define KILN_QUANTISE_LAYER_SETTINGS_H_

#include <optional>
#include <unordered_map>

#include "kiln/ir/graph.h"
#include "kiln/quantise/recipe.h"
#include "kiln/support/status.h"

namespace kiln {

struct LayerSettings {
  bool keep_float = false;
  std::optional<TensorRecipe> activations, inputs;  // where a layer entry gives some
  TensorRecipe weights;
};

class SettingsOfNodes {
 public:
  // Later entries of recipe.layers win over earlier ones. Error: an entry with a glob or a position that no node
  // matches (an entry with an operator alone may match none: recipes serve many networks).
  static StatusOr<SettingsOfNodes> Resolve(const Graph& graph, const Recipe& recipe);
  const LayerSettings& operator[](const Node* node) const { return settings_.at(node); }

 private:
  std::unordered_map<const Node*, LayerSettings> settings_;
};

}  // namespace kiln

#endif  // KILN_QUANTISE_LAYER_SETTINGS_H_
