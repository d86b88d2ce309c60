// How a Transpose from NHWC to NCHW moves down through one node: what layout-nhwc does again and again.
#ifndef KILN_PASSES_LAYOUT_SINK_H_
#define KILN_PASSES_LAYOUT_SINK_H_

#include "kiln/ir/graph.h"
#include "kiln/passes/data_movement.h"

namespace kiln {

inline Permutation ToNhwc() { return {0, 2, 3, 1}; }
inline Permutation ToNchw() { return {0, 3, 1, 2}; }

// `value` transposed for the use of `node`, by a new Transpose before it.
Value* TransposeBefore(Graph& graph, Node& node, Value* value, const Permutation& perm);
// `result` has changed its axes: its type becomes Permute(type, Invert(perm)), and a new Transpose by `perm` before
// `next` (null: at the end) gives all users what they knew, under the name they knew where it is an output.
void TransposeAfter(Graph& graph, Value* result, const Permutation& perm, Node* next);

// Lets `root` work on NHWC when an operand comes out of a Transpose to NCHW, and transposes its results instead; `next`
// is the node after it. True when it did. An operand in NCHW that is no constant gets a Transpose of its own, if that
// does not make more of them.
bool SinkThrough(Graph& graph, Node& root, Node* next);

}  // namespace kiln

#endif  // KILN_PASSES_LAYOUT_SINK_H_
