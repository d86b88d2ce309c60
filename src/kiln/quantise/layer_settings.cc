// Matches the `layers` entries of a recipe against the nodes of a graph.
#include "kiln/quantise/layer_settings.h"

#include <absl/strings/ascii.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "kiln/support/excerpt.h"
#include "kiln/support/nearest_name.h"

namespace kiln {
namespace {

// What a node is matched by.
struct Selectable {
  std::string name;                 // in the graph
  std::vector<std::string> names;   // its name, and the names of the file's nodes that it contains
  std::set<std::string> operators;  // ONNX names: its own, and those of the file's nodes
  int64_t position = -1;            // among the nodes that multiply and accumulate; -1: is not one
};

// Returns the name of a node, and the names that passes joined by '+' when they fused nodes.
std::vector<std::string> NamesOf(const Node& node) {
  const std::string& name = node.name();
  std::vector<std::string> names = {name};
  if (name.find('+') == std::string::npos) return names;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('+', begin), name.size());
    if (end > begin) names.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

// Returns one entry per node, in the order of the graph.
std::vector<Selectable> SelectablesOf(const Graph& graph) {
  std::vector<Selectable> nodes;
  int64_t position = 0;
  for (const auto& node : graph.nodes()) {
    Selectable& entry = nodes.emplace_back();
    entry.name = node->name();
    entry.names = NamesOf(*node);
    entry.operators.emplace(node->info().onnx_name);
    for (const std::string& name : entry.names) {
      const auto found = graph.file_operators().find(name);
      if (found != graph.file_operators().end())
        entry.operators.insert(found->second.begin(), found->second.end());
    }
    if (node->info().Has(kMacs)) entry.position = position++;
  }
  return nodes;
}

bool MatchesName(const LayerRecipe& layer, const Selectable& node) {
  return layer.match.empty() ||
         std::any_of(node.names.begin(), node.names.end(),
                     [&](const std::string& name) { return MatchesGlob(layer.match, name); });
}

bool MatchesOperator(const LayerRecipe& layer, const Selectable& node) {
  return !layer.op || node.operators.count(std::string(InfoOf(*layer.op).onnx_name)) > 0;
}

// Returns whether an entry selects a node. `count` is the number of nodes that multiply and
// accumulate.
bool Selects(const LayerRecipe& layer, const Selectable& node, int64_t count) {
  if (!MatchesName(layer, node) || !MatchesOperator(layer, node)) return false;
  if (!layer.position) return true;
  const int64_t index = layer.position->index < 0 ? count - 1 : layer.position->index;
  return node.position >= 0 && node.position == index;
}

// Returns whether `text` contains `part`, in upper or lower case.
bool ContainsInAnyCase(const std::string& text, const std::string& part) {
  const auto lower = [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; };
  const auto found =
      std::search(text.begin(), text.end(), part.begin(), part.end(),
                  [&](unsigned char a, unsigned char b) { return lower(a) == lower(b); });
  return found != text.end();
}

// Returns the words of a name or a glob: letters and digits between other characters.
std::vector<std::string> WordsOf(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// Returns the first name that contains the most letters of the words, or "" if it has none. Words
// of one or two letters are in too many names.
std::string NameWithMostWords(const std::vector<std::string>& names,
                              const std::vector<std::string>& words) {
  constexpr size_t kLeastWord = 3;
  std::string best;
  size_t most = 0;
  for (const std::string& name : names) {
    size_t letters = 0;
    for (const std::string& word : words) {
      if (word.size() >= kLeastWord && ContainsInAnyCase(name, word)) letters += word.size();
    }
    if (letters <= most) continue;
    most = letters;
    best = name;
  }
  return best;
}

// Returns the name that is nearest to a glob which matches none: the one that needs the fewest
// changes, or else the first that contains the glob's longest part without * and ?, or else the one
// with the nearest beginning, or else the one that contains most of the glob's words. Returns "" if
// none is near.
std::string NearestNode(const std::vector<std::string>& names, const std::string& glob) {
  if (std::string nearest = NearestName(glob, names); !nearest.empty()) return nearest;
  std::string longest;
  for (size_t begin = 0; begin <= glob.size();) {
    const size_t end = std::min(glob.find_first_of("*?", begin), glob.size());
    if (end - begin > longest.size()) longest = glob.substr(begin, end - begin);
    begin = end + 1;
  }
  constexpr size_t kLeastPart = 3;  // a shorter part is in too many names
  if (longest.size() >= kLeastPart) {
    const auto found = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
      return ContainsInAnyCase(name, longest);
    });
    if (found != names.end()) return *found;
  }
  const std::string stem = glob.substr(0, glob.find_first_of("*?"));
  std::vector<std::string> beginnings;
  for (const std::string& name : names) beginnings.push_back(name.substr(0, stem.size()));
  const std::string nearest =
      stem.size() == glob.size() ? std::string() : NearestName(stem, beginnings);
  if (nearest.empty()) return NameWithMostWords(names, WordsOf(glob));
  const auto found = std::find(beginnings.begin(), beginnings.end(), nearest);
  return names[static_cast<size_t>(found - beginnings.begin())];
}

// Returns what would be right instead of an entry that selects no node. The conditions are taken in
// the order name, operator, position; the answer is about the first one that leaves no node.
std::string RemedyFor(const std::vector<Selectable>& nodes, const LayerRecipe& layer,
                      int64_t count) {
  std::vector<const Selectable*> named, left;
  for (const Selectable& node : nodes) {
    if (!MatchesName(layer, node)) continue;
    named.push_back(&node);
    if (MatchesOperator(layer, node)) left.push_back(&node);
  }
  if (named.empty()) {
    std::vector<std::string> names;
    for (const Selectable& node : nodes)
      names.insert(names.end(), node.names.begin(), node.names.end());
    const std::string nearest = NearestNode(names, layer.match);
    const std::string all = "`kiln inspect --shapes` lists all nodes";
    if (!nearest.empty()) return fmt::format("the nearest is {}; {}", QuotedExcerpt(nearest), all);
    // Fused nodes are listed by the names of the file, which several nodes can share.
    std::set<std::string> listed;
    std::erase_if(names, [&](const std::string& name) {
      return name.find('+') != std::string::npos || !listed.insert(name).second;
    });
    constexpr size_t kListedNames = 3;
    return fmt::format("it has {}; {}", ListExcerpt(names, ", ", kListedNames), all);
  }
  if (left.empty() && !layer.match.empty()) {
    return fmt::format("node {} has the operator {}", QuotedExcerpt(named[0]->name),
                       fmt::join(named[0]->operators, " or "));
  }
  if (left.empty() || !layer.position) {
    constexpr size_t kListedOperators = 16;
    std::set<std::string> operators;
    for (const Selectable& node : nodes)
      operators.insert(node.operators.begin(), node.operators.end());
    return fmt::format("it has {}; or `optional: true`, which allows an entry to match nothing",
                       ListExcerpt(operators, ", ", kListedOperators));
  }
  const int64_t wanted = layer.position->index < 0 ? count - 1 : layer.position->index;
  if (wanted < 0 || wanted >= count)
    return fmt::format("the network has {} nodes that multiply and accumulate", count);
  if (!layer.match.empty() && left.size() == 1) {
    const Selectable& only = *left[0];
    return only.position < 0
               ? fmt::format("node {} does not multiply and accumulate", QuotedExcerpt(only.name))
               : fmt::format("node {} has position {}", QuotedExcerpt(only.name), only.position);
  }
  const auto at = std::find_if(nodes.begin(), nodes.end(),
                               [&](const Selectable& node) { return node.position == wanted; });
  if (MatchesOperator(layer, *at))
    return fmt::format("the node at this position is {}", QuotedExcerpt(at->name));
  return fmt::format("node {} at this position has the operator {}", QuotedExcerpt(at->name),
                     fmt::join(at->operators, " or "));
}

}  // namespace

