// What an instruction computes, in a loop over lanes of one or of many threads.
#ifndef KILN_TARGETS_CGRA_SIMULATE_FUNCTIONAL_LANES_H_
#define KILN_TARGETS_CGRA_SIMULATE_FUNCTIONAL_LANES_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "kiln/targets/cgra/isa/instruction.h"

namespace kiln::cgra {

// Computes `count` lanes of the operations of `entry` from the operands in1, in2 and in3, each of
// `count` elements. `result` overlaps none of them.
void ComputeLanes(const InstructionEntry& entry, const std::array<const int32_t*, 3>& in,
                  size_t count, int32_t* result);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_SIMULATE_FUNCTIONAL_LANES_H_
