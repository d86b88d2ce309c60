// Runs a program step by step on the memory of an image, for all levels. A level provides the
// function that runs the instructions of a step.
#ifndef KILN_TARGETS_SYSTOLIC_SIMULATE_RUN_STEPS_H_
#define KILN_TARGETS_SYSTOLIC_SIMULATE_RUN_STEPS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/interface/trace.h"
#include "kiln/targets/systolic/isa/program.h"

namespace kiln::systolic {

// Returns the instructions of a step of kind kInstructions.
std::span<const Instruction> InstructionsOf(const SystolicProgram& program, const Step& step);

// Runs a host step on `memory`, the machine's addresses [0, memory_top).
Status RunHostStep(const HostStep& step, std::span<uint8_t> memory);

// Runs a step of kind kInstructions on an image's memory; `number` counts these steps from 0.
// Several threads may call it for different images. Its trace has an entry in `kernels` for each
// instruction; the trace of the functional level is ignored.
using StepRunner = std::function<StatusOr<Trace>(int64_t image, const Step& step, size_t number,
                                                 std::span<uint8_t> memory)>;

// Runs all images of the batch at a level, host steps included (RunProgram in
// targets/run/run_program.h).
StatusOr<RunResult> RunSteps(const SystolicProgram& program, const Batch& batch,
                             const RunOptions& options, Level level, const StepRunner& run);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_SIMULATE_RUN_STEPS_H_
