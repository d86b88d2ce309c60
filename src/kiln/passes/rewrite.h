// What passes share: a driver that applies a local rule until nothing changes, and small questions and edits on graphs.
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

// Tries to transform the pattern whose last node is `root`; true when it did. A rule may insert nodes before the root,
// change nodes in place, and erase the root and nodes that stand before it; nothing that stands after the root.
using Rule = std::function<StatusOr<bool>(Graph& graph, Node& root)>;

// Applies the rule to every node in order, again and again until a round changes nothing; then drops constants that
// lost their users. Rules must make progress: a rule that still fires after 10,000 rounds is reported as an internal
// error.
StatusOr<Changed> ApplyRule(Graph& graph, const Rule& rule);

// ---- Questions ----
bool IsOutput(const Graph& graph, const Value* value);
// The node that makes the value when it has this operator; else null.
Node* ProducedBy(const Value* value, Op op);
// The same, but null where the value is annotated: it is what the node computes, rounded, so that patterns end there.
Node* ComputedBy(const Value* value, Op op);
// One use in all, and not a graph output: the value may change its meaning without anyone else noticing.
bool HasOneUse(const Graph& graph, const Value* value);
// Whether Replace(graph, node, by) can keep every output name.
bool CanReplace(const Graph& graph, const Value* from, const Value* to);
// The same for a move that turns out to move nothing: annotations may stand on both sides where they agree.
bool CanReplaceMove(const Graph& graph, const Value* from, const Value* to);
// The constant when `value` is one of fp32, else null.
const Tensor* FloatConstant(const Value* value);
// The integers of a constant i64 or i32 tensor; nullopt when it is none.
std::optional<std::vector<int64_t>> IntConstant(const Value* value);
// The only element of a floating-point constant with one element.
std::optional<double> ScalarConstant(const Value* value);
// |a - b| within `relative` of |b|: for recognising constants that exporters rounded.
bool Near(double a, double b, double relative = 1e-4);
bool HasKnownShape(const Value* value);  // every dimension known
// -1 when the rank is not known.
int RankOf(const Value* value);
// The axes of a Reduce*, Squeeze or Unsqueeze operand, made non-negative and sorted; nullopt when not constant or out
// of range. `rank` counts the axes they index.
std::optional<std::vector<int64_t>> ConstantAxes(const Value* axes, int rank);
// "a+b"; a name that stands in the list already is not added again.
std::string JoinNames(std::string_view a, std::string_view b);

// ---- Edits ----
// A node with one result of the given type, inserted before `before` (null: at the end). An empty `result_name` gets a
// fresh one.
Node* InsertNode(Graph& graph, Node* before, Op op, std::string_view name,
                 std::vector<Value*> operands, Attributes attributes, TensorType type,
                 std::string_view result_name = "");
// A rank-1 i64 constant.
Value* AddIntConstant(Graph& graph, std::string_view name, const std::vector<int64_t>& values);
// Gives operand i of the node another constant value. When nobody else uses the old constant the new one takes its
// name.
void SetConstantOperand(Graph& graph, Node& node, int i, Tensor tensor,
                        std::string_view fresh_name = "");
// Gives the uses of the node's first result to `by` and erases the node, with whatever stood before it for its sake
// alone. Requires CanReplace and no other used result.
void Replace(Graph& graph, Node& node, Value* by);
// Erases a node without users, and then, up the graph, the nodes that lost their last user by it.
void EraseUpwards(Graph& graph, Node* node);

}  // namespace kiln

#endif  // KILN_PASSES_REWRITE_H_
