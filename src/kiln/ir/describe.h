// Helpers for messages to users: names of values, and the reason for an unknown shape. Accelerator
// families explain with them why a node cannot be lowered.
#ifndef KILN_IR_DESCRIBE_H_
#define KILN_IR_DESCRIBE_H_

#include <string>

#include "kiln/ir/graph.h"

namespace kiln {

// Returns the name of a value in quotes. If the graph made up the name ("v12", Graph::AddNode),
// names the producing node instead: "the result of 'conv1'".
std::string NameForUser(const Value& value);

// Returns the first node that gives the value an unknown shape although the shapes of its own
// operands are known, such as a NonMaxSuppression. Returns null if the shapes of the graph's inputs
// are unknown.
const Node* DataDependentNode(const Value* value);

}  // namespace kiln

#endif  // KILN_IR_DESCRIBE_H_
