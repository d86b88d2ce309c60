// Reads and writes computation graphs in the DOT language of Graphviz, as CGRA-Bench, GenMap and
// Pillars write them (docs/cgra-graphs.md).
#ifndef KILN_TARGETS_CGRA_GRAPH_DOT_FILE_H_
#define KILN_TARGETS_CGRA_GRAPH_DOT_FILE_H_

#include <string>
#include <string_view>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/graph/graph.h"

namespace kiln::cgra {

// What some editors write at the beginning of a file of UTF-8; readers skip it.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Reads a digraph. The name of a node is its DOT identifier. Its operator is the attribute `op`,
// else `opcode`, else `type`, else the letters at the end of its name ("Node7fadd"), else its
// `label`. `const`, `int` or `value` is its constant. Edges have `operand`, `dist` (or `distance`),
// `init` and `kind` (data, pred, order); an edge without `dist` has the distance 1 if it leads from
// a node to itself, or into a merge (phi) that it closes a cycle with. Attributes that only matter
// for drawing are ignored.
// Errors name the line: what DOT does not allow, undirected graphs, edges of whole subgraphs,
// attributes whose value is no number; and the errors of FinishGraph (file_graph.h).
StatusOr<ComputationGraph> ParseGraphDot(std::string_view text, std::string_view source);
// Returns DOT that is read as the same graph.
std::string PrintGraphDot(const ComputationGraph& graph);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_GRAPH_DOT_FILE_H_
