// The command `kiln cgra` and its subcommands: computation graphs on their own.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "kiln/command/arguments.h"
#include "kiln/command/checks.h"
#include "kiln/command/command_group.h"
#include "kiln/command/result_files.h"
#include "kiln/flow/flow.h"
#include "kiln/report/text.h"
#include "kiln/support/file.h"
#include "kiln/support/json_text.h"
#include "kiln/support/resources.h"
#include "kiln/targets/cgra/accelerator.h"
#include "kiln/targets/cgra/chart/chart.h"
#include "kiln/targets/cgra/check/check.h"
#include "kiln/targets/cgra/command/map_report.h"
#include "kiln/targets/cgra/command/mappers.h"
#include "kiln/targets/cgra/command/read_graph.h"
#include "kiln/targets/cgra/command/search_arguments.h"
#include "kiln/targets/cgra/command/simulate_command.h"
#include "kiln/targets/cgra/command/train_command.h"
#include "kiln/targets/cgra/graph/mapping_file.h"
#include "kiln/targets/cgra/graph/named_graphs.h"
#include "kiln/targets/cgra/isa/configure.h"
#include "kiln/targets/cgra/map/problem.h"
#include "kiln/targets/registry.h"

namespace kiln::cli {
namespace {

using cgra::ComputationGraph;
using cgra::Config;
using cgra::MapOptions;
using cgra::MapResult;

// `kiln cgra map`.
class MapCommand {
 public:
  void Declare(CLI::App& app) {
    app.add_option("graph", graph_, kGraphHelp)->required();
    app.add_option("--on", accelerator_, kMachineHelp)->required()->type_name("MACHINE");
    search_.DeclareWithMapper(app, &mapper_);
    app.add_option("--mapping", mapping_, "The mapping as a file for kiln cgra check")
        ->type_name("FILE");
    app.add_option("--configuration", configuration_,
                   "What the tiles' memories hold, as JSON: spoke RAM, instruction RAM, constants")
        ->type_name("FILE");
    app.add_option("--chart", chart_, "Tiles over time as a picture (SVG)")->type_name("FILE");
    app.add_option("--json", json_, "The result as JSON; - is standard output")->type_name("FILE");
    app.footer(
        "Examples:\n"
        "  kiln cgra map distance --on se-16\n"
        "  kiln cgra map graph.json --on se-16 --mapper annealing --seconds 2 --chart tiles.svg");
  }

  Status Run(Context& context) const {
    for (const auto& [option, path] :
         {std::pair("--mapping", &mapping_), std::pair("--configuration", &configuration_),
          std::pair("--chart", &chart_)}) {
      if (!path->empty()) KILN_RETURN_IF_ERROR(CheckIsFile(option, *path));
    }
    const std::vector<std::filesystem::path> inputs = {graph_, accelerator_, search_.policy()};
    KILN_RETURN_IF_ERROR(CheckOutputs({mapping_, configuration_, chart_, json_}, inputs));
    KILN_RETURN_IF_ERROR(search_.Check(std::span(&mapper_, 1)));
    KILN_ASSIGN_OR_RETURN(const Config config, ReadMachine(accelerator_));
    KILN_ASSIGN_OR_RETURN(const ComputationGraph graph, ReadComputationGraph(graph_));
    KILN_ASSIGN_OR_RETURN(const auto mapper, cgra::MakeMapper(mapper_, search_.policy()));
    const MapOptions options = search_.Options();
    KILN_ASSIGN_OR_RETURN(MapResult result, mapper->Map(graph, config, options));
    if (!result.mapping) return NoMapping(graph, config, mapper_, options, result);
    // The rules of mappings say nothing of the sizes of memories and of the units of lanes.
    const auto built = cgra::BuildConfiguration(graph, *result.mapping, config);
    if (!built.ok() && !configuration_.empty()) return built.status();
    KILN_RETURN_IF_ERROR(WriteFiles(graph, config, *result.mapping,
                                    built.ok() ? cgra::ConfigurationJson(*built) : ""));
    const MapperRun run{mapper_, std::move(result), options.initiation_interval > 0,
                        built.ok() ? "" : MessageOf(built.status())};
    return WriteResults(context.out, json_, MapText(graph, config, run),
                        JsonText(MapJson(graph, config, run)));
  }

 private:
  Status WriteFiles(const ComputationGraph& graph, const Config& config,
                    const cgra::Mapping& mapping, const std::string& configuration) const {
    if (!mapping_.empty()) {
      KILN_RETURN_IF_ERROR(WriteOutput(mapping_, cgra::PrintMapping(mapping, graph)));
    }
    if (!configuration_.empty()) KILN_RETURN_IF_ERROR(WriteOutput(configuration_, configuration));
    if (chart_.empty()) return OkStatus();
    return WriteOutput(chart_, cgra::MappingSvg(graph, mapping, config));
  }

