// The command `kiln compile`: compiles a network, prints its kernels with the certificates of their
// schedules, and emits the hardware with --emit.
#include <fmt/format.h>
#include <CLI/App.hpp>
#include <filesystem>
#include <string>
#include <string_view>

#include "kiln/command/arguments.h"
#include "kiln/command/command.h"
#include "kiln/command/result_files.h"
#include "kiln/flow/flow.h"
#include "kiln/hardware/rtl_project.h"
#include "kiln/report/cost_report.h"
#include "kiln/report/performance.h"
#include "kiln/report/run_report.h"
#include "kiln/report/text.h"

namespace kiln::cli {
namespace {

// The table of kernels with estimated cycles, proved bounds and schedules.
std::string KernelTable(const Program& program) {
  Table table;
  table.Right("#")
      .Column("kernel")
      .Column("operation")
      .Column("unit")
      .Right("MACs")
      .Right("estimate")
      .Right("bound");
  table.Right("gap").Column("schedule").Column("bound from");
  for (size_t k = 0; k < program.kernels().size(); ++k) {
    const KernelInfo& kernel = program.kernels()[k];
    const Certificate& proof = kernel.certificate;
    const bool proved = proof.lower_bound > 0;
    table.Row({fmt::format("{}", k), Shorten(kernel.name, 40), Shorten(kernel.operation, 48),
               kernel.unit, kernel.macs > 0 ? Thousands(kernel.macs) : "-",
               proof.cost > 0 ? Thousands(static_cast<int64_t>(proof.cost)) : "-",
               proved ? Thousands(static_cast<int64_t>(proof.lower_bound)) : "-",
               proved ? Percent(proof.gap()) : "-", ScheduleText(kernel),
               kernel.on_host() ? "host: " + kernel.host_reason : proof.bound_from});
  }
  return table.ToString();
}

// The line of totals below the table.
std::string SumsOf(const Program& program) {
  return fmt::format(
      "\n{}, {}, constants {}, activations {} at their peak, {} of the operations on the host\n",
      Counted(std::ssize(program.kernels()), "kernel"),
      Metric(static_cast<double>(program.MacsTotal()), "multiply-accumulates"),
      Bytes(program.constant_bytes()), Bytes(program.activation_bytes()),
      Percent(program.HostShare(), 2));
}

// The first figures: time, energy and area, as far as the family has models.
std::string FirstFigures(const RunReport& report) {
  const Performance performance = *PerformanceOf(report);
  std::string text;
  if (const std::string time = TimeText(performance); !time.empty()) {
    text += fmt::format("time {}{}{}\n", performance.seconds.has_value() ? "estimated " : "", time,
                        PartialMark(report));
  }
  if (report.energy.has_value())
    text += "energy " + EnergyLine(*report.energy) + PartialMark(report) + "\n";
  if (const std::string area = AreaLine(report.machine->cost); !area.empty())
    text += "area " + area + "\n";
  return text.empty() ? "" : text + '\n';
}

// Clock, speed and the table of units, as far as the family has models.
std::string CostsOf(const RunReport& report) {
  const Performance performance = *PerformanceOf(report);
  std::string text = "clock " + ClockLine(performance) + "\n";
  if (const std::string speed = SpeedLine(performance); !speed.empty())
    text += "speed " + speed + PartialMark(report) + "\n";
  const std::string table = CostTable(report.machine->cost, report.energy);
  return table.empty() ? text : text + '\n' + table;
}

// Returns the figures for the README of an emitted folder, as Markdown.
std::string FiguresOf(const RunReport& report) {
  const std::string costs = FirstFigures(report) + CostsOf(report);
  std::string text =
      "`kernels.txt` lists the kernels of the network, with the cycles that the "
      "compiler estimates.\n";
  if (!costs.empty()) {
    text +=
        fmt::format("\nEstimates of Kiln's models, without synthesis:\n\n```text\n{}```\n", costs);
  }
  return text;
}

// Returns a path quoted for a shell, for commands that a user may copy.
std::string ShellWord(const std::string& path) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+,=@:%";
  if (path.find_first_not_of(kPlain) == std::string::npos) return path;
  std::string word = "'";
  for (const char c : path) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

// Runs the flow up to the program and prints it. With --emit it also writes the hardware, together
// with the program and its memory image, as a folder that can be simulated and synthesised on its
// own. --json holds a run report without results of a run.
class CompileCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    flow_.Declare(app, {.has_objective = true});
    app.add_flag("--print", print_, "Print the instructions, too");
    app.add_option("--emit", folder_,
                   "Write the hardware as SystemVerilog here, with program, memory image, "
                   "testbench, Makefile, README, and the first sample of the data with the output "
                   "that `make sim` compares")
        ->type_name("FOLDER");
    DeclareNode(app, &node_nm_);
    app.add_option("--json", json_,
                   "Everything that is known of the program, as JSON; - is standard output")
        ->type_name("FILE");
    app.footer(
        "Without --data and --calibrate, ranges come from noise: right for time and size, not for "
        "results.\n"
        "Example:\n  kiln compile models/demo_fashion_mnist.onnx --on systolic-int8-16x16 --print\n"
        "  kiln compile models/demo_fashion_mnist.onnx --on systolic-int8-16x16 --optimise "
        "traffic");
  }

