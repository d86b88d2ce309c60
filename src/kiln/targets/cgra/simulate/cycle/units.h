// The units of a lane, one number at a time, with arithmetic of their own: 64-bit integers and
// binary64, in which one binary32 operation is exact enough to round once.
#ifndef KILN_TARGETS_CGRA_SIMULATE_CYCLE_UNITS_H_
#define KILN_TARGETS_CGRA_SIMULATE_CYCLE_UNITS_H_

#include <cstdint>

#include "kiln/targets/cgra/isa/instruction.h"

namespace kiln::cgra {

// Returns m of the multiply/shift unit, and the result of the arithmetic/logic unit. Lanes are
// given and returned as unsigned numbers of 32 bits.
uint32_t MultiplyUnit(MultiplyOp op, uint32_t in1, uint32_t in2);
uint32_t LogicUnit(LogicOp op, uint32_t m, uint32_t in2, uint32_t in3);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_SIMULATE_CYCLE_UNITS_H_
