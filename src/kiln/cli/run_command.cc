// The command `kiln run`: runs the complete flow of a network and writes the report in all forms.
#include <CLI/App.hpp>
#include <memory>
#include <optional>

#include "kiln/command/arguments.h"
#include "kiln/command/checks.h"
#include "kiln/command/command.h"
#include "kiln/command/progress.h"
#include "kiln/command/result_files.h"
#include "kiln/flow/flow.h"
#include "kiln/report/chrome_trace.h"
#include "kiln/report/html.h"
#include "kiln/report/run_report.h"

namespace kiln::cli {
namespace {

// An option without meaning at a level, and the message if it is given there. It is an error: a run
// that ignored the option would not be the run that was requested.
struct Unheeded {
  Level level;
  const char* option;
  const char* fault;
  const char* remedy;
};

constexpr char kInFp32[] =
    "the reference level computes in fp32, without accelerator and quantisation";
constexpr char kWithoutCycles[] = "the reference level has no cycles";
constexpr char kOtherLevel[] = "leave it out, or choose another --level";
constexpr char kAllInCycles[] = "at this level all images run in cycles";
constexpr char kLimit[] = "--limit says how many";

constexpr Unheeded kUnheeded[] = {
    {Level::kReference, "--on", kInFp32, kOtherLevel},
    {Level::kReference, "--node-nm", kInFp32, kOtherLevel},
    {Level::kReference, "--no-host", kInFp32, kOtherLevel},
    {Level::kReference, "--optimise", kInFp32, kOtherLevel},
    {Level::kReference, "--quantise", kInFp32, kOtherLevel},
    {Level::kReference, "--calibrate", kInFp32, kOtherLevel},
    {Level::kReference, "--calibration-images", kInFp32, kOtherLevel},
    {Level::kReference, "--no-fp32", "the reference level is the fp32 run", kOtherLevel},
    {Level::kReference, "--cycle-limit", kWithoutCycles, kOtherLevel},
    {Level::kReference, "--memory", kWithoutCycles, kOtherLevel},
    {Level::kReference, "--trace", kWithoutCycles, kOtherLevel},
    {Level::kReference, "--top", kWithoutCycles, kOtherLevel},
    {Level::kReference, "--codes", kInFp32, kOtherLevel},
    {Level::kCycle, "--cycle-limit", kAllInCycles, kLimit},
    {Level::kRtl, "--cycle-limit", kAllInCycles, kLimit},
};

// Collects the options of RunFlow and writes the reports. One RunReport feeds the printed text,
// --json, --report and --trace. Outputs are written only after the run has succeeded.
class RunCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    app_ = &app;
    FlowArguments::Wording wording;
    wording.accelerator_required = false;  // at the reference level
    wording.has_objective = true;
    flow_.Declare(app, wording);
    app.add_option("--level", level_,
                   "reference (fp32), functional (bits), cycle (bits and time) or rtl")
        ->capture_default_str()
        ->type_name("LEVEL");
    app.add_option("--limit", limit_, "Run the first N images only; 0: all")
        ->type_name("N")
        ->check(IsCount());
    app.add_option("--cycle-limit", cycle_limit_,
                   "After a functional run, run the first N images at the cycle level and compare "
                   "the bits; default: "
                   "as many as the "
                   "machine works on at once, 1 as a rule")
        ->type_name("N")
        ->check(IsCount());
    app.add_option("--batch", chunk_, "Images held in memory at a time; does not change results")
        ->type_name("N")
        ->check(InRange(1, 1 << 24))
        ->capture_default_str();
    DeclareMemory(app, &memory_);
    DeclareNode(app, &node_nm_);
    app.add_flag("--no-fp32", no_fp32_, "Leave out the fp32 run that accuracy is compared with");
    DeclareTopK(app, &top_k_);
    DeclareConfusion(app, &confusion_);
    const auto output = app.add_option_group("Output");
    output
        ->add_option(
            "--outputs", outputs_,
            "What the network computed at --level, as .npz: each output by name, first axis images")
        ->type_name("FILE.npz");
    output->add_flag("--codes", codes_,
                     "In --outputs also the codes of quantised outputs, with scale and zero point");
    output
        ->add_option("--json", json_, "Everything that the run told, as JSON; - is standard output")
        ->type_name("FILE");
    output->add_option("--report", html_, "The same as one HTML page")->type_name("FILE.html");
    output
        ->add_option("--trace", trace_,
                     "What each unit did when, for chrome://tracing and Perfetto")
        ->type_name("FILE");
    DeclareTop(*output, &top_);
    app.footer(
        "Example:\n  kiln run models/demo_fashion_mnist.onnx --on systolic-int8-16x16 --report "
        "run.html \\\n"
        "    --data /usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz\n"
        "  kiln run models/demo_fashion_mnist.onnx --on systolic-int8-16x16 --random 1 --optimise "
        "energy\n"
        "  kiln run models/demo_fashion_mnist.onnx --on systolic-int8-16x16 --random 1 \\\n"
        "    --memory 19.2GB/s,100ns");
  }