  SearchArguments search_;
  std::string graph_, accelerator_, mapper_ = "exact", mapping_, configuration_, chart_, json_;
};

// `kiln cgra check`.
class CheckCommand {
 public:
  void Declare(CLI::App& app) {
    app.add_option("graph", graph_, kGraphHelp)->required();
    app.add_option("mapping", mapping_, "The mapping (kiln cgra map --mapping)")->required();
    app.add_option("--on", accelerator_, kMachineHelp)->required()->type_name("MACHINE");
    app.add_option("--json", json_, "The result as JSON; - is standard output")->type_name("FILE");
    app.footer("Example:\n  kiln cgra check distance mapping.json --on se-16");
  }

  Status Run(Context& context) const {
    const std::vector<std::filesystem::path> inputs = {graph_, mapping_, accelerator_};
    KILN_RETURN_IF_ERROR(CheckOutputs({json_}, inputs));
    KILN_ASSIGN_OR_RETURN(const Config config, ReadMachine(accelerator_));
    KILN_ASSIGN_OR_RETURN(const ComputationGraph graph, ReadComputationGraph(graph_));
    KILN_ASSIGN_OR_RETURN(const cgra::Mapping mapping, cgra::ReadMapping(mapping_, graph));
    const cgra::Verdict verdict = cgra::CheckMapping(graph, config, mapping);
    nlohmann::ordered_json json = {{"graph", CleanUtf8(graph.name)},
                                   {"accelerator", config.name},
                                   {"legal", verdict.legal()},
                                   {"broken", nlohmann::json::array()}};
    for (const cgra::Broken& broken : verdict.broken) {
      json["broken"].push_back({{"rule", std::string(cgra::RuleName(broken.rule))},
                                {"nodes", broken.nodes},
                                {"sentence", broken.sentence}});
    }
    std::string text = cgra::PrintVerdict(verdict);
    if (verdict.legal()) {
      json["initiation_interval"] = mapping.initiation_interval;
      json["latency_cycles"] = verdict.latency;
      text = fmt::format("legal: an interval of {} and a latency of {} cycles\n",
                         mapping.initiation_interval, verdict.latency);
    }
    KILN_RETURN_IF_ERROR(WriteResults(context.out, json_, text, JsonText(json)));
    if (verdict.legal()) return OkStatus();
    return ErrorAt(
        mapping_, "",
        fmt::format("the mapping breaks rules in {}", Counted(std::ssize(verdict.broken), "place")),
        fmt::format("check one that keeps all rules of {}", config.name));
  }

 private:
  std::string graph_, mapping_, accelerator_, json_;
};

// `kiln cgra compare`.
class CompareCommand {
 public:
  void Declare(CLI::App& app) {
    app.add_option("graphs", graphs_, "The computation graphs, as for kiln cgra map")->required();
    app.add_option("--on", accelerator_, kMachineHelp)->required()->type_name("MACHINE");
    app.add_option("--mappers", mappers_, "The mappers to compare, with commas between them")
        ->check(CLI::Validator(&FaultOfNames, ""))
        ->type_name("MAPPERS")
        ->default_str(fmt::format("{}", fmt::join(cgra::MapperNames(), ",")));
    search_.Declare(app);
    app.add_option("--chart", chart_, "Latency over time as a picture (SVG)")->type_name("FILE");
    app.add_option("--json", json_, "The result as JSON; - is standard output")->type_name("FILE");
    app.footer(
        "All mappers may take the same time: --seconds, one second by default. One that proves "
        "its\n"
        "result, or has nothing left to try, ends before.\n"
        "Example:\n"
        "  kiln cgra compare distance fft --on se-16 --seconds 2 --chart compare.svg");
  }

