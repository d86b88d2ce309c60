// Random networks that bring their own quantisation, as exporters write them, for tests.
#ifndef KILN_IR_RANDOM_QUANTISED_GRAPH_H_
#define KILN_IR_RANDOM_QUANTISED_GRAPH_H_

#include <cstdint>

#include "kiln/ir/graph.h"

namespace kiln {

enum class QuantisedStyle {
  kQdq,  // float operators between QuantizeLinear and DequantizeLinear; weights and biases as codes
  kQOperator,  // QLinearConv, QLinearMatMul, ConvInteger, MatMulInteger; moves and max pools of codes
  kQonnx,      // Quant of 2 to 8 bits, narrow or not, over floats
};
inline constexpr int kQuantisedStyles = 3;

struct RandomQuantisedOptions {
  QuantisedStyle style = QuantisedStyle::kQdq;
  int stages = 3;  // convolutions, residuals, pools, ... before the linear layer at the end
  // Every scale is a power of two: then all sums and quotients are exact in fp32, and all levels must agree bit by bit.
  bool powers_of_two = false;
};

// A graph that Verify accepts: one fp32 image in, one fp32 row out, all shapes known, every weight quantised. Scales
// follow the magnitude of what they cover; zero points, signs, widths and channels vary. A pure function of its
// arguments.
Graph RandomQuantisedGraph(uint64_t seed, const RandomQuantisedOptions& options = {});

}  // namespace kiln

#endif  // KILN_IR_RANDOM_QUANTISED_GRAPH_H_
