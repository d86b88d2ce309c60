// Reads and writes computation graphs as JSON.

#include "kiln/targets/cgra/graph/graph_file.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <map>
#include <utility>

#include "fmt/format.h"
#include "kiln/support/budgets.h"
#include "kiln/support/excerpt.h"
#include "kiln/support/file.h"
#include "kiln/support/json_reader.h"
#include "kiln/support/json_text.h"
#include "kiln/targets/cgra/graph/dot_file.h"
#include "kiln/targets/cgra/graph/file_graph.h"

namespace kiln::cgra {
namespace {

constexpr std::string_view kKinds[] = {"data", "pred", "order"};  // in the order of EdgeKind
constexpr uint64_t kMostOperand = 63;

class GraphReader {
 public:
  explicit GraphReader(std::string source) : source_(source), reader_(std::move(source)) {}

  StatusOr<ComputationGraph> Read(const Json& root) {
    CheckKeys(root, "", {"format", "name", "description", "source", "nodes", "edges"});
    FileGraph file;
    file.source = source_;
    file.name = reader_.Text(root, "name", "");
    const Json::array_t& nodes = reader_.List(root, "nodes", "");
    const Json::array_t& edges = reader_.List(root, "edges", "");
    KILN_RETURN_IF_ERROR(reader_.status());
    KILN_RETURN_IF_ERROR(CheckGraphBudgets(source_, std::ssize(nodes), std::ssize(edges)));
    for (size_t i = 0; i < nodes.size() && reader_.status().ok(); ++i) {
      file.nodes.push_back(ReadNode(nodes[i], fmt::format("nodes[{}]", i)));
      if (!index_.emplace(file.nodes.back().id, static_cast<int>(i)).second) {
        reader_.Fail(fmt::format("nodes[{}].id", i),
                     fmt::format("another node has the id {}", file.nodes.back().id),
                     "an id of its own for each node");
      }
    }
    for (size_t i = 0; i < edges.size() && reader_.status().ok(); ++i) {
      file.edges.push_back(ReadEdge(edges[i], fmt::format("edges[{}]", i)));
    }
    KILN_RETURN_IF_ERROR(reader_.status());
    return FinishGraph(std::move(file));
  }

 private:
  void CheckKeys(const Json& object, const std::string& path,
                 std::initializer_list<std::string_view> known) {
    if (!object.is_object()) {
      reader_.Fail(path, Shown(object) + " is no object", "an object with the keys of a graph");
      return;
    }
    for (const auto& [key, value] : object.items()) {
      if (std::ranges::find(known, key) == known.end()) {
        reader_.Fail((path.empty() ? "" : path + ".") + Excerpt(key), "is not known",
                     "one of " + ListExcerpt(known, ", "));
      }
    }
  }

  // Returns the bits of a constant. A number with a point or an exponent is a binary32 value.
  std::optional<int32_t> Bits(const Json& object, const std::string& key, const std::string& path) {
    const auto at = object.find(key);
    if (at == object.end()) return std::nullopt;
    if (const std::optional<int32_t> bits = LaneBits(*at)) return bits;
    reader_.Fail(path, Shown(*at) + " is no value of 32 bits",
                 "an integer from -2147483648 to 4294967295, or a binary32 number");
    return std::nullopt;
  }

  FileNode ReadNode(const Json& object, const std::string& path) {
    CheckKeys(object, path, {"id", "op", "const", "label", "name"});
    FileNode node;
    if (!object.is_object()) return node;
    node.id = static_cast<int64_t>(
        reader_.Count(object, "id", path + ".id", std::numeric_limits<int32_t>::max()));
    node.op = reader_.Text(object, "op", path + ".op");
    node.literal = Bits(object, "const", path + ".const");
    if (object.contains("label")) node.label = reader_.Text(object, "label", path + ".label");
    if (object.contains("name")) {
      node.own = true;
      node.name = reader_.Text(object, "name", path + ".name");
      if (node.name.empty()) reader_.Fail(path + ".name", "is empty", "a name, or no key 'name'");
    }
    return node;
  }

  int End(const Json& object, const std::string& key, const std::string& path) {
    const auto id = static_cast<int64_t>(
        reader_.Count(object, key, path + "." + key, std::numeric_limits<int32_t>::max()));
    const auto at = index_.find(id);
    if (at != index_.end()) return at->second;
    reader_.Fail(path + "." + key, fmt::format("no node has the id {}", id),
                 "the 'id' of an entry of 'nodes'");
    return 0;
  }

