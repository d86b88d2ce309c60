// What readers of graph files have in common: nodes and edges as a file states them, and how they
// become a computation graph.
//
// Kiln's own files number every operand as graph/evaluate.h does. Files of other tools number
// operands in their own ways, or not at all. Their nodes are read as follows:
//   - An edge without an operand number is the lowest operand that is free, in the order of edges.
//   - The only operand of a load is its address, also where it has another number. If a load of the
//     file has it as operand 1 (Morpher), stores have the value as operand 0 and the address as
//     operand 1.
//   - An addition (also getelementptr) adds all its operands and its constant; the numbers of the
//     operands do not matter. More than two terms become a chain of additions: NAME.part1,
//     NAME.part2, ..., NAME.
//   - A select of two operands takes the one that is not predicated away (Morpher): a merge.
//   - Of the two operands of a br without numbers, a comparison is the second: the condition.
#ifndef KILN_TARGETS_CGRA_GRAPH_FILE_GRAPH_H_
#define KILN_TARGETS_CGRA_GRAPH_FILE_GRAPH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/graph/graph.h"

namespace kiln::cgra {

struct FileNode {
  std::string name;  // "": its label, or n<id> if it has none or another node has the same
  std::string op;    // as the file writes it; capitals are allowed
  std::string label;
  std::optional<int32_t> literal;
  int64_t id = 0;
  bool own = false;  // whether operands are numbered as Kiln does
};

struct FileEdge {
  GraphEdge edge;  // its operand is not set
  std::optional<int> operand;
};

struct FileGraph {
  std::string name, source;
  std::vector<FileNode> nodes;
  std::vector<FileEdge> edges;  // ends are indices into nodes
};

// Returns the graph. Errors: an operator that is not known, a literal of an input, and the errors
// of VerifyAndSort.
StatusOr<ComputationGraph> FinishGraph(FileGraph file);

// Returns an error if there are more nodes or edges than the budgets allow.
Status CheckGraphBudgets(const std::string& source, int64_t nodes, int64_t edges);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_GRAPH_FILE_GRAPH_H_
