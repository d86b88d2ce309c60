// Divides values into shared sets by union-find over the nodes of a graph.
#include "kiln/quantise/shared_values.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "kiln/passes/data_movement.h"

namespace kiln {
namespace {

// The greatest ratio of ranges at which the operands of a Concat still share an annotation.
constexpr double kCloseRanges = 2;

// Returns whether the node cuts off part of its operand's range.
bool Clamps(const Node& node) { return node.op() == Op::kRelu || node.op() == Op::kClip; }

// Collects the values to be quantised, joins sets across nodes, and gathers each set's recipe.
class Divider {
 public:
  Divider(const Graph& graph, const Recipe& recipe, const SettingsOfNodes& settings,
          const CalibrationData& data)
      : graph_(graph), recipe_(recipe), settings_(settings), data_(data) {}

  StatusOr<std::vector<SharedValues>> Divide() {
    FindQuantised();
    for (const auto& node : graph_.nodes()) JoinAcross(*node);
    for (const Value* value : values_) {
      if (data_.Find(value->name()) != nullptr) continue;
      return ErrorAt(graph_.source(), fmt::format("value '{}'", value->name()),
                     "has no calibration data", "calibrate the same graph that is quantised");
    }
    for (const auto& node : graph_.nodes()) {
      if (node->op() == Op::kConcat) JoinConcat(*node);
    }
    for (const auto& node : graph_.nodes()) RequireSymmetry(*node);
    return Collect();
  }

 private:
  bool IsQuantised(const Value* value) const { return value != nullptr && parent_.contains(value); }

  // Returns the representative of a value's set.
  const Value* Root(const Value* value) {
    while (parent_.at(value) != value) {
      // Path halving keeps paths short.
      value = parent_[value] = parent_.at(parent_.at(value));
    }
    return value;
  }
  void Join(const Value* a, const Value* b) { parent_[Root(a)] = Root(b); }

  // Returns whether a value stays fp32 because only fp32 graph outputs are made of it, by moving
  // data.
  bool ReachesOutputsOnly(const Value* value) const {
    if (outputs_.contains(value)) return true;
    if (value->users().empty()) return false;
    return std::all_of(value->users().begin(), value->users().end(), [&](const Node* user) {
      return user->operand(0) == value && user->info().Has(kMovesData) && user->num_results() > 0 &&
             std::all_of(user->results().begin(), user->results().end(), [&](const Value* result) {
               return result == nullptr || stays_float_.contains(result);
             });
    });
  }

  // Returns whether a value is computed from integers and constants alone, as angles are from
  // positions. `known` has the answers for earlier values.
  static bool IsCounted(const Value* value, const std::unordered_set<const Value*>& known) {
    const Node* node = value->producer();
    if (node == nullptr || value->element() != ElementType::kFloat32) return false;
    bool varies = false;
    for (const Value* operand : node->operands()) {
      if (operand == nullptr || operand->is_constant()) continue;
      if (operand->element() == ElementType::kFloat32 && !known.contains(operand)) return false;
      varies = true;
    }
    return varies;
  }

  // Returns whether a counted value stays fp32 because only sines and cosines are made of it. Codes
  // of 8 bits cannot say an angle of many turns.
  bool ReachesAnglesOnly(const Value* value) const {
    if (value->users().empty() || outputs_.contains(value)) return false;
    return std::all_of(value->users().begin(), value->users().end(), [&](const Node* user) {
      if (user->op() == Op::kSin || user->op() == Op::kCos) return true;
      return std::all_of(user->results().begin(), user->results().end(), [&](const Value* result) {
        return result == nullptr || angles_.contains(result);
      });
    });
  }

  // Fills values_ with the values to be quantised, each in a set of its own.
  void FindQuantised() {
    if (!recipe_.quantise_outputs)
      outputs_.insert(graph_.outputs().begin(), graph_.outputs().end());
    std::vector<Value*> all = graph_.Values();
    // Backwards, so that the users of a value are visited before it.
    for (auto it = all.rbegin(); it != all.rend(); ++it) {
      if (ReachesOutputsOnly(*it)) stays_float_.insert(*it);
    }
    std::unordered_set<const Value*> counted;
    for (const auto& node : graph_.nodes()) {
      for (const Value* result : node->results()) {
        if (result != nullptr && IsCounted(result, counted)) counted.insert(result);
      }
    }
    for (auto it = all.rbegin(); it != all.rend(); ++it) {
      if (counted.contains(*it) && ReachesAnglesOnly(*it)) angles_.insert(*it);
    }
    for (Value* value : all) {
      const bool kept_float =
          value->producer() != nullptr && settings_[value->producer()].keep_float;
      if (value->is_constant() || value->element() != ElementType::kFloat32 || kept_float) continue;
      if (stays_float_.contains(value) && value->producer() != nullptr) continue;
      if (angles_.contains(value)) continue;
      values_.push_back(value);
      parent_[value] = value;
    }
  }

