// Annotates activations by shared set, then weights by layer, then rounds biases.
#include "kiln/quantise/quantise.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "kiln/execute/codes.h"
#include "kiln/quantise/biases.h"
#include "kiln/quantise/block_axes.h"
#include "kiln/quantise/layer_settings.h"
#include "kiln/quantise/range.h"
#include "kiln/quantise/shared_values.h"
#include "kiln/quantise/weights.h"
#include "kiln/support/parallel.h"

namespace kiln {
namespace {

// The decisions taken for a graph before any value is annotated.
struct Decisions {
  const SettingsOfNodes& settings;
  BlockPlan blocks;
  // Activations with a recipe that asks for blocks, whether or not they can be blocked.
  std::unordered_set<const Value*> wanted_blocks;
};

// Returns whether a layer's weights are blocked. Their recipe must ask for blocks, and the layer's
// activations must be blocked too or not be meant to be: one scale product serves a block of both.
bool HasBlockedWeights(const Node& layer, const Decisions& decisions) {
  const QuantType& weights = decisions.settings[&layer].weights.type;
  if (weights.scheme != Scheme::kPerBlock || !CanBeBlocked(layer, weights.block_size)) return false;
  const auto wants_blocks = [&](const Value* operand) {
    return decisions.wanted_blocks.contains(operand);
  };
  return decisions.blocks.HasBlockedInputs(&layer) ||
         std::none_of(layer.operands().begin(), layer.operands().end(), wants_blocks);
}

// Returns whether node b uses a's weight operand exactly as a does, so that both can share one
// annotation.
bool SameUse(const Node& a, int operand, const Node& b, const Decisions& decisions) {
  const SettingsOfNodes& settings = decisions.settings;
  const std::optional<WeightOperand> weights_a = WeightsOf(a), weights_b = WeightsOf(b);
  return weights_b && weights_b->operand == operand && *weights_a == *weights_b &&
         !settings[&b].keep_float && settings[&a].weights == settings[&b].weights &&
         HasBlockedWeights(a, decisions) == HasBlockedWeights(b, decisions) &&
         std::count(b.operands().begin(), b.operands().end(), a.operand(operand)) == 1;
}

// Annotates the weights of all layers. A constant with different uses, or one that is also an
// output, is copied first.
Status AnnotateWeights(Graph& graph, const Decisions& decisions) {
  const SettingsOfNodes& settings = decisions.settings;
  for (Node* node : graph.NodeList()) {
    const std::optional<WeightOperand> weights = WeightsOf(*node);
    if (!weights || settings[node].keep_float) continue;
    Value* value = node->operand(weights->operand);
    // Annotated by the network itself, or by an earlier node with the same use.
    if (value->quantisation()) continue;
    const bool shared_alike = std::all_of(
        value->users().begin(), value->users().end(),
        [&](const Node* user) { return SameUse(*node, weights->operand, *user, decisions); });
    const bool is_output = std::count(graph.outputs().begin(), graph.outputs().end(), value) > 0;
    if (!shared_alike || is_output) {
      value = graph.AddConstant(value->name(), value->constant());  // shares the bytes
      graph.SetOperand(node, weights->operand, value);
    }
    KILN_ASSIGN_OR_RETURN(Quantisation q,
                          QuantiseWeights(*value, *weights, settings[node].weights,
                                          HasBlockedWeights(*node, decisions), graph.source()));
    value->set_quantisation(std::move(q));
  }
  return OkStatus();
}

// Returns the annotation of all members of a shared set, for types without blocks.
Quantisation SharedAnnotation(const SharedValues& group, const CalibrationData& data) {
  TensorRecipe recipe = group.recipe;
  recipe.type = ElementQuantType(recipe.type, Scheme::kPerTensor);
  if (recipe.type.scheme == Scheme::kNone) return {.type = recipe.type};
  Histogram all;
  std::vector<Histogram> channels;
  for (const Value* value : group.introduce) {
    all.Merge(*data.Find(value->name()));
    const std::vector<Histogram>& own = data.FindChannels(value->name());
    channels.insert(channels.end(), own.begin(), own.end());
  }
  const ValueRange range = ChooseRange(all, recipe, channels);
  return PerTensorQuantisation(range.low, range.high, recipe.type);
}

// Annotates all activations; members that the network itself annotates keep their annotation.
void AnnotateActivations(const std::vector<SharedValues>& groups, const BlockPlan& blocks,
                         const CalibrationData& data) {
  ParallelFor(static_cast<int64_t>(groups.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const SharedValues& group = groups[static_cast<size_t>(i)];
      const bool blocked = blocks.AxisOf(group.members.front()).has_value();
      const Quantisation shared =
          blocked ? Quantisation{.type = group.recipe.type} : SharedAnnotation(group, data);
      for (Value* member : group.members) {
        if (member->quantisation()) continue;  // annotated by the network itself
        Quantisation q = shared;
        if (blocked) q.axis = *blocks.AxisOf(member);
        member->set_quantisation(std::move(q));
      }
    }
  });
}

// Returns whether the network itself annotates a member.
bool BringsItsOwn(const SharedValues& group) {
  return std::any_of(group.members.begin(), group.members.end(),
                     [](const Value* member) { return member->quantisation().has_value(); });
}

// Collects the values that ask for blocks and plans the blocked axes.
Decisions Decide(const Graph& graph, const std::vector<SharedValues>& groups,
                 const SettingsOfNodes& settings) {
  Decisions decisions{.settings = settings, .blocks = {}, .wanted_blocks = {}};
  std::vector<BlockCandidate> candidates;
  for (const SharedValues& group : groups) {
    const QuantType& type = group.recipe.type;
    if (type.scheme != Scheme::kPerBlock || BringsItsOwn(group)) continue;
    candidates.push_back({.members = group.members, .block_size = type.block_size});
    decisions.wanted_blocks.insert(group.members.begin(), group.members.end());
  }
  FloatLayers float_layers;
  for (const auto& node : graph.nodes()) {
    if (settings[node.get()].keep_float) float_layers.insert(node.get());
  }
  decisions.blocks = BlockPlan::Make(graph, candidates, float_layers);
  return decisions;
}

}  // namespace

StatusOr<Graph> Quantise(const Graph& graph, const Recipe& recipe, const CalibrationData& data) {
  Graph quantised = graph.Clone();
  if (recipe.replace_own) {
    for (Value* value : quantised.Values()) value->set_quantisation(std::nullopt);
  }
  KILN_ASSIGN_OR_RETURN(const SettingsOfNodes settings,
                        SettingsOfNodes::Resolve(quantised, recipe));
  KILN_ASSIGN_OR_RETURN(const std::vector<SharedValues> groups,
                        DivideValues(quantised, recipe, settings, data));
  const Decisions decisions = Decide(quantised, groups, settings);
  AnnotateActivations(groups, decisions.blocks, data);
  KILN_RETURN_IF_ERROR(AnnotateWeights(quantised, decisions));
  if (recipe.biases) RoundBiases(quantised, *recipe.biases);
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
