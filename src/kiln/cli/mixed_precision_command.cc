// The command `kiln mixed-precision`: searches the number type of each layer for an accuracy
// budget, and writes the choice as a recipe.
#include <fmt/format.h>
#include <CLI/App.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "kiln/command/arguments.h"
#include "kiln/command/checks.h"
#include "kiln/command/command.h"
#include "kiln/command/progress.h"
#include "kiln/command/result_files.h"
#include "kiln/flow/flow.h"
#include "kiln/quantise/energy.h"
#include "kiln/quantise/mixed_precision.h"
#include "kiln/quantise/recipe_names.h"
#include "kiln/quantise/scores.h"
#include "kiln/report/text.h"
#include "kiln/support/json_text.h"

namespace kiln::cli {
namespace {

StatusOr<PrecisionCost> FindCost(const std::string& name) {
  if (name == "bits") return PrecisionCost::kBits;
  if (name == "energy") return PrecisionCost::kEnergy;
  return ErrorAt("", "--cost", fmt::format("unknown cost '{}'", name), "bits or energy");
}

// Formats the trade-off curve as JSON, with the candidates' names.
std::string SearchJson(const MixedPrecision& found, const MixedPrecisionOptions& options) {
  using Json = nlohmann::ordered_json;
  Json curve = Json::array();
  for (const TradeOffPoint& point : found.curve) {
    Json picks = Json::array();
    for (const int pick : point.picks)
      picks.push_back(options.candidates[static_cast<size_t>(pick)]);
    curve.push_back({{"cost", point.cost},
                     {"lower_bound", point.lower_bound},
                     {"damage", point.damage},
                     {"measured_damage", point.measured_damage},
                     {"accuracy", point.merit},
                     {"other_error", point.other_error},
                     {"formats", std::move(picks)}});
  }
  Json units = Json::array();
  for (const PrecisionUnit& unit : found.units) units.push_back(unit.layers);
  Json layers = Json::array();  // of the choice
  for (size_t u = 0; u < found.units.size(); ++u) {
    const std::string& type = options.candidates[static_cast<size_t>(found.choice().picks[u])];
    for (const std::string& layer : found.units[u].layers)
      layers.push_back({{"layer", layer}, {"format", type}});
  }
  const Json all = {{"fp32_accuracy", found.fp32_merit}, {"units", std::move(units)},
                    {"curve", std::move(curve)},         {"chosen", found.chosen},
                    {"layers", std::move(layers)},       {"within_budget", found.within_budget}};
  return JsonText(all);
}

// Loads network and images, runs SearchMixedPrecision and writes its recipe. The merit is always
// top-k accuracy of the output that the labels fit; other outputs are compared with fp32.
class MixedPrecisionCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("model", model_, "The network: ONNX or IR text")->required()->type_name("MODEL");
    app.add_option("--formats", options_.candidates, "Types to choose among, the widest first")
        ->required()
        ->delimiter(',')
        ->type_name("F,F,...");
    app.add_option("--budget", options_.budget,
                   "Points of accuracy that may be lost against fp32, on the first output that the "
                   "labels fit")
        ->type_name("POINTS")
        ->check(RealInRange(0.0, 100.0))
        ->capture_default_str();
    app.add_option(
           "--other-error", other_error_,
           "How far each other output may be from fp32, in per cent of its root mean square")
        ->type_name("PERCENT")
        ->check(RealInRange(0.0, 100.0))
        ->capture_default_str();
    app.add_option("--cost", cost_,
                   "What shall be least: bits (read by layers) or energy (of multiplications)")
        ->type_name("COST")
        ->capture_default_str();
    app.add_option("--limit", limit_, "Measure on the first N images only; 0: all")
        ->type_name("N")
        ->check(IsCount())
        ->capture_default_str();
    DeclareTopK(app, &top_k_);
    shapes_.Declare(app);
    data_.Declare(app);
    calibration_.Declare(app);
    const auto output = app.add_option_group("Output");
    output->add_option("--out", recipe_, "The recipe of the choice, for --quantise")
        ->type_name("FILE.yaml");
    output->add_option("--json", json_, "The trade-off curve as JSON; - is standard output")
        ->type_name("FILE");
    app.footer(
        "Example:\n  kiln mixed-precision models/demo_fashion_mnist.onnx --formats int8,int6,int4 "
        "--out mixed.yaml \\\n"
        "    --data /usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz");
  }

