// The command `kiln binary` and its subcommand: prediction, trained and measured.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kiln/command/arguments.h"
#include "kiln/command/checks.h"
#include "kiln/command/command_group.h"
#include "kiln/command/result_files.h"
#include "kiln/flow/fidelity.h"
#include "kiln/flow/flow.h"
#include "kiln/flow/outputs.h"
#include "kiln/frontend/model.h"
#include "kiln/report/text.h"
#include "kiln/targets/binary/accelerator.h"
#include "kiln/targets/binary/command/prediction_report.h"
#include "kiln/targets/binary/compile/network_program.h"
#include "kiln/targets/binary/train_thresholds.h"

namespace kiln::cli {
namespace {

using binary::Config;
using binary::NetworkProgram;
using binary::Prediction;
using binary::PredictionRow;

// A network on a machine of the family.
struct Prepared {
  PreparedNetwork network;
  Config config;
};

StatusOr<Prepared> Prepare(const FlowOptions& options) {
  Prepared prepared;
  KILN_ASSIGN_OR_RETURN(prepared.network, PrepareFlow(options));
  const auto* machine =
      dynamic_cast<const binary::BinaryAccelerator*>(prepared.network.accelerator.get());
  if (machine == nullptr) {
    return ErrorAt(options.accelerator.string(), "--on",
                   fmt::format("is of the family {}", prepared.network.accelerator->family()),
                   "name a design point of the family binary");
  }
  prepared.config = machine->config();
  return prepared;
}

StatusOr<std::unique_ptr<NetworkProgram>> CompileWith(const Prepared& prepared,
                                                      Prediction prediction) {
  Config config = prepared.config;
  config.prediction = prediction;
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<Program> program,
                        binary::CompileNetwork(prepared.network.quantised, config, {}));
  return std::unique_ptr<NetworkProgram>(static_cast<NetworkProgram*>(program.release()));
}

// `kiln binary predict`.
class PredictCommand {
 public:
  void Declare(CLI::App& app) {
    flow_.Declare(app, {.accelerator = "The machine: a YAML file or a name (kiln list "
                                       "accelerators) of the family binary"});
    app.add_option("--budget", budgets_,
                   "Shares of outputs that may be wrong on the training images, for trained "
                   "thresholds; several give a curve")
        ->type_name("SHARE")
        ->check(RealInRange(0, 1).description(""))
        ->capture_default_str();
    app.add_option(
           "--train", train_,
           "Images to train on, the first ones; the others are measured. A layer that is no "
           "map has one sample a channel in each: a budget of 1 % then takes some thousand")
        ->type_name("N")
        ->check(InRange(1, 100000).description(""))
        ->capture_default_str();
    app.add_option("--limit", limit_, "Images to measure; 0: all")
        ->type_name("N")
        ->check(InRange(0, int64_t{1} << 40).description(""))
        ->capture_default_str();
    app.add_option("--outputs", outputs_,
                   "Also write what the network computed, one archive (.npz) for each row, into "
                   "this folder")
        ->type_name("FOLDER");
    app.add_option("--pools", leads_,
                   "Also measure the prediction of maximum pooling: candidates this share of the "
                   "exact lead behind the best of their pool are not finished")
        ->type_name("SHARE")
        ->check(RealInRange(0, 1).description(""));
    app.add_option("--save", save_,
                   "Also write the network with the thresholds of the --budget in its metadata, "
                   "for machines with prediction: predicted")
        ->type_name("FILE");
    app.add_option("--chart", chart_, "Saved look-ups against errors as a picture (SVG)")
        ->type_name("FILE");
    app.add_option("--json", json_, "The result as JSON; - is standard output")->type_name("FILE");
    app.footer(
        "Example:\n"
        "  kiln binary predict models/fashion_cnn_w1a8.onnx --on binary-44 --data "
        "/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz --train 500 --limit 2000 "
        "--budget 0.001 0.01 0.05\n"
        "  kiln binary predict models/fashion_cnn_w1a8.onnx --on binary-44 --data "
        "/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz --train 100 --limit 1000 "
        "--budget 0.01 --save "
        "trained.onnx");
  }

