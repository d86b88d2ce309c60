// The options of `kiln cgra simulate`, the values of inputs, and the results as text and JSON.

#include "kiln/targets/cgra/command/simulate_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <bit>
#include <filesystem>
#include <utility>

#include "kiln/command/checks.h"
#include "kiln/command/result_files.h"
#include "kiln/report/text.h"
#include "kiln/support/budgets.h"
#include "kiln/support/json_text.h"
#include "kiln/support/random.h"
#include "kiln/targets/cgra/check/check.h"
#include "kiln/targets/cgra/command/map_report.h"
#include "kiln/targets/cgra/command/mappers.h"
#include "kiln/targets/cgra/command/read_graph.h"
#include "kiln/targets/cgra/graph/mapping_file.h"
#include "kiln/targets/cgra/map/problem.h"
#include "kiln/targets/cgra/simulate/cycle/flows.h"

namespace kiln::cli {
namespace {

using cgra::ComputationGraph;
using cgra::Config;
using cgra::FlowResult;
using cgra::Mapping;
using cgra::NumberKind;
using cgra::ThreadInputs;
using cgra::Vector;

constexpr int kThreads = 64;
// Results of all threads together: 256 MiB of values.
constexpr int64_t kMostValues = int64_t{1} << 26;

std::string NameOf(const ComputationGraph& graph, int node) {
  return graph.nodes[static_cast<size_t>(node)].name;
}

// Returns the first lanes of a value as numbers.
std::string LanesText(const Vector& lanes, bool is_float) {
  constexpr size_t kShown = 4;
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(kShown, lanes.size()); ++i) {
    shown.push_back(is_float ? fmt::format("{}", std::bit_cast<float>(lanes[i]))
                             : fmt::format("{}", lanes[i]));
  }
  return fmt::format("{}{}", fmt::join(shown, " "), lanes.size() > kShown ? " ..." : "");
}

// Returns which instructions issue later than the mapping says, and by how many cycles in all
// threads together: "'load' 120 cycles".
std::string HeldText(const ComputationGraph& graph, const FlowResult& result) {
  std::vector<std::string> held;
  for (size_t n = 0; n < result.held_cycles.size(); ++n) {
    if (result.held_cycles[n] == 0) continue;
    held.push_back(fmt::format("'{}' {}", Shorten(CleanUtf8(graph.nodes[n].name), 24),
                               Counted(result.held_cycles[n], "cycle")));
  }
  if (held.empty()) return "no instruction waits for late values";
  return fmt::format("later than mapped, over all threads: {}", ListExcerpt(held, ", "));
}

// What the text and the JSON of a run say.
struct Simulated {
  const ComputationGraph& graph;
  const Config& config;
  const Mapping& mapping;
  int latency = 0;  // cycles
  std::string by;   // where the mapping is from
  int threads = 0;
  const FlowResult& result;
};

std::string SimulationText(const Simulated& run) {
  std::string text;
  const auto line = [&](std::string_view what, const std::string& says) {
    text += fmt::format("{:<8}  {}\n", what, says);
  };
  const std::vector<int> outputs = OutputsOf(run.graph);
  line("graph", fmt::format("{}, {} on {}", Shorten(CleanUtf8(run.graph.name), 40),
                            Counted(std::ssize(run.graph.nodes), "node"), run.config.name));
  line("mapping", fmt::format("an interval of {} and a latency of {}, {}",
                              Counted(run.mapping.initiation_interval, "cycle"),
                              Counted(run.latency, "cycle"), run.by));
  line("threads", fmt::format("{} with {}, at most {} in flight", Thousands(run.threads),
                              Counted(run.config.lanes, "lane"), run.result.threads_in_flight));
  line("time", fmt::format("{}, {} a thread; {}", Counted(run.result.cycles, "cycle"),
                           ThreeDigits(static_cast<double>(run.result.cycles) / run.threads),
                           HeldText(run.graph, run.result)));
  line("results", fmt::format("{} and {} are what the graph itself gives",
                              Counted(std::ssize(outputs) * run.threads, "output vector"),
                              Counted(std::ssize(run.result.stores), "store")));
  if (outputs.empty()) return text;
  constexpr int kShown = 4;
  const std::vector<NumberKind> kinds = NumberKinds(run.graph);
  Table table;
  table.Right("thread").Column("output").Column("lanes");
  for (int t = 0; t < std::min(kShown, run.threads); ++t) {
    for (size_t o = 0; o < outputs.size(); ++o) {
      const int node = outputs[o];
      table.Row({fmt::format("{}", t), Shorten(CleanUtf8(NameOf(run.graph, node)), 36),
                 LanesText(run.result.outputs[static_cast<size_t>(t)][o],
                           kinds[static_cast<size_t>(node)] == NumberKind::kBinary32)});
    }
  }
  return text + '\n' + table.ToString();
}

nlohmann::ordered_json SimulationJson(const Simulated& run) {
  nlohmann::ordered_json json = {{"graph", CleanUtf8(run.graph.name)},
                                 {"accelerator", run.config.name},
                                 {"initiation_interval", run.mapping.initiation_interval},
                                 {"latency_cycles", run.latency},
                                 {"threads", run.threads},
                                 {"lanes", run.config.lanes},
                                 {"cycles", run.result.cycles},
                                 {"threads_in_flight", run.result.threads_in_flight}};
  json["held_cycles"] = nlohmann::ordered_json::object();
  for (size_t n = 0; n < run.result.held_cycles.size(); ++n) {
    if (run.result.held_cycles[n] == 0) continue;
    json["held_cycles"][CleanUtf8(run.graph.nodes[n].name)] = run.result.held_cycles[n];
  }
  // By output: what its lanes are, and their bits in every thread, as signed numbers.
  json["formats"] = nlohmann::ordered_json::object();
  json["outputs"] = nlohmann::ordered_json::object();
  const std::vector<int> outputs = OutputsOf(run.graph);
  const std::vector<NumberKind> kinds = NumberKinds(run.graph);
  for (size_t o = 0; o < outputs.size(); ++o) {
    json["formats"][CleanUtf8(NameOf(run.graph, outputs[o]))] =
        kinds[static_cast<size_t>(outputs[o])] == NumberKind::kBinary32 ? "binary32" : "int32";
    auto& threads = json["outputs"][CleanUtf8(NameOf(run.graph, outputs[o]))];
    threads = nlohmann::json::array();
    for (const std::vector<Vector>& thread : run.result.outputs) threads.push_back(thread[o]);
  }
  json["stores"] = nlohmann::json::array();
  for (const cgra::StoreRecord& store : run.result.stores) {
    json["stores"].push_back({{"node", CleanUtf8(NameOf(run.graph, store.node))},
                              {"thread", store.thread},
                              {"address", store.address},
                              {"value", store.value},
                              {"stored", store.stored}});
  }
  return json;
}

// Compares a run with the evaluation of the graph.
Status CompareWithGraph(const ComputationGraph& graph, const FlowResult& result,
                        const cgra::Evaluation& value) {
  const bool same_stores = result.stores == value.stores;
  if (result.outputs == value.outputs && same_stores) return OkStatus();
  return absl::InternalError(fmt::format("graph '{}': the simulation gives other {} than the graph",
                                         Shorten(CleanUtf8(graph.name), 40),
                                         same_stores ? "results" : "stores"));
}

}  // namespace

