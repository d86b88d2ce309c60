// Computation graphs: what the machine repeats for every thread. Nodes are operators on vectors of
// lanes, edges carry values from a node to operands of others, in the same thread or in a later
// one.
#ifndef KILN_TARGETS_CGRA_GRAPH_GRAPH_H_
#define KILN_TARGETS_CGRA_GRAPH_GRAPH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/support/status.h"

namespace kiln::cgra {

enum class Op {
#define KILN_CGRA_OPERATOR(id, name, role, operands, unit, aliases) k##id,
#include "kiln/targets/cgra/graph/operators.def"
#undef KILN_CGRA_OPERATOR
};

// See graph/operators.def.
enum class Role { kCompute, kMemory, kControl, kValue, kResult };
enum class Unit { kNone, kMultiply, kLogic };

// A row of the table of operators: the columns of graph/operators.def.
struct OperatorRow {
  Op op;
  std::string_view name;
  Role role;
  int operands;
  Unit unit;
  std::string_view aliases;
};
// Returns the table's row of an operator.
const OperatorRow& RowOf(Op op);
// Returns whether an operator computes in binary32.
bool IsFloat(Op op);
// Returns the operator with this name or alias, in lower case, or nothing.
std::optional<Op> FindOperator(std::string_view name);
// Returns the names of all operators, for messages.
std::string OperatorNames();

struct GraphNode {
  std::string name;  // unique in the graph; messages and mappings use it
  Op op = Op::kAdd;
  std::string label;  // what the source file calls it, or ""
  // The value of a constant or variable, the same in every lane. Of other operators: the operand
  // that no edge provides (the first one that is missing). Operands that are missing and have no
  // literal are 0.
  std::optional<int32_t> literal;
};

enum class EdgeKind {
  kData,       // an operand
  kPredicate,  // the target's result is 0 in lanes where this value is 0
  kOrder       // the target comes after the source; no value moves
};

struct GraphEdge {
  int source = 0, target = 0;  // indices into nodes
  int operand = 0;             // of the target, from 0; of data edges
  EdgeKind kind = EdgeKind::kData;
  int distance = 0;     // threads between producer and consumer; 0: the same thread
  int32_t initial = 0;  // with a distance: the value that the first `distance` threads get
};

// A graph that Verify accepts. Nodes are in a topological order of the edges with distance 0.
struct ComputationGraph {
  std::string name;
  std::string source;  // the file, for messages
  std::vector<GraphNode> nodes;
  std::vector<GraphEdge> edges;

  // Returns whether a node is an instruction and so takes a slot.
  bool TakesSlot(int node) const;
  // Return, by node, the indices of the edges that enter it or leave it, of any kind, in ascending
  // order.
  std::vector<std::vector<int>> EdgesInto() const;  // by target, indices into edges
  std::vector<std::vector<int>> EdgesFrom() const;  // by source, indices into edges
};

// Checks what every reader and builder must ensure, and sorts nodes into a topological order
// (stable: nodes that are in order stay). Errors name the graph's source and the node: no nodes;
// names that are empty, not unique or have control characters; an edge that names no node, with a
// negative distance, or above kMostDistance; an operand that is given twice or is beyond the
// operator's; an edge into a value or from a result; an output without a value; a cycle of edges
// with distance 0, by its nodes; more nodes or edges than the budgets allow.
Status VerifyAndSort(ComputationGraph* graph);

inline constexpr int kMostDistance = 64;

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_GRAPH_GRAPH_H_
