// The biases of a network: where they are, and how they are rounded to a format of their own.
//
// Used by Quantise (recipe key `biases`) and by bias correction (correct_biases.h).
#ifndef KILN_QUANTISE_BIASES_H_
#define KILN_QUANTISE_BIASES_H_

#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/numerics/format.h"

namespace kiln {

// A constant fp32 operand that a node adds to the result of a layer (a multiply-accumulate node).
struct BiasOperand {
  Node* node = nullptr;   // the layer itself, or the Add that follows it
  int operand = 2;        // the index of the bias among the operands of `node`
  Node* layer = nullptr;  // the layer that computes the sum
};

// Returns operand 2 of every Conv, ConvTranspose and Gemm, and every constant operand of an Add
// that reads the result of a layer.
std::vector<BiasOperand> BiasesOf(const Graph& graph);

// Replaces all biases by values that `format` represents. They carry no annotation: vector units
// hold biases in their own format, and the rounded values are exact in it.
//   whole integers  A bias becomes a multiple of input scale * weight scale of its output channel,
//                   saturated at the ends of the format, as integer accumulators hold it (ONNX
//                   QLinearConv). A bias stays as it is if its layer's operands do not have per
//                   tensor or per channel scales (blocks, no annotation), or if it does not hold
//                   one number per output channel.
//   other formats   A bias becomes the nearest value of the format.
void RoundBiases(Graph& graph, const Format& format);

}  // namespace kiln

#endif  // KILN_QUANTISE_BIASES_H_