  Status Run(Context& context) {
    if (chart_ == "-") KILN_RETURN_IF_ERROR(CheckIsFile("--chart", chart_));
    KILN_RETURN_IF_ERROR(flow_.CheckImagesGiven());
    KILN_ASSIGN_OR_RETURN(FlowOptions options, flow_.Options());
    KILN_RETURN_IF_ERROR(CheckSave(options.model));
    std::ranges::sort(budgets_);
    budgets_.erase(std::ranges::unique(budgets_).begin(), budgets_.end());
    std::ranges::sort(leads_);
    leads_.erase(std::ranges::unique(leads_).begin(), leads_.end());
    std::vector<std::string> files = Archives();
    files.insert(files.end(), {json_, chart_, save_});
    KILN_RETURN_IF_ERROR(CheckOutputs(files, FilesOf(options)));
    KILN_RETURN_IF_ERROR(CheckOutputFolder(outputs_));
    KILN_ASSIGN_OR_RETURN(prepared_, Prepare(options));
    node_nm_ = options.compile.node_nm;
    KILN_ASSIGN_OR_RETURN(const std::unique_ptr<NetworkProgram> stored, CompileStored(context));
    const Images& images = prepared_.network.images;
    if (images.size() <= train_) {
      return ErrorAt("", "--train",
                     fmt::format("{} of {} leave none to measure", Counted(train_, "image"),
                                 Thousands(images.size())),
                     "fewer, or more data");
    }
    last_ = limit_ == 0 ? images.size() : std::min(images.size(), train_ + limit_);
    if (!outputs_.empty()) KILN_RETURN_IF_ERROR(MakeFolderOf(outputs_ + "/none.npz"));
    KILN_ASSIGN_OR_RETURN(const std::unique_ptr<NetworkProgram> none,
                          CompileWith(prepared_, Prediction::kNone));
    KILN_ASSIGN_OR_RETURN(const std::unique_ptr<NetworkProgram> exact,
                          CompileWith(prepared_, Prediction::kExact));
    KILN_ASSIGN_OR_RETURN(const std::unique_ptr<NetworkProgram> predicted,
                          CompileWith(prepared_, Prediction::kPredicted));
    if (std::ranges::all_of(none->launches(),
                            [](const auto& launches) { return launches.empty(); }))
      return ErrorAt(options.model.string(), fmt::format("on '{}'", prepared_.config.name),
                     "has no layer for the machine, so there is nothing to predict",
                     "another design point or recipe (--quantise)");
    if (!leads_.empty() && !HasPools(*predicted)) {
      return ErrorAt(options.model.string(), "--pools",
                     "no MaxPool alone reads a layer with tests on the machine", "leave it out");
    }
    // Before the images run: whether the model can carry thresholds.
    if (!save_.empty()) KILN_RETURN_IF_ERROR(TrainedModel(options.model, *predicted).status());
    KILN_RETURN_IF_ERROR(Measure(context, "none", std::nullopt, *none));
    KILN_RETURN_IF_ERROR(Measure(context, "exact", std::nullopt, *exact));
    KILN_RETURN_IF_ERROR(Measure(context, "predicted", std::nullopt, *predicted));
    if (stored != nullptr) KILN_RETURN_IF_ERROR(Measure(context, "stored", std::nullopt, *stored));
    Batch training;
    KILN_ASSIGN_OR_RETURN(training.inputs, images.MakeBatch(0, train_));
    KILN_ASSIGN_OR_RETURN(const binary::ThresholdTrainer trainer,
                          binary::ThresholdTrainer::Collect(predicted.get(), training, {}));
    for (const double budget : budgets_) {
      trainer.SetThresholds(budget, predicted.get());
      KILN_RETURN_IF_ERROR(Measure(context, fmt::format("trained {}", budget), budget, *predicted));
    }
    std::string trained;  // the model to save, before the thresholds change
    if (!save_.empty()) {
      KILN_ASSIGN_OR_RETURN(trained, TrainedModel(options.model, *predicted));
    }
    DisableThresholds(predicted.get());
    for (const double lead : leads_) {
      PredictionRow row;
      row.name = fmt::format("pools {}", lead);
      row.lead = lead;
      KILN_RETURN_IF_ERROR(MeasurePools(context, *predicted, std::move(row)));
    }
    if (!save_.empty()) KILN_RETURN_IF_ERROR(WriteOutput(save_, trained));
    if (!chart_.empty()) KILN_RETURN_IF_ERROR(WriteOutput(chart_, PredictionSvg(rows_)));
    KILN_RETURN_IF_ERROR(WriteResults(context.out, json_, PredictionText(rows_, pool_rows_),
                                      PredictionJson(rows_, pool_rows_)));
    return OkStatus();
  }

