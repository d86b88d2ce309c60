// Estimates of what a network's multiplications read and cost (hardware/energy.h). They serve to
// compare assignments of formats, not as absolute figures of a chip.
#ifndef KILN_QUANTISE_ENERGY_H_
#define KILN_QUANTISE_ENERGY_H_

#include "kiln/ir/graph.h"
#include "kiln/numerics/format.h"

namespace kiln {

// Returns the bits that one element occupies in memory, including its share of a block's scale.
double BitsOf(const QuantType& type);

// The operand widths and multiplication energy of the convolutions and matrix products of an
// annotated graph. Values without annotation count as fp32.
struct MultiplyCost {
  // Mean bits per element, over all elements of the operands that are not constants.
  double activation_bits = 0;
  // Mean bits per element, over all elements of the constant operands.
  double weight_bits = 0;
  // Energy of all multiplications of one run.
  double picojoules = 0;
};
// Computes the costs of a graph. Operands without a known shape do not count towards the means;
// unknown dimensions count as 1.
MultiplyCost MultiplyCostOf(const Graph& graph);

}  // namespace kiln

#endif  // KILN_QUANTISE_ENERGY_H_