  Status Run(Context& context) const {
    if (!chart_.empty()) KILN_RETURN_IF_ERROR(CheckIsFile("--chart", chart_));
    std::vector<std::filesystem::path> inputs(graphs_.begin(), graphs_.end());
    inputs.insert(inputs.end(), {accelerator_, search_.policy()});
    KILN_RETURN_IF_ERROR(CheckOutputs({chart_, json_}, inputs));
    const std::vector<std::string> names = Names();
    KILN_RETURN_IF_ERROR(search_.Check(names));
    KILN_ASSIGN_OR_RETURN(const Config config, ReadMachine(accelerator_));
    std::vector<ComputationGraph> graphs;
    for (const std::string& name : graphs_) {
      KILN_ASSIGN_OR_RETURN(ComputationGraph graph, ReadComputationGraph(name));
      graphs.push_back(std::move(graph));
    }
    MapOptions options = search_.Options();
    if (options.seconds == 0 && options.steps == 0) options.seconds = 1;
    Progress progress = context.StartProgress("mapping", std::ssize(graphs) * std::ssize(names));
    std::vector<Comparison> comparisons;
    int64_t done = 0;
    for (const ComputationGraph& graph : graphs) {
      Comparison comparison{.graph = graph.name, .instructions = 0, .runs = {}};
      for (int n = 0; n < static_cast<int>(graph.nodes.size()); ++n) {
        comparison.instructions += graph.TakesSlot(n) ? 1 : 0;
      }
      for (const std::string& name : names) {
        KILN_ASSIGN_OR_RETURN(const auto mapper, cgra::MakeMapper(name, search_.policy()));
        KILN_ASSIGN_OR_RETURN(MapResult result, mapper->Map(graph, config, options));
        KILN_RETURN_IF_ERROR(CheckResult(graph, config, name, result));
        comparison.runs.push_back({name, std::move(result), options.initiation_interval > 0});
        progress.Update(++done);
      }
      comparisons.push_back(std::move(comparison));
    }
    if (!chart_.empty()) {
      KILN_RETURN_IF_ERROR(WriteOutput(chart_, ComparePicture(comparisons)));
    }
    return WriteResults(context.out, json_, CompareText(comparisons),
                        JsonText(CompareJson(comparisons)));
  }

 private:
  // Returns what is wrong with a list of mappers, or "".
  static std::string FaultOfNames(const std::string& text) {
    const std::vector<std::string> known = cgra::MapperNames();
    const std::vector<std::string> names = absl::StrSplit(text, ',');
    for (const std::string& name : names) {
      if (std::ranges::find(known, name) == known.end()) {
        return fmt::format("'{}' is no mapper; {}", Shorten(CleanUtf8(name), 40),
                           fmt::join(known, ", "));
      }
      if (std::ranges::count(names, name) > 1) {
        return fmt::format("'{}' is there twice; name each mapper once", name);
      }
    }
    return "";
  }

  std::vector<std::string> Names() const {
    if (mappers_.empty()) return cgra::MapperNames();
    return absl::StrSplit(mappers_, ',');
  }

  // A mapping that breaks a rule would be an error of the mapper, not a result.
  static Status CheckResult(const ComputationGraph& graph, const Config& config,
                            const std::string& mapper, const MapResult& result) {
    if (!result.mapping) return OkStatus();
    const cgra::Verdict verdict = cgra::CheckMapping(graph, config, *result.mapping);
    if (verdict.legal()) return OkStatus();
    return absl::InternalError(
        fmt::format("the mapper {} breaks a rule: {}", mapper, verdict.broken[0].sentence));
  }

  SearchArguments search_;
  std::vector<std::string> graphs_;
  std::string accelerator_, mappers_, chart_, json_;
};

// `kiln cgra graphs`.
class GraphsCommand {
 public:
  void Declare(CLI::App& app) { app.footer("Example:\n  kiln cgra graphs"); }
  static Status Run(Context& context) {
    Table table;
    table.Column("graph").Right("nodes").Right("instructions").Column("what it computes");
    for (const cgra::NamedGraph& row : cgra::NamedGraphs()) {
      const ComputationGraph graph = row.make();
      int64_t instructions = 0;
      for (int n = 0; n < static_cast<int>(graph.nodes.size()); ++n) {
        instructions += graph.TakesSlot(n) ? 1 : 0;
      }
      table.Row({std::string(row.name), Thousands(std::ssize(graph.nodes)), Thousands(instructions),
                 std::string(row.what)});
    }
    context.out << table.ToString();
    return OkStatus();
  }
};

class CgraCommand final : public CommandGroup {
 public:
  CgraCommand() : CommandGroup("Example:\n  kiln cgra map distance --on se-16") {
    Add<MapCommand>("map", "Maps a computation graph to the tiles of a machine");
    Add<CheckCommand>("check", "Checks a mapping against all rules of a machine");
    Add<CompareCommand>("compare", "Compares mappers at equal time");
    Add<SimulateCommand>("simulate", "Executes a mapped graph and compares it with the graph");
    Add<TrainCommand>("train", "Trains a policy for the mapper ppo");
    Add<GraphsCommand>("graphs", "Lists the graphs that come with Kiln");
  }
};

}  // namespace
}  // namespace kiln::cli

namespace kiln::cgra {

cli::CommandRow FamilyCommand() {
  return {"cgra", "Maps computation graphs to machines of the cgra family",
          []() -> std::unique_ptr<cli::Command> { return std::make_unique<cli::CgraCommand>(); }};
}

}  // namespace kiln::cgra
