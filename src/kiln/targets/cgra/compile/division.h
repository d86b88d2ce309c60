// Quotients of two values that are known only at run time: restoring division, some bits a launch.
//
// A step turns the remainder R and the quotient Q into the next ones:
//
//   R' = 2 R - b D, Q' = 2 Q + b, with b = 1 if D < 2 R, else 0
//
// From 0 <= R <= D and Q = 0, `bits` steps give the greatest Q with Q D < 2^bits R, which is R / D
// with `bits` bits after the binary point, and 0 where R is 0. The last bit serves for rounding:
// (Q + 1) >> 1 is the nearest number, of two nearest ones the lesser. Where R is D,
// all bits are 1. Remainders and divisors are less than 2^30.
#ifndef KILN_TARGETS_CGRA_COMPILE_DIVISION_H_
#define KILN_TARGETS_CGRA_COMPILE_DIVISION_H_

#include <cstdint>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/compile/kernel.h"
#include "kiln/targets/cgra/config/config.h"

namespace kiln::cgra {

inline constexpr int64_t kMostDividend = int64_t{1} << 30;

struct Division {
  int dividend = 0, divisor = 0, quotient = 0;  // buffers; those of dividends are changed
  bool one_dividend = false;                    // the buffer holds one number for all elements
  int64_t elements = 1;
  int bits = 1;
};
// Appends the launches of a division to a kernel, with as many steps in a launch as take the fewest
// cycles in all. Returns a bound of the cycles. Errors: refusals, if the machine has fewer than two
// outputs or steps find no mapping.
StatusOr<double> AppendDivision(const Division& division, const Config& config,
                                MachineKernel* kernel);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_COMPILE_DIVISION_H_
