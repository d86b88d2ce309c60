// The command `kiln compile`: compiles a network, prints its kernels with the certificates of their
// schedules, and emits the hardware with --emit.
#include <fmt/format.h>
#include <CLI/App.hpp>
#include <filesystem>
#include <string>
#include <string_view>

#include "kiln/cli/emitted_folder.h"
#include "kiln/command/arguments.h"
#include "kiln/command/command.h"
#include "kiln/command/result_files.h"
#include "kiln/flow/flow.h"
#include "kiln/hardware/rtl_project.h"
#include "kiln/report/run_report.h"

namespace kiln::cli {
namespace {

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
    std::string text = TextOf(compiled);
    if (!folder_.empty()) {
      KILN_RETURN_IF_ERROR(EmitFolder(compiled, options, folder_));
      text += fmt::format("\nSystemVerilog in {}:", folder_);
      for (const std::filesystem::path& folder : hardware::ProjectsIn(folder_))
        text += fmt::format(" make -C {} lint, sim, waves, synth\n", ShellWord(folder.string()));
    }
    return WriteResults(context.out, json_, text, ToJson(compiled.report));
  }

 private:
  // Returns everything that the command prints: kernels, notes, costs and, with --print,
  // instructions.
  std::string TextOf(const CompiledNetwork& compiled) const {
    std::string text = FirstFigures(compiled.report) + KernelsOf(*compiled.program);
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
