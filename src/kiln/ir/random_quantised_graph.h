// Random networks that are already quantised, in the styles of different exporters, for tests of
// the import of such networks.
#ifndef KILN_IR_RANDOM_QUANTISED_GRAPH_H_
#define KILN_IR_RANDOM_QUANTISED_GRAPH_H_

#include <cstdint>

#include "kiln/ir/graph.h"

namespace kiln {

// The operators that represent the quantisation.
enum class QuantisedStyle {
  // Float operators between QuantizeLinear and DequantizeLinear; weights and biases as codes.
  kQdq,
  // QLinearConv, QLinearMatMul, ConvInteger, MatMulInteger; data movement and max pools on codes.
  kQOperator,
  // Quant of 2 to 8 bits, narrow or not, on floats.
  kQonnx,
};
inline constexpr int kQuantisedStyles = 3;

// The style and size of a random quantised network.
struct RandomQuantisedOptions {
  QuantisedStyle style = QuantisedStyle::kQdq;
  int stages = 3;  // convolutions, residuals, pools, ... before the final linear layer
  // Makes every scale a power of two. All sums and quotients are then exact in fp32, and all levels
  // of execution must agree to the bit.
  bool powers_of_two = false;
};

// Returns a graph that Verify accepts: one fp32 image as input, one fp32 row as output, all shapes
// known, every weight quantised. Scales match the magnitude of the numbers they cover; zero points,
// signs, widths and channels vary. A pure function of its arguments.
Graph RandomQuantisedGraph(uint64_t seed, const RandomQuantisedOptions& options = {});

}  // namespace kiln

#endif  // KILN_IR_RANDOM_QUANTISED_GRAPH_H_
