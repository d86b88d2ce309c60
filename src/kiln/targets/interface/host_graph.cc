#include "kiln/targets/interface/host_graph.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "kiln/execute/codes.h"
#include "kiln/execute/reference.h"

namespace kiln {
namespace {

bool IsRounded(const Value& value) {
  return value.quantisation().has_value() && value.element() == ElementType::kFloat32;
}

}  // namespace

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
              operand->name(), IsRounded(*operand)
                                   ? RoundTensor(operand->constant(), *operand->quantisation())
                                   : operand->constant());
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

StatusOr<std::vector<Tensor>> RunHostGraph(const Graph& graph, std::span<const Tensor> inputs) {
  std::unordered_map<const Value*, Tensor> values;  // as nodes see them
  std::unordered_map<const Value*, Tensor> outputs;
  for (size_t i = 0; i < graph.inputs().size(); ++i) values[graph.inputs()[i]] = inputs[i];
  const std::unordered_set<const Value*> leaving(graph.outputs().begin(), graph.outputs().end());
  for (const auto& node : graph.nodes()) {
    std::vector<const Tensor*> operands;
    for (const Value* operand : node->operands()) {
      operands.push_back(operand == nullptr       ? nullptr
                         : operand->is_constant() ? &operand->constant()
                                                  : &values.at(operand));
    }
    KILN_ASSIGN_OR_RETURN(std::vector<Tensor> results, EvaluateNode(*node, operands));
    for (int i = 0; i < node->num_results(); ++i) {
      const Value* result = node->result(i);
      if (result == nullptr) continue;
      Tensor& computed = results[static_cast<size_t>(i)];
      if (leaving.contains(result)) outputs[result] = computed;
      if (IsRounded(*result) && !result->users().empty())
        computed = RoundTensor(computed, *result->quantisation());
      values[result] = std::move(computed);
    }
  }
  std::vector<Tensor> out;
  for (const Value* output : graph.outputs()) out.push_back(outputs.at(output));
  return out;
}

}  // namespace kiln
