// The flow up to the program, and its report; evaluate.cc runs the images.
#include "kiln/flow/flow.h"

#include <absl/strings/ascii.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "kiln/flow/network_summary.h"
#include "kiln/frontend/model.h"
#include "kiln/ir/work.h"
#include "kiln/numerics/format.h"
#include "kiln/passes/absent_weights.h"
#include "kiln/passes/pipeline.h"
#include "kiln/quantise/post_training.h"
#include "kiln/quantise/quantise.h"
#include "kiln/quantise/recipe_names.h"
#include "kiln/report/accuracy_table.h"
#include "kiln/report/performance.h"
#include "kiln/report/text.h"
#include "kiln/support/resources.h"
#include "kiln/targets/registry.h"

namespace kiln {
namespace {

// Runs the passes that every command but `passes` and `export` runs on a network.
Status RunStandardPasses(Graph& graph) {
  PassContext context;
  return RunPasses(graph, StandardPipeline(), context);
}

}  // namespace

StatusOr<Graph> LoadNetwork(const std::filesystem::path& model, const Shapes& shapes,
                            bool known_inputs) {
  LoadOptions load;
  load.import.shapes = shapes;
  load.import.known_inputs = known_inputs;
  KILN_ASSIGN_OR_RETURN(Graph graph, LoadModel(model, load));
  if (const Status status = RunStandardPasses(graph); !status.ok())
    return shapes.empty() ? status : WithContext("with the shapes of --shape", status);
  return graph;
}

StatusOr<Graph> LoadNetworkToRun(const std::filesystem::path& model, const Shapes& shapes,
                                 std::vector<std::string>* notes, int64_t* parameters) {
  LoadOptions load;
  load.import.shapes = shapes;
  load.import.known_inputs = true;
  KILN_ASSIGN_OR_RETURN(Graph graph, LoadModel(model, load));
  if (parameters != nullptr) *parameters = ParametersOf(graph);
  const std::vector<std::string> absent = BindAbsentWeights(graph);
  if (!absent.empty()) {
    notes->push_back(fmt::format(
        "{} absent ('{}' first): made-up values replace them, so that cycles hold and results "
        "mean nothing",
        absent.size() == 1 ? "1 weight is" : Counted(std::ssize(absent), "weight") + " are",
        absent[0]));
  }
  KILN_RETURN_IF_ERROR(RunStandardPasses(graph));
  return graph;
}

StatusOr<Graph> LayOut(const Graph& network) {
  Graph graph = network.Clone();
  PassContext context;
  KILN_RETURN_IF_ERROR(RunPasses(graph, AnnotationPipeline(), context));
  KILN_RETURN_IF_ERROR(RunPasses(graph, LayoutPipeline(), context));
  return graph;
}

std::vector<std::filesystem::path> FilesOfRecipe(const std::string& recipe) {
  std::vector<std::filesystem::path> files;
  if (const auto path = FindResource("recipes", recipe); path.ok()) files.push_back(*path);
  files.emplace_back(recipe);
  if (const size_t slash = recipe.find('/'); slash != std::string::npos) {  // int8/powers.yaml
    files.emplace_back(recipe.substr(0, slash));
    files.emplace_back(recipe.substr(slash + 1));
  }
  return files;
}

std::vector<std::filesystem::path> FilesOf(const FlowOptions& options) {
  std::vector<std::filesystem::path> files = {options.model};
  const auto add = [&files](const std::vector<std::filesystem::path>& more) {
    files.insert(files.end(), more.begin(), more.end());
  };
  if (const auto path = FindResource("accelerators", options.accelerator.string()); path.ok())
    files.push_back(*path);
  add(ExternalFilesOf(options.model));
  add(FilesOf(options.images));
  add(FilesOf(options.calibration));
  if (!options.recipe.empty()) add(FilesOfRecipe(options.recipe));
  return files;
}

StatusOr<Recipe> FindRecipe(const std::string& name) {
  if (const auto path = FindResource("recipes", name); path.ok()) {
    auto recipe = LoadRecipe(*path);
    // A codebook's YAML file is a number format; explain how to use it.
    if (!recipe.ok() && FindFormat(name).ok()) {
      return ErrorAt(name, "", "is a number format, not a recipe",
                     fmt::format("name it beside activations, as in int8/{}", name));
    }
    return recipe;
  }
  auto named = RecipeByName(name);
  if (named.ok()) return named;
  const std::string lower = absl::AsciiStrToLower(name);
  if (lower != name && FindRecipe(lower).ok()) {
    return NotFoundAt(name, "", "no recipe and no type", fmt::format("did you mean '{}'?", lower));
  }
  return NotFoundAt(name, "",
                    fmt::format("no recipe ('kiln list recipes' prints them), and no type: {}",
                                MessageOf(named.status())),
                    "");
}

int64_t CalibrationImages(const Recipe& recipe, const Images& images, int64_t wanted) {
  return std::min(wanted > 0 ? wanted : recipe.calibration_images, images.size());
}

StatusOr<Graph> QuantiseNetwork(const Graph& network, const Recipe& recipe,
                                const Images& calibration, int64_t images) {
  const int64_t count = CalibrationImages(recipe, calibration, images);
  KILN_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs, calibration.MakeBatch(0, count));
  return QuantiseOnImages(network, recipe, inputs, count);
}