 private:
  // Compiles the network with the thresholds that its metadata have, and takes these out of it, so
  // that others can be trained. Returns null if there are none; if they do not fit, says so.
  StatusOr<std::unique_ptr<NetworkProgram>> CompileStored(Context& context) {
    auto& metadata = prepared_.network.quantised.metadata();
    const std::string key(binary::kThresholdsMetadataKey);
    if (!metadata.contains(key)) return nullptr;
    auto stored = CompileWith(prepared_, Prediction::kPredicted);
    if (!stored.ok())
      context.err << "kiln: " << MessageOf(stored.status()) << "; these thresholds are left out\n";
    metadata.erase(key);
    return stored.ok() ? *std::move(stored) : nullptr;
  }

  // Returns the bytes of the model with the thresholds of a program.
  static StatusOr<std::string> TrainedModel(const std::filesystem::path& model,
                                            const NetworkProgram& program) {
    const binary::TrainedThresholds thresholds = ThresholdsIn(program);
    if (thresholds.empty()) {
      return ErrorAt(model.string(), "--save", "no layer has a test on the machine",
                     "a machine whose columns have more output channels");
    }
    KILN_ASSIGN_OR_RETURN(const std::string text, binary::PrintThresholds(thresholds));
    return ModelWithMetadata(model, std::string(binary::kThresholdsMetadataKey), text);
  }

  static std::string NameOf(double share) { return fmt::format("{}", share); }

  // Returns the archives that are written into the folder of --outputs.
  std::vector<std::string> Archives() const {
    std::vector<std::string> files;
    if (outputs_.empty()) return files;
    const auto add = [&](const std::string& name) {
      files.push_back((std::filesystem::path(outputs_) / (name + ".npz")).string());
    };
    for (const char* name : {"none", "exact", "predicted", "stored"}) add(name);  // or some of them
    for (const double budget : budgets_) add(NameOf(budget));
    for (const double lead : leads_) add("pools-" + NameOf(lead));
    return files;
  }

  // Checks --save against the other options.
  Status CheckSave(const std::filesystem::path& model) const {
    if (save_.empty()) return OkStatus();
    KILN_RETURN_IF_ERROR(CheckIsFile("--save", save_));
    const std::string own = std::filesystem::path(save_).extension().string();
    const std::string wanted = model.extension().string();
    if (own != wanted) {
      return ErrorAt(save_, "--save", "has another extension than the network",
                     fmt::format("end the name in {}", wanted));
    }
    if (budgets_.size() == 1) return OkStatus();
    return ErrorAt("", "--save", fmt::format("there are {} budgets", budgets_.size()),
                   "name one with --budget");
  }

  // Runs the images to measure on a program, and adds a row.
  Status Measure(Context& context, std::string name, std::optional<double> budget,
                 const NetworkProgram& program) {
    PredictionRow row;
    row.name = std::move(name);
    row.budget = budget;
    const Images& images = prepared_.network.images;
    const std::string file = budget ? NameOf(*budget) : row.name;
    binary::NetworkCounts all(program.launches().size());
    KILN_RETURN_IF_ERROR(RunImages(
        context, file,
        [&](const Batch& batch) -> StatusOr<RunResult> {
          binary::NetworkCounts counts;
          KILN_ASSIGN_OR_RETURN(RunResult result, binary::RunAndCount(program, batch, {}, &counts));
          row.Add(program, counts);
          for (size_t k = 0; k < counts.size(); ++k) {
            all[k].resize(counts[k].size());
            for (size_t i = 0; i < counts[k].size(); ++i) all[k][i] += counts[k][i];
          }
          return result;
        },
        &row));
    KILN_ASSIGN_OR_RETURN(row.picojoules, OnChipPicojoules(program, all, node_nm_));
    RunOptions options;
    options.level = Level::kCycle;
    Batch batch;
    KILN_ASSIGN_OR_RETURN(batch.inputs, images.MakeBatch(train_, 1));
    KILN_ASSIGN_OR_RETURN(const RunResult timed, binary::RunNetwork(program, batch, options));
    row.cycles = timed.cycles_per_image[0];
    rows_.push_back(std::move(row));
    return OkStatus();
  }

