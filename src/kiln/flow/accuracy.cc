// Measures accuracy per format. All formats share the network, the data and the calibration runs.
#include "kiln/flow/accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "kiln/quantise/energy.h"
#include "kiln/quantise/layer_errors.h"
#include "kiln/quantise/post_training.h"
#include "kiln/quantise/quantise.h"
#include "kiln/support/resources.h"
#include "kiln/targets/registry.h"

namespace kiln {
namespace {

// Gives recipes of files their labels, unless two are equal.
void ShortenNames(std::vector<NamedRecipe>* recipes) {
  std::map<std::string, int> times;
  for (const NamedRecipe& named : *recipes) ++times[RecipeLabel(named.name)];
  for (NamedRecipe& named : *recipes) {
    if (const std::string label = RecipeLabel(named.name); times[label] == 1) named.name = label;
  }
}

// Finds all recipes before anything runs, so that a typo is reported at once.
StatusOr<std::vector<NamedRecipe>> FindRecipes(const std::vector<std::string>& names) {
  std::vector<NamedRecipe> recipes;
  for (const std::string& name : names) {
    auto recipe = FindRecipe(name);
    if (!recipe.ok()) return WithContext("--formats", recipe.status());
    recipes.push_back({name, *std::move(recipe)});
  }
  ShortenNames(&recipes);
  if (recipes.empty())
    return ErrorAt("", "--formats", "no format is named", "such as int8,mxint8,e4m3,posit8_1");
  return recipes;
}

// What all rows have in common.
struct Bench {
  const AccuracyOptions& options;
  const Accelerator& accelerator;
  const Graph& network;
  const Images& images;
  const Images& calibration;
  PostTraining& post_training;
  const FlowProgress& progress;
  bool has_own;       // whether the network brings its own quantisation
  bool has_accuracy;  // whether the labels fit an output
};

// Returns the options of a functional run without cycles.
EvaluateOptions OptionsOf(const Bench& bench) {
  EvaluateOptions evaluate = bench.options.flow.evaluate;
  evaluate.cycle_limit = 0;
  // Accuracy compares with labels; without labels, outputs are compared with fp32's.
  evaluate.run_fp32 = !bench.images.set->has_labels();
  return evaluate;
}

// Returns the simulation's speed; 0 if nothing ran.
double ImagesPerSecond(const RunReport& report) {
  return report.run_seconds > 0 ? static_cast<double>(report.images_run) / report.run_seconds : 0;
}

// Runs the reference level, and reports why there is no accuracy if there is none.
StatusOr<AccuracyTable::Row> MeasureReference(const Bench& bench, std::string* no_accuracy) {
  EvaluateOptions evaluate = OptionsOf(bench);
  evaluate.level = Level::kReference;
  RunReport report;
  KILN_RETURN_IF_ERROR(
      Evaluate(bench.network, nullptr, nullptr, bench.images, evaluate, bench.progress, &report));
  AccuracyTable::Row row;
  row.format = ReferenceName(bench.network);
  row.accuracy = report.fp32;
  *no_accuracy = report.no_accuracy;
  row.picojoules = MultiplyCostOf(bench.network).picojoules;
  row.images_per_second = ImagesPerSecond(report);
  return row;
}

// Returns the error by layer of a quantised network. Labels count if they fit an output, as they do
// for the accuracy of the table.
StatusOr<LayerErrors> MeasureLayers(const Bench& bench, const Graph& exact, const Graph& quantised,
                                    const FlowProgress& progress) {
  int64_t images = std::min(bench.options.layer_images, bench.images.size());
  if (const int64_t limit = bench.options.flow.evaluate.limit; limit > 0)
    images = std::min(images, limit);
  KILN_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs, bench.images.MakeBatch(0, images));
  LayerErrorOptions options;
  options.progress = [&progress](int64_t done, int64_t total) { progress("layers", done, total); };
  const DataSet& set = *bench.images.set;
  if (set.has_labels() && bench.has_accuracy) {
    KILN_ASSIGN_OR_RETURN(options.layout, FindScores(exact, set.label_shape()));
    options.labels =
        std::span(set.labels()).first(static_cast<size_t>(images * options.layout->places));
  }
  return MeasureLayerErrors(exact, quantised, inputs, options);
}

// A program, and the design point or variant that it is for. The design point is the bench's.
struct Compiled {
  std::unique_ptr<Accelerator> variant;  // nullptr: the design point itself
  std::unique_ptr<Program> program;
  RunReport report;  // describes both
};

// Compiles for the variant, or for the design point itself if `variant` is nullptr.
StatusOr<Compiled> CompileOn(const Bench& bench, std::unique_ptr<Accelerator> variant,
                             const Graph& quantised) {
  const Accelerator& machine = variant ? *variant : bench.accelerator;
  Compiled compiled;
  KILN_ASSIGN_OR_RETURN(compiled.program, machine.Compile(quantised, bench.options.flow.compile));
  DescribeProgram(machine, bench.options.flow.accelerator, *compiled.program, &compiled.report);
  compiled.variant = std::move(variant);
  return compiled;
}

// Returns whether a design point takes a recipe's formats as it is.
bool Takes(const Accelerator& machine, const Recipe& recipe) {
  const auto has = [](const std::vector<std::string>& names, const QuantType& type) {
    return type.scheme != Scheme::kPerBlock &&
           std::find(names.begin(), names.end(), type.format.name) != names.end();
  };
  return has(machine.ActivationFormats(), recipe.activations.type) &&
         has(machine.WeightFormats(), recipe.weights.type);
}

// Compiles for the variant of the design point that has the recipe's formats. The design point
// itself is used in its place in two cases: the family has no variants and the design point takes
// the formats; or the recipe has layers in other formats and the design point computes more of
// them than the variant. A note tells of the second.
StatusOr<Compiled> CompileFor(const Bench& bench, const NamedRecipe& named, const Graph& quantised,
                              std::vector<std::string>* notes) {
  const Recipe& recipe = named.recipe;
  auto variant = bench.accelerator.WithFormats(recipe.activations.type, recipe.weights.type);
  if (!variant.ok()) {
    if (!Takes(bench.accelerator, recipe)) return variant.status();
    return CompileOn(bench, nullptr, quantised);
  }
  const std::string variant_name = (*variant)->name();
  auto on_variant = CompileOn(bench, *std::move(variant), quantised);
  const double share = on_variant.ok() ? HostShare(on_variant->report) : 1;
  if (recipe.layers.empty() || share == 0) return on_variant;
  auto on_itself = CompileOn(bench, nullptr, quantised);
  if (!on_itself.ok() || HostShare(on_itself->report) >= share) return on_variant;
  notes->push_back(
      fmt::format("{}: runs on {} itself, as in `kiln run`, because the host would "
                  "do more of the layers beside the variant '{}'",
                  named.name, bench.accelerator.name(), variant_name));
  return on_itself;
}

// Quantises, compiles and runs the network in one format. The program's notes are added to `notes`.
StatusOr<AccuracyTable::Row> Measure(const Bench& bench, const NamedRecipe& named,
                                     std::vector<std::string>* notes) {
  const Recipe& recipe = named.recipe;
  const int64_t images =
      CalibrationImages(recipe, bench.calibration, bench.options.flow.calibration_images);
  KILN_ASSIGN_OR_RETURN(const Graph quantised, bench.post_training.Quantise(recipe, images));
  KILN_ASSIGN_OR_RETURN(Compiled compiled, CompileFor(bench, named, quantised, notes));
  const Accelerator& machine = compiled.variant ? *compiled.variant : bench.accelerator;
  for (const std::string& note : compiled.program->notes())
    notes->push_back(fmt::format("{}: {}", named.name, note));
  RunReport& report = compiled.report;
  // Progress names the format, because the same steps repeat for each format.
  const FlowProgress named_progress = [&](const std::string& step, int64_t done, int64_t total) {
    if (bench.progress) bench.progress(fmt::format("{} {}", named.name, step), done, total);
  };
  KILN_RETURN_IF_ERROR(Evaluate(bench.network, &machine, compiled.program.get(), bench.images,
                                OptionsOf(bench), named_progress, &report));
  const MultiplyCost cost = MultiplyCostOf(quantised);
  AccuracyTable::Row row;
  row.format = named.name;
  row.keeps_own = bench.has_own && !recipe.replace_own;
  row.machine = machine.name();
  row.accuracy = report.quantised;
  row.agreement = report.agreement;
  row.outputs = report.outputs;
  row.activation_bits = cost.activation_bits;
  row.weight_bits = cost.weight_bits;
  row.picojoules = cost.picojoules;
  row.host_share = HostShare(report);
  row.host_reason = LargestHostReason(report);
  row.images_per_second = ImagesPerSecond(report);
  if (bench.options.layer_images > 0) {
    KILN_ASSIGN_OR_RETURN(const Graph* exact, bench.post_training.Exact(recipe, images));
    KILN_ASSIGN_OR_RETURN(row.layers, MeasureLayers(bench, *exact, quantised, named_progress));
  }
  return row;
}

}  // namespace

