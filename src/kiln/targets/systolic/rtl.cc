#include "kiln/targets/systolic/rtl.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <sstream>

#include "fmt/format.h"
#include "kiln/hardware/rtl_project.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "kiln/targets/systolic/emit.h"
#include "kiln/targets/systolic/host.h"
#include "kiln/targets/systolic/run_images.h"
#include "kiln/targets/systolic/traces.h"

namespace kiln::systolic {
namespace {

namespace fs = std::filesystem;

// What the testbench prints (rtl/testbench/kiln_systolic_testbench.cc).
struct Simulated {
  int64_t cycles = -1;
  std::vector<int64_t> finished;
  int64_t error = -1;
};

StatusOr<Simulated> ReadLog(const fs::path& log) {
  KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(log));
  Simulated simulated;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string what;
    words >> what;
    if (what == "cycles") words >> simulated.cycles;
    if (what == "error") words >> simulated.error;
    if (what == "finished") {
      for (int64_t cycle; words >> cycle;) simulated.finished.push_back(cycle);
    }
  }
  if (simulated.cycles < 0 || simulated.error < 0) return absl::InternalError(log.string() + ": no result in it");
  return simulated;
}

class Simulation {
 public:
  Simulation(const SystolicProgram& program, const RtlOptions& options, fs::path folder, fs::path simulate)
      : options_(options),
        folder_(std::move(folder)),
        simulate_(std::move(simulate)),
        image_(ProgramImageOf(program)) {}

  // Runs step number `step` of the kInstructions ones on an image's memory.
  StatusOr<Simulated> Run(int64_t image, size_t step, std::span<uint8_t> memory) const {
    const std::string stem = fmt::format("image{}_step{}", image, step);
    const fs::path before = folder_ / "build" / (stem + "_before.bin"),
                   after = folder_ / "build" / (stem + "_after.bin");
    const fs::path log = folder_ / "build" / (stem + ".log");
    std::string bytes(image_.base + image_.bytes.size(), '\0');
    std::memcpy(bytes.data(), memory.data(), memory.size());
    std::memcpy(bytes.data() + image_.base, image_.bytes.data(), image_.bytes.size());
    KILN_RETURN_IF_ERROR(WriteFile(before, bytes));
    std::vector<std::string> arguments = {simulate_.string(),
                                          "--memory",
                                          before.string(),
                                          "--result",
                                          after.string(),
                                          "--program",
                                          std::to_string(image_.addresses[step])};
    const auto add = [&](const char* name, std::string value) {
      arguments.insert(arguments.end(), {name, std::move(value)});
    };
    if (options_.stall_probability > 0) add("--stalls", fmt::format("{}", options_.stall_probability));
    if (options_.dram_bytes_per_cycle > 0) add("--dram", fmt::format("{}", options_.dram_bytes_per_cycle));
    if (options_.dram_row_miss > 0) add("--row-miss", std::to_string(options_.dram_row_miss));
    if (options_.memory_latency > 0) add("--latency", std::to_string(options_.memory_latency));
    add("--seed", std::to_string(options_.seed + static_cast<uint64_t>(image)));
    KILN_RETURN_IF_ERROR(RunProgram(arguments, log));
    KILN_ASSIGN_OR_RETURN(Simulated simulated, ReadLog(log));
    KILN_ASSIGN_OR_RETURN(const std::string result, ReadFile(after));
    if (result.size() < memory.size()) return absl::InternalError(after.string() + ": too short");
    std::memcpy(memory.data(), result.data(), memory.size());
    std::error_code error;
    for (const fs::path& file : {before, after, log}) fs::remove(file, error);
    return simulated;
  }

 private:
  const RtlOptions& options_;
  fs::path folder_, simulate_;
  ProgramImage image_;
};

// A step's part of the trace: kernels share out its time as at the cycle level.
Trace TraceOf(const Simulated& simulated, std::span<const Instruction> instructions) {
  Trace trace;
  trace.cycles = simulated.cycles;
  int64_t before = 0;
  for (size_t i = 0; i < std::min(instructions.size(), simulated.finished.size()); ++i) {
    KernelTrace kernel;
    kernel.kernel = static_cast<int>(instructions[i].kernel);
    kernel.begin = before;
    kernel.end = before = simulated.finished[i];
    trace.kernels.push_back(kernel);
  }
  return trace;
}

}  // namespace

StatusOr<RunResult> RunRtl(const SystolicProgram& program, const Batch& batch, const RunOptions& options) {
  std::optional<TemporaryFolder> temporary;
  fs::path folder = options.rtl.folder;
  if (folder.empty()) {
    KILN_ASSIGN_OR_RETURN(TemporaryFolder made, TemporaryFolder::Create("kiln-rtl"));
    temporary.emplace(std::move(made));
    folder = temporary->path();
  }
  KILN_RETURN_IF_ERROR(EmitDesign(program, folder));
  KILN_ASSIGN_OR_RETURN(const fs::path simulate, hardware::BuildSimulation(folder));
  const Simulation simulation(program, options.rtl, folder, simulate);

  std::vector<int64_t> cycles(static_cast<size_t>(batch.images()), 0);
  Trace first;
  const ImageRunner run = [&](int64_t image, std::span<uint8_t> memory) -> Status {
    Trace trace;
    size_t number = 0;
    for (const Step& step : program.steps()) {
      if (step.kind == Step::Kind::kHost) {
        KILN_RETURN_IF_ERROR(RunHostStep(program.host_steps()[static_cast<size_t>(step.begin)], memory));
        continue;
      }
      KILN_ASSIGN_OR_RETURN(const Simulated simulated, simulation.Run(image, number++, memory));
      Append(trace, TraceOf(simulated, InstructionsOf(program, step)));
    }
    cycles[static_cast<size_t>(image)] = trace.cycles;
    if (image == 0) first = std::move(trace);
    return OkStatus();
  };
  KILN_ASSIGN_OR_RETURN(RunResult result, RunImages(program, batch, options, run));
  MergeKernels(first, program.kernels());
  result.trace = std::move(first);
  result.cycles_per_image = std::move(cycles);
  return result;
}

}  // namespace kiln::systolic
