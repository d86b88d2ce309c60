// Reads and writes mappings as JSON.

#include "kiln/targets/cgra/graph/mapping_file.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "kiln/support/budgets.h"
#include "kiln/support/excerpt.h"
#include "kiln/support/file.h"
#include "kiln/support/json_reader.h"
#include "kiln/support/json_text.h"

namespace kiln::cgra {
namespace {

constexpr uint64_t kMostInterval = 1 << 12;

class MappingReader {
 public:
  MappingReader(std::string source, const ComputationGraph& graph)
      : source_(source), reader_(std::move(source)), graph_(graph) {
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      index_.emplace(graph.nodes[n].name, static_cast<int>(n));
    }
    mapping_.places.resize(graph.nodes.size());
    mapping_.fused_into.assign(graph.nodes.size(), -1);
    mapping_.provider.assign(graph.edges.size(), -1);
  }

  StatusOr<Mapping> Read(const Json& root) {
    CheckKeys(root, "",
              {"format", "graph", "initiation_interval", "places", "fused", "passes", "providers"});
    const std::string graph = reader_.Text(root, "graph", "");
    if (graph != graph_.name) {
      reader_.Fail("graph", fmt::format("the mapping is one of {}", QuotedExcerpt(graph)),
                   fmt::format("a mapping of {}", QuotedExcerpt(graph_.name)));
    }
    mapping_.initiation_interval =
        static_cast<int>(reader_.Count(root, "initiation_interval", "", kMostInterval));
    if (mapping_.initiation_interval == 0) {
      reader_.Fail("initiation_interval", "0 cycles are too few", "at least 1");
    }
    reader_.List(root, "places", "");
    ForEach(root, "places", &MappingReader::ReadPlace);
    ForEach(root, "fused", &MappingReader::ReadFused);
    ForEach(root, "passes", &MappingReader::ReadPass);
    ForEach(root, "providers", &MappingReader::ReadProvider);
    KILN_RETURN_IF_ERROR(reader_.status());
    return std::move(mapping_);
  }

 private:
  void ForEach(const Json& root, const std::string& key,
               void (MappingReader::*read)(const Json&, const std::string&)) {
    if (!reader_.status().ok() || !root.contains(key)) return;
    const Json::array_t& list = reader_.List(root, key, "");
    for (size_t i = 0; i < list.size() && reader_.status().ok(); ++i) {
      (this->*read)(list[i], fmt::format("{}[{}]", key, i));
    }
  }

  void CheckKeys(const Json& object, const std::string& path,
                 std::initializer_list<std::string_view> known) {
    if (!object.is_object()) {
      reader_.Fail(path, Shown(object) + " is no object", "an object");
      return;
    }
    for (const auto& [key, value] : object.items()) {
      if (std::ranges::find(known, key) == known.end()) {
        reader_.Fail((path.empty() ? "" : path + ".") + Excerpt(key), "is not known",
                     "one of " + ListExcerpt(known, ", "));
      }
    }
  }

  // Returns the index of the node that a key names; 0 and an error if there is none.
  int Node(const Json& object, const std::string& key, const std::string& path) {
    const std::string name = reader_.Text(object, key, path + "." + key);
    if (!reader_.status().ok()) return 0;
    const auto at = index_.find(name);
    if (at != index_.end()) return at->second;
    reader_.Fail(path + "." + key, fmt::format("the graph has no node {}", QuotedExcerpt(name)),
                 "a node of " + QuotedExcerpt(graph_.source));
    return 0;
  }

  Place ReadTileAndIssue(const Json& object, const std::string& path) {
    Place place;
    place.tile = static_cast<int>(reader_.Count(object, "tile", path + ".tile", kMostTile));
    place.issue = static_cast<int>(reader_.Count(object, "issue", path + ".issue", kMostIssue));
    return place;
  }

  void ReadPlace(const Json& object, const std::string& path) {
    CheckKeys(object, path, {"node", "tile", "issue"});
    const auto node = static_cast<size_t>(Node(object, "node", path));
    const Place place = ReadTileAndIssue(object, path);
    if (!reader_.status().ok()) return;
    if (mapping_.places[node].tile >= 0) {
      reader_.Fail(path + ".node", QuotedExcerpt(graph_.nodes[node].name) + " has a place already",
                   "one place for each node");
    }
    mapping_.places[node] = place;
  }

  void ReadFused(const Json& object, const std::string& path) {
    CheckKeys(object, path, {"node", "into"});
    const auto node = static_cast<size_t>(Node(object, "node", path));
    const int into = Node(object, "into", path);
    if (!reader_.status().ok()) return;
    if (mapping_.fused_into[node] >= 0) {
      reader_.Fail(path + ".node",
                   QuotedExcerpt(graph_.nodes[node].name) + " is fused into another already",
                   "one entry for each node");
    }
    mapping_.fused_into[node] = into;
  }

  void ReadPass(const Json& object, const std::string& path) {
    CheckKeys(object, path, {"node", "from", "tile", "issue"});
    PassThrough pass;
    pass.node = Node(object, "node", path);
    pass.place = ReadTileAndIssue(object, path);
    if (!reader_.status().ok()) return;
    const int64_t count = std::ssize(mapping_.passes);
    if (count >= budgets::kComputationNodes) {
      reader_.Fail("passes", "there are too many",
                   fmt::format("at most {}", budgets::kComputationNodes));
      return;
    }
    if (object.contains("from")) {
      pass.from = static_cast<int>(
          reader_.Count(object, "from", path + ".from", budgets::kComputationNodes));
      if (pass.from >= count) {
        reader_.Fail(path + ".from", fmt::format("pass-through {} is not before it", pass.from),
                     "the index of an entry before this one");
      }
    }
    mapping_.passes.push_back(pass);
  }

