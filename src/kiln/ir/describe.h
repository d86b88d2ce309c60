// How messages to users name what is in a graph.
#ifndef KILN_IR_DESCRIBE_H_
#define KILN_IR_DESCRIBE_H_

#include <string>

#include "kiln/ir/graph.h"

namespace kiln {

// Names a value in quotes; by the node that makes it, "the result of 'conv1'", where the value's name is one that the
// graph made up ("v12", Graph::AddNode).
std::string NameForUser(const Value& value);

// Returns the first node that gives the value an unknown shape although the shapes of its operands are known, such as
// a NonMaxSuppression; null where the shapes of the inputs are not known.
const Node* DataDependentNode(const Value* value);

}  // namespace kiln

#endif  // KILN_IR_DESCRIBE_H_