StatusOr<SettingsOfNodes> SettingsOfNodes::Resolve(const Graph& graph, const Recipe& recipe) {
  const std::vector<Selectable> nodes = SelectablesOf(graph);
  const int64_t count = std::count_if(nodes.begin(), nodes.end(),
                                      [](const Selectable& node) { return node.position >= 0; });
  SettingsOfNodes resolved;
  std::vector<bool> used(recipe.layers.size(), false);
  size_t index = 0;
  for (const auto& node : graph.nodes()) {
    const Selectable& selectable = nodes[index++];
    LayerSettings& settings = resolved.settings_[node.get()];
    settings.weights = recipe.weights;
    for (size_t i = 0; i < recipe.layers.size(); ++i) {
      const LayerRecipe& layer = recipe.layers[i];
      if (!Selects(layer, selectable, count)) continue;
      used[i] = true;
      settings.keep_float = layer.keep_float;
      if (layer.activations) settings.activations = layer.activations;
      if (layer.inputs) settings.inputs = layer.inputs;
      if (layer.weights) settings.weights = *layer.weights;
    }
  }
  for (size_t i = 0; i < used.size(); ++i) {
    const LayerRecipe& layer = recipe.layers[i];
    if (used[i] || layer.optional) continue;
    return ErrorAt(
        recipe.source, fmt::format("line {}, {}", layer.line, layer.Describe(static_cast<int>(i))),
        fmt::format("matches no node of {}",
                    QuotedExcerpt(graph.source().empty() ? graph.name() : graph.source())),
        RemedyFor(nodes, layer, count));
  }
  return resolved;
}

std::vector<std::string> MatchesByPosition(const Graph& graph) {
  const std::vector<Selectable> nodes = SelectablesOf(graph);
  std::vector<std::string> matches;
  for (const Selectable& node : nodes) {
    if (node.position < 0) continue;
    LayerRecipe layer;
    layer.match = node.name;
    const auto count = std::count_if(nodes.begin(), nodes.end(), [&](const Selectable& other) {
      return other.position >= 0 && MatchesName(layer, other);
    });
    matches.push_back(count == 1 ? node.name : "");
  }
  return matches;
}

}  // namespace kiln
