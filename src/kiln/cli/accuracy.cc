#include "kiln/cli/accuracy.h"

#include <fmt/format.h>

#include <utility>

#include "kiln/cli/resources.h"
#include "kiln/quantise/energy.h"
#include "kiln/quantise/quantise.h"
#include "kiln/quantise/recipe_names.h"
#include "kiln/targets/registry.h"

namespace kiln {
namespace {

struct NamedRecipe {
  std::string name;
  Recipe recipe;
};

// All names are looked up before anything is run.
StatusOr<std::vector<NamedRecipe>> FindRecipes(const std::vector<std::string>& names) {
  std::vector<NamedRecipe> recipes;
  for (const std::string& name : names) {
    // What is no file is meant as a type.
    auto recipe = FindRecipe(name);
    if (!recipe.ok() && !cli::FindResource("recipes", name).ok()) recipe = RecipeByName(name);
    if (!recipe.ok()) return WithContext(fmt::format("--formats, '{}'", name), recipe.status());
    recipes.push_back({name, *std::move(recipe)});
  }
  if (recipes.empty()) return ErrorAt("", "--formats", "no format is named", "such as int8,mxint8,e4m3,posit8_1");
  return recipes;
}

// What all rows have in common.
struct Bench {
  const AccuracyOptions& options;
  const Accelerator& accelerator;
  const Graph& network;
  const Graph& laid_out;
  const Images& images;
  const Images& calibration;
  const FlowProgress& progress;
};

EvaluateOptions OptionsOf(const Bench& bench) {
  EvaluateOptions evaluate = bench.options.evaluate;
  evaluate.cycle_limit = 0;
  // Labels say what is right; without them fp32 does.
  evaluate.run_fp32 = !bench.images.set->has_labels();
  return evaluate;
}

StatusOr<AccuracyTable::Row> MeasureReference(const Bench& bench) {
  AccuracyTable::Row row{
      .format = "fp32", .machine = "", .accuracy = {}, .agreement = {}, .output_sqnr_db = {}, .fault = {}};
  EvaluateOptions evaluate = OptionsOf(bench);
  evaluate.level = Level::kReference;
  RunReport report;
  KILN_RETURN_IF_ERROR(Evaluate(bench.network, nullptr, nullptr, bench.images, evaluate, bench.progress, &report));
  row.accuracy = report.fp32;
  row.picojoules = MultiplyCostOf(bench.network).picojoules;
  if (report.run_seconds > 0) row.images_per_second = static_cast<double>(report.images_run) / report.run_seconds;
  return row;
}

StatusOr<AccuracyTable::Row> Measure(const Bench& bench, const NamedRecipe& named) {
  const Recipe& recipe = named.recipe;
  AccuracyTable::Row row{
      .format = named.name, .machine = "", .accuracy = {}, .agreement = {}, .output_sqnr_db = {}, .fault = {}};
  KILN_ASSIGN_OR_RETURN(const auto machine,
                        bench.accelerator.WithFormats(recipe.activations.type, recipe.weights.type));
  row.machine = machine->name();
  int64_t used = 0;
  KILN_ASSIGN_OR_RETURN(const Graph quantised, QuantiseNetwork(bench.laid_out, recipe, bench.calibration,
                                                               bench.options.calibration_images, &used));
  KILN_ASSIGN_OR_RETURN(const auto program, machine->Compile(quantised, {}));
  RunReport report;
  DescribeProgram(*machine, bench.options.accelerator, *program, &report);
  const FlowProgress named_progress = [&](const std::string& step, int64_t done, int64_t total) {
    if (bench.progress) bench.progress(fmt::format("{} {}", named.name, step), done, total);
  };
  KILN_RETURN_IF_ERROR(
      Evaluate(bench.network, machine.get(), program.get(), bench.images, OptionsOf(bench), named_progress, &report));
  const MultiplyCost cost = MultiplyCostOf(quantised);
  row.accuracy = report.quantised;
  row.agreement = report.agreement;
  row.output_sqnr_db = report.output_sqnr_db;
  row.activation_bits = cost.activation_bits;
  row.weight_bits = cost.weight_bits;
  row.picojoules = cost.picojoules;
  row.host_share = HostShare(report);
  if (report.run_seconds > 0) row.images_per_second = static_cast<double>(report.images_run) / report.run_seconds;
  return row;
}

}  // namespace

StatusOr<AccuracyTable> MeasureAccuracy(const AccuracyOptions& options, const FlowProgress& progress) {
  KILN_ASSIGN_OR_RETURN(const std::vector<NamedRecipe> recipes, FindRecipes(options.formats));
  KILN_ASSIGN_OR_RETURN(const auto design_point, cli::FindResource("accelerators", options.accelerator.string()));
  KILN_ASSIGN_OR_RETURN(const std::unique_ptr<Accelerator> accelerator, LoadAccelerator(design_point));
  AccuracyTable table;
  KILN_ASSIGN_OR_RETURN(const Graph network, LoadNetworkToRun(options.model, &table.notes));
  KILN_ASSIGN_OR_RETURN(const Images images, OpenImages(options.images, network));
  const bool own_calibration = !options.calibration.path.empty() || options.calibration.random > 0;
  std::optional<Images> calibration;
  if (own_calibration) {
    KILN_ASSIGN_OR_RETURN(calibration, OpenImages(options.calibration, network));
  } else if (images.set->has_labels()) {
    table.notes.push_back("calibrated on images that the accuracy is measured on; --calibrate names others");
  }
  KILN_ASSIGN_OR_RETURN(const Graph laid_out, LayOut(network));
  const Bench bench{options, *accelerator, network, laid_out, images, calibration ? *calibration : images, progress};

  table.model = options.model.stem().string();
  table.data = images.set->source();
  table.accelerator = accelerator->name();
  table.calibration = bench.calibration.set->source();
  table.images = options.evaluate.limit > 0 ? std::min(options.evaluate.limit, images.size()) : images.size();
  KILN_ASSIGN_OR_RETURN(AccuracyTable::Row reference, MeasureReference(bench));
  table.rows.push_back(std::move(reference));
  bool any = false;
  Status first_fault;
  for (const NamedRecipe& named : recipes) {
    auto row = Measure(bench, named);
    any = any || row.ok();
    if (row.ok()) {
      table.rows.push_back(*std::move(row));
    } else {
      if (first_fault.ok()) first_fault = row.status();
      AccuracyTable::Row empty{.format = named.name,
                               .machine = "",
                               .accuracy = {},
                               .agreement = {},
                               .output_sqnr_db = {},
                               .fault = MessageOf(row.status())};
      table.rows.push_back(std::move(empty));
    }
  }
  if (!any) return first_fault;
  return table;
}

}  // namespace kiln