std::string ReferenceName(const Graph& network) {
  const bool quantises = std::any_of(network.nodes().begin(), network.nodes().end(),
                                     [](const auto& node) { return node->info().Has(kQuantises); });
  return quantises ? "reference" : "fp32";
}

void DescribeModel(const Graph& network, int64_t parameters, RunReport* report) {
  report->reference = ReferenceName(network);
  const NetworkSummary summary = Summarise(network);
  report->model = {.name = std::filesystem::path(network.source()).stem().string(),
                   .source = network.source(),
                   .nodes = summary.nodes,
                   .parameters = parameters,
                   .macs = summary.macs,
                   .input = DescribeValues(network.inputs()),
                   .output = DescribeValues(network.outputs())};
}

void DescribeImages(const Images& images, RunReport* report) {
  const DataFormat format = images.set->format();
  std::string kind;
  for (const DataFormatInfo& row : AllDataFormats()) {
    if (row.format == format) kind = row.name;
  }
  report->data = {.source = images.source,
                  .kind = kind,
                  .preprocess = images.preprocess,
                  .images = images.size()};
}

void DescribeProgram(const Accelerator& accelerator, const std::filesystem::path& source,
                     const Program& program, RunReport* report, int node_nm) {
  RunReport::Machine machine{.name = accelerator.name(),
                             .family = std::string(accelerator.family()),
                             .source = source.string(),
                             .description = accelerator.Describe(),
                             .peak_macs_per_cycle = program.peak_macs_per_cycle() > 0
                                                        ? program.peak_macs_per_cycle()
                                                        : accelerator.PeakMacsPerCycle(),
                             .clock_mhz = accelerator.ClockMhz(),
                             .cost = {}};
  if (auto cost = accelerator.EstimateProgramCost(program, node_nm); cost.ok())
    machine.cost = *std::move(cost);
  if (auto energy = accelerator.EstimateEnergy(program, node_nm); energy.ok())
    report->energy = *std::move(energy);
  if (auto traffic = accelerator.EstimateTraffic(program); traffic.ok())
    report->traffic = *std::move(traffic);
  if (auto pictures = accelerator.DrawKernels(program); pictures.ok())
    report->pictures = *std::move(pictures);
  report->machine = std::move(machine);
  report->kernels = program.kernels();
  report->constant_bytes = program.constant_bytes();
  report->activation_bytes = program.activation_bytes();
  report->interval_cycles = program.interval_cycles();
  report->images_at_once = program.images_at_once();
  report->notes.insert(report->notes.end(), program.notes().begin(), program.notes().end());
}