  void ReadProvider(const Json& object, const std::string& path) {
    CheckKeys(object, path, {"edge", "source", "target", "pass"});
    const auto edge = static_cast<size_t>(
        reader_.Count(object, "edge", path + ".edge", budgets::kComputationEdges));
    const int source = Node(object, "source", path), target = Node(object, "target", path);
    const auto pass = static_cast<int64_t>(
        reader_.Count(object, "pass", path + ".pass", budgets::kComputationNodes));
    if (!reader_.status().ok()) return;
    if (edge >= graph_.edges.size() || graph_.edges[edge].source != source ||
        graph_.edges[edge].target != target) {
      reader_.Fail(path + ".edge",
                   fmt::format("edge {} of the graph does not lead from {} to {}", edge,
                               QuotedExcerpt(graph_.nodes[static_cast<size_t>(source)].name),
                               QuotedExcerpt(graph_.nodes[static_cast<size_t>(target)].name)),
                   "the index of an edge between these nodes");
      return;
    }
    if (pass >= std::ssize(mapping_.passes)) {
      reader_.Fail(path + ".pass", fmt::format("there is no pass-through {}", pass),
                   "the index of an entry of 'passes'");
    }
    if (mapping_.provider[edge] >= 0) {
      reader_.Fail(path + ".edge", fmt::format("edge {} has a provider already", edge),
                   "one provider for each edge");
    }
    mapping_.provider[edge] = static_cast<int>(pass);
  }

  const std::string source_;
  JsonReader reader_;
  const ComputationGraph& graph_;
  std::map<std::string, int, std::less<>> index_;  // by name: the index of the node
  Mapping mapping_;
};

}  // namespace

StatusOr<Mapping> ParseMapping(std::string_view text, std::string_view source,
                               const ComputationGraph& graph) {
  if (std::ssize(text) > budgets::kComputationGraphBytes) {
    return ErrorAt(source, "", fmt::format("{} bytes are too many", text.size()),
                   fmt::format("at most {}", budgets::kComputationGraphBytes));
  }
  KILN_ASSIGN_OR_RETURN(const Json json, ParseJson(text, source));
  if (!json.is_object()) {
    return ErrorAt(source, "", "is no JSON object", "a mapping");
  }
  if (!HasFormat(json, kMappingFormat)) {
    return ErrorAt(source, "key 'format'", "the file is no mapping",
                   fmt::format("\"format\": \"{}\"", kMappingFormat));
  }
  return MappingReader(std::string(source), graph).Read(json);
}

StatusOr<Mapping> ReadMapping(const std::filesystem::path& path, const ComputationGraph& graph) {
  KILN_ASSIGN_OR_RETURN(const std::string text,
                        ReadFile(path, static_cast<uint64_t>(budgets::kComputationGraphBytes)));
  return ParseMapping(text, path.string(), graph);
}

std::string PrintMapping(const Mapping& mapping, const ComputationGraph& graph) {
  using nlohmann::ordered_json;
  const auto line = [](const ordered_json& item) {
    std::string text = JsonText(item, -1);
    text.pop_back();
    return text;
  };
  const auto list = [&](const char* key, const std::vector<ordered_json>& items) {
    std::string text = fmt::format(",\n \"{}\": [", key);
    for (size_t i = 0; i < items.size(); ++i) text += (i > 0 ? ",\n  " : "\n  ") + line(items[i]);
    return text + (items.empty() ? "]" : "\n ]");
  };
  const auto name = [&](int node) { return graph.nodes[static_cast<size_t>(node)].name; };
  std::vector<ordered_json> places, fused, passes, providers;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Place& place = mapping.places[n];
    if (place.tile >= 0) {
      places.push_back(
          {{"node", graph.nodes[n].name}, {"tile", place.tile}, {"issue", place.issue}});
    }
    const int into = mapping.fused_into[n];
    if (into >= 0) fused.push_back({{"node", graph.nodes[n].name}, {"into", name(into)}});
  }
  for (const PassThrough& pass : mapping.passes) {
    ordered_json item = {{"node", name(pass.node)}};
    if (pass.from >= 0) item["from"] = pass.from;
    item["tile"] = pass.place.tile;
    item["issue"] = pass.place.issue;
    passes.push_back(item);
  }
  for (size_t e = 0; e < graph.edges.size(); ++e) {
    if (mapping.provider[e] < 0) continue;
    providers.push_back({{"edge", e},
                         {"source", name(graph.edges[e].source)},
                         {"target", name(graph.edges[e].target)},
                         {"pass", mapping.provider[e]}});
  }
  std::string text =
      fmt::format("{{\n \"format\": \"{}\",\n \"graph\": {},\n \"initiation_interval\": {}",
                  kMappingFormat, line(graph.name), mapping.initiation_interval);
  text += list("places", places);
  if (!fused.empty()) text += list("fused", fused);
  if (!passes.empty()) text += list("passes", passes);
  if (!providers.empty()) text += list("providers", providers);
  return text + "\n}\n";
}

}  // namespace kiln::cgra
