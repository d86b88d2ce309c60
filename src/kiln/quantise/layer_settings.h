// A recipe resolved for the nodes of one graph: which settings each node obeys after all entries of
// `layers` are applied.
#ifndef KILN_QUANTISE_LAYER_SETTINGS_H_
#define KILN_QUANTISE_LAYER_SETTINGS_H_

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/quantise/recipe.h"
#include "kiln/support/status.h"

namespace kiln {

// The settings of one node.
struct LayerSettings {
  bool keep_float = false;
  std::optional<TensorRecipe> activations, inputs;  // set if a `layers` entry gives them
  TensorRecipe weights;
};

// The settings of all nodes of a graph.
class SettingsOfNodes {
 public:
  // Applies the entries of recipe.layers in order, so that later entries win. A node that passes
  // made from nodes of the ONNX file is matched by their names and operators as well: a node
  // "conv+bn" by "conv" and by BatchNormalization, and the MatMul of a Gemm by Gemm.
  //   errors  an entry without `optional: true` that no node matches; the message has the nearest
  //           name, or the operators of the network
  static StatusOr<SettingsOfNodes> Resolve(const Graph& graph, const Recipe& recipe);
  // Returns the settings of a node of the graph.
  const LayerSettings& operator[](const Node* node) const { return settings_.at(node); }

 private:
  std::unordered_map<const Node*, LayerSettings> settings_;
};

// Returns, for each node that multiplies and accumulates, in the order of positions, the `match` of
// a `layers` entry that selects no other of these nodes: its name. Empty for a node whose name also
// selects another one.
std::vector<std::string> MatchesByPosition(const Graph& graph);

}  // namespace kiln

#endif  // KILN_QUANTISE_LAYER_SETTINGS_H_
