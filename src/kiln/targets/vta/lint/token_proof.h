// Finds the faults of a program that follow from its tokens alone, without running it. The linter
// checks programs without memory with it.
#ifndef KILN_TARGETS_VTA_LINT_TOKEN_PROOF_H_
#define KILN_TARGETS_VTA_LINT_TOKEN_PROOF_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <span>

#include "kiln/targets/vta/isa/faults.h"
#include "kiln/targets/vta/isa/isa.h"
#include "kiln/targets/vta/isa/tokens.h"

namespace kiln::vta {

// A function that is called for each instruction whose tokens are available, with its number in the
// program and the progress that its stage knows of. If it returns a fault, the search ends.
using TokenVisitor = std::function<std::optional<Fault>(size_t index, const Progress& before)>;

// Passes tokens through the program in the order StageOrder(0) of the functional level, until no
// stage can continue. Returns kDeadlock with the first instruction of the first stage that cannot
// continue, kNoFinish if no FINISH is proved to come after all other instructions, or the visitor's
// fault. `tokens` holds the tokens before the launch, and afterwards those after it. Instructions
// must not have static faults.
std::optional<Fault> FindTokenFault(std::span<const Instruction> program, Tokens& tokens,
                                    const TokenVisitor& visit = {});

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_LINT_TOKEN_PROOF_H_