  // Joins the operand and result of a node that passes codes through. An override of the node's
  // results by the recipe keeps them apart.
  void JoinAcross(const Node& node) {
    const Value* from = node.operand(0);
    if (!IsQuantised(from)) return;
    const bool overridden = settings_[&node].activations.has_value();
    if (node.op() == Op::kConcat) return;  // several operands: JoinConcat
    if (PicksElements(node)) {
      if (overridden) return;
      for (const Value* result : node.results()) {
        if (!IsQuantised(result)) continue;
        Join(result, from);
        introduces_nothing_.insert(result);
      }
    } else if (Clamps(node) && from->users().size() == 1 && !outputs_.contains(from) &&
               IsQuantised(node.result())) {
      Join(from, node.result());
      introduces_nothing_.insert(from);
    }
  }

  // Returns the greatest magnitude in the set of a value.
  double Extent(const Value* value) {
    double extent = 0;
    for (const Value* member : values_) {
      if (introduces_nothing_.contains(member) || Root(member) != Root(value)) continue;
      const Histogram& h = *data_.Find(member->name());
      extent = std::max({extent, -static_cast<double>(h.min()), static_cast<double>(h.max())});
    }
    return extent;
  }

  // Joins the operands and the result of a Concat if the operands' ranges are close.
  void JoinConcat(const Node& node) {
    const Value* result = node.result();
    if (!IsQuantised(result) || settings_[&node].activations.has_value()) return;
    double least = std::numeric_limits<double>::infinity(), most = 0;
    for (const Value* operand : node.operands()) {
      if (!IsQuantised(operand)) return;
      const double extent = Extent(operand);
      least = std::min(least, extent);
      most = std::max(most, extent);
    }
    if (most > kCloseRanges * least) return;
    for (const Value* operand : node.operands()) Join(result, operand);
    introduces_nothing_.insert(result);
  }

  // Marks the operands of products of two activations as symmetric.
  void RequireSymmetry(const Node& node) {
    if (!node.info().Has(kMacs) || settings_[&node].keep_float) return;
    const Value* a = node.operand(0);
    const Value* b = node.operand(1);
    const bool has_weights = b != nullptr && b->is_constant();
    for (const Value* operand : {a, b}) {
      if (IsQuantised(operand) && !has_weights) symmetric_.insert(Root(operand));
    }
  }

  // Returns the sets in graph order with their recipes.
  StatusOr<std::vector<SharedValues>> Collect() {
    std::vector<SharedValues> groups;
    std::unordered_map<const Value*, size_t> index;
    for (Value* value : values_) {
      const auto [it, is_new] = index.emplace(Root(value), groups.size());
      if (is_new) {
        groups.emplace_back().recipe = recipe_.activations;
      }
      SharedValues& group = groups[it->second];
      group.members.push_back(value);
      if (value->producer() != nullptr && settings_[value->producer()].activations) {
        group.recipe = *settings_[value->producer()].activations;
      }
      if (introduces_nothing_.contains(value)) continue;
      group.introduce.push_back(value);
    }
    for (const auto& node : graph_.nodes()) {
      const LayerSettings& settings = settings_[node.get()];
      if (!node->info().Has(kMacs) || !settings.inputs || settings.keep_float) continue;
      for (const Value* operand : node->operands()) {
        if (IsQuantised(operand)) groups[index.at(Root(operand))].recipe = *settings.inputs;
      }
    }
    for (SharedValues& group : groups) {
      if (!symmetric_.contains(Root(group.members.front()))) continue;
      group.recipe.type.symmetric = true;
    }
    return groups;
  }

  const Graph& graph_;
  const Recipe& recipe_;
  const SettingsOfNodes& settings_;
  const CalibrationData& data_;
  std::vector<Value*> values_;  // the values to be quantised, in graph order
  std::unordered_set<const Value*> outputs_;
  std::unordered_set<const Value*> stays_float_;
  // Positions and angles, of which only sines and cosines are made.
  std::unordered_set<const Value*> angles_;
  // Values with elements that are all elements of another member.
  std::unordered_set<const Value*> introduces_nothing_;
  std::unordered_set<const Value*> symmetric_;             // representatives of sets
  std::unordered_map<const Value*, const Value*> parent_;  // union-find forest of values_
};

}  // namespace

StatusOr<std::vector<SharedValues>> DivideValues(const Graph& graph, const Recipe& recipe,
                                                 const SettingsOfNodes& settings,
                                                 const CalibrationData& data) {
  return Divider(graph, recipe, settings, data).Divide();
}

}  // namespace kiln
