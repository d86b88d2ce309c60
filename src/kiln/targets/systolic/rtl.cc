#include "kiln/targets/systolic/rtl.h"

#include <algorithm>

#include "fmt/format.h"
#include "kiln/targets/systolic/emit.h"
#include "kiln/targets/systolic/run_steps.h"
#include "kiln/targets/systolic/simulation.h"

namespace kiln::systolic {
namespace {

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

StatusOr<RunResult> RunRtl(const SystolicProgram& program, const Batch& batch,
                           const RunOptions& options) {
  if (options.on_step) options.on_step("building the simulation");
  KILN_ASSIGN_OR_RETURN(const Simulation simulation, Simulation::BuildDesign(program, options.rtl));
  if (options.on_step) options.on_step("running the simulation");
  const ProgramImage programs = ProgramImageOf(program);
  return RunSteps(program, batch, options,
                  [&](int64_t image, size_t number, std::span<const Instruction> instructions,
                      std::span<uint8_t> memory) -> StatusOr<Trace> {
                    KILN_ASSIGN_OR_RETURN(
                        const Simulated simulated,
                        simulation.Run(fmt::format("image{}_step{}", image, number), programs.bytes,
                                       programs.base, programs.addresses[number],
                                       options.rtl.seed + static_cast<uint64_t>(image), memory));
                    return TraceOf(simulated, instructions);
                  });
}

}  // namespace kiln::systolic
