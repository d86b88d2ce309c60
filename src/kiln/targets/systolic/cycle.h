// The cycle level: the units of docs/systolic.md as processes that exchange buffer banks, moving the bits and the time.
//
// Every datum goes the machine's own way: bytes are fetched from memory into banks, weights are shifted into the array,
// partial sums grow in accumulation banks pass by pass, the vector unit takes them word by word. Nothing here shares
// code with the functional level but the arithmetic of single numbers (arithmetic.h).
#ifndef KILN_TARGETS_SYSTOLIC_CYCLE_H_
#define KILN_TARGETS_SYSTOLIC_CYCLE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/systolic/config.h"
#include "kiln/targets/systolic/isa.h"
#include "kiln/targets/systolic/program.h"

namespace kiln::systolic {

// Runs instructions (without kEnd, which is implied) on `memory`, addresses [0, memory.size()), and says what they did
// in time. Trace::kernels has one entry an instruction, in order; an entry begins where the one before ended, so that
// the entries share out the whole time. `rtl` is the memory behind the ports, as far as this level follows it. Errors:
// an instruction that CheckInstruction refuses; an access outside `memory`.
StatusOr<Trace> RunInstructions(const Config& config, std::span<const Instruction> instructions,
                                std::span<uint8_t> memory, const RtlOptions& rtl = {});

// Runs a program on every image of the batch (Accelerator::Run at Level::kCycle). Host steps take no cycles.
StatusOr<RunResult> RunCycle(const SystolicProgram& program, const Batch& batch,
                             const RunOptions& options);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_CYCLE_H_
