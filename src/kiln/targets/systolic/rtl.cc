#include "kiln/targets/systolic/rtl.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "fmt/format.h"
#include "kiln/support/process.h"
#include "kiln/targets/systolic/emit.h"
#include "kiln/targets/systolic/host.h"
#include "kiln/targets/systolic/run_images.h"
#include "kiln/targets/systolic/simulation.h"
#include "kiln/targets/systolic/traces.h"

namespace kiln::systolic {
namespace {

namespace fs = std::filesystem;

// A step's part of the trace: kernels share out its time as at the cycle level.
Trace TraceOf(const Simulated& simulated, std::span<const Instruction> instructions) {
  Trace trace;
  trace.cycles = simulated.cycles;
  trace.units = simulated.units;
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
  KILN_ASSIGN_OR_RETURN(const Simulation simulation, Simulation::Build(folder, options.rtl));
  const ProgramImage programs = ProgramImageOf(program);

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
      KILN_ASSIGN_OR_RETURN(
          const Simulated simulated,
          simulation.Run(fmt::format("image{}_step{}", image, number), programs.bytes, programs.base,
                         programs.addresses[number], options.rtl.seed + static_cast<uint64_t>(image), memory));
      ++number;
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
