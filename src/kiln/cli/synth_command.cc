// The command `kiln synth`: synthesises an emitted design, or a module of the library, with Yosys
// and measures its timing with OpenSTA.
#include <fmt/format.h>
#include <CLI/App.hpp>
#include <filesystem>
#include <optional>
#include <system_error>

#include "kiln/command/arguments.h"
#include "kiln/command/checks.h"
#include "kiln/command/command.h"
#include "kiln/command/result_files.h"
#include "kiln/hardware/synthesis.h"
#include "kiln/report/synthesis_report.h"
#include "kiln/support/process.h"

namespace kiln::cli {
namespace {

// Collects the options of hardware::Synthesise and writes its result. The design is either a folder
// that `kiln compile --emit` wrote, or a module of the library with parameters; the target is
// either a standard-cell library or a Xilinx FPGA.
class SynthCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    auto* folder = app.add_option("folder", folder_, "A design: what `kiln compile --emit` wrote")
                       ->type_name("FOLDER");
    app.add_option("--top", top_,
                   "Of the design: another module than its top, with the parameters of its source")
        ->type_name("MODULE");
    app.add_option("--module", module_,
                   "A module of Kiln's SystemVerilog library in place of a design")
        ->type_name("MODULE")
        ->excludes(folder);
    app.add_option("--parameters", parameters_,
                   "Of the top: A=1,B=8'hff; formats by name: "
                   "INPUT_FORMAT=e4m3,PSUM_FORMAT=quire(e4m3*e4m3)")
        ->type_name("LIST");
    app.add_option("--fpga", options_.fpga,
                   "For an FPGA of Xilinx in place of standard cells: xc7 or xcup")
        ->check(CLI::IsMember({"xc7", "xcup"}).description(""))
        ->type_name("FAMILY");
    app.add_option(
           "--device", device_,
           "For this FPGA of Xilinx, and whether it holds the design: " + hardware::FpgaParts())
        ->type_name("PART");
    app.add_option("--depth", options_.depth, "Levels of units in the table")
        ->check(InRange(0, 16))
        ->capture_default_str();
    cells_ = app.add_option_group("Standard cells");
    cells_
        ->add_option("--liberty", liberty_,
                     "Their library; without: OSU 0.18 um, Debian's qflow-tech-osu018")
        ->type_name("FILE");
    cells_
        ->add_option("--clock-mhz", options_.clock_mhz, "Clock to map for, and to measure slack at")
        ->check(RealInRange(0.001, 100000.0).description(""))
        ->type_name("MHZ")
        ->capture_default_str();
    cells_
        ->add_option("--memories", memories_,
                     "count: their bits; registers: as flip-flops, only for small ones")
        ->check(CLI::IsMember({"count", "registers"}).description(""))
        ->type_name("HOW")
        ->capture_default_str();
    cells_
        ->add_option("--memory-access", options_.memory_access_ns,
                     "Time from the clock to a memory's data; without: by size, in 0.18 um")
        ->check(RealInRange(0.001, 1000.0).description(""))
        ->type_name("NS");
    cells_->add_flag("--clock-gating", options_.clock_gating,
                     "Gate the clocks of registers with an enable, in place of multiplexers");
    cells_->add_flag("--no-timing", no_timing_, "Areas alone, without OpenSTA");
    app.add_option(
           "--keep", keep_,
           "Keep scripts, logs and the netlist in this folder, with the models to simulate it; "
           "another run there maps only what is new")
        ->type_name("FOLDER");
    app.add_option("--jobs", options_.jobs, "Modules to map at once; results are the same")
        ->check(InRange(1, 256))
        ->capture_default_str();
    app.add_option("--json", json_, "What was found, as JSON; - is standard output")
        ->type_name("FILE");
    app.footer(
        "Needs yosys and opensta. Areas and slack are those of cells alone, without wires and "
        "layout.\n"
        "Example:\n  kiln synth --module kiln_systolic_array --parameters "
        "ARRAY_ROWS=4,ARRAY_COLUMNS=4,INPUT_FORMAT=e4m3,WEIGHT_FORMAT=e4m3,PSUM_FORMAT=bf16\n"
        "  kiln compile models/demo_fashion_mnist.onnx --on systolic-int8-8x8 --emit design\n"
        "  kiln synth design --clock-mhz 50\n"
        "  kiln synth design --device XCZU7EV");
  }