void SimulateCommand::Declare(CLI::App& app) {
  app.add_option("graph", graph_, kGraphHelp)->required();
  app.add_option("--on", accelerator_, kMachineHelp)->required()->type_name("MACHINE");
  app.add_option("--mapping", mapping_,
                 "The mapping (kiln cgra map --mapping); default: what --mapper finds")
      ->type_name("FILE");
  search_.DeclareWithMapper(app, &mapper_);
  app.add_option("--threads", threads_,
                 fmt::format("Threads to execute; default: those of --inputs, or {}", kThreads))
      ->check(InRange(1, budgets::kComputationThreads).description(""))
      ->type_name("N");
  app.add_option("--inputs", inputs_,
                 "Values of the inputs as JSON: {\"x\": [3, 4.5, [1, 2, ...]]}, by input a list of "
                 "threads, each a number for all lanes or a list of lanes: binary32 where the "
                 "graph computes in it, else integers; default: random values from --seed")
      ->type_name("FILE");
  app.add_option("--json", json_, "The result as JSON; - is standard output")->type_name("FILE");
  app.footer(
      "Executes many threads in flight, with loads, stores and several flows, and fails unless "
      "all\n"
      "results are those of the graph's own evaluation. Loads read a fixed mix of the address.\n"
      "Example:\n"
      "  kiln cgra simulate distance --on se-16 --threads 100");
}

