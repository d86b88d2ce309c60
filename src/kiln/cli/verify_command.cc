// The command `kiln verify`: simulates the emitted hardware in Verilator and compares it with the
// functional and the cycle level. With --netlist the hardware is its netlist of standard cells.
#include <fmt/format.h>
#include <CLI/App.hpp>
#include <algorithm>
#include <chrono>
#include <random>

#include "kiln/cli/emitted_folder.h"
#include "kiln/command/arguments.h"
#include "kiln/command/checks.h"
#include "kiln/command/command.h"
#include "kiln/command/progress.h"
#include "kiln/command/result_files.h"
#include "kiln/flow/flow.h"
#include "kiln/hardware/rtl_project.h"
#include "kiln/report/performance.h"
#include "kiln/report/text.h"
#include "kiln/report/verify_report.h"
#include "kiln/targets/interface/difference.h"

namespace kiln::cli {
namespace {

// Compiles a network and runs the same images at three levels: functional, cycle, and rtl, which
// builds a simulation of the emitted hardware. Fails if any bit differs, and, with a memory that
// the cycle level simulates, if any cycle count differs.
class VerifyCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    flow_.Declare(app, {.has_objective = true});
    app.add_option("--limit", limit_, "Images, from the first")
        ->type_name("N")
        ->check(InRange(1, 1 << 20))
        ->capture_default_str();
    app.add_option("--emit", folder_,
                   "Write what `kiln compile --emit` writes to this folder, with the simulation")
        ->type_name("FOLDER");
    auto* netlist =
        app.add_flag("--netlist", netlist_,
                     "Simulate the netlist of standard cells that `kiln synth` maps, in place of "
                     "the SystemVerilog");
    app.add_flag("--clock-gating", clock_gating_, "The netlist of `kiln synth --clock-gating`")
        ->needs(netlist);
    const auto memory =
        app.add_option_group("Memory",
                             "Other than ideal: bits are compared, and cycles if the cycle level "
                             "simulates the memory");
    memory
        ->add_option("--stalls", rtl_.stall_probability,
                     "Each AXI channel stalls at random with this probability")
        ->type_name("P")
        ->check(RealInRange(0.0, 0.95));
    auto* dram = memory
                     ->add_option("--dram", rtl_.dram_bytes_per_cycle,
                                  "A DRAM behind all ports together, in bytes per cycle (`kiln run "
                                  "--memory` states bandwidth and times per second: GB/s times "
                                  "1000 by the clock in MHz is this number)")
                     ->type_name("BYTES")
                     ->check(RealInRange(0.01, 4096.0));
    memory
        ->add_option("--row-miss", rtl_.dram_row_miss,
                     "Cycles more that a burst to another row of the DRAM takes")
        ->needs(dram)
        ->type_name("CYCLES")
        ->check(InRange(0, 1 << 16));
    memory
        ->add_option("--memory-latency", rtl_.memory_latency,
                     "Cycles from an address to its first beat (`kiln run --memory`: in ns)")
        ->type_name("CYCLES")
        ->check(InRange(1, 1 << 16));
    seed_ = app.add_option("--seed", rtl_.seed,
                           "Of what the hardware's registers hold at power-up, and of the stalls; "
                           "without, another one "
                           "in every run, which is reported: with that number the run is repeated")
                ->type_name("N")
                ->check(InRange(0, std::numeric_limits<int64_t>::max()));
    app.add_option(
           "--wave", wave_,
           "Where bits or cycles differ: the signals around the first difference, to this file")
        ->type_name("FILE.fst");
    app.add_option("--json", json_, "What was found, as JSON; - is standard output")
        ->type_name("FILE");
    app.footer(
        "Needs verilator, make and clang++-19; --netlist also yosys and qflow-tech-osu018, and\n"
        "minutes for small machines. Without --data, images are noise.\n"
        "Example:\n  kiln verify models/demo_fashion_mnist.onnx --on systolic-int8-8x8 --limit 2 "
        "\\\n"
        "    --data /usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz\n"
        "  kiln verify models/demo_fashion_mnist.onnx --on systolic-int8-8x8 --optimise energy");
  }

  Status Run(Context& context) override {
    KILN_ASSIGN_OR_RETURN(FlowOptions options, flow_.Options());
    // Noise suffices to compare levels.
    if (!flow_.images_given()) options.images.random = limit_;
    // A new seed in every run explores other power-up states; the report prints it for repetition.
    if (seed_->count() == 0) rtl_.seed = std::random_device()();
    if (netlist_) {
      rtl_.netlist = clock_gating_ ? hardware::NetlistKind::kGated : hardware::NetlistKind::kPlain;
    }
    KILN_RETURN_IF_ERROR(CheckIsFile("--wave", wave_));
    KILN_RETURN_IF_ERROR(CheckOutputs({json_, wave_}, FilesOf(options)));
    if (!wave_.empty() && std::filesystem::path(wave_).extension() != ".fst") {
      return ErrorAt(wave_, "", "is not an .fst file by its name", "--wave writes FILE.fst");
    }
    KILN_RETURN_IF_ERROR(CheckOutside(folder_, {json_, wave_}));
    if (!folder_.empty()) KILN_RETURN_IF_ERROR(hardware::CheckRtlFolder(folder_));
    KILN_RETURN_IF_ERROR(CheckOutputFolder(folder_));

    VerifyReport report;
    {
      ProgressBars bars(context.err, context.show_progress, context.show_steps);
      const FlowProgress progress = bars.Callback();
      KILN_ASSIGN_OR_RETURN(const CompiledNetwork compiled, CompileFlow(options, progress));
      report.model = options.model.string();
      KILN_RETURN_IF_ERROR(
          CheckHasHardwareKernels(compiled, report.model, "there is nothing to verify"));
      if (!folder_.empty()) KILN_RETURN_IF_ERROR(EmitFolder(compiled, options, folder_));
      KILN_RETURN_IF_ERROR(Verify(compiled, progress, &report));
      KILN_RETURN_IF_ERROR(AddSimulation(progress));
    }
    KILN_RETURN_IF_ERROR(WriteResults(context.out, json_, ToText(report), ToJson(report)));
    if (!report.agrees()) {
      return absl::InternalError("the levels differ; this is a fault of Kiln");
    }
    return OkStatus();
  }

