// Slots of times, level by level, and the pairs of slots on which later FIFOs depend. The fewer
// slots and pairs count, the more labels dominate others, so both are limited to what a later FIFO
// or the latency can depend on.
#include "kiln/targets/dataflow/fold/time_slots.h"

#include <algorithm>
#include <limits>

#include "kiln/support/check.h"

namespace kiln::dataflow {
namespace {

constexpr int kOrigin = -1;  // the slot of time 0
constexpr int64_t kNoPath = -1;

}  // namespace

TimeSlots::TimeSlots(const Subproblem& subproblem, const Plan& plan)
    : subproblem_(subproblem), model_(subproblem.model()), levels_(plan.steps.size() + 1) {
  if (!subproblem.has_times()) return;
  const auto layers = static_cast<size_t>(model_.layers());
  entered_.assign(layers, 0);
  chosen_.assign(layers, 0);
  waiting_.assign(layers, 0);
  if (model_.has_fifo()) dominators_ = ImmediateDominators(model_);
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const PlanStep& step = plan.steps[s];
    if (step.kind == PlanStep::Kind::kEnter) entered_[static_cast<size_t>(step.layer)] = 1;
    if (step.kind == PlanStep::Kind::kChoose) chosen_[static_cast<size_t>(step.layer)] = 1;
    MakeSlots(step, levels_[s], &levels_[s + 1]);
    MakePairs(&levels_[s + 1]);
  }
}

void TimeSlots::MakeSlots(const PlanStep& step, const Level& before, Level* now) {
  std::vector<int> leaving;
  if (step.kind == PlanStep::Kind::kEnter) {
    for (const int e : model_.layer(step.layer).in_edges) {
      const int from = model_.edge(e).from;
      if (--waiting_[static_cast<size_t>(from)] == 0) leaving.push_back(from);
    }
  } else if (step.kind == PlanStep::Kind::kChoose) {
    const size_t consumers = model_.layer(step.layer).out_edges.size();
    waiting_[static_cast<size_t>(step.layer)] = static_cast<int>(consumers);
    if (consumers == 0) leaving.push_back(step.layer);
  }
  for (size_t i = 0; i < before.slots.size(); ++i) {
    const int layer = before.slots[i];
    if (std::find(leaving.begin(), leaving.end(), layer) != leaving.end()) continue;
    const bool changes = step.kind == PlanStep::Kind::kChoose && layer == step.layer;
    now->slots.push_back(layer);
    now->slot_from.push_back(changes ? -1 : static_cast<int>(i));
  }
  if (step.kind == PlanStep::Kind::kEnter) {
    now->slots.push_back(step.layer);
    now->slot_from.push_back(-1);
  }
  for (const int layer : now->slots) {
    const bool pending = !chosen_[static_cast<size_t>(layer)];
    now->slot_rest.push_back(subproblem_.tail(layer) +
                             (pending ? subproblem_.least_latency(layer) : 0));
  }
}

// The FIFO of an input of a join depends on times that are known now only if the join's dominator
// is decided: otherwise all of its inputs start from a layer that is still to come.
void TimeSlots::MakePairs(Level* now) {
  if (subproblem_.limits_latency() || subproblem_.minimises_latency()) {
    for (int i = 0; i < static_cast<int>(now->slots.size()); ++i) {
      now->pairs.push_back({i, kOrigin, kUnlimited});
    }
  }
  if (!model_.has_fifo()) return;
  std::vector<int> joins;
  for (const int join : model_.order()) {
    const int fork = dominators_[static_cast<size_t>(join)];
    if (!entered_[static_cast<size_t>(join)] && model_.layer(join).has_fifo_input &&
        model_.layer(join).in_edges.size() > 1 &&
        (fork < 0 || chosen_[static_cast<size_t>(fork)])) {
      joins.push_back(join);
    }
  }
  if (joins.empty()) return;
  std::vector<int> slots = {kOrigin};
  for (size_t i = 0; i < now->slots.size(); ++i) slots.push_back(static_cast<int>(i));
  std::vector<Reach> reach;
  for (const int slot : slots) {
    reach.push_back(ReachOf(slot < 0 ? -1 : now->slots[static_cast<size_t>(slot)]));
  }
  constexpr int64_t kNothing = std::numeric_limits<int64_t>::min();
  for (size_t late = 0; late < slots.size(); ++late) {
    for (size_t early = 0; early < slots.size(); ++early) {
      if (late == early) continue;
      int64_t ahead = kNothing;
      for (const int join : joins) {
        for (const int j : model_.layer(join).in_edges) {
          const int64_t low = reach[early].least[static_cast<size_t>(model_.edge(j).from)];
          if (!model_.edge(j).fifo || low == kNoPath) continue;
          for (const int i : model_.layer(join).in_edges) {
            const int64_t high = reach[late].most[static_cast<size_t>(model_.edge(i).from)];
            if (i != j && high != kNoPath) ahead = std::max(ahead, high - low);
          }
        }
      }
      if (ahead != kNothing) now->pairs.push_back({slots[late], slots[early], ahead});
    }
  }
}

// Computes the times from the output of a layer that is open (or, for -1, from the start of the
// inputs that are not entered) to the outputs of the layers that are not entered.
TimeSlots::Reach TimeSlots::ReachOf(int origin) const {
  Reach reach;
  reach.least.assign(static_cast<size_t>(model_.layers()), kNoPath);
  reach.most = reach.least;
  if (origin >= 0) {
    const bool pending = !chosen_[static_cast<size_t>(origin)];
    reach.least[static_cast<size_t>(origin)] = pending ? subproblem_.least_latency(origin) : 0;
    reach.most[static_cast<size_t>(origin)] = pending ? subproblem_.most_latency(origin) : 0;
  }
  for (const int layer : model_.order()) {
    if (entered_[static_cast<size_t>(layer)]) continue;
    const std::vector<int>& inputs = model_.layer(layer).in_edges;
    int64_t low = origin < 0 && inputs.empty() ? 0 : kNoPath, high = low;
    for (const int e : inputs) {
      low = std::max(low, reach.least[static_cast<size_t>(model_.edge(e).from)]);
      high = std::max(high, reach.most[static_cast<size_t>(model_.edge(e).from)]);
    }
    if (low == kNoPath) continue;
    reach.least[static_cast<size_t>(layer)] = low + subproblem_.least_latency(layer);
    reach.most[static_cast<size_t>(layer)] = high + subproblem_.most_latency(layer);
  }
  return reach;
}

int TimeSlots::SlotOf(size_t level, int layer) const {
  const std::vector<int>& slots = levels_[level].slots;
  const auto found = std::find(slots.begin(), slots.end(), layer);
  KILN_CHECK(found != slots.end());
  return static_cast<int>(found - slots.begin());
}

std::vector<TimePair> TimeSlots::PairsThatMatter(size_t level,
                                                 const std::vector<const int64_t*>& labels) const {
  std::vector<TimePair> pairs;
  for (const TimePair& pair : levels_[level].pairs) {
    const auto matters = [&](const int64_t* times) {
      return pair.most_ahead == kUnlimited || Difference(times, pair) + pair.most_ahead > 0;
    };
    if (std::any_of(labels.begin(), labels.end(), matters)) pairs.push_back(pair);
  }
  return pairs;
}

}  // namespace kiln::dataflow
