// Runs a program image by image, in parallel, and gathers the outputs; the functional and the cycle level differ only
// in what they do to one image's memory.
#ifndef KILN_TARGETS_SYSTOLIC_RUN_IMAGES_H_
#define KILN_TARGETS_SYSTOLIC_RUN_IMAGES_H_

#include <cstdint>
#include <functional>
#include <span>

#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/systolic/program.h"

namespace kiln::systolic {

// Works on one image: `memory` is the machine's memory [0, memory_top) with constants and inputs in place and all else
// zero; outputs are read from it afterwards. Called from several threads at once, each with a memory of its own.
using ImageRunner = std::function<Status(int64_t image, std::span<uint8_t> memory)>;

// Fills RunResult::outputs and codes; the trace is the caller's. Errors: inputs that do not fit the program (both
// shapes are named), or the failure of `run` on the lowest image that has one.
StatusOr<RunResult> RunImages(const SystolicProgram& program, const Batch& batch,
                              const RunOptions& options, const ImageRunner& run);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_RUN_IMAGES_H_
