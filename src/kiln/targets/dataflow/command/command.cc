// The command `kiln dataflow` and its subcommands: the folding search alone.
#include <absl/strings/str_split.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kiln/command/arguments.h"
#include "kiln/command/checks.h"
#include "kiln/command/command_group.h"
#include "kiln/command/result_files.h"
#include "kiln/flow/flow.h"
#include "kiln/report/text.h"
#include "kiln/support/integer.h"
#include "kiln/support/json_text.h"
#include "kiln/targets/dataflow/accelerator.h"
#include "kiln/targets/dataflow/command/fold_report.h"
#include "kiln/targets/dataflow/compile/fold_network.h"
#include "kiln/targets/dataflow/compile/lower.h"
#include "kiln/targets/dataflow/fold/brute_force.h"
#include "kiln/targets/dataflow/fold/exact.h"
#include "kiln/targets/dataflow/fold/finn_rule.h"
#include "kiln/targets/dataflow/fold/ilp.h"
#include "kiln/targets/dataflow/fold/pareto.h"
#include "kiln/targets/dataflow/fold/samo.h"

namespace kiln::cli {
namespace {

using dataflow::Config;
using dataflow::FoldProblem;
using dataflow::FoldResult;
using dataflow::Goal;
using dataflow::NetworkProblem;
using dataflow::Objective;
using dataflow::ResourceOrder;

// A row of the table of searches.
struct SearchRow {
  const char* name;
  const char* what;
  StatusOr<FoldResult> (*search)(const FoldProblem&, const Objective&);
};
const SearchRow kSearches[] = {
    {"exact", "Kiln's own exact search",
     [](const FoldProblem& problem, const Objective& objective) {
       return SolveExact(problem, objective);
     }},
    {"cbc", "integer programs, solved by CBC",
     [](const FoldProblem& problem, const Objective& objective) {
       return SolveIlp(problem, objective);
     }},
    {"enumerate", "all folds, for small networks", &dataflow::SolveByEnumeration},
    {"finn", "FINN's rule", &dataflow::SolveFinnRule},
    {"samo-rule", "SAMO's rule",
     [](const FoldProblem& problem, const Objective& objective) {
       return SolveSamoRule(problem, objective);
     }},
    {"samo-annealing", "SAMO's simulated annealing",
     [](const FoldProblem& problem, const Objective& objective) {
       return SolveSamoAnnealing(problem, objective);
     }},
    {"samo-enumerate", "SAMO's enumeration of the first folds",
     [](const FoldProblem& problem, const Objective& objective) {
       return SolveSamoBruteForce(problem, objective);
     }}};

// What both commands read: a network on a device of the family.
struct Read {
  Config config;
  dataflow::Lowered network;
  std::vector<std::string> notes;
};

StatusOr<Read> ReadNetwork(const FlowOptions& options) {
  KILN_ASSIGN_OR_RETURN(const PreparedNetwork prepared, PrepareFlow(options));
  const auto* accelerator =
      dynamic_cast<const dataflow::DataflowAccelerator*>(prepared.accelerator.get());
  if (accelerator == nullptr) {
    return ErrorAt(options.accelerator.string(), "--on",
                   fmt::format("is of the family {}", prepared.accelerator->family()),
                   "name a design point of the family dataflow");
  }
  Read read{accelerator->config(), {}, prepared.report.notes};
  KILN_ASSIGN_OR_RETURN(read.network,
                        dataflow::Lower(prepared.quantised, read.config, options.compile));
  if (!read.network.host_kernels.empty()) {
    read.notes.push_back(fmt::format(
        "the host runs {} between {}; the speed assumes that it keeps up",
        Counted(std::ssize(read.network.host_kernels), "kernel"),
        read.network.segments == 1 ? "its input and its output"
                                   : fmt::format("{} machines", read.network.segments)));
  }
  if (read.network.layers.empty()) {
    return ErrorAt(options.model.string(), "",
                   "has no layer for this machine, the host runs all of it",
                   "kiln compile lists the reasons");
  }
  return read;
}

Status DoesNotHold(const Config& config, const std::string& why) {
  return ErrorAt("", fmt::format("device '{}'", config.name), "does not hold the network: " + why,
                 "a larger device, fewer bits, or a lower target");
}

std::string NotesText(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += "note: " + note + '\n';
  return text;
}

// The options that both commands have.
class NetworkArguments {
 public:
  void Declare(CLI::App& app) {
    app_ = &app;
    flow_.Declare(app, {.accelerator = "The device: a YAML file or a name (kiln list accelerators) "
                                       "of the family dataflow"});
    app.add_option("--target-fps", target_fps_,
                   "Images per second that suffice; default: what the design point says")
        ->type_name("N")
        ->check(RealInRange(1e-6, 1e12).description(""));
    app.add_option("--json", json_, "The result as JSON; - is standard output")->type_name("FILE");
  }
  // Checks the output files before any work, then reads the network.
  StatusOr<Read> Network(std::initializer_list<std::string> outputs) const {
    KILN_ASSIGN_OR_RETURN(FlowOptions options, flow_.Options());
    KILN_RETURN_IF_ERROR(CheckOutputs(outputs, FilesOf(options)));
    if (!flow_.images_given() && options.calibration.path.empty()) options.images.random = 1;
    KILN_ASSIGN_OR_RETURN(Read read, ReadNetwork(options));
    if (IsGiven(*app_, "--target-fps")) read.config.target_fps = target_fps_;
    return read;
  }
  const std::string& json() const { return json_; }