  FileEdge ReadEdge(const Json& object, const std::string& path) {
    CheckKeys(object, path, {"src", "dst", "operand", "kind", "dist", "init"});
    FileEdge edge;
    if (!object.is_object()) return edge;
    edge.edge.source = End(object, "src", path);
    edge.edge.target = End(object, "dst", path);
    if (object.contains("kind")) {
      const std::string kind = reader_.Text(object, "kind", path + ".kind");
      const auto* at = std::ranges::find(kKinds, kind);
      if (at == std::end(kKinds)) {
        reader_.Fail(path + ".kind", QuotedExcerpt(kind) + " is no kind of edge",
                     "data, pred or order");
      } else {
        edge.edge.kind = static_cast<EdgeKind>(at - std::begin(kKinds));
      }
    }
    if (object.contains("operand")) {
      edge.operand =
          static_cast<int>(reader_.Count(object, "operand", path + ".operand", kMostOperand));
      if (edge.edge.kind != EdgeKind::kData) {
        reader_.Fail(path + ".operand", "the edge is no operand", "only edges of kind data");
      }
    }
    if (object.contains("dist")) {
      edge.edge.distance =
          static_cast<int>(reader_.Count(object, "dist", path + ".dist", kMostDistance));
    }
    edge.edge.initial = Bits(object, "init", path + ".init").value_or(0);
    if (object.contains("init") && edge.edge.distance == 0) {
      reader_.Fail(path + ".init", "the edge has no earlier thread", "only edges with a 'dist'");
    }
    return edge;
  }

  const std::string source_;
  JsonReader reader_;
  std::map<int64_t, int> index_;  // by id: the index of the node
};

}  // namespace

StatusOr<ComputationGraph> ParseGraphJson(std::string_view text, std::string_view source) {
  if (std::ssize(text) > budgets::kComputationGraphBytes) {
    return ErrorAt(source, "", fmt::format("{} bytes are too many", text.size()),
                   fmt::format("at most {}", budgets::kComputationGraphBytes));
  }
  KILN_ASSIGN_OR_RETURN(const Json json, ParseJson(text, source));
  if (!json.is_object()) {
    return ErrorAt(source, "", "is no JSON object", "a graph as docs/cgra-graphs.md describes");
  }
  if (!HasFormat(json, kGraphFormat)) {
    return ErrorAt(source, "key 'format'", "the file is no graph",
                   fmt::format("\"format\": \"{}\"", kGraphFormat));
  }
  return GraphReader(std::string(source)).Read(json);
}

std::string PrintGraphJson(const ComputationGraph& graph) {
  using nlohmann::ordered_json;
  // One line for each node and edge.
  const auto line = [](const ordered_json& item) {
    std::string text = JsonText(item, -1);
    text.pop_back();
    return text;
  };
  std::string text = fmt::format("{{\n \"format\": \"{}\",\n \"name\": {},\n \"nodes\": [",
                                 kGraphFormat, line(graph.name));
  const auto add = [&](bool first, const ordered_json& item) {
    text += (first ? "\n  " : ",\n  ") + line(item);
  };
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const GraphNode& node = graph.nodes[n];
    ordered_json item = {{"id", n}, {"name", node.name}, {"op", RowOf(node.op).name}};
    if (node.literal) item["const"] = *node.literal;
    if (!node.label.empty()) item["label"] = node.label;
    add(n == 0, item);
  }
  text += "\n ],\n \"edges\": [";
  for (size_t e = 0; e < graph.edges.size(); ++e) {
    const GraphEdge& edge = graph.edges[e];
    ordered_json item = {{"src", edge.source}, {"dst", edge.target}};
    if (edge.kind == EdgeKind::kData) item["operand"] = edge.operand;
    item["kind"] = kKinds[static_cast<size_t>(edge.kind)];
    item["dist"] = edge.distance;
    if (edge.distance > 0 && edge.initial != 0) item["init"] = edge.initial;
    add(e == 0, item);
  }
  return text + "\n ]\n}\n";
}

std::optional<int32_t> LaneBits(const Json& value) {
  if (value.is_number_float()) {
    const auto real = static_cast<float>(value.get<double>());
    if (std::isfinite(real)) return std::bit_cast<int32_t>(real);
  } else if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    if (number <= std::numeric_limits<uint32_t>::max()) {
      return static_cast<int32_t>(static_cast<uint32_t>(number));
    }
  } else if (value.is_number_integer()) {
    const auto number = value.get<int64_t>();
    if (number >= std::numeric_limits<int32_t>::min()) return static_cast<int32_t>(number);
  }
  return std::nullopt;
}

StatusOr<ComputationGraph> ReadGraph(const std::filesystem::path& path) {
  KILN_ASSIGN_OR_RETURN(const std::string text,
                        ReadFile(path, static_cast<uint64_t>(budgets::kComputationGraphBytes)));
  const std::string ending = path.extension().string();
  bool is_json = ending == ".json";
  if (!is_json && ending != ".dot" && ending != ".gv") {
    const size_t begin = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
    const size_t first = text.find_first_not_of(" \t\r\n", begin);
    is_json = first != std::string::npos && text[first] == '{';
  }
  return is_json ? ParseGraphJson(text, path.string()) : ParseGraphDot(text, path.string());
}

}  // namespace kiln::cgra
