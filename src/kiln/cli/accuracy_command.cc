// The command `kiln accuracy`: runs one network in many number formats and prints a table.
#include <absl/strings/ascii.h>

#include <CLI/App.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kiln/command/arguments.h"
#include "kiln/command/checks.h"
#include "kiln/command/command.h"
#include "kiln/command/progress.h"
#include "kiln/command/result_files.h"
#include "kiln/flow/accuracy.h"

namespace kiln::cli {
namespace {

// Collects the options of MeasureAccuracy and writes its table. The same table is printed as text,
// written as JSON (--json) and as an HTML page (--report).
class AccuracyCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    FlowArguments::Wording wording;
    wording.accelerator = "The accelerator, whose number formats vary (kiln list accelerators)";
    wording.has_recipe = false;  // --formats names the recipes
    flow_.Declare(app, wording);
    app.add_option("--formats", formats_,
                   "Types of activations and weights (kiln list formats; mxint8, mxfp8_e4m3, ...; "
                   "A/W for two), or "
                   "recipes")
        ->required()
        ->delimiter(',')
        ->type_name("F,F,...");
    app.add_option("--limit", limit_, "Run the first N images only; 0: all")
        ->type_name("N")
        ->check(IsCount());
    app.add_option("--batch", chunk_, "Images held in memory at a time; does not change results")
        ->type_name("N")
        ->check(InRange(1, 1 << 24))
        ->capture_default_str();
    DeclareTopK(app, &top_k_);
    DeclareConfusion(app, &confusion_);
    app.add_flag("--by-layer", by_layer_,
                 "Also measure the error of each value and layer of the quantised network, and how "
                 "sensitive the result is to each layer (simulated)");
    app.add_option("--layer-images", layer_images_,
                   "With --by-layer: use the first N images of --data; every layer costs one more "
                   "run over them")
        ->type_name("N")
        ->check(InRange(1, 1 << 24))
        ->capture_default_str();
    const auto output = app.add_option_group("Output");
    output->add_option("--json", json_, "The table as JSON; - is standard output")
        ->type_name("FILE");
    output
        ->add_option("--report", html_,
                     "The table and a picture of accuracy by format, as one HTML page")
        ->type_name("FILE.html");
    app_ = &app;
    app.footer(
        "Example:\n  kiln accuracy models/demo_fashion_mnist.onnx --on systolic-int8-16x16 --limit "
        "1000 \\\n"
        "    --formats int8,mxint8,e4m3,posit8_1 --report accuracy.html \\\n"
        "    --data /usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz\n"
        "  kiln accuracy models/demo_fashion_mnist.onnx --on systolic-int8-16x16 --limit 1000 \\\n"
        "    --formats e4m3 --by-layer --confusion --report layers.html \\\n"
        "    --data /usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz");
  }

  Status Run(Context& context) override {
    if (!by_layer_ && IsGiven(*app_, "--layer-images")) {
      return ErrorAt("", "--layer-images", "without --by-layer no layer is measured",
                     "add --by-layer, or leave it out");
    }
    AccuracyOptions options;
    KILN_ASSIGN_OR_RETURN(options.flow, flow_.Options());
    KILN_RETURN_IF_ERROR(flow_.CheckImagesGiven());
    for (std::string& format : formats_) absl::StripAsciiWhitespace(&format);
    KILN_RETURN_IF_ERROR(CheckNamedOnce("--formats", formats_));
    options.formats = formats_;
    options.flow.evaluate.limit = limit_;
    options.flow.evaluate.chunk = chunk_;
    options.flow.evaluate.top_k = top_k_;
    options.flow.evaluate.confusion = confusion_;
    options.layer_images = by_layer_ ? layer_images_ : 0;
    KILN_RETURN_IF_ERROR(CheckIsFile("--report", html_));
    // No output may overwrite a file that the run reads, codebooks and recipes included.
    std::vector<std::filesystem::path> inputs = FilesOf(options.flow);
    for (const std::string& format : formats_) {
      const std::vector<std::filesystem::path> files = FilesOfRecipe(format);
      inputs.insert(inputs.end(), files.begin(), files.end());
    }
    KILN_RETURN_IF_ERROR(CheckOutputs({json_, html_}, inputs));
    std::optional<AccuracyTable> table;
    {
      ProgressBars bars(context.err, context.show_progress);
      KILN_ASSIGN_OR_RETURN(table, MeasureAccuracy(options, bars.Callback()));
    }
    KILN_RETURN_IF_ERROR(WriteResults(context.out, json_, ToText(*table), ToJson(*table)));
    return WritePage(context.out, html_, json_, [&table] { return ToHtml(*table); }, "report  ");
  }

 private:
  std::string json_, html_;
  std::vector<std::string> formats_;
  const CLI::App* app_ = nullptr;
  int64_t limit_ = 0, chunk_ = 1000, layer_images_ = 64;
  int top_k_ = 1;
  bool confusion_ = false, by_layer_ = false;
  FlowArguments flow_;
};

}  // namespace

std::unique_ptr<Command> MakeAccuracyCommand() { return std::make_unique<AccuracyCommand>(); }

}  // namespace kiln::cli