namespace {

// Fills in what schedules were chosen by. Schedules of other than the fewest cycles get a note.
void DescribeObjective(const CompileOptions& options, RunReport* report) {
  report->objective = NameOf(options.objective);
  std::string least;
  switch (options.objective) {
    case Objective::kCycles:
      return;
    case Objective::kEnergy:
      least = fmt::format("energy at {} nm", options.node_nm);
      break;
    case Objective::kEdp:
      least = fmt::format("product of energy at {} nm and cycles", options.node_nm);
      break;
    case Objective::kTraffic:
      least = "traffic to memory";
      break;
  }
  report->notes.push_back(
      fmt::format("schedules are those of the least {} (--optimise {}), not of the fewest cycles",
                  least, report->objective));
}

// Returns the formats of a graph's annotations, each once: "int8, uint8".
std::string FormatsOf(const Graph& graph) {
  std::set<std::string> formats;
  for (const Value* value : graph.Values()) {
    if (value->quantisation().has_value()) formats.emplace(value->quantisation()->type.format.name);
  }
  return fmt::format("{}", fmt::join(formats, ", "));
}

// Returns the network as the accelerator takes it, with annotations: those of the network's own
// quantisers if it has any, and those of the recipe if it has none or --quantise is given. Fills in
// the report's entries about quantisation.
StatusOr<Graph> PrepareForAccelerator(const Graph& network, const FlowOptions& options,
                                      const NamedRecipe& named, const Images& calibration,
                                      RunReport* report) {
  const Recipe& recipe = named.recipe;
  KILN_ASSIGN_OR_RETURN(Graph laid_out, LayOut(network));
  const QuantisedCount own = CountQuantised(laid_out);
  // Quantisers in the file have become annotations in LayOut.
  const bool has_own = own.any();
  // The network's own annotations are complete in themselves: no recipe and no calibration.
  if (has_own && !options.recipe_given) {
    const bool images = options.calibration.given();
    if (images || options.calibration_images > 0) {
      return ErrorAt(network.source(), images ? "--calibrate" : "--calibration-images",
                     "the network brings its own quantisation, which needs no calibration",
                     "leave it out, or name a recipe for the rest with --quantise");
    }
    report->quantisation =
        RunReport::Quantisation{.recipe = "", .calibration = "", .format = FormatsOf(laid_out)};
    report->notes.push_back(
        fmt::format("the network brings its own quantisation, which is used as it is: {} in {}; "
                    "--quantise adds a recipe for the "
                    "rest",
                    OwnText(own), report->quantisation->format));
    return laid_out;
  }
  const int64_t used = CalibrationImages(recipe, calibration, options.calibration_images);
  KILN_ASSIGN_OR_RETURN(Graph quantised, QuantiseNetwork(laid_out, recipe, calibration, used));
  report->quantisation = RunReport::Quantisation{
      .recipe = named.name,
      .calibration = fmt::format("the first {} of {}", Counted(used, "image"), calibration.source),
      .format = has_own && !recipe.replace_own ? BesideOwn(RecipeLabel(named.name))
                                               : RecipeLabel(named.name)};
  if (has_own) {
    report->notes.push_back(OwnNote(own, recipe));
  }
  return quantised;
}

}  // namespace

void RemoveUnrounded(const Program& program, Graph* network) {
  for (const KernelInfo& kernel : program.kernels()) {
    for (const std::string& name : kernel.unrounded_values) {
      // The machine's layout has values that the network does not have.
      if (Value* value = network->FindValue(name); value != nullptr)
        value->set_quantisation(std::nullopt);
    }
  }
}

std::string OwnText(const QuantisedCount& own) {
  return fmt::format("{} and {}", Counted(own.activations, "activation"),
                     Counted(own.weights, "constant"));
}

std::string OwnNote(const QuantisedCount& own, const Recipe& recipe) {
  return recipe.replace_own
             ? fmt::format("the recipe replaces the quantisation that the network brings: {}",
                           OwnText(own))
             : fmt::format(
                   "what the network quantises itself keeps its parameters ({}); the "
                   "recipe says the rest, or all with own_parameters: replace",
                   OwnText(own));
}

std::string RecipeLabel(const std::string& recipe) {
  const std::filesystem::path path(recipe);
  return path.extension() == ".yaml" ? path.stem().string() : recipe;
}

