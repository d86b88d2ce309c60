// Matches the `layers` entries of a recipe against the nodes of a graph.
#include "kiln/quantise/layer_settings.h"

#include <vector>

#include <fmt/format.h>

namespace kiln {
namespace {

// Returns whether an entry matches a node. `position` is the node's index among the `count`
// multiply-accumulate nodes, or -1 if it is another node.
bool Matches(const LayerRecipe& layer, const Node& node, int64_t position, int64_t count) {
  if (!layer.match.empty() && !MatchesGlob(layer.match, node.name())) return false;
  if (layer.op && *layer.op != node.op()) return false;
  if (!layer.position) return true;
  if (position < 0) return false;
  return position == (layer.position->index < 0 ? count - 1 : layer.position->index);
}

}  // namespace

StatusOr<SettingsOfNodes> SettingsOfNodes::Resolve(const Graph& graph, const Recipe& recipe) {
  int64_t count = 0;
  for (const auto& node : graph.nodes()) count += node->info().Has(kMacs);
  SettingsOfNodes resolved;
  std::vector<bool> used(recipe.layers.size(), false);
  int64_t position = 0;
  for (const auto& node : graph.nodes()) {
    LayerSettings& settings = resolved.settings_[node.get()];
    settings.weights = recipe.weights;
    const int64_t own_position = node->info().Has(kMacs) ? position++ : -1;
    for (size_t i = 0; i < recipe.layers.size(); ++i) {
      const LayerRecipe& layer = recipe.layers[i];
      if (!Matches(layer, *node, own_position, count)) continue;
      used[i] = true;
      settings.keep_float = layer.keep_float;
      if (layer.activations) settings.activations = layer.activations;
      if (layer.inputs) settings.inputs = layer.inputs;
      if (layer.weights) settings.weights = *layer.weights;
    }
  }
  for (size_t i = 0; i < used.size(); ++i) {
    const LayerRecipe& layer = recipe.layers[i];
    if (used[i] || (layer.match.empty() && !layer.position)) continue;
    return ErrorAt(
        recipe.source, fmt::format("line {}, {}", layer.line, layer.Describe(static_cast<int>(i))),
        fmt::format("matches no node of '{}'", graph.name()),
        fmt::format("`kiln inspect --shapes` lists the nodes; {} of them multiply and accumulate",
                    count));
  }
  return resolved;
}

}  // namespace kiln
