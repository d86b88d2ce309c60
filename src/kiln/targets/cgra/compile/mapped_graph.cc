// Maps graphs by the exact search with a limit on its steps, and remembers the mappings.

#include "kiln/targets/cgra/compile/mapped_graph.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "kiln/support/integer.h"
#include "kiln/targets/cgra/isa/configure.h"
#include "kiln/targets/cgra/map/branch.h"
#include "kiln/targets/cgra/map/heuristics.h"
#include "kiln/targets/cgra/map/mapper.h"
#include "kiln/targets/cgra/map/proof.h"
#include "kiln/targets/lower/refusal.h"

namespace kiln::cgra {
namespace {

// Steps of the search for one graph, list scheduling included, which comes first and whose result
// stays where the search finds no better one.
constexpr int64_t kSteps = 4000;
// Structures that are remembered; more of them clear the memory.
constexpr size_t kMostRemembered = 20000;

// Returns text that is equal for graphs whose mapping problems are equal: operators, edges, and
// which literals are equal.
std::string StructureOf(const ComputationGraph& graph, const Config& config) {
  std::string text = PrintConfig(config);
  std::map<int32_t, int> numbers;
  for (const GraphNode& node : graph.nodes) {
    text += fmt::format("{}", static_cast<int>(node.op));
    if (node.literal)
      text += fmt::format("={}", numbers.emplace(*node.literal, std::ssize(numbers)).first->second);
    text += ';';
  }
  for (const GraphEdge& e : graph.edges) {
    text += fmt::format("{}>{}.{}.{}.{};", e.source, e.target, e.operand, static_cast<int>(e.kind),
                        e.distance);
  }
  return text;
}

std::mutex remembered_mutex;
std::map<std::string, MapResult>& Remembered() {
  static auto* results = new std::map<std::string, MapResult>;
  return *results;
}

// Maps at the least interval, or at the asked one if that is not 0.
StatusOr<MapResult> MapOnce(const ComputationGraph& graph, const Config& config, int interval) {
  const std::string structure = fmt::format("{}@{}", StructureOf(graph, config), interval);
  {
    const std::lock_guard<std::mutex> lock(remembered_mutex);
    const auto at = Remembered().find(structure);
    if (at != Remembered().end()) return at->second;
  }
  MapOptions options;
  options.steps = kSteps;
  options.initiation_interval = interval;
  const ProofOptions proof{.make = MakeBranchSearchInOrder(nullptr),
                           .start = MakeGreedyMapper,
                           .passes = false,
                           .explain = false};
  KILN_ASSIGN_OR_RETURN(MapResult result, MapWithProof(graph, config, options, proof));
  result.progress.clear();
  const std::lock_guard<std::mutex> lock(remembered_mutex);
  if (Remembered().size() >= kMostRemembered) Remembered().clear();
  Remembered().emplace(structure, result);
  return result;
}

}  // namespace

StatusOr<std::shared_ptr<const MappedGraph>> MapGraph(ComputationGraph graph,
                                                      const Config& config) {
  KILN_ASSIGN_OR_RETURN(MapResult result, MapOnce(graph, config, 0));
  const int least = result.interval_bound;
  const std::string interval_space = result.space;
  const bool least_proved = result.optimal;
  const int first = result.mapping ? result.mapping->initiation_interval : 0;
  // Tile memories hold the inputs of a limited number of threads, which a thread must not outlast.
  while (result.mapping.has_value() &&
         result.latency > config.ring_entries * result.mapping->initiation_interval) {
    const int interval =
        std::max(result.mapping->initiation_interval + 1,
                 static_cast<int>(CeilDivide(result.latency, config.ring_entries)));
    if (interval > config.spoke_depth) break;
    KILN_ASSIGN_OR_RETURN(result, MapOnce(graph, config, interval));
  }
  if (!result.mapping.has_value()) {
    return ToHost(fmt::format("its {} nodes find no mapping onto {} tiles", graph.nodes.size(),
                              config.tiles()));
  }
  auto mapped = std::make_shared<MappedGraph>();
  mapped->mapping = *result.mapping;
  mapped->latency = result.latency;
  mapped->interval_space = interval_space;
  mapped->latency_space = std::move(result.space);
  mapped->interval_bound = least;
  mapped->latency_bound = result.latency_bound;
  mapped->optimal = least_proved && result.optimal && result.mapping->initiation_interval == first;
  auto program = BuildConfiguration(graph, mapped->mapping, config);
  if (!program.ok()) return ToHost(MessageOf(program.status()));
  mapped->program = *std::move(program);
  mapped->graph = std::move(graph);
  return mapped;
}

}  // namespace kiln::cgra
