// What tokens alone say of a program, without running it.
#ifndef KILN_TARGETS_VTA_TOKEN_PROOF_H_
#define KILN_TARGETS_VTA_TOKEN_PROOF_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <span>

#include "kiln/targets/vta/faults.h"
#include "kiln/targets/vta/isa.h"
#include "kiln/targets/vta/tokens.h"

namespace kiln::vta {

// Looks at an instruction that has its tokens, by index, and at what its stage knows to be done before it; a fault ends
// all.
using TokenVisitor = std::function<std::optional<Fault>(size_t index, const Progress& before)>;

// Lets every stage go as far as it gets, in the order StageOrder(0) of the functional level. kDeadlock: the first
// instruction of the first stage that gets no further; kNoFinish: no FINISH that all other instructions are proved to
// be done before. `tokens` are those before the launch, and then those behind it. Instructions have no static fault.
// Else the visitor's fault.
std::optional<Fault> FindTokenFault(std::span<const Instruction> program, Tokens& tokens,
                                    const TokenVisitor& visit = {});

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_TOKEN_PROOF_H_
