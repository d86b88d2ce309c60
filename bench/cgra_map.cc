// Maps computation graphs by several mappers of the cgra family and prints a Markdown table:
// initiation interval and latency with their bounds, whether they are proved to be the least, and
// the time that it took.
//
//   cgra_map [--on accelerators/se-16.yaml] [--tiles N] [--seconds S] [--steps N] [--synchronous]
//            [--mappers exact,sat,guided,ppo,greedy,annealing,evolutionary,random]
//            [--random COUNT --nodes N --least N --exact-seconds S --only K,K,...] [--grow N]
//            [GRAPH...]
//
// --tiles: in the row, in place of those of the design point. A graph is a file or the name of a
// known graph. --synchronous: loads and loop control take the pipeline's latency. --random maps
// COUNT random graphs of --least (by default N/2) to N nodes and prints a summary, in which
// --exact-seconds is the time of the mappers that prove; it also names the graphs for which the
// first mapper proves nothing. --only leaves out all but these of the COUNT graphs, counted from 1,
// and prints a row for each mapping. --steps ends mappings after that many steps, as well.
// --grow maps these graphs by the first mapper on --tiles tiles and on N, and prints for how many
// more tiles are better, equal or worse.
// Every mapping is checked by the independent checker; a broken rule ends the program.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "kiln/support/file.h"
#include "kiln/targets/cgra/check/check.h"
#include "kiln/targets/cgra/graph/graph_file.h"
#include "kiln/targets/cgra/graph/named_graphs.h"
#include "kiln/targets/cgra/learn/ppo_mapper.h"
#include "kiln/targets/cgra/map/exact.h"
#include "kiln/targets/cgra/map/heuristics.h"
#include "kiln/targets/cgra/map/sat.h"
#include "tests/targets/cgra/map/naive_rules.h"

namespace kiln::cgra {
namespace {

struct Arguments {
  std::vector<std::string> mappers = {"exact"};
  std::vector<std::string> graphs;
  std::string design_point = "accelerators/se-16.yaml";
  int tiles = 0;  // 0: those of the design point
  double seconds = 60;
  int64_t steps = 0;         // 0: no limit
  std::vector<int> only;     // random graphs; empty: all
  double exact_seconds = 0;  // of the mappers with proof; 0: as the others
  bool synchronous = false;
  int random = 0, nodes = 50;
  int least = 0;  // nodes of a random graph; 0: half of the most
  int grow = 0;   // tiles of the larger machine; 0: none

