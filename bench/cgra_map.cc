// Maps computation graphs by several mappers of the cgra family and prints a Markdown table:
// initiation interval and latency with their bounds, whether they are proved to be the least, and
// the time that it took.
//
//   cgra_map [--mappers exact,sat,greedy,annealing,evolutionary,random] [--tiles N] [--seconds S]
//            [--synchronous] [--random COUNT --nodes N] [GRAPH...]
//
// A graph is a file or the name of a known graph. --synchronous: loads and loop control take the
// pipeline's latency. --random maps COUNT random graphs of up to N nodes and prints a summary. Every
// mapping is checked by the independent checker; a broken rule ends the program.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "kiln/targets/cgra/check/check.h"
#include "kiln/targets/cgra/graph/graph_file.h"
#include "kiln/targets/cgra/graph/named_graphs.h"
#include "kiln/targets/cgra/map/exact.h"
#include "kiln/targets/cgra/map/heuristics.h"
#include "kiln/targets/cgra/map/sat.h"
#include "tests/targets/cgra/map/naive_rules.h"

namespace kiln::cgra {
namespace {

struct Arguments {
  std::vector<std::string> mappers = {"exact"};
  std::vector<std::string> graphs;
  int tiles = 16;
  double seconds = 60;
  bool synchronous = false;
  int random = 0, nodes = 50;
};

std::unique_ptr<Mapper> MapperOf(const std::string& name) {
  if (name == "exact") return MakeExactMapper();
  if (name == "sat") return MakeSatMapper();
  if (name == "greedy") return MakeGreedyMapper();
  if (name == "annealing") return MakeAnnealingMapper();
  if (name == "evolutionary") return MakeEvolutionaryMapper();
  if (name == "random") return MakeRandomMapper();
  return nullptr;
}

StatusOr<ComputationGraph> GraphOf(const std::string& name) {
  if (std::filesystem::exists(name)) return ReadGraph(name);
  return MakeNamedGraph(name);
}

// Maps a graph; ends the program with a message if that fails or the mapping breaks a rule.
MapResult MapOrExit(const Mapper& mapper, const ComputationGraph& graph, const Config& config,
                    double seconds) {
  const StatusOr<MapResult> result = mapper.Map(graph, config, {.seconds = seconds});
  std::string fault;
  if (!result.ok()) {
    fault = MessageOf(result.status());
  } else if (result->mapping) {
    fault = PrintVerdict(CheckMapping(graph, config, *result->mapping));
  }
  if (fault.empty()) return *result;
  fmt::print(stderr, "{}: {}\n", graph.name, fault);
  std::exit(1);
}

int PrintGraphs(const Arguments& arguments, const Config& config) {
  fmt::print(
      "| graph | nodes | mapper | II | bound | latency | bound | proved | seconds | space |\n");
  fmt::print("|---|---|---|---|---|---|---|---|---|---|\n");
  for (const std::string& name : arguments.graphs) {
    const StatusOr<ComputationGraph> graph = GraphOf(name);
    if (!graph.ok()) {
      fmt::print(stderr, "{}\n", MessageOf(graph.status()));
      return 1;
    }
    for (const std::string& mapper : arguments.mappers) {
      const MapResult result = MapOrExit(*MapperOf(mapper), *graph, config, arguments.seconds);
      const std::string interval =
          result.mapping ? fmt::format("{}", result.mapping->initiation_interval) : "-";
      const std::string latency = result.mapping ? fmt::format("{}", result.latency) : "-";
      fmt::print("| {} | {} | {} | {} | {} | {} | {} | {} | {:.3f} | {} |\n", graph->name,
                 graph->nodes.size(), mapper, interval, result.interval_bound, latency,
                 result.latency_bound,
                 result.impossible ? "impossible" : (result.optimal ? "yes" : "no"), result.seconds,
                 result.space);
      std::fflush(stdout);
    }
  }
  return 0;
}

int PrintRandom(const Arguments& arguments, const Config& config) {
  fmt::print(
      "| mapper | graphs | mapped | impossible | proved | gap of latency | mean seconds | "
      "most seconds |\n|---|---|---|---|---|---|---|---|\n");
  for (const std::string& mapper : arguments.mappers) {
    int mapped = 0, impossible = 0, proved = 0;
    double gap = 0, seconds = 0, most = 0;
    for (int k = 1; k <= arguments.random; ++k) {
      const ComputationGraph graph =
          RandomTestGraph(static_cast<uint64_t>(k), {.least_nodes = arguments.nodes / 2,
                                                     .most_nodes = arguments.nodes,
                                                     .variables = 0,
                                                     .loop_share = 0.2,
                                                     .two_flows = 0.3});
      const MapResult result = MapOrExit(*MapperOf(mapper), graph, config, arguments.seconds);
      mapped += result.mapping ? 1 : 0;
      impossible += result.impossible ? 1 : 0;
      proved += result.optimal ? 1 : 0;
      if (result.mapping) gap += static_cast<double>(result.latency) / result.latency_bound - 1;
      seconds += result.seconds;
      most = std::max(most, result.seconds);
    }
    fmt::print("| {} | {} | {} | {} | {} | {:.2f} % | {:.3f} | {:.3f} |\n", mapper,
               arguments.random, mapped, impossible, proved, 100 * gap / std::max(1, mapped),
               seconds / arguments.random, most);
  }
  return 0;
}

int Run(int argc, char** argv) {
  CLI::App app("Maps computation graphs by the mappers of the cgra family.");
  Arguments arguments;
  app.add_option("--mappers", arguments.mappers, "names of mappers")->delimiter(',');
  app.add_option("--tiles", arguments.tiles, "tiles of the row")->check(CLI::Range(1, 64));
  app.add_option("--seconds", arguments.seconds, "time for each mapping");
  app.add_flag("--synchronous", arguments.synchronous, "loads take the pipeline's latency");
  app.add_option("--random", arguments.random, "how many random graphs")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--nodes", arguments.nodes, "most nodes of a random graph")
      ->check(CLI::Range(2, 200));
  app.add_option("graphs", arguments.graphs, "files or names of graphs");
  CLI11_PARSE(app, argc, argv);
  for (const std::string& mapper : arguments.mappers) {
    if (MapperOf(mapper)) continue;
    fmt::print(stderr, "there is no mapper '{}'\n", mapper);
    return 1;
  }
  Config config;
  config.columns = arguments.tiles;
  config.asynchronous_loads = !arguments.synchronous;
  if (arguments.graphs.empty() && arguments.random == 0) {
    for (const NamedGraph& graph : NamedGraphs()) arguments.graphs.emplace_back(graph.name);
  }
  if (!arguments.graphs.empty()) return PrintGraphs(arguments, config);
  return PrintRandom(arguments, config);
}

}  // namespace
}  // namespace kiln::cgra

int main(int argc, char** argv) { return kiln::cgra::Run(argc, argv); }