  Status Run(Context& context) override {
    KILN_RETURN_IF_ERROR(CheckOutput(json_));
    KILN_RETURN_IF_ERROR(CheckTarget());
    if (!keep_.empty()) {
      KILN_RETURN_IF_ERROR(hardware::CheckSynthesisFolder(keep_));
      KILN_RETURN_IF_ERROR(CheckOutputFolder(keep_));
    }
    KILN_ASSIGN_OR_RETURN(const hardware::DesignSources sources, Sources());
    KILN_ASSIGN_OR_RETURN(options_.parameters, hardware::ParseParameters(parameters_));
    KILN_RETURN_IF_ERROR(hardware::CheckParameters(sources, options_.parameters));
    if (!liberty_.empty()) options_.liberty = liberty_;
    options_.timing = !no_timing_;
    options_.models = !keep_.empty();
    options_.memories =
        memories_ == "count" ? hardware::Memories::kCount : hardware::Memories::kRegisters;

    // Without --keep, the tools work in a folder that is deleted at the end.
    std::optional<TemporaryFolder> temporary;
    std::filesystem::path work = keep_;
    if (work.empty()) {
      KILN_ASSIGN_OR_RETURN(TemporaryFolder made, TemporaryFolder::Create("kiln-synth"));
      temporary.emplace(std::move(made));
      work = temporary->path();
    }
    std::error_code error;
    std::filesystem::create_directories(work, error);
    if (error)
      return ErrorAt(keep_, "", "cannot be made: " + error.message(), "name a folder to write to");
    ProgressBars bars(context.err, context.show_progress);
    options_.progress = [&bars](const hardware::SynthesisProgress& p) {
      bars.Show(p.step, p.done, p.total, p.module);
    };
    KILN_ASSIGN_OR_RETURN(const hardware::SynthesisResult result,
                          Synthesise(sources, options_, work));
    return WriteResults(context.out, json_, ToText(result, options_), ToJson(result, options_));
  }

 private:
  // Returns the sources of the folder or of the module.
  StatusOr<hardware::DesignSources> Sources() const {
    if (!folder_.empty()) return hardware::SourcesOfFolder(folder_, top_);
    if (module_.empty())
      return ErrorAt("", "synth", "there is nothing to synthesise", "give a folder or --module");
    if (!top_.empty()) return ErrorAt("", "--top", "is of a folder", "give the top as --module");
    return hardware::SourcesOfModule(module_);
  }

  // Sets the device and its family. Errors: --fpga names another family; an option of standard
  // cells is combined with --fpga or --device.
  Status CheckTarget() {
    if (!device_.empty()) {
      KILN_ASSIGN_OR_RETURN(options_.device, hardware::FindFpgaDevice(device_, "--device"));
      const hardware::FpgaDevice& device = *options_.device;
      if (!options_.fpga.empty() && options_.fpga != device.family) {
        return ErrorAt("", "--device",
                       fmt::format("{} is of the family {}, and --fpga asks for {}", device.part,
                                   device.family, options_.fpga),
                       "leave --fpga out");
      }
      options_.fpga = device.family;
    }
    if (options_.fpga.empty()) return OkStatus();
    for (const CLI::Option* option : cells_->get_options()) {
      if (option->count() == 0) continue;
      return ErrorAt("", option->get_name(),
                     fmt::format("is of standard cells, and {} asks for an FPGA's",
                                 device_.empty() ? "--fpga" : "--device"),
                     "leave one of the two out");
    }
    return OkStatus();
  }

  CLI::Option_group* cells_ = nullptr;
  std::string folder_, top_, module_, parameters_, device_, liberty_, keep_, json_;
  std::string memories_ = "count";
  bool no_timing_ = false;
  hardware::SynthesisOptions options_;
};

}  // namespace

std::unique_ptr<Command> MakeSynthCommand() { return std::make_unique<SynthCommand>(); }

}  // namespace kiln::cli
