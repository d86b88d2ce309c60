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
#include "kiln/support/file.h"
#include "kiln/support/json_reader.h"
#include "kiln/targets/cgra/graph/counted.h"
#include "kiln/targets/cgra/graph/disjoint_sets.h"
#include "kiln/targets/cgra/graph/graph_file.h"

namespace kiln::cgra {
namespace {

// Returns whether an operator hands an operand's number on as its result, or chooses among such.
bool HandsOn(Op op, int operand) {
  switch (op) {
    case Op::kPass:
    case Op::kMerge:
    case Op::kMin:
    case Op::kMax:
    case Op::kOutput:
    case Op::kAnd:  // a magnitude, for example
    case Op::kOr:
    case Op::kXor:
      return true;
    case Op::kSelect:
      return operand > 0;
    default:
      return false;
  }
}

bool ComputesIntegers(Op op) {
  switch (op) {
    case Op::kMul:
    case Op::kShl:
    case Op::kShr:
    case Op::kSra:
    case Op::kAdd:
    case Op::kSub:
      return true;
    default:
      return false;
  }
}

// Returns the bits of a lane.
std::optional<int32_t> BitsOf(const Json& value, NumberKind kind) {
  if (kind == NumberKind::kEither) return LaneBits(value);
  if (kind == NumberKind::kInteger)
    return value.is_number_integer() ? LaneBits(value) : std::nullopt;
  if (!value.is_number()) return std::nullopt;
  const auto real = static_cast<float>(value.get<double>());
  if (!std::isfinite(real)) return std::nullopt;
  return std::bit_cast<int32_t>(real);
}

std::string_view NumberText(NumberKind kind) {
  if (kind == NumberKind::kInteger) return "an integer of 32 bits";
  return kind == NumberKind::kBinary32 ? "a number of binary32"
                                       : "an integer of 32 bits or a number of binary32";
}

// Returns what one thread reads.
std::optional<Vector> VectorOf(const Json& value, int lanes, NumberKind kind) {
  if (!value.is_array()) {
    const std::optional<int32_t> bits = BitsOf(value, kind);
    if (!bits) return std::nullopt;
    return Vector(static_cast<size_t>(lanes), *bits);
  }
  if (std::ssize(value) != lanes) return std::nullopt;
  Vector vector;
  for (const Json& lane : value) {
    const std::optional<int32_t> bits = BitsOf(lane, kind);
    if (!bits) return std::nullopt;
    vector.push_back(*bits);
  }
  return vector;
}

}  // namespace

std::vector<NumberKind> NumberKinds(const ComputationGraph& graph) {
  const auto op_of = [&](int node) { return graph.nodes[static_cast<size_t>(node)].op; };
  // Nodes whose values are the same numbers, one copied or chosen from the other.
  DisjointSets same(graph.nodes.size());
  for (const GraphEdge& edge : graph.edges) {
    const bool is_constant = op_of(edge.source) == Op::kConst;  // of any number of users
    if (edge.kind == EdgeKind::kData && !is_constant && HandsOn(op_of(edge.target), edge.operand))
      same.Join(edge.source, edge.target);
  }
  std::vector<NumberKind> kinds(graph.nodes.size(), NumberKind::kEither);
  const auto note = [&](int node, Op op) {
    NumberKind& kind = kinds[static_cast<size_t>(same.RootOf(node))];
    if (IsFloat(op)) kind = NumberKind::kBinary32;
    if (ComputesIntegers(op) && kind == NumberKind::kEither) kind = NumberKind::kInteger;
  };
  for (int n = 0; n < static_cast<int>(graph.nodes.size()); ++n) note(n, op_of(n));
  for (const GraphEdge& edge : graph.edges) {
    if (edge.kind == EdgeKind::kData && op_of(edge.source) != Op::kConst)
      note(edge.source, op_of(edge.target));
  }
  std::vector<NumberKind> of_nodes;
  for (int n = 0; n < static_cast<int>(graph.nodes.size()); ++n)
    of_nodes.push_back(kinds[static_cast<size_t>(same.RootOf(n))]);
  return of_nodes;
}

StatusOr<ThreadInputs> ParseInputs(std::string_view text, std::string_view source,
                                   const ComputationGraph& graph, int lanes, int threads) {
  KILN_ASSIGN_OR_RETURN(const Json json, ParseJson(text, source));
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
  const std::vector<NumberKind> kinds = NumberKinds(graph);
  ThreadInputs inputs(static_cast<size_t>(threads));
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::string name = name_of(nodes[i]);
    const NumberKind kind = kinds[static_cast<size_t>(nodes[i])];
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
                  fmt::format("has {} for {}", Counted(std::ssize(list), "value"),
                              Counted(std::max<int64_t>(std::ssize(inputs), 1), "thread")),
                  "a value for each thread");
    }
    for (size_t t = 0; t < inputs.size() && reader.status().ok(); ++t) {
      std::optional<Vector> vector = VectorOf(list[t], lanes, kind);
      if (!vector) {
        reader.Fail(fmt::format("{}[{}]", name, t), fmt::format("is {}", Shown(list[t])),
                    fmt::format("{}, or a list of {}", NumberText(kind), lanes));
        break;
      }
      inputs[t].push_back(*std::move(vector));
    }
    KILN_RETURN_IF_ERROR(reader.status());
  }
  KILN_RETURN_IF_ERROR(reader.status());
  return inputs;
}

StatusOr<ThreadInputs> ReadInputs(const std::filesystem::path& path, const ComputationGraph& graph,
                                  int lanes, int threads) {
  KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, budgets::kJsonBytes));
  return ParseInputs(text, path.string(), graph, lanes, threads);
}

}  // namespace kiln::cgra