  Status Run(Context& context) override {
    KILN_ASSIGN_OR_RETURN(FlowOptions options, flow_.Options());
    if (json_ == "-" && print_) {
      return ErrorAt("", "--print", "with --json - no text is printed", "leave one of them out");
    }
    KILN_RETURN_IF_ERROR(CheckOutputs({json_}, FilesOf(options)));
    KILN_RETURN_IF_ERROR(CheckOutside(folder_, {json_}));
    // Without images, calibrate on one made-up sample.
    if (!flow_.images_given() && options.calibration.path.empty()) options.images.random = 1;
    options.compile.node_nm = node_nm_;
    if (!folder_.empty()) {
      // Check the folder before compiling, which can take long.
      KILN_RETURN_IF_ERROR(hardware::CheckRtlFolder(folder_));
      KILN_RETURN_IF_ERROR(CheckOutputFolder(folder_));
    }
    KILN_ASSIGN_OR_RETURN(const CompiledNetwork compiled, CompileFlow(options));
    if (!folder_.empty()) {
      KILN_RETURN_IF_ERROR(
          CheckHasHardwareKernels(compiled, options.model.string(), "there is nothing to emit"));
    }
    const Program& program = *compiled.program;

    const std::string kernels = KernelTable(program) + SumsOf(program);
    std::string text = TextOf(compiled, kernels);
    if (!folder_.empty()) {
      const std::filesystem::path folder(folder_);
      // The first sample of the data, or the made-up one.
      KILN_ASSIGN_OR_RETURN(std::vector<Tensor> sample, compiled.images.MakeBatch(0, 1));
      FolderContent content{.network = options.model.filename().string(),
                            .sample = {.inputs = std::move(sample)},
                            .figures = FiguresOf(compiled.report)};
      KILN_RETURN_IF_ERROR(compiled.accelerator->EmitRtl(program, content, folder));
      KILN_RETURN_IF_ERROR(hardware::AddToRtlProject(folder, "kernels.txt", kernels));
      text += fmt::format("\nSystemVerilog in {}: make -C {} lint, sim, waves, synth\n", folder_,
                          ShellWord(folder_));
    }
    return WriteResults(context.out, json_, text, ToJson(compiled.report));
  }

 private:
  // Returns everything that the command prints: kernels, notes, costs and, with --print,
  // instructions.
  std::string TextOf(const CompiledNetwork& compiled, const std::string& kernels) const {
    std::string text = FirstFigures(compiled.report) + kernels;
    for (const std::string& note : compiled.report.notes) text += "note: " + note + '\n';
    if (const std::string costs = CostsOf(compiled.report); !costs.empty()) text += '\n' + costs;
    if (print_) text += '\n' + compiled.program->Print();
    return text;
  }

  std::string folder_, json_;
  int node_nm_ = kDefaultNode;
  bool print_ = false;
  FlowArguments flow_;
};

}  // namespace

std::unique_ptr<Command> MakeCompileCommand() { return std::make_unique<CompileCommand>(); }

}  // namespace kiln::cli