 private:
  // Adds the simulation to the emitted folder, so that `make sim` does not build it again. The
  // simulation of a netlist is not added, because make builds the folder's sources.
  Status AddSimulation(const FlowProgress& progress) const {
    if (folder_.empty() || netlist_) return OkStatus();
    for (const std::filesystem::path& folder : hardware::ProjectsIn(folder_)) {
      progress("emitted folder: building the simulation", 0, 1);
      KILN_RETURN_IF_ERROR(hardware::BuildSimulation(folder).status());
    }
    return OkStatus();
  }

  // Runs the three levels on the same batch and compares them.
  Status Verify(const CompiledNetwork& compiled, const FlowProgress& progress,
                VerifyReport* report) const {
    const int64_t images = std::min(limit_, compiled.images.size());
    Batch batch;
    KILN_ASSIGN_OR_RETURN(batch.inputs, compiled.images.MakeBatch(0, images));
    RtlOptions rtl_options = rtl_;
    const auto run = [&](Level level, const char* name, double* seconds) {
      RunOptions options;
      options.level = level;
      options.rtl = rtl_options;
      std::string step = fmt::format("{} level", name);
      options.on_step = [&](std::string_view what) {
        step = fmt::format("{} level: {}", name, what);
        progress(step, 0, images);
      };
      options.on_progress = [&](int64_t done) { progress(step, done, images); };
      if (level != Level::kRtl) progress(step, 0, images);
      const auto start = std::chrono::steady_clock::now();
      auto result = compiled.accelerator->Run(*compiled.program, batch, options);
      *seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      return result;
    };
    report->accelerator = compiled.accelerator->name();
    report->objective = compiled.report.objective;
    report->images = images;
    report->seed = rtl_.seed;
    report->notes = compiled.report.notes;
    if (netlist_) {
      report->notes.push_back(
          fmt::format("the rtl level is the netlist of standard cells that `kiln synth{}` maps",
                      clock_gating_ ? " --clock-gating" : ""));
    }
    report->untimed_reason = compiled.accelerator->UntimedReason(rtl_);
    report->timed = report->untimed_reason.empty();
    KILN_ASSIGN_OR_RETURN(const RunResult functional,
                          run(Level::kFunctional, "functional", &report->functional_seconds));
    KILN_ASSIGN_OR_RETURN(const RunResult cycle,
                          run(Level::kCycle, "cycle", &report->cycle_seconds));
    // Faulty hardware may never finish, so bound its time by that of the cycle level. With another
    // memory than the cycle level's, there is no such bound.
    const auto& cycles = cycle.cycles_per_image;
    if (report->timed && !cycles.empty()) {
      rtl_options.most_cycles = MostCyclesFor(*std::max_element(cycles.begin(), cycles.end()));
    }
    const auto rtl = run(Level::kRtl, "rtl", &report->rtl_seconds);
    if (rtl.status().code() == StatusCode::kInternal) {
      // The simulation failed, so there is no report; the message must hold the seed to repeat it.
      return absl::InternalError(fmt::format("{} (--seed {})", MessageOf(rtl.status()), rtl_.seed));
    }
    KILN_RETURN_IF_ERROR(rtl.status());
    CompareLevels(*compiled.program, functional, cycle, *rtl, report);
    RunReport timed = compiled.report;
    timed.cycles_per_image = cycle.cycles_per_image;
    timed.trace = cycle.trace;
    report->performance = PerformanceOf(timed);
    if (!wave_.empty()) Record(compiled, progress, report);
    return OkStatus();
  }

  // Runs the first different image again and records its signals around the difference. A recording
  // that fails becomes a line of the report, because the verdict on the levels must still be told.
  void Record(const CompiledNetwork& compiled, const FlowProgress& progress,
              VerifyReport* report) const {
    VerifiedWaveform wave;
    wave.file = wave_;
    wave.image = report->first_different_image;
    if (wave.image >= 0) {
      progress("waveform: building a simulation that records", 0, 1);
      StatusOr<std::vector<Tensor>> inputs = compiled.images.MakeBatch(wave.image, 1);
      KILN_CHECK(inputs.ok());  // the image has already run
      const Batch image{*std::move(inputs)};
      RtlOptions options = rtl_;
      // Each image of a batch has its own seed, derived from the batch's seed.
      options.seed += static_cast<uint64_t>(wave.image);
      const Status folder = MakeFolderOf(wave_);
      const StatusOr<Waveform> window = folder.ok() ? compiled.accelerator->RecordDifference(
                                                          *compiled.program, image, options, wave_)
                                                    : folder;
      if (window.ok()) wave.window = *window;
      wave.fault = MessageOf(window.status());
      if (wave.window.recorded)
        wave.kernel = compiled.program->kernels()[static_cast<size_t>(wave.window.kernel)].name;
    }
    report->waveform = std::move(wave);
  }

  CLI::Option* seed_ = nullptr;
  std::string folder_, json_, wave_;
  int64_t limit_ = 1;
  bool netlist_ = false, clock_gating_ = false;
  RtlOptions rtl_;
  FlowArguments flow_;
};

}  // namespace

std::unique_ptr<Command> MakeVerifyCommand() { return std::make_unique<VerifyCommand>(); }

}  // namespace kiln::cli
