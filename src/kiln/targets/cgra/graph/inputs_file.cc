// Reads values of inputs, by the numbers that the graph's operators take.

#include "kiln/targets/cgra/graph/inputs_file.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <set>
#include <string>

#include "fmt/format.h"
#include "kiln/support/budgets.h"
#include "kiln/support/excerpt.h"
#include "kiln/support/json_reader.h"
#include "kiln/targets/cgra/graph/graph_file.h"

namespace kiln::cgra {
namespace {

// Returns the bits of a lane.
std::optional<int32_t> BitsOf(const Json& value, bool is_float) {
  if (!is_float) return value.is_number_integer() ? LaneBits(value) : std::nullopt;
  if (!value.is_number()) return std::nullopt;
  const auto real = static_cast<float>(value.get<double>());
  if (!std::isfinite(real)) return std::nullopt;
  return std::bit_cast<int32_t>(real);
}

// Returns what one thread reads.
std::optional<Vector> VectorOf(const Json& value, int lanes, bool is_float) {
  if (!value.is_array()) {
    const std::optional<int32_t> bits = BitsOf(value, is_float);
    if (!bits) return std::nullopt;
    return Vector(static_cast<size_t>(lanes), *bits);
  }
  if (std::ssize(value) != lanes) return std::nullopt;
  Vector vector;
  for (const Json& lane : value) {
    const std::optional<int32_t> bits = BitsOf(lane, is_float);
    if (!bits) return std::nullopt;
    vector.push_back(*bits);
  }
  return vector;
}

StatusOr<ThreadInputs> InputsFrom(const Json& json, std::string_view source,
                                  const ComputationGraph& graph, int lanes, int threads) {
  if (!json.is_object()) {
    return ErrorAt(std::string(source), "", "is no JSON object", R"(an object: {"key": value})");
  }
  JsonReader reader{std::string(source)};
  const std::vector<int> nodes = InputsOf(graph);
  const auto name_of = [&](int node) { return graph.nodes[static_cast<size_t>(node)].name; };
  std::set<std::string> known;
  for (const int node : nodes) known.insert(name_of(node));
  for (const auto& [key, value] : json.items()) {
    if (known.contains(key)) continue;
    reader.Fail(key, "the graph has no such input",
                fmt::format("its inputs: {}", ListExcerpt(known, ", ")));
  }
  const std::vector<bool> is_float = FloatNodes(graph);
  ThreadInputs inputs(static_cast<size_t>(threads));
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::string name = name_of(nodes[i]);
    const bool real = is_float[static_cast<size_t>(nodes[i])];
    const Json::array_t& list = reader.List(json, name, name);
    KILN_RETURN_IF_ERROR(reader.status());
    if (std::ssize(list) > budgets::kComputationThreads) {
      reader.Fail(name, fmt::format("has {} threads", list.size()),
                  fmt::format("at most {}", budgets::kComputationThreads));
    }
    if (i == 0 && threads == 0) inputs.resize(list.size());
    // The first input decides how many threads there are, unless the caller does.
    const bool fits = threads > 0 ? list.size() >= inputs.size() : list.size() == inputs.size();
    if (!fits || list.empty()) {
      reader.Fail(name,
                  fmt::format("has {} value{} for {} threads", list.size(),
                              list.size() == 1 ? "" : "s", std::max<size_t>(inputs.size(), 1)),
                  "a value for each thread");
    }
    for (size_t t = 0; t < inputs.size() && reader.status().ok(); ++t) {
      std::optional<Vector> vector = VectorOf(list[t], lanes, real);
      if (!vector) {
        reader.Fail(fmt::format("{}[{}]", name, t), fmt::format("is {}", Shown(list[t])),
                    fmt::format("{}, or a list of {}",
                                real ? "a number of binary32" : "an integer of 32 bits", lanes));
        break;
      }
      inputs[t].push_back(*std::move(vector));
    }
    KILN_RETURN_IF_ERROR(reader.status());
  }
  KILN_RETURN_IF_ERROR(reader.status());
  return inputs;
}

}  // namespace

std::vector<bool> FloatNodes(const ComputationGraph& graph) {
  std::vector<bool> is_float;
  for (const GraphNode& node : graph.nodes) is_float.push_back(IsFloat(node.op));
  for (const GraphEdge& edge : graph.edges) {
    const auto source = static_cast<size_t>(edge.source), target = static_cast<size_t>(edge.target);
    if (edge.kind == EdgeKind::kData && IsFloat(graph.nodes[target].op)) is_float[source] = true;
  }
  for (const GraphEdge& edge : graph.edges) {
    const auto source = static_cast<size_t>(edge.source), target = static_cast<size_t>(edge.target);
    if (graph.nodes[target].op == Op::kOutput && is_float[source]) is_float[target] = true;
  }
  return is_float;
}

StatusOr<ThreadInputs> ParseInputs(std::string_view text, std::string_view source,
                                   const ComputationGraph& graph, int lanes, int threads) {
  KILN_ASSIGN_OR_RETURN(const Json json, ParseJson(text, source));
  return InputsFrom(json, source, graph, lanes, threads);
}

StatusOr<ThreadInputs> ReadInputs(const std::filesystem::path& path, const ComputationGraph& graph,
                                  int lanes, int threads) {
  KILN_ASSIGN_OR_RETURN(const Json json, ReadJson(path));
  return InputsFrom(json, path.string(), graph, lanes, threads);
}

}  // namespace kiln::cgra