StatusOr<PreparedNetwork> PrepareFlow(const FlowOptions& options, const FlowProgress& progress) {
  // Check inputs that are cheap to check before any long work.
  KILN_ASSIGN_OR_RETURN(const auto design_point,
                        FindResource("accelerators", options.accelerator.string()));
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<Accelerator> accelerator, LoadAccelerator(design_point));
  if (const Status status = accelerator->CheckObjective(options.compile.objective); !status.ok())
    return WithContext("--optimise", status);
  // Without --quantise, the recipe is that of the accelerator's own formats.
  NamedRecipe recipe = accelerator->OwnRecipe();
  if (!options.recipe.empty()) {
    recipe.name = options.recipe;
    KILN_ASSIGN_OR_RETURN(recipe.recipe, FindRecipe(options.recipe));
  }
  RunReport report;
  CompileOptions compile = options.compile;
  if (options.memory.has_value())
    KILN_RETURN_IF_ERROR(AdaptToMemory(*options.memory, &compile, &accelerator, &report));
  int64_t parameters = 0;
  KILN_ASSIGN_OR_RETURN(
      Graph network, LoadNetworkToRun(options.model, options.shapes, &report.notes, &parameters));
  DescribeModel(network, parameters, &report);
  // `kiln compile` may have calibration images only.
  const ImageSettings& to_run = options.images.given() ? options.images : options.calibration;
  KILN_ASSIGN_OR_RETURN(Images images, OpenImages(to_run, network));
  DescribeImages(images, &report);
  NotePreprocess(to_run, network, images, &report.notes);
  std::optional<Images> calibration;
  if (options.calibration.given()) {
    KILN_ASSIGN_OR_RETURN(calibration, OpenImages(options.calibration, network));
  }
  const Images& calibrated_on = calibration.has_value() ? *calibration : images;

  if (progress) progress("calibrate", 0, 1);
  KILN_ASSIGN_OR_RETURN(Graph quantised,
                        PrepareForAccelerator(network, options, recipe, calibrated_on, &report));
  return PreparedNetwork{std::move(network), std::move(quantised),   std::move(images),
                         design_point,       std::move(accelerator), compile,
                         std::move(report)};
}

namespace {

// Returns the share of the operations that the host does if `recipe` quantises the network, found
// by a trial with one calibration image; nullopt if the network does not compile then.
std::optional<double> HostShareUnder(const Recipe& recipe, const PreparedNetwork& prepared,
                                     const Graph& laid_out, const CompileOptions& options) {
  const auto quantised = QuantiseNetwork(laid_out, recipe, prepared.images, 1);
  if (!quantised.ok()) return std::nullopt;
  const auto program = prepared.accelerator->Compile(*quantised, options);
  if (!program.ok()) return std::nullopt;
  RunReport trial;
  trial.kernels = (*program)->kernels();
  return HostShare(trial);
}

// Returns what to do so that clearly less of a partial network runs on the host, as the end of a
// note; "" if no use of the accelerator's own recipe does that.
std::string AdviceFor(const PreparedNetwork& prepared, const CompileOptions& options) {
  constexpr double kClearly = 0.01;  // of the operations
  auto laid_out = LayOut(prepared.network);
  if (!laid_out.ok()) return "";
  NamedRecipe own = prepared.accelerator->OwnRecipe();
  const std::string& used = prepared.report.quantisation->recipe;
  const QuantisedCount count = CountQuantised(*laid_out);
  const bool has_own = count.any();
  const double most = HostShare(prepared.report) - kClearly;
  const auto helps = [&] {
    return HostShareUnder(own.recipe, prepared, *laid_out, options).value_or(1) <= most;
  };
  const std::string begin =
      fmt::format("the recipe of the accelerator's own formats is {}", own.name);
  if (used != own.name && helps()) {
    return begin + (has_own ? ": --quantise names it for what the network does not quantise itself"
                            : ": leave out --quantise to use it");
  }
  if (!own.recipe.quantise_outputs) {
    own.recipe.quantise_outputs = true;
    if (helps()) {
      return begin +
             ", and it leaves the network's outputs in fp32: outputs: quantised in a file of that "
             "recipe gives them codes";
    }
    own.recipe.quantise_outputs = false;
  }
  own.recipe.replace_own = true;
  if (!has_own || !helps()) return "";
  return begin +
         ", and what the network quantises itself is in others: own_parameters: replace in a file "
         "of that recipe replaces those";
}

}  // namespace