 private:
  const CLI::App* app_ = nullptr;
  FlowArguments flow_;
  double target_fps_ = 0;
  std::string json_;
};

// `kiln dataflow fold`.
class FoldCommand {
 public:
  void Declare(CLI::App& app) {
    app_ = &app;
    network_.Declare(app);
    app.add_option("--goal", goal_,
                   "What to optimise first: throughput; resources, at a target; latency of one "
                   "image, at a target. Default: throughput without a target, else resources")
        ->check(CLI::IsMember({"throughput", "resources", "latency"}).description(""))
        ->type_name("GOAL");
    app.add_option("--order", order_,
                   "Which resources to save: share (of the device, all kinds), dsp, memory")
        ->check(CLI::IsMember({"share", "dsp", "memory"}).description(""))
        ->type_name("ORDER")
        ->capture_default_str();
    std::vector<std::string> names, lines;
    for (const SearchRow& row : kSearches) {
      names.emplace_back(row.name);
      lines.push_back(fmt::format("{} ({})", row.name, row.what));
    }
    app.add_option("--search", search_, fmt::format("How to search: {}", fmt::join(lines, ", ")))
        ->check(CLI::IsMember(names).description(""))
        ->type_name("SEARCH")
        ->capture_default_str();
    app.add_option("--pareto", pareto_,
                   "Instead of one fold, all that no other beats in speed and in these resources: "
                   "dsp, bram, uram, lut, ports")
        ->type_name("RESOURCES")
        ->expected(0, 1)
        ->default_str("dsp");
    app.add_option("--chart", chart_, "The chart of folds as a picture (SVG)")->type_name("FILE");
    app.footer(
        "Without --data and --calibrate, ranges come from noise: right for time and size.\n"
        "Examples:\n"
        "  kiln dataflow fold models/demo_fashion_mnist.onnx --on dataflow-zcu104\n"
        "  kiln dataflow fold models/demo_fashion_mnist.onnx --on dataflow-zcu104 --target-fps "
        "10000 --chart folds.svg\n"
        "  kiln dataflow fold models/demo_fashion_mnist.onnx --on dataflow-zcu104 --pareto");
  }

  Status Run(Context& context) const {
    if (IsGiven(*app_, "--pareto")) {
      for (const char* other : {"--goal", "--order", "--search", "--chart"}) {
        if (IsGiven(*app_, other))
          return ErrorAt("", other, "does not go with --pareto", "leave one of them out");
      }
    }
    if (chart_ == "-") KILN_RETURN_IF_ERROR(CheckIsFile("--chart", chart_));
    KILN_ASSIGN_OR_RETURN(const auto compare, Compared());
    KILN_ASSIGN_OR_RETURN(const Read read, network_.Network({network_.json(), chart_}));
    if (IsGiven(*app_, "--pareto")) return RunFront(context, read, compare);
    return RunFold(context, read);
  }

