// Biases in a format of their own.
#ifndef KILN_QUANTISE_BIASES_H_
#define KILN_QUANTISE_BIASES_H_

#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/numerics/format.h"

namespace kiln {

// A constant fp32 operand that a node adds to what a layer (multiply-accumulate node) computes.
struct BiasOperand {
  Node* node = nullptr;  // the layer itself, or the Add behind it
  int operand = 2;
  Node* layer = nullptr;
};

// Operand 2 of Conv, ConvTranspose and Gemm, and constant operands of an Add behind a layer.
std::vector<BiasOperand> BiasesOf(const Graph& graph);

// Replaces biases by values of the format. They carry no annotation: vector units hold them in their own format, and
// these values in it.
//   whole integers  multiples of input scale * weight scale of their output channel, saturated at the format's ends, as
//                   integer accumulators take them (ONNX QLinearConv). Where the layer's operands do not have such
//                   scales (blocks, no annotation), or the bias is not one number per output channel, it stays as it
//                   is.
//   other formats   the nearest value
void RoundBiases(Graph& graph, const Format& format);

}  // namespace kiln

#endif  // KILN_QUANTISE_BIASES_H_
