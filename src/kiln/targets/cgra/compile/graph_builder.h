// Builds the computation graphs of kernels node by node, with the names of the network's nodes.
#ifndef KILN_TARGETS_CGRA_COMPILE_GRAPH_BUILDER_H_
#define KILN_TARGETS_CGRA_COMPILE_GRAPH_BUILDER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

#include "kiln/targets/cgra/graph/graph.h"

namespace kiln::cgra {

// Builds a graph. The returned numbers of nodes are references for later operands. Names that are
// taken get a number.
class GraphBuilder {
 public:
  // `name` is the graph's name and the beginning of the nodes' names.
  explicit GraphBuilder(std::string_view name);

  int Input(std::string_view name);
  void Output(int from, std::string_view name);
  // Add an operator on values, or on a value and a literal as the last operand.
  int Add(Op op, std::string_view name, int a, int b);
  int AddLiteral(Op op, std::string_view name, int a, int32_t literal);
  int Unary(Op op, std::string_view name, int a);
  int Const(std::string_view name, int32_t value);
  int Select(std::string_view name, int condition, int a, int b);
  // Adds a node that combines `a` with its own value of the thread before; the first thread gets
  // `initial`.
  int Accumulate(Op op, std::string_view name, int a, int32_t initial);
  // Adds a node without operands, which Edge adds: `distance` threads later, with `initial` for the
  // first ones.
  int NewNode(Op op, std::string_view name);
  void Edge(int from, int to, int operand, int distance = 0, int32_t initial = 0);

  int instructions() const { return instructions_; }
  // Returns the graph, checked and sorted. Inputs and outputs keep their order.
  ComputationGraph Finish();
  // Does the same for graphs that users give. `source` is the file for messages. Errors: the errors
  // of VerifyAndSort.
  StatusOr<ComputationGraph> Verified(std::string_view source);

 private:
  ComputationGraph graph_;
  std::unordered_set<std::string> names_;
  int instructions_ = 0;
};

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_COMPILE_GRAPH_BUILDER_H_