StatusOr<CompiledNetwork> CompileFlow(const FlowOptions& options, const FlowProgress& progress) {
  KILN_ASSIGN_OR_RETURN(PreparedNetwork prepared, PrepareFlow(options, progress));
  if (progress) progress("compile", 0, 1);
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<Program> program,
                        prepared.accelerator->Compile(prepared.quantised, prepared.compile));
  RunReport& report = prepared.report;
  DescribeProgram(*prepared.accelerator, prepared.design_point, *program, &report,
                  options.compile.node_nm);
  DescribeObjective(prepared.compile, &report);
  // A network in formats that the accelerator lacks runs mostly on the host.
  const std::string advice = IsPartial(report) ? AdviceFor(prepared, prepared.compile) : "";
  if (!advice.empty()) {
    report.notes.push_back(
        fmt::format("{} of the operations run on the host, so cycles and energy are partial; {}",
                    Percent(HostShare(report), 2), advice));
  }
  return CompiledNetwork{std::move(prepared), std::move(program)};
}

Status CheckHasHardwareKernels(const CompiledNetwork& compiled, const std::string& model,
                               std::string_view consequence) {
  const std::vector<KernelInfo>& kernels = compiled.program->kernels();
  if (!HostRunsAll(kernels)) return OkStatus();
  const auto largest = std::max_element(
      kernels.begin(), kernels.end(),
      [](const KernelInfo& a, const KernelInfo& b) { return a.operations < b.operations; });
  std::string fault = fmt::format("has no kernel for the accelerator, so {}", consequence);
  if (largest != kernels.end()) {
    fault +=
        fmt::format("; the host runs {}, the largest, '{}', because {}",
                    Counted(std::ssize(kernels), "kernel"), largest->name, largest->host_reason);
  }
  return ErrorAt(model, fmt::format("on '{}'", compiled.accelerator->name()), fault,
                 "a design point, or a recipe (--quantise), with which the accelerator runs some "
                 "of the network");
}

StatusOr<RunReport> RunFlow(const FlowOptions& options, const FlowProgress& progress) {
  if (options.evaluate.level == Level::kReference) {
    RunReport report;
    int64_t parameters = 0;
    KILN_ASSIGN_OR_RETURN(const Graph network, LoadNetworkToRun(options.model, options.shapes,
                                                                &report.notes, &parameters));
    DescribeModel(network, parameters, &report);
    KILN_ASSIGN_OR_RETURN(const Images images, OpenImages(options.images, network));
    DescribeImages(images, &report);
    NotePreprocess(options.images, network, images, &report.notes);
    if (options.evaluate.outputs != nullptr)
      KILN_RETURN_IF_ERROR(options.evaluate.outputs->Describe(network, nullptr));
    KILN_RETURN_IF_ERROR(
        Evaluate(network, nullptr, nullptr, images, options.evaluate, progress, &report));
    return report;
  }
  KILN_ASSIGN_OR_RETURN(CompiledNetwork compiled, CompileFlow(options, progress));
  // Accuracy on images that were calibrated on may be optimistic.
  if (!options.calibration.given() && compiled.images.set->has_labels() &&
      !compiled.report.quantisation->calibration.empty()) {
    compiled.report.notes.push_back(
        "calibrated on images that the accuracy is measured on; --calibrate names others");
  }
  if (options.evaluate.outputs != nullptr) {
    KILN_RETURN_IF_ERROR(options.evaluate.outputs->Describe(compiled.network, &compiled.quantised));
  }
  EvaluateOptions evaluate = options.evaluate;
  if (options.memory.has_value()) {
    KILN_RETURN_IF_ERROR(CheckHasHardwareKernels(compiled, options.model.string(),
                                                 "no bytes pass the memory of --memory"));
    KILN_RETURN_IF_ERROR(
        ApplyMemory(*options.memory, *compiled.accelerator, &compiled.report, &evaluate.memory));
    if (compiled.report.interval_cycles > 0) {
      KILN_ASSIGN_OR_RETURN(
          compiled.report.interval_cycles,
          compiled.accelerator->IntervalBehind(*compiled.program, evaluate.memory));
    }
  }
  KILN_RETURN_IF_ERROR(Evaluate(compiled.network, compiled.accelerator.get(),
                                compiled.program.get(), compiled.images, evaluate, progress,
                                &compiled.report));
  return std::move(compiled.report);
}

}  // namespace kiln