 private:
  // Returns the resources that --pareto names.
  StatusOr<std::array<bool, dataflow::kResourceKinds>> Compared() const {
    std::array<bool, dataflow::kResourceKinds> compare{};
    const std::vector<std::string> names = absl::StrSplit(pareto_.empty() ? "dsp" : pareto_, ',');
    for (const std::string& name : names) {
      const std::vector<std::string> known = {"dsp", "bram", "uram", "lut", "ports"};
      const auto at = std::ranges::find(known, name);
      if (at == known.end()) {
        return ErrorAt("", "--pareto", fmt::format("'{}' is no resource", name),
                       "dsp, bram, uram, lut, ports, with commas between them");
      }
      compare[static_cast<size_t>(at - known.begin())] = true;
    }
    return compare;
  }

  StatusOr<Objective> ObjectiveFor(const Config& config) const {
    Objective objective = dataflow::ObjectiveOf(config);
    if (goal_ == "throughput") objective.goal = Goal::kThroughput;
    if (goal_ == "resources") objective.goal = Goal::kResources;
    if (goal_ == "latency") objective.goal = Goal::kLatency;
    if (order_ == "dsp") objective.order = ResourceOrder::kDspFirst;
    if (order_ == "memory") objective.order = ResourceOrder::kMemoryFirst;
    if (order_ == "share") objective.order = ResourceOrder::kDeviceShare;
    if (objective.goal != Goal::kThroughput && config.target_fps <= 0) {
      return ErrorAt("", "--goal",
                     fmt::format("the least {} alone would allow the slowest fold",
                                 objective.goal == Goal::kLatency ? "latency" : "resources"),
                     "name the speed that suffices with --target-fps");
    }
    return objective;
  }

  Status RunFold(Context& context, const Read& read) const {
    KILN_ASSIGN_OR_RETURN(const Objective objective, ObjectiveFor(read.config));
    const auto* search = std::ranges::find(kSearches, search_, &SearchRow::name);
    KILN_ASSIGN_OR_RETURN(
        const dataflow::SolvedNetwork solved,
        dataflow::SolveFold(read.network, read.config, objective, search->search));
    if (!solved.result.fold.has_value()) {
      if (!solved.result.infeasible.empty())
        return DoesNotHold(read.config, solved.result.infeasible);
      return ErrorAt("", fmt::format("device '{}'", read.config.name),
                     fmt::format("the search '{}' finds no fold, which proves nothing", search_),
                     "--search exact");
    }
    const FoldView view{read.config, solved.problem, *solved.result.fold, solved.result.metrics};
    nlohmann::ordered_json json = FoldJson(view);
    json["search"] = search_;
    json["certificate"] = CertificateJson(solved.problem.problem, solved.result.certificate);
    json["notes"] = read.notes;
    if (!chart_.empty()) KILN_RETURN_IF_ERROR(WriteOutput(chart_, FoldPicture(view)));
    return WriteResults(context.out, network_.json(),
                        FoldTable(view) +
                            fmt::format("{:<11}  {}\n", "proof", dataflow::ProofOf(solved)) +
                            NotesText(read.notes),
                        JsonText(json));
  }

  Status RunFront(Context& context, const Read& read,
                  const std::array<bool, dataflow::kResourceKinds>& compare) const {
    KILN_ASSIGN_OR_RETURN(const NetworkProblem network,
                          dataflow::ProblemOf(read.network, read.config, 0));
    dataflow::ParetoOptions options;
    options.compare = compare;
    options.target_cycles = dataflow::ObjectiveOf(read.config).target_cycles;
    KILN_ASSIGN_OR_RETURN(const dataflow::ParetoFront front, SolvePareto(network.problem, options));
    if (!front.infeasible.empty()) return DoesNotHold(read.config, front.infeasible);
    const nlohmann::ordered_json json = FrontJson(read.config, network.problem, front);
    return WriteResults(context.out, network_.json(),
                        FrontTable(read.config, network.problem, front) + NotesText(read.notes),
                        JsonText(json));
  }