  Status Run(Context& context) override {
    const StatusOr<Level> level = FindLevel(level_);
    if (!level.ok()) return WithContext("--level", level.status());
    KILN_RETURN_IF_ERROR(CheckHeeded(*level));
    KILN_ASSIGN_OR_RETURN(FlowOptions options, flow_.Options());
    // --on is optional for the parser, because the reference level needs no accelerator.
    if (options.accelerator.empty() && *level != Level::kReference) {
      return ErrorAt("", "--on", "no accelerator is named",
                     "name one (kiln list accelerators), or --level reference");
    }
    KILN_RETURN_IF_ERROR(flow_.CheckImagesGiven());
    options.evaluate.level = *level;
    options.compile.node_nm = node_nm_;
    if (IsGiven(*app_, "--memory")) {
      KILN_ASSIGN_OR_RETURN(options.memory, ParseOuterMemory(memory_));
    }
    options.evaluate.limit = limit_;
    options.evaluate.cycle_limit = cycle_limit_;
    options.evaluate.run_fp32 = !no_fp32_;
    options.evaluate.chunk = chunk_;
    options.evaluate.top_k = top_k_;
    options.evaluate.confusion = confusion_;
    std::optional<OutputsFile> outputs;
    if (!outputs_.empty()) options.evaluate.outputs = &outputs.emplace(outputs_, codes_);

    KILN_RETURN_IF_ERROR(CheckIsFile("--report", html_));
    KILN_RETURN_IF_ERROR(CheckIsFile("--trace", trace_));
    KILN_RETURN_IF_ERROR(CheckOutputs({json_, html_, trace_, outputs_}, FilesOf(options)));
    KILN_RETURN_IF_ERROR(CheckArchive("--outputs", outputs_));

    std::optional<RunReport> report;
    {
      ProgressBars bars(context.err, context.show_progress);
      KILN_ASSIGN_OR_RETURN(report, RunFlow(options, bars.Callback()));
    }
    if (!trace_.empty() && !report->trace.has_value()) {
      return ErrorAt("", "--trace", "this run has no cycles",
                     "run with --cycle-limit 1 or --level cycle");
    }
    if (outputs.has_value()) {
      KILN_RETURN_IF_ERROR(MakeFolderOf(outputs_));
      KILN_RETURN_IF_ERROR(outputs->Finish());
      outputs->Report(&*report);
    }
    KILN_RETURN_IF_ERROR(WriteResults(context.out, json_, ToText(*report, top_), ToJson(*report)));
    KILN_RETURN_IF_ERROR(
        WritePage(context.out, html_, json_, [&report] { return ToHtml(*report); }));
    if (!trace_.empty()) {
      KILN_RETURN_IF_ERROR(WriteOutput(trace_, ToChromeTrace(*report->trace, report->kernels)));
    }
    // The reports are written first, because they help to find the fault.
    if (report->different_images > 0) {
      return absl::InternalError(
          "the cycle level and the functional level differ; this is a fault of Kiln");
    }
    return OkStatus();
  }

 private:
  // Returns an error if an option is given that this run would ignore.
  Status CheckHeeded(Level level) const {
    for (const Unheeded& row : kUnheeded) {
      if (row.level == level && IsGiven(*app_, row.option))
        return ErrorAt("", row.option, row.fault, row.remedy);
    }
    for (const char* option : {"--trace", "--top", "--memory"}) {
      if (level == Level::kFunctional && cycle_limit_ == 0 && IsGiven(*app_, option)) {
        return ErrorAt("", option, "this run has no cycles",
                       "run with --cycle-limit 1 or --level cycle");
      }
    }
    if (codes_ && outputs_.empty()) {
      return ErrorAt("", "--codes", "there is no file to write them to",
                     "name it with --outputs FILE.npz");
    }
    if (json_ == "-" && IsGiven(*app_, "--top")) {
      return ErrorAt("", "--top", "with --json - no table is printed", "leave one of them out");
    }
    return OkStatus();
  }

  const CLI::App* app_ = nullptr;
  std::string json_, html_, trace_, outputs_;
  std::string level_ = "functional", memory_;
  int64_t limit_ = 0, chunk_ = 1000;
  std::optional<int64_t> cycle_limit_;
  int top_ = 12, node_nm_ = kDefaultNode, top_k_ = 1;
  bool no_fp32_ = false, codes_ = false, confusion_ = false;
  FlowArguments flow_;
};

}  // namespace

std::unique_ptr<Command> MakeRunCommand() { return std::make_unique<RunCommand>(); }

}  // namespace kiln::cli