StatusOr<Mapping> SimulateCommand::FindMapping(const ComputationGraph& graph,
                                               const Config& config) const {
  if (!mapping_.empty()) {
    KILN_ASSIGN_OR_RETURN(Mapping mapping, cgra::ReadMapping(mapping_, graph));
    const cgra::Verdict verdict = cgra::CheckMapping(graph, config, mapping);
    if (verdict.legal()) return mapping;
    return ErrorAt(mapping_, "", verdict.broken[0].sentence,
                   fmt::format("use a mapping that keeps all rules of {}", config.name));
  }
  KILN_ASSIGN_OR_RETURN(const auto mapper, cgra::MakeMapper(mapper_, search_.policy()));
  const cgra::MapOptions options = search_.Options();
  KILN_ASSIGN_OR_RETURN(cgra::MapResult found, mapper->Map(graph, config, options));
  if (found.mapping) return *std::move(found.mapping);
  return NoMapping(graph, config, mapper_, options, found);
}

StatusOr<ThreadInputs> SimulateCommand::FindInputs(const ComputationGraph& graph, int lanes) const {
  const std::vector<int> nodes = InputsOf(graph);
  const auto asked = static_cast<size_t>(threads_ > 0 ? threads_ : kThreads);
  ThreadInputs inputs;
  if (!inputs_.empty()) {
    KILN_ASSIGN_OR_RETURN(inputs, cgra::ReadInputs(inputs_, graph, lanes, threads_));
    // A graph without inputs takes its threads from the option.
    if (nodes.empty()) inputs.resize(asked);
    return inputs;
  }
  const std::vector<NumberKind> kinds = NumberKinds(graph);
  Random random(search_.Options().seed);
  inputs.resize(asked);
  for (std::vector<Vector>& thread : inputs) {
    for (const int node : nodes) {
      Vector& values = thread.emplace_back(static_cast<size_t>(lanes));
      for (int32_t& lane : values) {
        lane = kinds[static_cast<size_t>(node)] == NumberKind::kBinary32
                   ? std::bit_cast<int32_t>(static_cast<float>(random.Uniform(-4, 4)))
                   : static_cast<int32_t>(random.Between(-1000, 1000));
      }
    }
  }
  return inputs;
}

Status SimulateCommand::Run(Context& context) const {
  const std::vector<std::filesystem::path> files = {graph_, accelerator_, mapping_, inputs_,
                                                    search_.policy()};
  KILN_RETURN_IF_ERROR(CheckOutputs({json_}, files));
  KILN_RETURN_IF_ERROR(mapping_.empty()
                           ? search_.Check(std::span(&mapper_, 1))
                           : search_.CheckNoneGiven("with --mapping nothing is searched"));
  KILN_ASSIGN_OR_RETURN(const Config config, ReadMachine(accelerator_));
  KILN_ASSIGN_OR_RETURN(const ComputationGraph graph, ReadComputationGraph(graph_));
  KILN_ASSIGN_OR_RETURN(const Mapping mapping, FindMapping(graph, config));
  KILN_ASSIGN_OR_RETURN(const ThreadInputs inputs, FindInputs(graph, config.lanes));
  const auto threads = static_cast<int>(inputs.size());
  const int64_t values = std::ssize(graph.nodes) * threads * config.lanes;
  if (values > kMostValues) {
    return ErrorAt(graph.source, "--threads",
                   fmt::format("{} nodes, {} threads and {} lanes are {} values",
                               graph.nodes.size(), threads, config.lanes, Thousands(values)),
                   fmt::format("at most {} values", Thousands(kMostValues)));
  }
  KILN_ASSIGN_OR_RETURN(
      const FlowResult result,
      cgra::RunFlows(graph, mapping, config, inputs,
                     {.threads = threads, .lanes = config.lanes, .memory = cgra::MixedMemory}));
  cgra::EvaluateOptions options;
  options.threads = threads;
  options.lanes = config.lanes;
  KILN_RETURN_IF_ERROR(CompareWithGraph(graph, result, cgra::Evaluate(graph, inputs, options)));
  const std::string by = mapping_.empty() ? fmt::format("by the mapper {}", mapper_)
                                          : fmt::format("from {}", mapping_);
  const Simulated run{graph, config,  mapping, cgra::LatencyOf(config, mapping),
                      by,    threads, result};
  return WriteResults(context.out, json_, SimulationText(run), JsonText(SimulationJson(run)));
}

}  // namespace kiln::cli
