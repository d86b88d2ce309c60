// Implements eliminate-dead-code.
#include "kiln/passes/eliminate_dead_code.h"

#include <algorithm>

#include "kiln/passes/rewrite.h"

namespace kiln {

StatusOr<Changed> EliminateDeadCode::Run(Graph& graph, PassContext&) const {
  bool changed = false;
  // Walks from the last node up, so that one sweep removes a whole chain of dead nodes.
  std::vector<Node*> nodes = graph.NodeList();
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const auto is_used = [&](const Value* result) {
      return result != nullptr && (!result->users().empty() || IsOutput(graph, result));
    };
    if (std::any_of((*it)->results().begin(), (*it)->results().end(), is_used)) continue;
    graph.EraseNode(*it);
    changed = true;
  }
  const size_t constants = graph.Constants().size();
  graph.EraseUnusedConstants();
  changed |= graph.Constants().size() != constants;
  return changed ? Changed::kYes : Changed::kNo;
}

}  // namespace kiln
