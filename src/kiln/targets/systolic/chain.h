// Chains of element-wise operators as stages of the vector unit, before operands have addresses.
#ifndef KILN_TARGETS_SYSTOLIC_CHAIN_H_
#define KILN_TARGETS_SYSTOLIC_CHAIN_H_

#include <string>
#include <unordered_set>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/targets/systolic/config.h"
#include "kiln/targets/systolic/isa.h"

namespace kiln::systolic {

// A row of stages that a value runs through, one behind the other, wherever they will stand (PlaceStages). Operand k of
// the chain becomes Argument::kOperand<first_operand + k>.
struct Chain {
  int first_operand = 0;  // operand streams that the kernel uses for itself
  std::vector<Stage> stages;
  std::vector<const Value*> operands;  // activations and constants that are no scalars
  std::vector<const Node*> nodes;      // in the order of the graph
  std::string text;                    // " + relu + add ..." for reports
};

// The only element of a constant with one element, rounded to its annotation where it has one.
bool IsScalarConstant(const Value* value);
float ScalarOf(const Value* value);

// Appends the stages of `node` for the chain's present value `v`, one of the node's operands. False, with the chain
// unchanged, when the node is no element-wise operator of the unit, changes the shape of v, or a limit is reached.
// `reserved_stages`: places before the chain's that the kernel itself needs.
bool Append(const Node& node, const Value* v, const Config& config, int reserved_stages,
            Chain* chain);

// Appends what follows `v`, node after node, as long as each is the only user of the value before (or the pair f(x), x
// * f(x) is) and `taken` does not hold it. Returns the value that the chain ends with.
const Value* AppendFollowers(const Graph& graph, const Value* v, const Config& config,
                             int reserved_stages, const std::unordered_set<const Node*>& taken,
                             Chain* chain);

bool IsGraphOutput(const Graph& graph, const Value* value);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_CHAIN_H_
