// Turns an element-wise network into a computation graph, so that an ONNX file can be mapped.
#ifndef KILN_TARGETS_CGRA_COMPILE_COMPUTATION_H_
#define KILN_TARGETS_CGRA_COMPILE_COMPUTATION_H_

#include "kiln/ir/graph.h"
#include "kiln/support/status.h"
#include "kiln/targets/cgra/graph/graph.h"

namespace kiln::cgra {

// Returns a graph with one node for each operator of the network; lanes and threads are the
// elements of its tensors.
//   - Add, Sub, Mul, Sum, Neg and Pow with the exponent 2 or 3 become add, sub, mul, or fadd, fsub,
//     fmul for fp32. And, Or, Xor and Where compute with bits, Relu is the maximum with 0, which is
//     right for the bits of fp32, too, and Abs clears their sign. Min, Max, Clip, Less, Greater and
//     Equal compare integers, or take the sign of the difference of fp32; a NaN takes either side.
//   - Exp of fp32 becomes a polynomial (computation.cc), for arguments held to [-87, 88].
//   - ReduceMax, ReduceMin and ReduceSum whose results are outputs become running values: threads
//     take the elements along the reduced axes, and the last thread has the result.
//   - Numbers become constants. Other constants become inputs, which the host streams in, and so do
//     views of inputs and constants (Slice, Split, Reshape, Transpose, ...): the samples of a
//     filter, the halves of a butterfly.
//   - A Concat of results whose value is an output becomes an output for each operand.
// Annotations play no part. Errors name the node that has no counterpart: another operator, another
// type, a view of a computed value, elements that meet across lanes.
StatusOr<ComputationGraph> GraphOfNetwork(const Graph& network);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_COMPILE_COMPUTATION_H_
