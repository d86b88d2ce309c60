// The choices of the branch and bound, its restarts, and the decomposition of a problem into flows.
// branch_propagate.cc contains what a choice implies.

#include "kiln/targets/cgra/map/branch.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "kiln/numerics/elementary.h"
#include "kiln/support/stable_sort.h"

namespace kiln::cgra {
namespace {

size_t N(int i) { return static_cast<size_t>(i); }

}  // namespace

BranchSearch::BranchSearch(const Problem& problem, uint64_t seed, MakeSearchOrder make_order,
                           int span)
    : model_(problem),
      config_(&problem.config),
      random_(seed),
      make_order_(std::move(make_order)),
      span_(span) {
  weight_.assign(N(model_.size), 1.0);
  queued_.assign(N(model_.size), 0);
  check_links_ = config_->relaxed_distance && !config_->shared_links;
}

// Builds the root state, in which only the latency, the first periods and the given tiles restrict
// instructions, and propagates it. Returns false if that alone refutes the problem.
bool BranchSearch::Start(int initiation_interval, int most_latency, std::span<const int> tiles) {
  if (make_order_ && interval_ != initiation_interval) {
    order_ = make_order_(*model_.problem, initiation_interval);
  }
  interval_ = initiation_interval;
  period_ = SlotsOf(*config_, interval_);
  least_delay_ = LeastDelay(*config_, interval_);
  if (most_latency != kAnyLatency && most_latency < config_->pipeline_latency) return false;
  State& state = root_;
  state.tiles.assign(N(model_.size), model_.all_tiles);
  state.first.assign(N(model_.size), 0);
  state.last = LastIssues(*model_.problem, interval_, most_latency);
  state.busy.assign(N(period_), 0);
  state.placed.assign(N(model_.size), 0);
  state.cell.assign(N(model_.size), -1);
  state.link_user.clear();
  if (check_links_) {
    state.link_user.assign(N(model_.tiles) * N(4 * config_->reach) * N(period_), -1);
  }
  for (int i = 0; i < model_.size; ++i) Touch(i, kAll);
  if (model_.size == 0) return true;
  if (span_ > 0) {
    KeepCentre(&state);
  } else if (tiles.empty()) {
    KeepHalf(&state);
  }
  for (size_t i = 0; i < tiles.size(); ++i) {
    if (tiles[i] >= 0) state.tiles[i] = uint64_t{1} << tiles[i];
  }
  return Propagate(&state);
}

// Returns the instruction with the most dependences, without regard to one.
int BranchSearch::MostLinked(int without) const {
  const auto links = [&](int i) { return model_.from[N(i)].size() + model_.into[N(i)].size(); };
  int most = -1;
  for (int i = 0; i < model_.size; ++i) {
    if (i != without && (most < 0 || links(i) > links(most))) most = i;
  }
  return most;
}

// Breaks the symmetry of the array: a mapping mirrored along a row or a column obeys the same
// rules, so the instruction with the most dependences needs to be tried in one half of each
// direction only.
void BranchSearch::KeepHalf(State* state) {
  uint64_t half = 0;
  for (int t = 0; t < model_.tiles; ++t) {
    if (t % config_->columns < (config_->columns + 1) / 2 &&
        t / config_->columns < (config_->rows + 1) / 2) {
      half |= uint64_t{1} << t;
    }
  }
  state->tiles[N(MostLinked(-1))] &= half;
}

// Breaks the symmetries of a row: the instruction with the most dependences is in the middle, and
// the one with the most of the others is in one half.
void BranchSearch::KeepCentre(State* state) {
  const int centre = MostLinked(-1), other = MostLinked(centre);
  state->tiles[N(centre)] = uint64_t{1} << (span_ - 1);
  if (other >= 0) state->tiles[N(other)] &= (uint64_t{1} << span_) - 1;
}

Answer BranchSearch::Decide(int initiation_interval, int most_latency, int64_t steps,
                            StepBudget* budget, std::vector<Place>* places) {
  return Complete(initiation_interval, most_latency, {}, steps, budget, places);
}

Answer BranchSearch::Complete(int initiation_interval, int most_latency, std::span<const int> tiles,
                              int64_t steps, StepBudget* budget, std::vector<Place>* places) {
  if (initiation_interval % IntervalStep(*config_) != 0) return Answer::kNone;
  budget_ = budget;
  if (!Start(initiation_interval, most_latency, tiles)) return Answer::kNone;
  return Restart(steps, budget, places);
}

// Searches from the root until a solution, a proof, or the end of the steps. Each restart has half
// as many steps again as the last one, so that the search is complete, and every second one
// shuffles the order of choices. Restarts find solutions and learn which instructions fail, but
// only a tree that is searched to its end is a proof: where there are many steps, the last restart
// has most of them. What a first choice refuted is already excluded from root_ (BranchOnTile).
Answer BranchSearch::Restart(int64_t steps, StepBudget* budget, std::vector<Place>* places) {
  stack_.resize(N(2 * model_.size + 2));
  steps_left_ = budget->Left(steps);
  constexpr int64_t kFirstRestart = 200;
  constexpr int64_t kManySteps = 16'000, kShareOfRestarts = 4;
  const int64_t last_restart =
      steps < kManySteps ? 0 : steps_left_ - steps_left_ / kShareOfRestarts;
  int64_t limit = kFirstRestart;
  shuffle_ = false;
  while (steps_left_ > 0 && !budget->spent()) {
    restart_left_ = std::min(limit, steps_left_);
    if (steps_left_ <= last_restart) {
      restart_left_ = steps_left_;
      shuffle_ = false;
    }
    stack_[0] = root_;
    const Answer answer = Dive(0);
    if (answer == Answer::kFound) {
      const State& found = stack_.back();
      int leftmost = 0;
      if (span_ > 0) {
        leftmost = model_.tiles;
        for (const uint64_t tile : found.tiles) {
          leftmost = std::min(leftmost, std::countr_zero(tile));
        }
      }
      places->resize(N(model_.size));
      for (int i = 0; i < model_.size; ++i) {
        (*places)[N(i)] = {std::countr_zero(found.tiles[N(i)]) - leftmost, found.first[N(i)]};
      }
      return answer;
    }
    if (answer == Answer::kNone) return answer;
    limit = limit * 3 / 2;
    shuffle_ = !shuffle_;
    // Nothing of the weights is forgotten, but recent failures count more.
    for (double& weight : weight_) weight = 1 + (weight - 1) * 0.5;
  }
  return Answer::kUnknown;
}

bool BranchSearch::AllSourcesFixed(const State& state, int instruction) const {
  return std::ranges::all_of(model_.into[N(instruction)], [&](int a) {
    const int source = model_.arcs[N(a)].from;
    return source == instruction || (std::has_single_bit(state.tiles[N(source)]) &&
                                     state.first[N(source)] == state.last[N(source)]);
  });
}

// Chooses the instruction with the fewest possibilities over its weight of failures, in the manner
// of dom/wdeg (Boussemart et al., "Boosting Systematic Search by Weighting Constraints", ECAI
// 2004). An instruction's tile is chosen before its cycle. A wide window is left for the end,
// because propagation from other choices narrows it.
BranchSearch::Choice BranchSearch::Choose(const State& state) const {
  Choice best;
  double best_score = 0;
  for (int i = 0; i < model_.size; ++i) {
    const bool one_tile = std::has_single_bit(state.tiles[N(i)]);
    const int window = state.last[N(i)] - state.first[N(i)] + 1;
    if (one_tile && window == 1) continue;
    const double priority = 1 + 1e-4 * model_.tail[N(i)];
    double score = 0;
    Choice choice{.instruction = i, .tile = !one_tile, .last = state.last[N(i)]};
    if (!one_tile) {
      score = std::popcount(state.tiles[N(i)]) / weight_[N(i)] / priority;
    } else if (config_->wait_limit < 0 && config_->issue_later && AllSourcesFixed(state, i)) {
      // Later cycles use the same slots again and are no better for the consumers.
      const int slots = check_links_ ? interval_ : period_;
      choice.last = std::min(choice.last, state.first[N(i)] + slots - 1);
      score = std::min(window, slots) / weight_[N(i)] / priority + 1e-6 * state.first[N(i)];
    } else {
      score = window <= 2 * interval_ ? window / weight_[N(i)] / priority
                                      : 1e6 + state.first[N(i)] + window * 1e-3;
    }
    if (best.instruction < 0 || score < best_score) {
      best = choice;
      best_score = score;
    }
  }
  return best;
}

Answer BranchSearch::Child(int depth) {
  if (!Propagate(&stack_[N(depth + 1)])) return Answer::kNone;
  return Dive(depth + 1);
}

// Explores the subtree of the state at `depth`. kNone is proved for the state; kUnknown says that
// the steps of the restart or the budget ended. The solution is left in the last element of stack_,
// which is never used as a node: an instruction is chosen at most twice, once for its tile and once
// for its cycle.
Answer BranchSearch::Dive(int depth) {
  if (restart_left_ <= 0 || budget_->spent()) return Answer::kUnknown;
  --restart_left_;
  --steps_left_;
  budget_->Spend();
  const Choice choice = Choose(stack_[N(depth)]);
  if (choice.instruction < 0) {
    stack_.back() = stack_[N(depth)];
    return Answer::kFound;
  }
  return choice.tile ? BranchOnTile(depth, choice.instruction) : BranchOnIssue(depth, choice);
}

// Returns the tiles left to an instruction, the most promising first: close to the tiles that are
// fixed for its producers and consumers, and to other operands of its consumers, and with free
// slots. A search order, if it is heeded, replaces these costs.
std::vector<int> BranchSearch::OrderTiles(const State& state, int instruction) {
  struct Candidate {
    double cost = 0;
    int tile = 0;
  };
  std::vector<Candidate> candidates;
  for (uint64_t left = state.tiles[N(instruction)]; left != 0; left &= left - 1) {
    Candidate candidate{0, std::countr_zero(left)};
    const auto add = [&](int other, double weight) {
      if (!std::has_single_bit(state.tiles[N(other)])) return;
      candidate.cost +=
          weight * model_.Distance(candidate.tile, std::countr_zero(state.tiles[N(other)]));
    };
    for (const int a : model_.into[N(instruction)]) add(model_.arcs[N(a)].from, 1);
    for (const int a : model_.from[N(instruction)]) {
      add(model_.arcs[N(a)].to, 1);
      // Operands of one consumer meet.
      for (const int b : model_.into[N(model_.arcs[N(a)].to)]) add(model_.arcs[N(b)].from, 0.5);
    }
    for (int slot = 0; slot < period_; ++slot) {
      candidate.cost +=
          0.4 / period_ * static_cast<double>(state.busy[N(slot)] >> candidate.tile & 1);
    }
    if (shuffle_) candidate.cost += random_.Uniform(0, 1.5);
    candidates.push_back(candidate);
  }
  StableSort(&candidates, [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; });
  if (HeedsOrder() && candidates.size() > 1) {
    std::vector<Place> places;
    for (const Candidate& candidate : candidates) {
      places.push_back({candidate.tile, FirstFreeIssue(state, instruction, candidate.tile)});
    }
    const std::vector<double> scores = ScoresOf(state, instruction, places);
    for (size_t i = 0; i < candidates.size(); ++i) candidates[i].cost = -scores[i];
    StableSort(&candidates, [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; });
  }
  std::vector<int> order;
  for (const Candidate& candidate : candidates) order.push_back(candidate.tile);
  return order;
}

// Returns the first issue cycle that is left to an instruction and whose slot on the tile is free;
// the first one that is left if there is none.
int BranchSearch::FirstFreeIssue(const State& state, int instruction, int tile) const {
  const int first = state.first[N(instruction)], last = state.last[N(instruction)];
  for (int issue = first; issue <= std::min(last, first + period_ - 1); ++issue) {
    if ((state.busy[N(SlotOf(issue))] >> tile & 1) == 0) return issue;
  }
  return first;
}

std::vector<double> BranchSearch::ScoresOf(const State& state, int instruction,
                                           const std::vector<Place>& candidates) {
  // An instruction whose tile alone is decided counts as issued as early as it can.
  std::vector<Place> places(N(model_.size));
  for (int i = 0; i < model_.size; ++i) {
    if (i == instruction || !std::has_single_bit(state.tiles[N(i)])) continue;
    places[N(i)] = {std::countr_zero(state.tiles[N(i)]), state.first[N(i)]};
  }
  std::vector<double> scores(candidates.size());
  order_(places, instruction, candidates, scores);
  if (shuffle_) {
    // The greatest of logits with Gumbel noise is distributed as the policy says.
    for (double& score : scores) {
      const double noise = std::max(-elementary::Log(1 - random_.Uniform()), 1e-300);
      score -= elementary::Log(noise);
    }
  }
  return scores;
}

// Returns the issue cycle of the highest score within an interval from the first one on.
int BranchSearch::BestIssue(const State& state, const Choice& choice) {
  const int first = state.first[N(choice.instruction)];
  if (!HeedsOrder()) return first;
  const int tile = std::countr_zero(state.tiles[N(choice.instruction)]);
  std::vector<Place> candidates;
  for (int issue = first; issue <= std::min(choice.last, first + period_ - 1); ++issue) {
    if ((state.busy[N(SlotOf(issue))] >> tile & 1) == 0) candidates.push_back({tile, issue});
  }
  if (candidates.size() < 2) return first;
  const std::vector<double> scores = ScoresOf(state, choice.instruction, candidates);
  const auto best = std::ranges::max_element(scores) - scores.begin();
  return candidates[static_cast<size_t>(best)].issue;
}

// Binary branching: the instruction is on this tile, or it is not. After a refuted tile, its
// exclusion is propagated before the next one is tried.
Answer BranchSearch::BranchOnTile(int depth, int instruction) {
  for (const int tile : OrderTiles(stack_[N(depth)], instruction)) {
    const uint64_t bit = uint64_t{1} << tile;
    if ((stack_[N(depth)].tiles[N(instruction)] & bit) == 0) continue;
    stack_[N(depth + 1)] = stack_[N(depth)];
    stack_[N(depth + 1)].tiles[N(instruction)] = bit;
    Touch(instruction, kTiles);
    const Answer answer = Child(depth);
    if (answer != Answer::kNone) return answer;
    State& state = stack_[N(depth)];
    if (!Keep(&state, instruction, ~bit) || !Propagate(&state)) return Answer::kNone;
    // What the first choice excludes stays excluded after a restart.
    if (depth == 0) root_ = state;
  }
  return Answer::kNone;
}

Answer BranchSearch::IssueAt(int depth, int instruction, int cycle) {
  State& state = stack_[N(depth + 1)];
  state = stack_[N(depth)];
  state.first[N(instruction)] = state.last[N(instruction)] = cycle;
  Touch(instruction, kFirst | kLast);
  return Child(depth);
}

Answer BranchSearch::BranchOnIssue(int depth, const Choice& choice) {
  const int i = choice.instruction;
  // The best cycle comes first, and the others in ascending order, as windows have no holes.
  const int best = BestIssue(stack_[N(depth)], choice);
  const bool is_ahead = best > stack_[N(depth)].first[N(i)];
  if (is_ahead) {
    const Answer answer = IssueAt(depth, i, best);
    if (answer != Answer::kNone) return answer;
  }
  while (stack_[N(depth)].first[N(i)] <= choice.last) {
    const int cycle = stack_[N(depth)].first[N(i)];
    const bool refuted = is_ahead && cycle == best;
    const Answer answer = refuted ? Answer::kNone : IssueAt(depth, i, cycle);
    if (answer != Answer::kNone) return answer;
    State& state = stack_[N(depth)];
    if (!NotBefore(&state, i, cycle + 1) || !Propagate(&state)) return Answer::kNone;
    if (depth == 0) root_ = state;
  }
  return Answer::kNone;
}

// Labels every instruction with the least number that dependences connect it to: one label per
// flow. Flows of a single instruction, and a flow that is the whole problem, are not worth a part.
FlowSearch::FlowSearch(const Problem& problem, uint64_t seed, const MakeSearchOrder& make_order)
    : problem_(&problem), seed_(seed), has_order_(make_order != nullptr) {
  whole_ = std::make_unique<BranchSearch>(*problem_, seed, make_order);
  std::vector<int> flow(problem.instructions.size());
  std::iota(flow.begin(), flow.end(), 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (const Dependence& d : problem.dependences) {
      const int least = std::min(flow[N(d.from)], flow[N(d.to)]);
      changed = changed || flow[N(d.from)] != flow[N(d.to)];
      flow[N(d.from)] = flow[N(d.to)] = least;
    }
  }
  for (int first = 0; first < problem.size(); ++first) {
    std::vector<int> members;
    for (int i = first; i < problem.size(); ++i) {
      if (flow[N(i)] == first) members.push_back(i);
    }
    if (members.size() < 2 || std::ssize(members) == problem.size()) continue;
    Part part;
    part.problem = std::make_unique<Problem>(Restrict(*problem_, members));
    part.search = std::make_unique<BranchSearch>(*part.problem, seed, make_order);
    parts_.push_back(std::move(part));
  }
}

Problem OnCentredRow(const Problem& problem) {
  Problem centred = problem;
  centred.config.columns = 2 * problem.config.columns - 1;
  return centred;
}

// The flows together have a solution only if each has one, so a refuted flow ends the question. A
// flow gets a quarter of the steps; if that does not decide it, the whole is searched all the same.
Answer FlowSearch::Decide(int initiation_interval, int most_latency, int64_t steps,
                          StepBudget* budget, std::vector<Place>* places) {
  const int latency = most_latency == kAnyLatency ? 1 << 28 : most_latency;
  const int64_t before = budget->steps();
  for (Part& part : parts_) {
    const auto refuted = part.refuted.find(initiation_interval);
    if (refuted != part.refuted.end() && latency <= refuted->second) return Answer::kNone;
    const auto found = part.found.find(initiation_interval);
    if (found != part.found.end() && found->second <= latency) continue;
    std::vector<Place> alone;
    const Answer answer =
        part.search->Decide(initiation_interval, most_latency, steps / 4 + 1, budget, &alone);
    if (answer == Answer::kNone) {
      part.refuted[initiation_interval] = latency;
      return answer;
    }
    if (answer != Answer::kFound) continue;
    int end = 0;
    for (const Place& place : alone) end = std::max(end, place.issue);
    part.found[initiation_interval] = end + problem_->config.pipeline_latency;
  }
  const int64_t left = steps - (budget->steps() - before);
  return SearchOfWhole(initiation_interval)
      .Decide(initiation_interval, most_latency, std::max(left, steps / 4), budget, places);
}

// Where instructions take most cells, the cells of a longer row would hide that they do not fit.
BranchSearch& FlowSearch::SearchOfWhole(int initiation_interval) {
  const Config& config = problem_->config;
  const int period = SlotsOf(config, initiation_interval);
  const bool has_room = 4 * int64_t{problem_->size()} <= 3 * int64_t{config.tiles()} * period;
  const bool has_centre = config.rows == 1 && 2 * config.columns - 1 <= kMostSearchTiles;
  if (!has_room || !has_centre || has_order_) return *whole_;
  if (!centred_) {
    centred_problem_ = std::make_unique<Problem>(OnCentredRow(*problem_));
    centred_ = std::make_unique<BranchSearch>(*centred_problem_, seed_, nullptr, config.columns);
  }
  return *centred_;
}

std::unique_ptr<Decider> MakeBranchSearch(const Problem& problem, uint64_t seed) {
  return MakeBranchSearchInOrder(nullptr)(problem, seed);
}

MakeDecider MakeBranchSearchInOrder(MakeSearchOrder make_order) {
  return [make_order = std::move(make_order)](const Problem& problem, uint64_t seed) {
    return OnFewerTiles(problem, seed, [&make_order](const Problem& part, uint64_t own) {
      return std::make_unique<FlowSearch>(part, own, make_order);
    });
  };
}

}  // namespace kiln::cgra