  const CLI::App* app_ = nullptr;
  NetworkArguments network_;
  std::string goal_, order_ = "share", search_ = "exact", pareto_, chart_;
};

// `kiln dataflow explain`.
class ExplainCommand {
 public:
  void Declare(CLI::App& app) {
    network_.Declare(app);
    app.footer(
        "Example:\n  kiln dataflow explain models/demo_fashion_mnist.onnx --on dataflow-zcu104");
  }

  Status Run(Context& context) const {
    KILN_ASSIGN_OR_RETURN(const Read read, network_.Network({network_.json()}));
    KILN_ASSIGN_OR_RETURN(const dataflow::FoldedNetwork folded,
                          dataflow::FoldNetwork(read.network, read.config));
    std::vector<dataflow::ParetoFront> fronts;
    for (size_t kind = 0; kind < KindsInUse(folded.problem.problem); ++kind) {
      dataflow::ParetoOptions options;
      options.compare = {};
      options.compare[kind] = true;
      options.target_cycles = folded.result.metrics.l_max;
      KILN_ASSIGN_OR_RETURN(dataflow::ParetoFront front,
                            SolvePareto(folded.problem.problem, options));
      KILN_RETURN_IF_ERROR(SetWhatMoreBuys(read, kind, front));
      fronts.push_back(std::move(front));
    }
    const FoldView view{read.config, folded.problem, *folded.result.fold, folded.result.metrics};
    Explanation explanation = Explain(view, folded.result.certificate, fronts);
    explanation.json["notes"] = read.notes;
    return WriteResults(context.out, network_.json(), explanation.text + NotesText(read.notes),
                        JsonText(explanation.json));
  }

 private:
  // Returns how many kinds of resources candidates need, from the first on: memory ports only where
  // weights may be streamed.
  static size_t KindsInUse(const dataflow::FoldProblem& problem) {
    const bool ports = std::ranges::any_of(problem.layers, [](const dataflow::Layer& layer) {
      return std::ranges::any_of(layer.candidates, [](const dataflow::Candidate& candidate) {
        return candidate.resources[dataflow::kPorts] > 0;
      });
    });
    return dataflow::kResourceKinds - (ports ? 0 : 1);
  }
  // Folds again with the amount of a resource that the next smaller interval needs, and sets the
  // step's interval to the result: the same amount can allow an even smaller interval.
  static Status SetWhatMoreBuys(const Read& read, size_t kind, dataflow::ParetoFront& front) {
    if (front.points.empty()) return absl::OkStatus();
    dataflow::NextStep& next = front.points[0].next;
    if (next.cycles == 0 || !next.needs[kind].has_value()) return absl::OkStatus();
    dataflow::Config larger = read.config;
    int64_t* const amounts[] = {&larger.dsp, &larger.bram, &larger.uram, &larger.lut,
                                &larger.weight_ports};
    *amounts[kind] = *next.needs[kind];
    if (kind == dataflow::kBram) larger.bram = CeilDivide(larger.bram, 2);  // in blocks of 36 Kb
    KILN_ASSIGN_OR_RETURN(const dataflow::FoldedNetwork folded,
                          dataflow::FoldNetwork(read.network, larger));
    next.cycles = folded.result.metrics.l_max;
    return absl::OkStatus();
  }

  NetworkArguments network_;
};

class DataflowCommand final : public CommandGroup {
 public:
  DataflowCommand()
      : CommandGroup(
            "Example:\n  kiln dataflow fold models/demo_fashion_mnist.onnx --on dataflow-zcu104") {
    Add<FoldCommand>("fold", "Folds a network for a device, with the proof, or the Pareto front");
    Add<ExplainCommand>("explain", "Says which layer limits a network, and what more would buy");
  }
};

}  // namespace
}  // namespace kiln::cli

namespace kiln::dataflow {

cli::CommandRow FamilyCommand() {
  return {
      "dataflow", "Folds networks for devices of the dataflow family",
      []() -> std::unique_ptr<cli::Command> { return std::make_unique<cli::DataflowCommand>(); }};
}

}  // namespace kiln::dataflow
