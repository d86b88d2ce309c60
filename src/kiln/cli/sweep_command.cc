// The command `kiln sweep`: runs a network on many design points and ranks them.
#include <CLI/App.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kiln/command/arguments.h"
#include "kiln/command/checks.h"
#include "kiln/command/command.h"
#include "kiln/command/progress.h"
#include "kiln/command/result_files.h"
#include "kiln/flow/outer_memory.h"
#include "kiln/flow/sweep.h"
#include "kiln/support/process.h"

namespace kiln::cli {
namespace {

// Collects the options of Sweep and writes its table. The same table is printed as text, written as
// JSON (--json) and as an HTML page (--report).
class SweepCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    app_ = &app;
    FlowArguments::Wording wording;
    wording.has_accelerator = false;
    wording.has_objective = true;
    flow_.Declare(app, wording);
    app.add_option("--on", patterns_,
                   "Design points by name or file, with * for any text and ? for any character; "
                   "default: all of kiln list accelerators")
        ->delimiter(',')
        ->type_name("PATTERN,...");
    app.add_option(
           "--vary", varied_,
           "Take each design point once for each value of a key that has one number or name "
           "(kiln list keys FAMILY); several keys: each combination")
        ->type_name("KEY=VALUE,...");
    app.add_option("--under", limit_,
                   "Rank only what takes at most this time from the start of an image to its end")
        ->type_name("TIME");
    app.add_option("--rank", rank_,
                   "What is best: the least energy, time, edp (energy times time) or area, or the "
                   "highest rate (images a second)")
        ->type_name("WHAT")
        ->capture_default_str();
    app.add_flag("--any-host", options_.any_host,
                 "Also rank design points whose host does more of the operations than beside "
                 "others; their figures leave the host out");
    DeclareMemory(app, &memory_);
    app.add_option("--limit", limit_images_,
                   "With --data: measure the accuracy on the first N images; 0: all")
        ->type_name("N")
        ->check(IsCount());
    DeclareNode(app, &node_nm_);
    const auto output = app.add_option_group("Output");
    output->add_option("--json", json_, "The table as JSON; - is standard output")
        ->type_name("FILE");
    output
        ->add_option("--report", html_,
                     "The table and a picture of energy over time, as one HTML page")
        ->type_name("FILE.html");
    output
        ->add_option("--runs", runs_,
                     "Keep each run there as NAME.json, for kiln compare, and the design points of "
                     "--vary as NAME.yaml")
        ->type_name("FOLDER");
    app.footer(
        "Example:\n  kiln sweep models/demo_fashion_mnist.onnx --random 1 --on '*-8x8' \\\n"
        "    --under 1ms --memory 19.2GB/s,100ns\n"
        "  kiln sweep models/demo_fashion_mnist.onnx --random 1 --on systolic-int8-8x8 \\\n"
        "    --vary input_port_bytes=8,16,32 --rank edp --report sweep.html");
  }

  Status Run(Context& context) override {
    SweepOptions options = options_;
    KILN_ASSIGN_OR_RETURN(options.flow, flow_.Options());
    KILN_RETURN_IF_ERROR(flow_.CheckImagesGiven());
    const StatusOr<SweepRank> rank = FindSweepRank(rank_);
    if (!rank.ok()) return WithContext("--rank", rank.status());
    options.rank = *rank;
    if (IsGiven(*app_, "--under")) {
      KILN_ASSIGN_OR_RETURN(options.limit_seconds, ParseTime(limit_, "--under"));
    }
    if (IsGiven(*app_, "--memory")) {
      KILN_ASSIGN_OR_RETURN(options.flow.memory, ParseOuterMemory(memory_));
    }
    std::vector<VariedKey> varied;
    for (const std::string& text : varied_) {
      KILN_ASSIGN_OR_RETURN(VariedKey key, ParseVariedKey(text));
      for (const VariedKey& other : varied) {
        if (other.key == key.key) {
          return ErrorAt("", "--vary", "the key '" + key.key + "' is given twice",
                         "name all its values in one --vary");
        }
      }
      varied.push_back(std::move(key));
    }
    KILN_ASSIGN_OR_RETURN(options.points, FindSweepPoints(patterns_));
    options.flow.compile.node_nm = node_nm_;
    // Cycles do not depend on noise, and noise has no labels: one level suffices.
    const bool noise = options.flow.images.random > 0;
    if (noise && IsGiven(*app_, "--limit")) {
      return ErrorAt("", "--limit", "noise has no labels to measure an accuracy on",
                     "leave it out, or name images with --data");
    }
    options.flow.evaluate.level = noise ? Level::kCycle : Level::kFunctional;
    options.flow.evaluate.limit = noise ? 1 : limit_images_;
    options.flow.evaluate.run_fp32 = false;

    KILN_RETURN_IF_ERROR(CheckIsFile("--report", html_));
    std::vector<std::filesystem::path> inputs = FilesOf(options.flow);
    for (const SweepPoint& point : options.points) inputs.push_back(point.file);
    std::optional<TemporaryFolder> temporary;
    if (!varied.empty()) {
      std::filesystem::path folder = runs_;
      if (runs_.empty()) {
        KILN_ASSIGN_OR_RETURN(TemporaryFolder made, TemporaryFolder::Create("kiln-sweep"));
        folder = temporary.emplace(std::move(made)).path();
      }
      KILN_ASSIGN_OR_RETURN(options.points, VariantsOf(options.points, varied, folder));
    }
    std::vector<std::string> outputs = {json_, html_};
    for (const SweepPoint& point : options.points) {
      if (!runs_.empty()) outputs.push_back(FileOfRun(point));
      if (!point.text.empty()) outputs.push_back(point.file.string());
    }
    KILN_RETURN_IF_ERROR(CheckOutputs(outputs, inputs));
    KILN_RETURN_IF_ERROR(CheckOutputFolder(runs_));
    if (!varied.empty()) {
      KILN_RETURN_IF_ERROR(MakeFolderOf(options.points[0].file.string()));
      KILN_RETURN_IF_ERROR(WriteVariants(options.points));
    }

    if (!runs_.empty()) {
      // A design point that fails must not leave the run of an earlier sweep there.
      std::error_code ignored;
      for (const SweepPoint& point : options.points)
        std::filesystem::remove(FileOfRun(point), ignored);
      options.save = [this](const SweepPoint& point, const RunReport& report) {
        return WriteOutput(FileOfRun(point), ToJson(report));
      };
    }
    std::optional<SweepTable> table;
    {
      ProgressBars bars(context.err, context.show_progress);
      KILN_ASSIGN_OR_RETURN(table, Sweep(options, bars.Callback()));
    }
    KILN_RETURN_IF_ERROR(WriteResults(context.out, json_, ToText(*table), ToJson(*table)));
    return WritePage(context.out, html_, json_, [&table] { return ToHtml(*table); });
  }

 private:
  std::string FileOfRun(const SweepPoint& point) const {
    return (std::filesystem::path(runs_) / (point.name + ".json")).string();
  }

  const CLI::App* app_ = nullptr;
  FlowArguments flow_;
  SweepOptions options_;  // the flags
  std::vector<std::string> patterns_, varied_;
  std::string limit_, rank_ = "energy", memory_;
  std::string json_, html_, runs_;
  int64_t limit_images_ = 0;
  int node_nm_ = kDefaultNode;
};

}  // namespace

std::unique_ptr<Command> MakeSweepCommand() { return std::make_unique<SweepCommand>(); }

}  // namespace kiln::cli
