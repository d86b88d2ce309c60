// Running a program step by step with a trace: what the cycle and the rtl level share.
#ifndef KILN_TARGETS_SYSTOLIC_RUN_STEPS_H_
#define KILN_TARGETS_SYSTOLIC_RUN_STEPS_H_

#include <cstdint>
#include <functional>
#include <span>

#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/interface/trace.h"
#include "kiln/targets/systolic/program.h"

namespace kiln::systolic {

// The instructions of a step of kind kInstructions.
std::span<const Instruction> InstructionsOf(const SystolicProgram& program, const Step& step);

// Runs instruction step `number` of a program (host steps do not count) on an image's memory. May be called for several
// images at once. Its trace has an entry in `kernels` for each instruction.
using StepRunner = std::function<StatusOr<Trace>(int64_t image, size_t number,
                                                 std::span<const Instruction> instructions,
                                                 std::span<uint8_t> memory)>;

// Runs all images, host steps included. The result has every image's cycles and the first one's trace, in which the
// instructions of a kernel are one entry.
StatusOr<RunResult> RunSteps(const SystolicProgram& program, const Batch& batch,
                             const RunOptions& options, const StepRunner& run);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_RUN_STEPS_H_
