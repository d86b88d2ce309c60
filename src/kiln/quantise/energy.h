// What a multiplication costs, by the formats of its operands: for comparing assignments of formats, not for absolute
// figures of a chip.
#ifndef KILN_QUANTISE_ENERGY_H_
#define KILN_QUANTISE_ENERGY_H_

#include "kiln/ir/graph.h"
#include "kiln/numerics/format.h"

namespace kiln {

// Picojoules of one multiplication at 45 nm and 0.9 V, after M. Horowitz, "Computing's Energy Problem (and what we can
// do about it)", ISSCC 2014, figure 1.1.9:
//
//   8-bit integer 0.2, 32-bit integer 3.1, fp16 1.1, fp32 3.7
//
// Both integer figures are 0.0031 pJ for each pair of operand bits, so that is taken for every pair of widths. Of the
// float figures 0.0031 pJ for each pair of significand bits (hidden one included) is taken off; what is left, for
// exponents, shifting and rounding, is 0.045 pJ (fp16) to 0.060 pJ (fp32) a bit of the format: 0.05 pJ for each bit of
// the wider operand. Posits are floats with the longest fraction that they can have. A codebook is decoded to as many
// bits of significand as its values need (at most 11), without exponents.
double MultiplyEnergy(const Format& a, const Format& b);

// Bits of one element in memory, its share of a block's scale included.
double BitsOf(const QuantType& type);

// What an annotated graph's convolutions and matrix products read, and what their multiplications cost. Values without
// annotation count as fp32.
struct MultiplyCost {
  double activation_bits = 0;  // of an element, the mean over all elements of the operands that are not constants
  double weight_bits = 0;      // of an element, the mean over all elements of the constant operands
  double picojoules = 0;       // of all multiplications of one run
};
MultiplyCost MultiplyCostOf(const Graph& graph);

}  // namespace kiln

#endif  // KILN_QUANTISE_ENERGY_H_
