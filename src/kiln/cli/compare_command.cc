// The command `kiln compare`: puts the JSON reports of several runs side by side.
#include <CLI/App.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "kiln/command/arguments.h"
#include "kiln/command/checks.h"
#include "kiln/command/command.h"
#include "kiln/command/result_files.h"
#include "kiln/report/comparison.h"
#include "kiln/report/saved_run.h"

namespace kiln::cli {
namespace {

// Reads the reports, matches their kernels by name, and prints both tables.
class CompareCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("runs", files_, "Reports of runs, as `kiln run --json` writes them")
        ->type_name("FILE.json...")
        ->required();
    app.add_flag("--any-host", any_host_,
                 "Also compare runs whose host does another share of the operations; a note then "
                 "states the shares");
    const auto output = app.add_option_group("Output");
    output->add_option("--report", html_, "The comparison as one HTML page")
        ->type_name("FILE.html");
    output->add_option("--json", json_, "The comparison as JSON; - is standard output")
        ->type_name("FILE");
    DeclareTop(*output, &top_);
    app.footer(
        "Ratios and differences are to the first run.\n"
        "Example:\n  kiln compare a.json b.json --report compare.html\n"
        "where `kiln run models/demo_fashion_mnist.onnx --on systolic-int8-8x8 --random 1 --json "
        "a.json` has written a.json.");
  }

  Status Run(Context& context) override {
    KILN_RETURN_IF_ERROR(CheckIsFile("--report", html_));
    const std::vector<std::filesystem::path> inputs(files_.begin(), files_.end());
    KILN_RETURN_IF_ERROR(CheckOutputs({json_, html_}, inputs));
    std::vector<SavedRun> runs;
    for (const std::string& file : files_) {
      KILN_ASSIGN_OR_RETURN(SavedRun run, ReadSavedRun(file));
      runs.push_back(std::move(run));
    }
    KILN_ASSIGN_OR_RETURN(const Comparison comparison, Compare(std::move(runs), any_host_));
    KILN_RETURN_IF_ERROR(
        WriteResults(context.out, json_, ToText(comparison, top_), ToJson(comparison)));
    return WritePage(context.out, html_, json_, [&comparison] { return ToHtml(comparison); });
  }

 private:
  std::vector<std::string> files_;
  std::string json_, html_;
  int top_ = 12;
  bool any_host_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeCompareCommand() { return std::make_unique<CompareCommand>(); }

}  // namespace kiln::cli
