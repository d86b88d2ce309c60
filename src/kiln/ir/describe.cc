// Names values and finds the origin of unknown shapes for messages to users.

#include "kiln/ir/describe.h"
#include "kiln/support/excerpt.h"

namespace kiln {

std::string NameForUser(const Value& value) {
  const std::string& name = value.name();
  // Graph::NewValue makes up names of this form.
  const bool made_up = name.size() > 1 && name[0] == 'v' &&
                       name.find_first_not_of("0123456789", 1) == std::string::npos;
  if (!made_up || value.producer() == nullptr || value.producer()->name().empty())
    return QuotedExcerpt(name);
  return "the result of " + QuotedExcerpt(value.producer()->name());
}

const Node* DataDependentNode(const Value* value) {
  // Walks towards the inputs along operands with unknown shapes, until all operands are known.
  while (value != nullptr && value->producer() != nullptr) {
    const Value* unknown = nullptr;
    for (const Value* operand : value->producer()->operands()) {
      if (operand != nullptr && !(operand->has_shape() && operand->shape().IsKnown()))
        unknown = operand;
    }
    if (unknown == nullptr) return value->producer();
    value = unknown;
  }
  return nullptr;
}

}  // namespace kiln
