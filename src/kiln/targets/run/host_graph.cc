// Copies nodes to host kernels, and evaluates host kernels with the reference operators.

#include "kiln/targets/run/host_graph.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "kiln/execute/codes.h"
#include "kiln/execute/reference.h"

namespace kiln {

Tensor RoundedAsAnnotated(const Tensor& tensor, const std::optional<Quantisation>& annotation) {
  const bool rounds = annotation.has_value() && tensor.type() == ElementType::kFloat32;
  return rounds ? RoundTensor(tensor, *annotation) : tensor;
}

HostGraph CopyForHost(const Graph& network, std::span<const Node* const> nodes) {
  HostGraph host{Graph(network.name()), {}, {}};
  Graph& graph = host.graph;
  std::unordered_map<const Value*, Value*> copies;
  for (const Node* node : nodes) {
    std::vector<Value*> operands;
    for (const Value* operand : node->operands()) {
      if (operand != nullptr && !copies.contains(operand)) {
        if (operand->is_constant()) {
          copies[operand] = graph.AddConstant(
              operand->name(), RoundedAsAnnotated(operand->constant(), operand->quantisation()));
        } else {
          copies[operand] = graph.AddInput(operand->name(), operand->type());
          host.inputs.push_back(operand);
        }
      }
      operands.push_back(operand == nullptr ? nullptr : copies.at(operand));
    }
    std::vector<std::string> names;
    for (const Value* result : node->results())
      names.push_back(result == nullptr ? "" : result->name());
    Node* copy = graph.AddNode(node->op(), node->name(), operands, names, node->attributes());
    for (int i = 0; i < node->num_results(); ++i) {
      const Value* result = node->result(i);
      if (result == nullptr) continue;
      graph.SetType(copy->result(i), result->type());
      copy->result(i)->set_quantisation(result->quantisation());
      copies[result] = copy->result(i);
    }
  }
  const std::unordered_set<const Node*> members(nodes.begin(), nodes.end());
  const std::unordered_set<const Value*> network_outputs(network.outputs().begin(),
                                                         network.outputs().end());
  for (const Node* node : nodes) {
    for (const Value* result : node->results()) {
      if (result == nullptr) continue;
      const bool leaves = network_outputs.contains(result) ||
                          std::any_of(result->users().begin(), result->users().end(),
                                      [&](const Node* user) { return !members.contains(user); });
      if (!leaves) continue;
      graph.MarkOutput(copies.at(result));
      host.outputs.push_back(result);
    }
  }
  return host;
}

Status RunHostKernel(const Graph& graph, const std::function<Tensor(size_t i)>& load,
                     const std::function<Status(size_t i, const Tensor& computed)>& store) {
  std::unordered_map<const Value*, Tensor> values;   // rounded, as nodes read them
  std::unordered_map<const Value*, Tensor> outputs;  // as computed, before rounding
  for (size_t i = 0; i < graph.inputs().size(); ++i) values[graph.inputs()[i]] = load(i);
  const std::unordered_set<const Value*> leaving(graph.outputs().begin(), graph.outputs().end());
  for (const auto& node : graph.nodes()) {
    std::vector<const Tensor*> operands;
    for (const Value* operand : node->operands()) {
      operands.push_back(operand == nullptr       ? nullptr
                         : operand->is_constant() ? &operand->constant()
                                                  : &values.at(operand));
    }
    KILN_ASSIGN_OR_RETURN(const std::vector<Tensor> results, EvaluateNode(*node, operands));
    for (int i = 0; i < node->num_results(); ++i) {
      const Value* result = node->result(i);
      if (result == nullptr) continue;
      const Tensor& computed = results[static_cast<size_t>(i)];
      if (leaving.contains(result)) outputs[result] = computed;
      if (result->users().empty()) continue;
      values[result] = RoundedAsAnnotated(computed, result->quantisation());
    }
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i)
    KILN_RETURN_IF_ERROR(store(i, outputs.at(graph.outputs()[i])));
  return OkStatus();
}

}  // namespace kiln