  // Runs the images with the prediction of maximum pooling, and adds a row.
  Status MeasurePools(Context& context, const NetworkProgram& program, PredictionRow row) {
    KILN_RETURN_IF_ERROR(RunImages(
        context, "pools-" + NameOf(row.lead),
        [&](const Batch& batch) -> StatusOr<RunResult> {
          binary::PoolCounts counts;
          KILN_ASSIGN_OR_RETURN(RunResult result,
                                binary::RunWithPools(program, batch, row.lead, &counts));
          row.pools += counts;
          return result;
        },
        &row));
    pool_rows_.push_back(std::move(row));
    return OkStatus();
  }

  // Runs the images to measure, and sets what a row says about the network's outputs. `name` is the
  // name of their archive.
  Status RunImages(Context& context, const std::string& name,
                   const std::function<StatusOr<RunResult>(const Batch&)>& run,
                   PredictionRow* row) {
    const Images& images = prepared_.network.images;
    Progress progress = context.StartProgress(row->name, last_ - train_);
    Fidelity fidelity(prepared_.network.network);
    std::optional<OutputsFile> file;
    if (!outputs_.empty()) {
      file.emplace(std::filesystem::path(outputs_) / (name + ".npz"), /*codes=*/false);
      KILN_RETURN_IF_ERROR(file->Describe(prepared_.network.network, &prepared_.network.quantised));
    }
    constexpr int64_t kChunk = 200;
    size_t chunk = 0;
    for (int64_t first = train_; first < last_; first += kChunk, ++chunk) {
      const int64_t count = std::min(kChunk, last_ - first);
      Batch batch;
      KILN_ASSIGN_OR_RETURN(batch.inputs, images.MakeBatch(first, count));
      KILN_ASSIGN_OR_RETURN(const RunResult result, run(batch));
      // The first row is what the others are compared with.
      if (rows_.empty()) exact_outputs_.push_back(result.outputs);
      fidelity.Add(exact_outputs_[chunk], result.outputs);
      CountClasses(images, first, result.outputs, row);
      if (file) KILN_RETURN_IF_ERROR(file->Add(result.outputs, result.codes, last_ - train_));
      progress.Update(first + count - train_);
    }
    if (file) KILN_RETURN_IF_ERROR(file->Finish());
    row->decibels = fidelity.Report()[0].sqnr_db;
    return OkStatus();
  }

  static void CountClasses(const Images& images, int64_t first, const std::vector<Tensor>& outputs,
                           PredictionRow* row) {
    const std::vector<int32_t>& labels = images.set->labels();
    if (std::ssize(labels) != images.size() || outputs.size() != 1 ||
        outputs[0].shape().rank() != 2)
      return;
    const std::vector<int32_t> classes = ClassesOf(outputs[0]);
    for (size_t i = 0; i < classes.size(); ++i) {
      ++row->labelled;
      row->right += classes[i] == labels[static_cast<size_t>(first) + i] ? 1 : 0;
    }
  }

  FlowArguments flow_;
  std::vector<double> leads_;
  std::vector<double> budgets_ = {0.001, 0.003, 0.01, 0.03};
  int64_t train_ = 64, limit_ = 64, last_ = 0;
  int node_nm_ = 0;
  std::string outputs_, save_, chart_, json_;
  Prepared prepared_;
  std::vector<PredictionRow> rows_, pool_rows_;
  std::vector<std::vector<Tensor>> exact_outputs_;  // by chunk
};

class BinaryCommand final : public CommandGroup {
 public:
  BinaryCommand()
      : CommandGroup(
            "Example:\n  kiln binary predict models/hourglass.onnx --on binary-44 --data "
            "arrows.npz") {
    Add<PredictCommand>("predict", "Trains the prediction of zeros, and measures what it costs");
  }
};

}  // namespace
}  // namespace kiln::cli

namespace kiln::binary {

cli::CommandRow FamilyCommand() {
  return {"binary", "Measures machines of the binary family",
          []() -> std::unique_ptr<cli::Command> { return std::make_unique<cli::BinaryCommand>(); }};
}

}  // namespace kiln::binary
