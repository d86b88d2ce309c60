// The command `kiln passes`: runs passes on a network and prints what each of them changed.
#include <fmt/format.h>
#include <CLI/App.hpp>

#include "kiln/command/checks.h"
#include "kiln/command/command.h"
#include "kiln/frontend/model.h"
#include "kiln/passes/pipeline.h"
#include "kiln/report/text.h"

namespace kiln::cli {
namespace {

// Runs the passes and prints their log.
class PassesCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("model", model_, "The network: ONNX or IR text")->required()->type_name("MODEL");
    app.add_option("--passes", passes_,
                   "Passes to run, in order (kiln list passes); default: the standard ones")
        ->type_name("NAME")
        ->delimiter(',');
    app.add_flag("--layout", layout_, "The layout passes of accelerators after them");
    app.add_option("--skip-pass", skip_, "Passes to leave out")->type_name("NAME")->delimiter(',');
    app.add_option("--stop-after", stop_after_, "Stop after so many passes, to bisect a fault")
        ->type_name("N")
        ->check(InRange(0, 100000));
    app.footer(
        "Example:\n  kiln passes models/demo_fashion_mnist.onnx --skip-pass fold-batch-norm");
  }

  Status Run(Context& context) override {
    LoadOptions load;
    load.clean_up = false;  // the clean-up passes are among those shown
    KILN_ASSIGN_OR_RETURN(Graph graph, LoadModel(model_, load));
    std::vector<std::string_view> names(passes_.begin(), passes_.end());
    if (names.empty()) names.assign(StandardPipeline().begin(), StandardPipeline().end());
    if (layout_) names.insert(names.end(), LayoutPipeline().begin(), LayoutPipeline().end());
    PassContext passes;
    passes.skip = skip_;
    passes.max_steps = stop_after_;
    KILN_RETURN_IF_ERROR(RunPasses(graph, names, passes));
    Table table;
    table.Right("#")
        .Column("pass")
        .Column("result")
        .Right("nodes before")
        .Right("after")
        .Right("ms");
    for (size_t i = 0; i < passes.log.size(); ++i) {
      const PassRun& run = passes.log[i];
      table.Row({fmt::format("{}", i), run.pass,
                 run.skipped                    ? "skipped"
                 : run.changed == Changed::kYes ? "changed"
                                                : "nothing to do",
                 Thousands(run.nodes_before), Thousands(run.nodes_after),
                 fmt::format("{:.1f}", run.milliseconds)});
    }
    context.out << table.ToString();
    return OkStatus();
  }

 private:
  std::string model_;
  std::vector<std::string> passes_, skip_;
  bool layout_ = false;
  int stop_after_ = -1;
};

}  // namespace

std::unique_ptr<Command> MakePassesCommand() { return std::make_unique<PassesCommand>(); }

}  // namespace kiln::cli
