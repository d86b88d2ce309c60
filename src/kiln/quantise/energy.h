// What a network's multiplications cost (hardware/energy.h) and what they read: for comparing assignments of formats,
// not for absolute figures of a chip.
#ifndef KILN_QUANTISE_ENERGY_H_
#define KILN_QUANTISE_ENERGY_H_

#include "kiln/ir/graph.h"
#include "kiln/numerics/format.h"

namespace kiln {

// Bits of one element in memory, its share of a block's scale included.
double BitsOf(const QuantType& type);

// What an annotated graph's convolutions and matrix products read, and what their multiplications cost. Values without
// annotation count as fp32.
struct MultiplyCost {
  double activation_bits =
      0;  // of an element, the mean over all elements of the operands that are not constants
  double weight_bits = 0;  // of an element, the mean over all elements of the constant operands
  double picojoules = 0;   // of all multiplications of one run
};
MultiplyCost MultiplyCostOf(const Graph& graph);

}  // namespace kiln

#endif  // KILN_QUANTISE_ENERGY_H_
