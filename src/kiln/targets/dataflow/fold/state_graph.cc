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

// Builds the levels in the order of the plan. A state is the mixed-radix number of its open lanes;
// `value_` holds the lanes of the state that is being expanded.
class Builder {
 public:
  Builder(const FoldModel& model, const Plan& plan, const std::vector<std::vector<int>>& active,
          bool allow_release)
      : model_(model),
        plan_(plan),
        allow_release_(allow_release),
        first_group_(static_cast<size_t>(model.layers())),
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
    std::vector<int>& first = first_group_[static_cast<size_t>(layer)];
    std::vector<int>& inputs = inputs_of_[static_cast<size_t>(layer)];
    int last_in = -1, last_out = -1;
    for (const int c : sorted) {
      const auto [in, out] = key(c);
      const auto groups = static_cast<int>(graph_.groups.size());
      while (static_cast<int>(first.size()) <= in) first.push_back(groups);
      if (in != last_in) inputs.push_back(in);
      if (in != last_in || out != last_out) {
        graph_.groups.push_back({layer, in, out, static_cast<int>(graph_.members.size()), 0});
      }
      last_in = in;
      last_out = out;
      ++graph_.groups.back().count;
      graph_.members.push_back(c);
    }
    const auto groups = static_cast<int>(graph_.groups.size());
    first.resize(lanes.in_values.size() + 1, groups);
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

  bool CouplesWithProducers(int in_index) const {
    for (const int e : decided_edges_) {
      const int from = model_.edge(e).from;
      const int out = value_[static_cast<size_t>(OutputLane(from))];
      if (out != Released(from) && !model_.Couples(e, out, in_index)) return false;
    }
    return true;
  }

  bool CouplesWithGuesses(int out_index) const {
    for (const int e : decided_edges_) {
      const int in = value_[static_cast<size_t>(InputLane(model_.edge(e).to))];
      if (!model_.Couples(e, out_index, in)) return false;
    }
    return true;
  }

  // Finds the edges of the step's layer whose other end is decided: to a guess or from a producer.
  void FindDecidedEdges(const PlanStep& step) {
    decided_edges_.clear();
    const LayerModel& layer = model_.layer(step.layer);
    const bool chooses = step.kind == PlanStep::Kind::kChoose;
    for (const int e : chooses ? layer.out_edges : layer.in_edges) {
      const Edge& edge = model_.edge(e);
      const bool decided = chooses ? fixed_[static_cast<size_t>(edge.to)] != 0
                                   : chosen_[static_cast<size_t>(edge.from)] != 0;
      if (decided) decided_edges_.push_back(e);
    }
  }

  // Returns how much the key grows with the value of a lane; 0 if the lane is not open.
  uint64_t FactorOf(const std::vector<int>& open, int lane) const {
    uint64_t factor = 1;
    for (size_t i = open.size(); i > 0; --i) {
      if (open[i - 1] == lane) return factor;
      factor *= Radix(open[i - 1]);
    }
    return 0;
  }

  // Adds the arcs of the state whose lanes are in value_.
  void AddArcs(const PlanStep& step, const std::vector<int>& open, uint64_t factor, int32_t from,
               StateNumbers& numbers, StateGraph::Stage& stage) {
    const auto layer = static_cast<size_t>(step.layer);
    const auto arrive = [&](uint64_t key, int group) {
      stage.arcs.push_back({from, numbers.Number(key), group});
    };
    if (step.kind == PlanStep::Kind::kChoose) {
      const auto input = static_cast<size_t>(value_[static_cast<size_t>(InputLane(step.layer))]);
      value_[static_cast<size_t>(OutputLane(step.layer))] = 0;
      const uint64_t key = Key(open);
      for (int g = first_group_[layer][input]; g < first_group_[layer][input + 1]; ++g) {
        const int out = graph_.groups[static_cast<size_t>(g)].out_index;
        if (CouplesWithGuesses(out)) arrive(key + factor * static_cast<uint64_t>(out), g);
      }
      return;
    }
    if (fixed_[layer]) {
      arrive(Key(open), -1);
      return;
    }
    value_[static_cast<size_t>(InputLane(step.layer))] = 0;
    const uint64_t key = Key(open);
    for (const int in : inputs_of_[layer]) {
      if (CouplesWithProducers(in)) arrive(key + factor * static_cast<uint64_t>(in), -1);
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
    FindDecidedEdges(step);
    const bool chooses = step.kind == PlanStep::Kind::kChoose;
    const uint64_t factor =
        FactorOf(open, chooses ? OutputLane(step.layer) : InputLane(step.layer));
    for (size_t n = 0; n < keys_.size(); ++n) {
      stage.begin.push_back(static_cast<int32_t>(stage.arcs.size()));
      Decode(before, keys_[n]);
      AddArcs(step, open, factor, static_cast<int32_t>(n), numbers, stage);
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
  std::vector<std::vector<int>> first_group_;  // [layer][index of input lanes]; one entry more
  std::vector<std::vector<int>> inputs_of_;    // per layer: indices of input lanes in use
  std::vector<char> chosen_, fixed_;           // per layer
  std::vector<int> decided_edges_;             // of the step
  std::vector<int> value_;                     // per lane: index of its value in the current state
  std::vector<uint64_t> keys_;                 // of the current level's states
};

}  // namespace

StateGraph BuildStateGraph(const FoldModel& model, const Plan& plan,
                           const std::vector<std::vector<int>>& active, bool allow_release) {
  return Builder(model, plan, active, allow_release).Build();
}

}  // namespace kiln::dataflow
