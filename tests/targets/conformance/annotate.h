// Annotations of any number format for a test: what a recipe of symmetric int8 has found, carried
// over to other types.
#ifndef KILN_TESTS_TARGETS_CONFORMANCE_ANNOTATE_H_
#define KILN_TESTS_TARGETS_CONFORMANCE_ANNOTATE_H_

#include "kiln/ir/graph.h"
#include "kiln/numerics/format.h"

namespace kiln::conformance {

// `graph` has symmetric int8 annotations. Activations and weights get these types, with scales for
// the ranges that the int8 ones cover. Block scales lie along the last axis of activations (through
// a transposition that follows, of its result) and along the reduction of weights; grouped
// convolutions keep one scale a tensor.
void Retype(Graph& graph, const QuantType& activations, const QuantType& weights);

// Gives the operands of every second convolution or matrix product this type, in the order of the
// graph. Products that share an operand have one type, the first one's.
void RetypeEverySecondProduct(Graph& graph, const QuantType& type);

}  // namespace kiln::conformance

#endif  // KILN_TESTS_TARGETS_CONFORMANCE_ANNOTATE_H_
