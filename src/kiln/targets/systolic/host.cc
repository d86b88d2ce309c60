#include "kiln/targets/systolic/host.h"

#include <unordered_map>

#include "kiln/execute/reference.h"
#include "kiln/targets/systolic/binding.h"

namespace kiln::systolic {

Status RunHostStep(const HostStep& step, std::span<uint8_t> memory) {
  const Graph& graph = *step.graph;
  std::unordered_map<const Value*, Tensor> values;
  for (size_t i = 0; i < graph.inputs().size(); ++i) values[graph.inputs()[i]] = Load(step.inputs[i], memory);
  for (const auto& node : graph.nodes()) {
    std::vector<const Tensor*> operands;
    for (const Value* operand : node->operands()) {
      if (operand == nullptr) {
        operands.push_back(nullptr);
      } else {
        operands.push_back(operand->is_constant() ? &operand->constant() : &values.at(operand));
      }
    }
    KILN_ASSIGN_OR_RETURN(std::vector<Tensor> results, EvaluateNode(*node, operands));
    for (int i = 0; i < node->num_results(); ++i) {
      if (node->result(i) != nullptr) values[node->result(i)] = std::move(results[static_cast<size_t>(i)]);
    }
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    KILN_RETURN_IF_ERROR(Store(values.at(graph.outputs()[i]), step.outputs[i], memory));
  }
  return OkStatus();
}

}  // namespace kiln::systolic