StatusOr<AccuracyTable> MeasureAccuracy(const AccuracyOptions& options,
                                        const FlowProgress& progress) {
  KILN_ASSIGN_OR_RETURN(const std::vector<NamedRecipe> recipes, FindRecipes(options.formats));
  KILN_ASSIGN_OR_RETURN(const auto design_point,
                        FindResource("accelerators", options.flow.accelerator.string()));
  KILN_ASSIGN_OR_RETURN(const std::unique_ptr<Accelerator> accelerator,
                        LoadAccelerator(design_point));
  AccuracyTable table;
  KILN_ASSIGN_OR_RETURN(const Graph network,
                        LoadNetworkToRun(options.flow.model, options.flow.shapes, &table.notes));
  KILN_ASSIGN_OR_RETURN(const Images images, OpenImages(options.flow.images, network));
  NotePreprocess(options.flow.images, network, images, &table.notes);
  std::optional<Images> calibration;
  if (options.flow.calibration.given()) {
    KILN_ASSIGN_OR_RETURN(calibration, OpenImages(options.flow.calibration, network));
  } else if (images.set->has_labels()) {
    table.notes.push_back(
        "calibrated on images that the accuracy is measured on; --calibrate names others");
  }
  KILN_ASSIGN_OR_RETURN(const Graph laid_out, LayOut(network));
  const Images& calibrated_on = calibration ? *calibration : images;
  // The calibration batch serves all formats, so it has as many images as the most demanding
  // recipe.
  int64_t most = 0;
  for (const NamedRecipe& named : recipes) {
    most = std::max(
        most, CalibrationImages(named.recipe, calibrated_on, options.flow.calibration_images));
  }
  KILN_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs, calibrated_on.MakeBatch(0, most));
  PostTraining post_training(laid_out, inputs);
  const QuantisedCount own = CountQuantised(laid_out);
  Bench bench{.options = options,
              .accelerator = *accelerator,
              .network = network,
              .images = images,
              .calibration = calibrated_on,
              .post_training = post_training,
              .progress = progress,
              .has_own = own.any(),
              .has_accuracy = false};

  table.model = options.flow.model.stem().string();
  table.data = images.source;
  table.accelerator = accelerator->name();
  table.calibration = bench.calibration.source;
  table.images = options.flow.evaluate.limit > 0
                     ? std::min(options.flow.evaluate.limit, images.size())
                     : images.size();
  KILN_ASSIGN_OR_RETURN(AccuracyTable::Row reference, MeasureReference(bench, &table.no_accuracy));
  bench.has_accuracy = reference.accuracy.has_value();
  if (bench.has_own &&
      std::ranges::any_of(recipes, [](const NamedRecipe& r) { return !r.recipe.replace_own; })) {
    table.notes.push_back(fmt::format(
        "the network quantises {} itself, which keep their parameters in every row with "
        "'own': the format is of the rest; own_parameters: replace in a recipe replaces them",
        OwnText(own)));
  }
  table.rows.push_back(std::move(reference));
  bool any = false;
  Status first_fault;
  for (const NamedRecipe& named : recipes) {
    auto row = Measure(bench, named, &table.notes);
    any = any || row.ok();
    if (first_fault.ok()) first_fault = row.status();
    if (!row.ok()) {
      AccuracyTable::Row empty;
      empty.format = named.name;
      empty.fault = MessageOf(row.status());
      row = std::move(empty);
    }
    table.rows.push_back(*std::move(row));
  }
  // A table in which every format failed would hide the reason; report the first one as an error.
  if (!any) return first_fault;
  return table;
}

}  // namespace kiln