  int least_nodes() const { return least > 0 ? least : nodes / 2; }
};

std::unique_ptr<Mapper> MapperOf(const std::string& name) {
  if (name == "exact") return MakeExactMapper();
  if (name == "sat") return MakeSatMapper();
  if (name == "greedy") return MakeGreedyMapper();
  if (name == "annealing") return MakeAnnealingMapper();
  if (name == "evolutionary") return MakeEvolutionaryMapper();
  if (name == "random") return MakeRandomMapper();
  if (name != "ppo" && name != "guided") return nullptr;
  StatusOr<std::shared_ptr<const Policy>> policy = ReadPolicy("models/cgra_policy.bin");
  if (!policy.ok()) {
    fmt::print(stderr, "{}\n", MessageOf(policy.status()));
    return nullptr;
  }
  if (name == "ppo") return MakePpoMapper(*std::move(policy));
  if (name == "guided") return MakeGuidedMapper(*std::move(policy));
  return nullptr;
}

StatusOr<Config> ReadConfig(const std::string& path) {
  KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return ParseConfig(text, path);
}

StatusOr<ComputationGraph> GraphOf(const std::string& name) {
  if (std::filesystem::exists(name)) return ReadGraph(name);
  return MakeNamedGraph(name);
}

// Maps a graph; ends the program with a message if that fails or the mapping breaks a rule.
MapResult MapOrExit(const Mapper& mapper, const ComputationGraph& graph, const Config& config,
                    const Arguments& arguments, double seconds) {
  const StatusOr<MapResult> result =
      mapper.Map(graph, config, {.steps = arguments.steps, .seconds = seconds});
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

void PrintHead() {
  fmt::print(
      "| graph | nodes | mapper | II | bound | latency | bound | proved | steps | seconds | space "
      "|\n|---|---|---|---|---|---|---|---|---|---|---|\n");
}

// Prints a mapper's result for a graph as a row of a table.
void PrintRow(const ComputationGraph& graph, const std::string& mapper, const MapResult& result) {
  const std::string interval =
      result.mapping ? fmt::format("{}", result.mapping->initiation_interval) : "-";
  const std::string latency = result.mapping ? fmt::format("{}", result.latency) : "-";
  fmt::print("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.3f} | {} |\n", graph.name,
             graph.nodes.size(), mapper, interval, result.interval_bound, latency,
             result.latency_bound,
             result.impossible ? "impossible" : (result.optimal ? "yes" : "no"), result.steps,
             result.seconds, result.space);
  std::fflush(stdout);
}

int PrintGraphs(const Arguments& arguments, const Config& config) {
  PrintHead();
  for (const std::string& name : arguments.graphs) {
    const StatusOr<ComputationGraph> graph = GraphOf(name);
    if (!graph.ok()) {
      fmt::print(stderr, "{}\n", MessageOf(graph.status()));
      return 1;
    }
    for (const std::string& mapper : arguments.mappers) {
      const MapResult result =
          MapOrExit(*MapperOf(mapper), *graph, config, arguments, arguments.seconds);
      PrintRow(*graph, mapper, result);
    }
  }
  return 0;
}

// What a mapper did with the random graphs.
struct Summary {
  int mapped = 0, impossible = 0, proved = 0, least_interval = 0;
  double logs = 0;  // of the latency over the least known one, over mappings of the least interval
  int64_t steps = 0;
  double seconds = 0, most_seconds = 0;
};

void PrintSummaries(const Arguments& arguments, const std::vector<Summary>& summaries, int graphs,
                    int mapped, int proved) {
  fmt::print(
      "{} random graphs of {} to {} nodes, {} of them mapped by a mapper, {} with proof\n\n"
      "| mapper | mapped | impossible | proved | least II | latency | steps | mean seconds | most "
      "seconds |\n|---|---|---|---|---|---|---|---|---|\n",
      graphs, arguments.least_nodes(), arguments.nodes, mapped, proved);
  for (size_t m = 0; m < summaries.size(); ++m) {
    const Summary& summary = summaries[m];
    fmt::print("| {} | {} | {} | {} | {} | {:.3f} | {} | {:.3f} | {:.3f} |\n", arguments.mappers[m],
               summary.mapped, summary.impossible, summary.proved, summary.least_interval,
               std::exp(summary.logs / std::max(1, summary.least_interval)), summary.steps,
               summary.seconds / graphs, summary.most_seconds);
  }
  std::fflush(stdout);
}

ComputationGraph GraphOfSeed(const Arguments& arguments, int seed) {
  return RandomTestGraph(static_cast<uint64_t>(seed), {.least_nodes = arguments.least_nodes(),
                                                       .most_nodes = arguments.nodes,
                                                       .variables = 0,
                                                       .loop_share = 0.2,
                                                       .two_flows = 0.3});
}

// Prints what more tiles change in results that are proved on both machines, each in its space. The
// exit code is 1 if one is worse.
int PrintGrowth(const Arguments& arguments, const Config& config) {
  const std::unique_ptr<Mapper> mapper = MapperOf(arguments.mappers[0]);
  Config larger = config;
  larger.columns = arguments.grow;
  int better = 0, equal = 0, worse = 0, open = 0;
  for (int k = 1; k <= arguments.random; ++k) {
    const ComputationGraph graph = GraphOfSeed(arguments, k);
    const MapResult few = MapOrExit(*mapper, graph, config, arguments, arguments.seconds);
    const MapResult many = MapOrExit(*mapper, graph, larger, arguments, arguments.seconds);
    if (!(few.optimal || few.impossible) || !(many.optimal || many.impossible)) {
      ++open;
      continue;
    }
    const auto key = [](const MapResult& result) {
      return result.mapping ? std::pair(result.mapping->initiation_interval, result.latency)
                            : std::pair(1 << 20, 0);
    };
    better += key(many) < key(few) ? 1 : 0;
    equal += key(many) == key(few) ? 1 : 0;
    worse += key(many) > key(few) ? 1 : 0;
  }
  fmt::print(
      "{} random graphs of {} to {} nodes on {} and {} tiles: {} better on more tiles, {} equal, "
      "{} worse, {} not closed on both\n",
      arguments.random, arguments.least_nodes(), arguments.nodes, config.columns, larger.columns,
      better, equal, worse, open);
  return worse == 0 ? 0 : 1;
}

// Compares mappers with the best mapping that one of them found: less interval, then less latency.
// Prints a table after every 50 graphs and after the last.
int PrintRandom(const Arguments& arguments, const Config& config) {
  std::vector<Summary> summaries(arguments.mappers.size());
  int mapped = 0, proved = 0, graphs = 0;
  if (!arguments.only.empty()) PrintHead();
  for (int k = 1; k <= arguments.random; ++k) {
    if (!arguments.only.empty() && std::ranges::find(arguments.only, k) == arguments.only.end())
      continue;
    ++graphs;
    const ComputationGraph graph = GraphOfSeed(arguments, k);
    std::vector<MapResult> results;
    const MapResult* best = nullptr;
    bool is_proved = false;
    for (const std::string& mapper : arguments.mappers) {
      const bool proves = mapper == "exact" || mapper == "sat" || mapper == "guided";
      const bool other_time = proves && arguments.exact_seconds > 0;
      results.push_back(MapOrExit(*MapperOf(mapper), graph, config, arguments,
                                  other_time ? arguments.exact_seconds : arguments.seconds));
      is_proved = is_proved || results.back().optimal;
      if (!arguments.only.empty()) PrintRow(graph, mapper, results.back());
    }
    if (const MapResult& first = results[0]; !first.optimal && !first.impossible) {
      fmt::print("{} of {} nodes is open: interval {} >= {}, latency {} >= {} in {:.1f} s\n",
                 graph.name, graph.nodes.size(),
                 first.mapping ? first.mapping->initiation_interval : 0, first.interval_bound,
                 first.latency, first.latency_bound, first.seconds);
    }
    const auto key = [](const MapResult& result) {
      return std::pair(result.mapping->initiation_interval, result.latency);
    };
    for (const MapResult& result : results) {
      if (result.mapping && (best == nullptr || key(result) < key(*best))) best = &result;
    }
    mapped += best != nullptr ? 1 : 0;
    proved += is_proved ? 1 : 0;
    for (size_t m = 0; m < results.size(); ++m) {
      const MapResult& result = results[m];
      Summary& summary = summaries[m];
      summary.impossible += result.impossible ? 1 : 0;
      summary.proved += result.optimal ? 1 : 0;
      summary.steps += result.steps;
      summary.seconds += result.seconds;
      summary.most_seconds = std::max(summary.most_seconds, result.seconds);
      if (!result.mapping) continue;
      ++summary.mapped;
      if (key(result).first > key(*best).first) continue;
      ++summary.least_interval;
      summary.logs += std::log(static_cast<double>(result.latency) / best->latency);
    }
    if (graphs % 50 == 0) PrintSummaries(arguments, summaries, graphs, mapped, proved);
  }
  if (graphs % 50 != 0) PrintSummaries(arguments, summaries, graphs, mapped, proved);
  return 0;
}

int Run(int argc, char** argv) {
  CLI::App app("Maps computation graphs by the mappers of the cgra family.");
  Arguments arguments;
  app.add_option("--mappers", arguments.mappers, "names of mappers")->delimiter(',');
  app.add_option("--on", arguments.design_point, "the design point")->capture_default_str();
  app.add_option("--tiles", arguments.tiles, "tiles of the row; default: the design point's")
      ->check(CLI::Range(1, 64));
  app.add_option("--seconds", arguments.seconds, "time for each mapping");
  app.add_option("--steps", arguments.steps, "steps of each mapping; 0: any number");
  app.add_option("--exact-seconds", arguments.exact_seconds, "the same with proof, random graphs");
  app.add_flag("--synchronous", arguments.synchronous, "loads take the pipeline's latency");
  CLI::Option* const random = app.add_option("--random", arguments.random, "how many random graphs")
                                  ->check(CLI::NonNegativeNumber);
  app.add_option("--only", arguments.only, "numbers of random graphs")
      ->delimiter(',')
      ->needs(random);
  app.add_option("--nodes", arguments.nodes, "most nodes of a random graph")
      ->check(CLI::Range(2, 200));
  app.add_option("--least", arguments.least, "fewest nodes of a random graph")
      ->check(CLI::Range(1, 200));
  app.add_option("--grow", arguments.grow, "tiles of a larger machine")->check(CLI::Range(1, 64));
  app.add_option("graphs", arguments.graphs, "files or names of graphs");
  CLI11_PARSE(app, argc, argv);
  for (const std::string& mapper : arguments.mappers) {
    if (MapperOf(mapper)) continue;
    fmt::print(stderr, "there is no mapper '{}'\n", mapper);
    return 1;
  }
  for (const int k : arguments.only) {
    if (k >= 1 && k <= arguments.random) continue;
    fmt::print(stderr, "--only: there is no random graph {}, they are 1 to {}\n", k,
               arguments.random);
    return 1;
  }
  StatusOr<Config> read = ReadConfig(arguments.design_point);
  if (!read.ok()) {
    fmt::print(stderr, "{}\n", MessageOf(read.status()));
    return 1;
  }
  Config config = *std::move(read);
  if (arguments.tiles > 0) config.columns = arguments.tiles;
  config.asynchronous_loads = !arguments.synchronous;
  if (arguments.graphs.empty() && arguments.random == 0) {
    for (const NamedGraph& graph : NamedGraphs()) arguments.graphs.emplace_back(graph.name);
  }
  if (!arguments.graphs.empty()) return PrintGraphs(arguments, config);
  if (arguments.grow > 0) return PrintGrowth(arguments, config);
  return PrintRandom(arguments, config);
}

}  // namespace
}  // namespace kiln::cgra

int main(int argc, char** argv) { return kiln::cgra::Run(argc, argv); }
