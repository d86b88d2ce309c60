#include "kiln/quantise/quantise.h"

#include <algorithm>
#include <vector>

#include "kiln/quantise/codes.h"
#include "kiln/quantise/layer_settings.h"
#include "kiln/quantise/range.h"
#include "kiln/quantise/shared_values.h"
#include "kiln/quantise/weights.h"
#include "kiln/support/parallel.h"

namespace kiln {
namespace {

bool SameUse(const Node& a, int operand, const Node& b, const SettingsOfNodes& settings) {
  const std::optional<WeightOperand> weights_a = WeightsOf(a), weights_b = WeightsOf(b);
  return weights_b && weights_b->operand == operand && weights_a->axis == weights_b->axis && !settings[&b].keep_float &&
         settings[&a].weights == settings[&b].weights &&
         std::count(b.operands().begin(), b.operands().end(), a.operand(operand)) == 1;
}

Status AnnotateWeights(Graph& graph, const SettingsOfNodes& settings) {
  for (Node* node : graph.NodeList()) {
    const std::optional<WeightOperand> weights = WeightsOf(*node);
    if (!weights || settings[node].keep_float) continue;
    Value* value = node->operand(weights->operand);
    if (value->quantisation()) continue;  // the network's own, or another node with the same use was here
    const bool shared_alike = std::all_of(value->users().begin(), value->users().end(), [&](const Node* user) {
      return SameUse(*node, weights->operand, *user, settings);
    });
    const bool is_output = std::count(graph.outputs().begin(), graph.outputs().end(), value) > 0;
    if (!shared_alike || is_output) {
      value = graph.AddConstant(value->name(), value->constant());  // shares the bytes
      graph.SetOperand(node, weights->operand, value);
    }
    KILN_ASSIGN_OR_RETURN(Quantisation q,
                          QuantiseWeights(*value, weights->axis, settings[node].weights, graph.source()));
    value->set_quantisation(std::move(q));
  }
  return OkStatus();
}

Status AnnotateActivations(Graph& graph, const Recipe& recipe, const SettingsOfNodes& settings,
                           const CalibrationData& data) {
  KILN_ASSIGN_OR_RETURN(std::vector<SharedValues> groups, DivideValues(graph, recipe, settings, data));
  ParallelFor(static_cast<int64_t>(groups.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const SharedValues& group = groups[static_cast<size_t>(i)];
      const ValueRange range = ChooseRange(group.histogram, group.recipe);
      const Quantisation q = PerTensorQuantisation(range.low, range.high, group.recipe.type);
      for (Value* member : group.members) {
        if (!member->quantisation()) member->set_quantisation(q);  // the network's own stand
      }
    }
  });
  return OkStatus();
}

}  // namespace

StatusOr<Graph> Quantise(const Graph& graph, const Recipe& recipe, const CalibrationData& data) {
  Graph quantised = graph.Clone();
  if (recipe.replace_own) {
    for (Value* value : quantised.Values()) value->set_quantisation(std::nullopt);
  }
  KILN_ASSIGN_OR_RETURN(const SettingsOfNodes settings, SettingsOfNodes::Resolve(quantised, recipe));
  KILN_RETURN_IF_ERROR(AnnotateActivations(quantised, recipe, settings, data));
  KILN_RETURN_IF_ERROR(AnnotateWeights(quantised, settings));
  return quantised;
}

QuantisedCount CountQuantised(const Graph& graph) {
  QuantisedCount count;
  for (const Value* value : graph.Values()) {
    if (value->quantisation()) {
      ++(value->is_constant() ? count.weights : count.activations);
    } else if (!value->is_constant() && value->element() == ElementType::kFloat32) {
      ++count.float_values;
    }
  }
  return count;
}

}  // namespace kiln
