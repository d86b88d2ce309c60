// Builds state graphs level by level.
#include "kiln/targets/dataflow/fold/state_graph.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

namespace kiln::dataflow {
namespace {

constexpr size_t kMaxStates = 1 << 16;   // of one level
constexpr size_t kMaxArcs = 1 << 22;     // of all levels
constexpr uint64_t kMaxDense = 1 << 20;  // keys that a table holds instead of a hash map

// Numbers the states of one level by the mixed-radix number of their lanes.
class StateNumbers {
 public:
  explicit StateNumbers(uint64_t keys) {
    if (keys <= kMaxDense) table_.assign(keys, -1);
  }
  int32_t Number(uint64_t key) {
    if (table_.empty()) {
      const auto [it, added] = map_.emplace(key, static_cast<int32_t>(keys_.size()));
      if (added) keys_.push_back(key);
      return it->second;
    }
    int32_t& number = table_[key];
    if (number < 0) {
      number = static_cast<int32_t>(keys_.size());
      keys_.push_back(key);
    }
    return number;
  }
  std::vector<uint64_t>& keys() { return keys_; }

 private:
  std::vector<int32_t> table_;
  std::unordered_map<uint64_t, int32_t> map_;
  std::vector<uint64_t> keys_;
};

class Builder {
 public:
  Builder(const FoldModel& model, const Plan& plan, const std::vector<std::vector<int>>& active,
          bool allow_release)
      : model_(model),
        plan_(plan),
        allow_release_(allow_release),
        groups_of_(static_cast<size_t>(model.layers())),
        inputs_of_(static_cast<size_t>(model.layers())),
        chosen_(static_cast<size_t>(model.layers()), 0),
        fixed_(static_cast<size_t>(model.layers()), 0),
        value_(2 * static_cast<size_t>(model.layers()), 0) {
    for (int layer = 0; layer < model.layers(); ++layer) {
      AddGroups(layer, active[static_cast<size_t>(layer)]);
    }
  }

  StateGraph Build() {
    graph_.nodes = {1};
    graph_.offset = {0};
    graph_.released = {-1};
    keys_ = {0};
    size_t arcs = 0;
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      AddStage(s);
      arcs += graph_.stages.back().arcs.size();
      if (graph_.too_wide || arcs > kMaxArcs || keys_.size() > kMaxStates) {
        graph_.too_wide = true;
        break;
      }
      if (keys_.empty()) break;
    }
    return std::move(graph_);
  }

 private:
  void AddGroups(int layer, const std::vector<int>& active) {
    const LayerModel& lanes = model_.layer(layer);
    std::vector<int> sorted = active;
    const auto key = [&](int c) {
      return std::pair(lanes.in_index[static_cast<size_t>(c)],
                       lanes.out_index[static_cast<size_t>(c)]);
    };
    std::sort(sorted.begin(), sorted.end(),
              [&](int a, int b) { return std::pair(key(a), a) < std::pair(key(b), b); });
    for (const int c : sorted) {
      const auto [in, out] = key(c);
      std::vector<int>& mine = groups_of_[static_cast<size_t>(layer)];
      const bool same = !mine.empty() && graph_.groups.back().in_index == in &&
                        graph_.groups.back().out_index == out;
      if (!same) {
        mine.push_back(static_cast<int>(graph_.groups.size()));
        graph_.groups.push_back({layer, in, out, static_cast<int>(graph_.members.size()), 0});
        std::vector<int>& inputs = inputs_of_[static_cast<size_t>(layer)];
        if (inputs.empty() || inputs.back() != in) inputs.push_back(in);
      }
      ++graph_.groups.back().count;
      graph_.members.push_back(c);
    }
  }

  // One more value than the lanes have: a released output.
  uint64_t Radix(int lane) const {
    const LayerModel& layer = model_.layer(lane / 2);
    return lane % 2 == 0 ? layer.in_values.size() : layer.out_values.size() + 1;
  }
  int Released(int layer) const { return static_cast<int>(model_.layer(layer).out_values.size()); }

  uint64_t Key(const std::vector<int>& open) const {
    uint64_t key = 0;
    for (const int lane : open) {
      key = key * Radix(lane) + static_cast<uint64_t>(value_[static_cast<size_t>(lane)]);
    }
    return key;
  }

  void Decode(const std::vector<int>& open, uint64_t key) {
    for (size_t i = open.size(); i > 0; --i) {
      const uint64_t radix = Radix(open[i - 1]);
      value_[static_cast<size_t>(open[i - 1])] = static_cast<int>(key % radix);
      key /= radix;
    }
  }

