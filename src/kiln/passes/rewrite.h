// Shared tools of passes: a driver that applies a local rule until nothing changes, and small
// queries and edits of graphs.
#ifndef KILN_PASSES_REWRITE_H_
#define KILN_PASSES_REWRITE_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/passes/pass.h"

namespace kiln {

// A local transformation. Tries to transform the pattern whose last node is `root` and returns true
// if it did. A rule may insert nodes before the root, change nodes in place, and erase the root and
// nodes before it; it must not erase nodes after the root.
using Rule = std::function<StatusOr<bool>(Graph& graph, Node& root)>;

// Applies the rule to every node in order, round after round, until a round changes nothing; then
// erases constants that lost their users. A rule must terminate: one that still applies after
// 10,000 rounds is reported as an internal error.
StatusOr<Changed> ApplyRule(Graph& graph, const Rule& rule);

// ---- Queries ----
// Returns true if the value is a graph output.
bool IsOutput(const Graph& graph, const Value* value);
// Returns the node that produces the value if it has this operator, otherwise null.
Node* ProducedBy(const Value* value, Op op);
// The same, but null if the value is annotated: then it is the node's result after rounding, and
// patterns end there.
Node* ComputedBy(const Value* value, Op op);
// Returns true if the value has a single use and is not a graph output, so that its meaning may
// change.
bool HasOneUse(const Graph& graph, const Value* value);
// Returns true if Replace(graph, node, by) can keep every output name, for `from` without
// annotation.
bool CanReplace(const Graph& graph, const Value* from, const Value* to);
// The same for a node that turns out to move nothing: both values may be annotated if the
// annotations agree.
bool CanReplaceMove(const Graph& graph, const Value* from, const Value* to);
// Returns the constant if `value` is an fp32 constant, otherwise null.
const Tensor* FloatConstant(const Value* value);
// Returns the elements of a constant i64 or i32 tensor, otherwise nullopt.
std::optional<std::vector<int64_t>> IntConstant(const Value* value);
// Returns the element of a floating-point constant with exactly one element.
std::optional<double> ScalarConstant(const Value* value);
// Returns true if |a - b| <= relative * |b|; exporters round the constants of patterns.
bool Near(double a, double b, double relative = 1e-4);
// Returns true if every dimension is known.
bool HasKnownShape(const Value* value);
// Returns the rank, or -1 if it is not known.
int RankOf(const Value* value);
// Returns the axes operand of a Reduce*, Squeeze or Unsqueeze, non-negative and sorted; nullopt if
// it is not constant or out of range. `rank` is the number of axes that they index.
std::optional<std::vector<int64_t>> ConstantAxes(const Value* axes, int rank);
// Returns "a+b"; a name that the list already contains is not repeated.
std::string JoinNames(std::string_view a, std::string_view b);

// ---- Edits ----
// Inserts a node with one result of the given type before `before` (null: at the end). An empty
// `result_name` gets a fresh name.
Node* InsertNode(Graph& graph, Node* before, Op op, std::string_view name,
                 std::vector<Value*> operands, Attributes attributes, TensorType type,
                 std::string_view result_name = "");
// Adds a rank-1 i64 constant.
Value* AddIntConstant(Graph& graph, std::string_view name, const std::vector<int64_t>& values);
// Gives operand i of the node another constant value. If nobody else uses the old constant, the new
// one takes its name.
void SetConstantOperand(Graph& graph, Node& node, int i, Tensor tensor,
                        std::string_view fresh_name = "");
// Gives the uses of the node's first result to `by` and erases the node, together with the nodes
// before it that existed only for it. Requires CanReplaceMove and no other used result.
void Replace(Graph& graph, Node& node, Value* by);
// Erases a node without users, and then, up the graph, the nodes that lost their last user by it.
void EraseUpwards(Graph& graph, Node* node);

}  // namespace kiln

#endif  // KILN_PASSES_REWRITE_H_
