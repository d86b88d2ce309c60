// Sums operand bits and multiplication energies over the multiply-accumulate nodes of a graph.
#include "kiln/quantise/energy.h"

#include "kiln/hardware/energy.h"
#include "kiln/ir/work.h"

namespace kiln {

double BitsOf(const QuantType& type) {
  const double scale = type.scheme == Scheme::kPerBlock
                           ? static_cast<double>(type.scale_format.bits) / type.block_size
                           : 0;
  return type.format.bits + scale;
}

MultiplyCost MultiplyCostOf(const Graph& graph) {
  struct Sum {
    double bits = 0, elements = 0;
    double mean() const { return elements > 0 ? bits / elements : 0; }
  } activations, weights;
  const auto type_of = [](const Value& value) {
    return value.quantisation() ? value.quantisation()->type
                                : QuantType{.format = *FindFormat("fp32")};
  };
  MultiplyCost cost;
  for (const auto& node : graph.nodes()) {
    if (!node->info().Has(kMacs)) continue;
    for (int i = 0; i < 2; ++i) {
      const Value& operand = *node->operand(i);
      if (!operand.has_shape()) continue;
      double elements = 1;
      for (const int64_t dim : operand.shape().dims())
        elements *= static_cast<double>(dim < 1 ? 1 : dim);
      Sum& sum = operand.is_constant() ? weights : activations;
      sum.bits += elements * BitsOf(type_of(operand));
      sum.elements += elements;
    }
    const Format a = type_of(*node->operand(0)).format, b = type_of(*node->operand(1)).format;
    cost.picojoules += static_cast<double>(MacsOf(*node)) * hardware::MultiplyEnergy(a, b);
  }
  cost.activation_bits = activations.mean();
  cost.weight_bits = weights.mean();
  return cost;
}

}  // namespace kiln