  bool CouplesWithProducers(int layer, int in_index) const {
    for (const int e : model_.layer(layer).in_edges) {
      const int from = model_.edge(e).from;
      if (!chosen_[static_cast<size_t>(from)]) continue;
      const int out = value_[static_cast<size_t>(OutputLane(from))];
      if (out != Released(from) && !model_.Couples(e, out, in_index)) return false;
    }
    return true;
  }

  bool CouplesWithGuesses(int layer, int out_index) const {
    for (const int e : model_.layer(layer).out_edges) {
      const int to = model_.edge(e).to;
      if (fixed_[static_cast<size_t>(to)] &&
          !model_.Couples(e, out_index, value_[static_cast<size_t>(InputLane(to))])) {
        return false;
      }
    }
    return true;
  }

  // Adds the arcs of the state whose lanes are in value_.
  void AddArcs(const PlanStep& step, const std::vector<int>& open, int32_t from,
               StateNumbers& numbers, StateGraph::Stage& stage) {
    const auto layer = static_cast<size_t>(step.layer);
    int& input = value_[static_cast<size_t>(InputLane(step.layer))];
    const auto arrive = [&](int group) {
      stage.arcs.push_back({from, numbers.Number(Key(open)), group});
    };
    if (step.kind == PlanStep::Kind::kChoose) {
      for (const int g : groups_of_[layer]) {
        const CandidateGroup& group = graph_.groups[static_cast<size_t>(g)];
        if (group.in_index != input || !CouplesWithGuesses(step.layer, group.out_index)) continue;
        value_[static_cast<size_t>(OutputLane(step.layer))] = group.out_index;
        arrive(g);
      }
      return;
    }
    if (fixed_[layer]) {
      arrive(-1);
    } else {
      for (const int in : inputs_of_[layer]) {
        if (!CouplesWithProducers(step.layer, in)) continue;
        input = in;
        arrive(-1);
      }
    }
  }

  void AddStage(size_t index) {
    const PlanStep& step = plan_.steps[index];
    const std::vector<int>& before = plan_.open[index];
    const std::vector<int>& open = plan_.open[index + 1];
    uint64_t keys = 1;
    for (const int lane : open) {
      if (keys > std::numeric_limits<uint64_t>::max() / Radix(lane)) {
        graph_.too_wide = true;
        return;
      }
      keys *= Radix(lane);
    }
    StateNumbers numbers(keys);
    StateGraph::Stage& stage = graph_.stages.emplace_back();
    stage.step = step;
    for (size_t n = 0; n < keys_.size(); ++n) {
      stage.begin.push_back(static_cast<int32_t>(stage.arcs.size()));
      Decode(before, keys_[n]);
      AddArcs(step, open, static_cast<int32_t>(n), numbers, stage);
      if (stage.arcs.size() > kMaxArcs || numbers.keys().size() > kMaxStates) {
        graph_.too_wide = true;
        return;
      }
    }
    stage.begin.push_back(static_cast<int32_t>(stage.arcs.size()));
    const auto layer = static_cast<size_t>(step.layer);
    int32_t released = -1;
    if (step.kind == PlanStep::Kind::kChoose) {
      chosen_[layer] = 1;
      if (allow_release_) {
        for (const int lane : open) value_[static_cast<size_t>(lane)] = Released(lane / 2);
        released = numbers.Number(Key(open));
      }
    } else {
      fixed_[layer] = 1;
    }
    graph_.offset.push_back(graph_.offset.back() + keys_.size());
    keys_ = std::move(numbers.keys());
    graph_.nodes.push_back(static_cast<int>(keys_.size()));
    graph_.released.push_back(released);
    if (step.kind != PlanStep::Kind::kEnter) return;
    for (const uint64_t key : keys_) {
      Decode(open, key);
      stage.input.push_back(value_[static_cast<size_t>(InputLane(step.layer))]);
    }
  }

  const FoldModel& model_;
  const Plan& plan_;
  const bool allow_release_;
  StateGraph graph_;
  std::vector<std::vector<int>> groups_of_;  // per layer
  std::vector<std::vector<int>> inputs_of_;  // per layer: indices of input lanes in use
  std::vector<char> chosen_, fixed_;         // per layer
  std::vector<int> value_;                   // per lane: index of its value in the current state
  std::vector<uint64_t> keys_;               // of the current level's states
};

}  // namespace

StateGraph BuildStateGraph(const FoldModel& model, const Plan& plan,
                           const std::vector<std::vector<int>>& active, bool allow_release) {
  return Builder(model, plan, active, allow_release).Build();
}

}  // namespace kiln::dataflow
