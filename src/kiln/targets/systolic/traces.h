// Traces of a program's steps put together: the cycle and the rtl level share it.
#ifndef KILN_TARGETS_SYSTOLIC_TRACES_H_
#define KILN_TARGETS_SYSTOLIC_TRACES_H_

#include <span>
#include <vector>

#include "kiln/targets/interface/trace.h"
#include "kiln/targets/systolic/program.h"

namespace kiln::systolic {

// Appends what a later step of the same image did.
void Append(Trace& to, Trace&& from);

// Instructions of one kernel stand side by side in a program: their times become one entry.
void MergeKernels(Trace& trace, const std::vector<KernelInfo>& infos);

// The instructions of a step of kind kInstructions.
std::span<const Instruction> InstructionsOf(const SystolicProgram& program, const Step& step);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_TRACES_H_
