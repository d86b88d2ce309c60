// Chains of element-wise operators as stages of the vector unit. Lowering collects them before
// their operands have addresses; PlaceStages (isa/stages.h) later assigns the machine's stages.
#ifndef KILN_TARGETS_SYSTOLIC_COMPILE_CHAIN_H_
#define KILN_TARGETS_SYSTOLIC_COMPILE_CHAIN_H_

#include <functional>
#include <string>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/targets/systolic/config/config.h"
#include "kiln/targets/systolic/isa/isa.h"

namespace kiln::systolic {

// Return a stage that combines the value with an immediate, and one that applies a function to it.
inline Stage WithImmediate(StageOp op, float value) {
  return {.op = op, .a = Argument::kImmediate, .immediate_a = value};
}
inline Stage Call(NonlinearFunction function) {
  return {.op = StageOp::kFunction, .function = function};
}

// A sequence of stages that a value passes through, not yet assigned to the machine's stages
// (PlaceStages). Operand k of the chain becomes Argument::kOperand<first_operand + k>.
struct Chain {
  int first_operand = 0;  // operand streams that the kernel itself uses
  std::vector<Stage> stages;
  std::vector<const Value*> operands;  // activations, and constants that are not scalars
  std::vector<const Node*> nodes;      // in the order of the graph
  std::string text;                    // " + relu + add ..." for reports
};

// Return whether a value is a constant of one fp32 element, and that element, rounded to its
// annotation if it has one.
bool IsScalarConstant(const Value* value);
float ScalarOf(const Value* value);

// Appends the stages of `node`, which takes the chain's current value `v` as one of its operands.
// Returns false and leaves the chain unchanged if the node is not an element-wise operator of the
// unit or exceeds a limit. `reserved_stages` is the number of machine stages before the chain that
// the kernel itself needs.
bool Append(const Node& node, const Value* v, const Config& config, int reserved_stages,
            Chain* chain);

// Appends the nodes that follow `v`, one by one, as long as each is the only user of the value
// before it (or the two users are the pair f(x), x * f(x)) and is not taken. Returns the value with
// which the chain ends.
const Value* AppendFollowers(const Graph& graph, const Value* v, const Config& config,
                             int reserved_stages, const std::function<bool(const Node*)>& is_taken,
                             Chain* chain);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_COMPILE_CHAIN_H_
