// Runs programs in simulations of the emitted hardware.
#include "kiln/targets/systolic/simulate/rtl/rtl.h"

#include <algorithm>

#include "kiln/targets/systolic/emit/emit.h"
#include "kiln/targets/systolic/simulate/rtl/simulation.h"
#include "kiln/targets/systolic/simulate/run_steps.h"

namespace kiln::systolic {
namespace {

// Returns a step's part of the trace. Kernels divide its time as at the cycle level.
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
  return RunSteps(program, batch, options, Level::kRtl,
                  [&](int64_t image, const Step& step, size_t number,
                      std::span<uint8_t> memory) -> StatusOr<Trace> {
                    KILN_ASSIGN_OR_RETURN(
                        const Simulated simulated,
                        simulation.Run(programs.bytes, programs.base, programs.addresses[number],
                                       options.rtl.seed + static_cast<uint64_t>(image), memory));
                    return TraceOf(simulated, InstructionsOf(program, step));
                  });
}

}  // namespace kiln::systolic