  Status Run(Context& context) override {
    KILN_ASSIGN_OR_RETURN(options_.cost, FindCost(cost_));
    // Check everything that is cheap to check before the search, which can take long.
    KILN_RETURN_IF_ERROR(CheckCandidates());
    KILN_ASSIGN_OR_RETURN(const ImageSettings settings, data_.Settings());
    KILN_ASSIGN_OR_RETURN(const Shapes shapes, shapes_.Get());
    if (settings.random > 0) {
      return ErrorAt("", "--random", "accuracy needs data with labels",
                     "give --data FILE, with labels");
    }
    if (settings.path.empty()) return NoDataFor(model_, shapes, /*labels=*/true);
    std::vector<std::filesystem::path> inputs = FilesOf(settings);
    for (const std::filesystem::path& file : FilesOf(calibration_.Settings(settings)))
      inputs.push_back(file);
    inputs.emplace_back(model_);
    KILN_RETURN_IF_ERROR(CheckIsFile("--out", recipe_));
    KILN_RETURN_IF_ERROR(CheckOutputs({json_, recipe_}, inputs));
    KILN_ASSIGN_OR_RETURN(const Graph network, LoadNetwork(model_, shapes, /*known_inputs=*/true));
    KILN_ASSIGN_OR_RETURN(const Images images, OpenImages(settings, network));
    if (!images.set->has_labels()) {
      const std::string& why = images.set->no_labels();
      return why.empty()
                 ? ErrorAt(images.source, "", "has no labels, so that no accuracy can be measured",
                           "name --labels")
                 : ErrorAt("", "", "no accuracy can be measured: " + why, "name --labels");
    }
    const int64_t count = limit_ > 0 ? std::min(limit_, images.size()) : images.size();
    const ImageSettings own = calibration_.Settings(settings);
    std::optional<Images> others;
    if (!own.path.empty()) {
      KILN_ASSIGN_OR_RETURN(others, OpenImages(own, network));
    }
    const Images& calibrated_on = others.has_value() ? *others : images;
    const int64_t wanted =
        calibration_.images() > 0 ? calibration_.images() : Recipe().calibration_images;
    KILN_ASSIGN_OR_RETURN(const std::vector<Tensor> calibration,
                          calibrated_on.MakeBatch(0, std::min(wanted, calibrated_on.size())));
    KILN_ASSIGN_OR_RETURN(const std::vector<Tensor> evaluation, images.MakeBatch(0, count));
    KILN_ASSIGN_OR_RETURN(const Merit merit, MeritOf(network, *images.set, count));
    options_.other_error = other_error_ / 100;
    KILN_ASSIGN_OR_RETURN(const Graph laid_out, LayOut(network));
    StatusOr<MixedPrecision> search;
    {
      ProgressBars bars(context.err, context.show_progress);
      search =
          SearchMixedPrecision(laid_out, calibration, evaluation, merit, options_, bars.Callback());
    }
    KILN_ASSIGN_OR_RETURN(const MixedPrecision found, std::move(search));
    std::string text = TextOf(found, count);
    std::vector<std::string> notes;
    NotePreprocess(settings, network, images, &notes);
    for (const std::string& note : notes) text += "note: " + note + '\n';
    KILN_RETURN_IF_ERROR(WriteResults(context.out, json_, text, SearchJson(found, options_)));
    if (!recipe_.empty()) {
      const std::string comment = fmt::format(
          "Found by kiln mixed-precision for {}: {:.2f} % of {}, fp32 {:.2f} %.", network.source(),
          found.choice().merit, Counted(count, "image"), found.fp32_merit);
      KILN_RETURN_IF_ERROR(WriteOutput(recipe_, PrintRecipe(found.recipe, comment)));
      if (json_ != "-") context.out << "\nrecipe  " << recipe_ << '\n';
    }
    return OkStatus();
  }

 private:
  // Returns the merit: top-k accuracy against the labels of the first `images` samples. Sets the
  // output that it judges.
  StatusOr<Merit> MeritOf(const Graph& network, const DataSet& set, int64_t images) {
    auto layout = FindScores(network, set.label_shape());
    if (!layout.ok())
      return ErrorAt(network.source(), "", MessageOf(layout.status()), "name labels that fit");
    options_.merit_output = layout->output;
    if (layout->classes > 0) {
      KILN_RETURN_IF_ERROR(set.CheckLabels(layout->classes, layout->has_void() ? kVoidLabel : -1));
    }
    if (top_k_ > std::max<int64_t>(layout->classes, 1)) {
      return ErrorAt("", "--top-k", fmt::format("{} of {} classes", top_k_, layout->classes),
                     "name a smaller number");
    }
    const auto labels = std::span(set.labels()).first(static_cast<size_t>(images * layout->places));
    return TopScores(std::vector<int32_t>(labels.begin(), labels.end()), *layout, top_k_);
  }

  // Checks that the first candidate is the widest: the search measures damage against it.
  Status CheckCandidates() const {
    KILN_RETURN_IF_ERROR(CheckNamedOnce("--formats", options_.candidates));
    double widest = 0;
    for (const std::string& name : options_.candidates) {
      const auto recipe = RecipeByName(name);
      if (!recipe.ok()) return WithContext("--formats", recipe.status());
      const double bits = BitsOf(recipe->activations.type) + BitsOf(recipe->weights.type);
      if (widest == 0) widest = bits;
      if (bits > widest) {
        return ErrorAt(
            "", "--formats",
            fmt::format("'{}' is wider than the first, '{}'", name, options_.candidates[0]),
            "the widest first");
      }
    }
    return OkStatus();
  }

  // Formats the legend of candidates and the report of the search.
  std::string TextOf(const MixedPrecision& found, int64_t count) const {
    std::string text = fmt::format(
        "{}, simulated; cost: {} an image; merit: per cent of images classified rightly\n",
        Counted(count, "image"),
        cost_ == "bits" ? "bits that layers read" : "picojoules of multiplications");
    for (size_t i = 0; i < options_.candidates.size(); ++i) {
      text += fmt::format("  {}: {}\n", static_cast<char>('a' + std::min<size_t>(i, 25)),
                          options_.candidates[i]);
    }
    return text + '\n' + found.Report(cost_ == "bits" ? "bit" : "pJ", "%");
  }

  std::string model_, json_, recipe_;
  std::string cost_ = "bits";
  double other_error_ = 10;  // per cent
  int64_t limit_ = 500;
  int top_k_ = 1;
  ShapeArguments shapes_;
  MixedPrecisionOptions options_;
  DataArguments data_;
  CalibrationArguments calibration_;
};

}  // namespace

std::unique_ptr<Command> MakeMixedPrecisionCommand() {
  return std::make_unique<MixedPrecisionCommand>();
}

}  // namespace kiln::cli
