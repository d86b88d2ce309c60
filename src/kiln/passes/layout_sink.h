// Moves a Transpose from NHWC to NCHW down through one node; layout-nhwc applies this until no
// Transpose moves.
#ifndef KILN_PASSES_LAYOUT_SINK_H_
#define KILN_PASSES_LAYOUT_SINK_H_

#include "kiln/ir/graph.h"
#include "kiln/passes/data_movement.h"

namespace kiln {

// The permutations between the layouts, in ONNX's notation.
inline Permutation ToNhwc() { return {0, 2, 3, 1}; }
inline Permutation ToNchw() { return {0, 3, 1, 2}; }

// Inserts a Transpose of `value` before `node` and returns its result.
Value* TransposeBefore(Graph& graph, Node& node, Value* value, const Permutation& perm);
// Adapts the graph to a `result` that has changed its axes: its type becomes Permute(type,
// Invert(perm)), and a new Transpose by `perm` before `next` (null: at the end) computes the old
// value for all users. An output keeps its name.
void TransposeAfter(Graph& graph, Value* result, const Permutation& perm, Node* next);

// Lets `root` work on NHWC if an operand is the result of a Transpose to NCHW, and transposes its
// results instead. `next` is the node after it. An operand in NCHW that is not constant gets its
// own Transpose, unless that increases their number. Returns true if the graph changed.
bool SinkThrough(Graph& graph, Node& root, Node* next);

}  // namespace kiln

#endif  // KILN_PASSES_LAYOUT_SINK_H_
