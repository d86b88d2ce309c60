// Encodes the mapping problem for CryptoMiniSat. Cells and links have helper variables that are
// implied in one direction only: their use forces the variable, and otherwise it is free. That
// suffices, because such a variable occurs only in constraints that forbid it to be true.

#include "kiln/targets/cgra/map/sat.h"

#include <cryptominisat5/cryptominisat.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "kiln/targets/cgra/map/proof.h"

namespace kiln::cgra {
namespace {

using CMSat::Lit;
using Clause = std::vector<Lit>;

size_t S(int i) { return static_cast<size_t>(i); }

// The formula of a problem at one interval.
class SatFormula {
 public:
  // Issue cycles up to those of LastIssues at this latency. Ends early when the budget's time is
  // over; the formula is then not complete and must not be solved.
  SatFormula(const Problem& problem, int interval, int latency, StepBudget* budget);
  bool complete() const { return complete_; }

  // Looks for a solution within a latency, at most the formula's.
  Answer Solve(int latency, int64_t conflicts, StepBudget* budget, std::vector<Place>* places);
  int latency() const { return latency_; }

 private:
  Lit NewVariable() {
    solver_.new_var();
    return Lit(solver_.nVars() - 1, false);
  }
  void Add(const Clause& clause) { holds_ = solver_.add_clause(clause) && holds_; }
  void AtMostOne(const std::vector<Lit>& literals);
  // Looks at the clock; returns whether the formula may go on.
  bool GoOn() { return complete_ = complete_ && budget_->Look(); }
  // Returns a literal that is true exactly if t(i) <= cycle.
  Lit NotAfter(int i, int cycle);
  // Adds t(to) >= t(from) + cycles, which holds unless one of the literals of `unless` is true.
  void AddAtLeast(const Clause& unless, int from, int to, int cycles);
  Lit Slot(int i, int slot) const { return slots_[S(i)][S(slot)]; }
  Lit Tile(int i, int tile) const { return tiles_[S(i)][S(tile)]; }

  void MakeTiles();
  void MakeColumns();
  void MakeIssues();
  void AddApart();
  void AddCells();
  void AddDepth();
  void AddDependence(size_t d);
  void AddLatest();
  void AddSpread();
  void AddOneOutput();
  void AddLinks();
  std::vector<Lit> HopLevels(const Dependence& dependence);

  const Problem& problem_;
  const Config& config_;
  int interval_, period_, latency_;
  CMSat::SATSolver solver_;
  StepBudget* budget_;  // while the formula is built
  bool holds_ = true, complete_ = true;
  Lit true_ = CMSat::lit_Undef;
  std::vector<std::vector<Lit>> tiles_, slots_, issues_;
  // On machines of one row, by instruction and column: whether the tile is at most this column.
  std::vector<std::vector<Lit>> columns_;
  std::vector<int> last_;
  // By dependence and number of a hop cost: whether the value takes more than that cost.
  std::vector<std::vector<Lit>> more_;
  std::vector<int> costs_;               // all costs of hops, ascending
  std::set<std::pair<int, int>> apart_;  // instructions that never share a tile, first < second
};

SatFormula::SatFormula(const Problem& problem, int interval, int latency, StepBudget* budget)
    : problem_(problem),
      config_(problem.config),
      interval_(interval),
      period_(SlotsOf(problem.config, interval)),
      latency_(latency),
      budget_(budget),
      apart_(problem.siblings.begin(), problem.siblings.end()) {
  for (const int a : problem.starts) {
    for (const int b : problem.starts) {
      if (a < b) apart_.emplace(a, b);
    }
  }
  solver_.set_num_threads(1);
  solver_.set_verbosity(0);
  true_ = NewVariable();
  Add({true_});
  last_ = LastIssues(problem, interval, latency);
  if (std::ranges::any_of(last_, [](int last) { return last < 0; })) {
    holds_ = false;
    return;
  }
  std::set<int> costs;
  // The tile in the corner has every distance to another.
  for (int to = 0; to < problem.tiles(); ++to) {
    const int cost = HopCycles(config_, 0, to);
    if (cost >= 0) costs.insert(cost);
  }
  costs_.assign(costs.begin(), costs.end());
  MakeTiles();
  MakeColumns();
  MakeIssues();
  if (GoOn()) AddApart();
  if (GoOn()) AddCells();
  if (GoOn() && config_.instruction_depth < period_) AddDepth();
  for (size_t d = 0; d < problem.dependences.size() && GoOn(); ++d) AddDependence(d);
  if (GoOn() && !columns_.empty()) AddSpread();
  if (GoOn() && !config_.issue_later) AddLatest();
  if (GoOn() && config_.one_output) AddOneOutput();
  if (GoOn() && config_.relaxed_distance && !config_.shared_links) AddLinks();
}

// By pairs for a few literals, else by a sequential counter (Sinz 2005): `any` says that one of the
// literals so far is true.
void SatFormula::AtMostOne(const std::vector<Lit>& literals) {
  constexpr size_t kFew = 6;
  if (literals.size() <= kFew) {
    for (size_t a = 0; a < literals.size(); ++a) {
      for (size_t b = a + 1; b < literals.size(); ++b) Add({~literals[a], ~literals[b]});
    }
    return;
  }
  Lit any = literals[0];
  for (size_t k = 1; k < literals.size(); ++k) {
    Add({~any, ~literals[k]});
    if (k + 1 == literals.size()) break;
    const Lit next = NewVariable();
    Add({~any, next});
    Add({~literals[k], next});
    any = next;
  }
}

Lit SatFormula::NotAfter(int i, int cycle) {
  if (cycle < 0) return ~true_;
  if (cycle >= last_[S(i)]) return true_;
  return issues_[S(i)][S(cycle)];
}

// One-hot tiles. The instructions of a group share the variables of its first one, which is rule 1.
void SatFormula::MakeTiles() {
  for (int i = 0; i < problem_.size(); ++i) {
    const int group = problem_.group[S(i)];
    if (group >= 0 && problem_.groups[S(group)][0] < i) {
      tiles_.push_back(tiles_[S(problem_.groups[S(group)][0])]);
      continue;
    }
    std::vector<Lit> own;
    for (int t = 0; t < problem_.tiles(); ++t) own.push_back(NewVariable());
    Add(own);
    AtMostOne(own);
    tiles_.push_back(std::move(own));
  }
}

// Order encoding of tiles beside the one-hot variables: distances of tiles become clauses of few
// literals, from which more follows than from pairs of tiles. A mapping mirrored along the row
// obeys the same rules, so that the instruction with the most dependences needs one half of it.
void SatFormula::MakeColumns() {
  if (config_.rows > 1 || config_.hop_cycles == 0) return;
  const int tiles = problem_.tiles();
  for (int i = 0; i < problem_.size(); ++i) {
    const int group = problem_.group[S(i)];
    if (group >= 0 && problem_.groups[S(group)][0] < i) {
      columns_.push_back(columns_[S(problem_.groups[S(group)][0])]);
      continue;
    }
    std::vector<Lit> own;
    for (int t = 0; t < tiles; ++t) {
      own.push_back(t + 1 < tiles ? NewVariable() : true_);
      const Lit before = t > 0 ? own[S(t - 1)] : ~true_;
      if (t > 0) Add({~before, own[S(t)]});
      Add({~Tile(i, t), own[S(t)]});
      Add({~Tile(i, t), ~before});
      Add({~own[S(t)], before, Tile(i, t)});
    }
    columns_.push_back(std::move(own));
  }
  if (tiles < 2 || problem_.size() == 0) return;
  std::vector<int> links(S(problem_.size()), 0);
  for (const Dependence& d : problem_.dependences) {
    ++links[S(d.from)];
    ++links[S(d.to)];
  }
  const auto most = std::ranges::max_element(links) - links.begin();
  Add({columns_[static_cast<size_t>(most)][S((tiles + 1) / 2 - 1)]});
}

// Producers and consumers of an instruction that are all on different tiles: one of them at most is
// on its own tile, three at most are within one tile of it.
void SatFormula::AddSpread() {
  struct Neighbour {
    int instruction = 0;
    size_t dependence = 0;
  };
  std::vector<std::vector<Neighbour>> around(S(problem_.size()));
  for (size_t d = 0; d < problem_.dependences.size(); ++d) {
    const auto& [from, to, distance, moves] = problem_.dependences[d];
    if (!moves || from == to) continue;
    if (apart_.contains({std::min(from, to), std::max(from, to)})) Add({more_[d][0]});
    around[S(from)].push_back({to, d});
    around[S(to)].push_back({from, d});
  }
  const auto apart = [&](const Neighbour& a, const Neighbour& b) {
    return apart_.contains(
        {std::min(a.instruction, b.instruction), std::max(a.instruction, b.instruction)});
  };
  for (const std::vector<Neighbour>& all : around) {
    // Sets of neighbours that are apart, with up to four of them.
    std::vector<size_t> chosen;
    const std::function<void(size_t)> choose = [&](size_t next) {
      if (!GoOn()) return;
      if (chosen.size() == 2 || (chosen.size() == 4 && costs_.size() > 1)) {
        Clause clause;
        const size_t level = chosen.size() == 2 ? 0 : 1;
        for (const size_t k : chosen) clause.push_back(more_[all[k].dependence][level]);
        Add(clause);
      }
      if (chosen.size() == 4) return;
      for (size_t k = next; k < all.size(); ++k) {
        if (!std::ranges::all_of(chosen, [&](size_t c) { return apart(all[c], all[k]); })) continue;
        chosen.push_back(k);
        choose(k + 1);
        chosen.pop_back();
      }
    };
    choose(0);
  }
}

// Order encoding of issue cycles, t(i) <= k implies t(i) <= k + 1, and the slot of the cycle: if
// t(i) <= k and not t(i) <= k - 1, the slot is k mod period.
void SatFormula::MakeIssues() {
  for (int i = 0; i < problem_.size() && GoOn(); ++i) {
    std::vector<Lit> own;
    for (int k = 0; k < last_[S(i)]; ++k) {
      own.push_back(NewVariable());
      if (k > 0) Add({~own[S(k - 1)], own[S(k)]});
    }
    issues_.push_back(std::move(own));
    std::vector<Lit> slots;
    for (int s = 0; s < period_; ++s) slots.push_back(NewVariable());
    Add(slots);
    AtMostOne(slots);
    slots_.push_back(std::move(slots));
    for (int k = 0; k <= last_[S(i)]; ++k) {
      Add({~NotAfter(i, k), NotAfter(i, k - 1), Slot(i, k % period_)});
    }
  }
}

// Rules 2 and 3: starts of flows and siblings never share a tile.
void SatFormula::AddApart() {
  for (const auto& [a, b] : apart_) {
    if (!GoOn()) return;
    for (int t = 0; t < problem_.tiles(); ++t) Add({~Tile(a, t), ~Tile(b, t)});
  }
}

// At most one instruction in each tile and slot.
void SatFormula::AddCells() {
  std::vector<std::vector<Lit>> users(S(problem_.tiles()) * S(period_));
  for (int i = 0; i < problem_.size() && GoOn(); ++i) {
    for (int t = 0; t < problem_.tiles(); ++t) {
      for (int s = 0; s < period_; ++s) {
        const Lit here = NewVariable();
        Add({~Tile(i, t), ~Slot(i, s), here});
        users[S(t) * S(period_) + S(s)].push_back(here);
      }
    }
  }
  for (const std::vector<Lit>& cell : users) {
    if (GoOn()) AtMostOne(cell);
  }
}

// At most instruction_depth instructions on a tile, by a counter: `count[k]` says that more than k
// of the instructions so far are on the tile.
void SatFormula::AddDepth() {
  const int most = config_.instruction_depth;
  for (int t = 0; t < problem_.tiles() && GoOn(); ++t) {
    std::vector<Lit> count(S(most), ~true_);
    for (int i = 0; i < problem_.size(); ++i) {
      Add({~Tile(i, t), ~count[S(most - 1)]});
      std::vector<Lit> next;
      for (int k = 0; k < most; ++k) {
        next.push_back(NewVariable());
        Add({~count[S(k)], next[S(k)]});
        Add({~Tile(i, t), k == 0 ? ~true_ : ~count[S(k - 1)], next[S(k)]});
        if (k == 0) Add({~Tile(i, t), next[0]});
      }
      count = std::move(next);
    }
  }
}

void SatFormula::AddAtLeast(const Clause& unless, int from, int to, int cycles) {
  // t(to) <= k + cycles - 1 is false if t(from) >= k.
  for (int k = 0; k <= last_[S(from)]; ++k) {
    Clause clause = unless;
    clause.push_back(NotAfter(from, k - 1));
    clause.push_back(~NotAfter(to, k + cycles - 1));
    Add(clause);
  }
}

// Returns, by cost of hops, a literal that is true exactly if the dependence's value takes more
// than this cost, and excludes pairs of tiles that no links join. Issue cycles refer to the few
// costs instead of the many pairs of tiles.
std::vector<Lit> SatFormula::HopLevels(const Dependence& dependence) {
  std::vector<Lit> more;
  for (size_t c = 0; c < costs_.size(); ++c) {
    more.push_back(c + 1 == costs_.size() ? ~true_ : NewVariable());
    if (c > 0) Add({~more[c], more[c - 1]});
  }
  if (!columns_.empty()) {
    // Level c is the distance c: each hop costs as much as the one before it.
    const auto column = [&](int i, int k) {
      return k < 0 ? ~true_ : k >= problem_.tiles() ? true_ : columns_[S(i)][S(k)];
    };
    for (size_t c = 0; c < costs_.size(); ++c) {
      const int distance = static_cast<int>(c);
      for (int k = -1; k < problem_.tiles(); ++k) {
        Add({more[c], ~column(dependence.from, k), column(dependence.to, k + distance)});
        Add({more[c], ~column(dependence.to, k), column(dependence.from, k + distance)});
      }
    }
  }
  for (int a = 0; a < problem_.tiles(); ++a) {
    for (int b = 0; b < problem_.tiles(); ++b) {
      const Clause unless = {~Tile(dependence.from, a), ~Tile(dependence.to, b)};
      const int cost = HopCycles(config_, a, b);
      if (cost < 0 || (a == b && !config_.feedback)) {
        Add(unless);
        continue;
      }
      const auto c = static_cast<size_t>(std::ranges::find(costs_, cost) - costs_.begin());
      Clause clause = unless;
      clause.push_back(~more[c]);
      Add(clause);
      if (c == 0) continue;
      clause = unless;
      clause.push_back(more[c - 1]);
      Add(clause);
    }
  }
  return more;
}

// The value takes at least costs_[c] if more[c - 1] is true, and at most costs_[c] if more[c] is
// false: the first bounds the consumer from below, the second, with a wait limit, from above.
void SatFormula::AddDependence(size_t d) {
  const Dependence& dependence = problem_.dependences[d];
  const int base = config_.pipeline_latency - dependence.distance * interval_;
  more_.emplace_back();
  if (dependence.from == dependence.to) {
    const bool waits_fit =
        !dependence.moves || config_.wait_limit < 0 || -base <= config_.wait_limit;
    holds_ = holds_ && base <= 0 && waits_fit && (!dependence.moves || config_.feedback);
    return;
  }
  if (!dependence.moves) {
    AddAtLeast({}, dependence.from, dependence.to, base);
    return;
  }
  more_.back() = HopLevels(dependence);
  for (size_t c = 0; c < costs_.size(); ++c) {
    Clause unless;
    if (c > 0) unless.push_back(~more_.back()[c - 1]);
    // Beyond the pipeline, even a value that stays on its tile takes LeastDelay.
    AddAtLeast(unless, dependence.from, dependence.to,
               base + std::max(costs_[c], LeastDelay(config_, interval_)));
    if (config_.wait_limit < 0) continue;
    unless = {more_.back()[c]};
    AddAtLeast(unless, dependence.to, dependence.from, -base - costs_[c] - config_.wait_limit);
  }
}

// Without Config::issue_later, some operand is the last one: the instruction issues no later than
// it arrives. `last` selects this operand.
void SatFormula::AddLatest() {
  for (int i = 0; i < problem_.size(); ++i) {
    if (problem_.source[S(i)]) continue;
    if (!GoOn()) return;
    Clause any;
    for (size_t d = 0; d < problem_.dependences.size(); ++d) {
      const Dependence& dependence = problem_.dependences[d];
      if (dependence.to != i || dependence.from == i) continue;
      const Lit last = NewVariable();
      any.push_back(last);
      const int base = config_.pipeline_latency - dependence.distance * interval_;
      if (!dependence.moves) {
        AddAtLeast({~last}, i, dependence.from, -base);
        continue;
      }
      for (size_t c = 0; c < costs_.size(); ++c) {
        AddAtLeast({~last, more_[d][c]}, i, dependence.from, -base - costs_[c]);
      }
    }
    // Restricted problems set issue_later, so that something enters the instruction.
    Add(any);
  }
}

// With Config::one_output, two consumers of a result are not on two tiles that both differ from the
// producer's.
void SatFormula::AddOneOutput() {
  for (const Dependence& first : problem_.dependences) {
    for (const Dependence& second : problem_.dependences) {
      if (!first.moves || !second.moves || first.from != second.from || first.to >= second.to) {
        continue;
      }
      for (int p = 0; p < problem_.tiles() && GoOn(); ++p) {
        for (int a = 0; a < problem_.tiles(); ++a) {
          for (int b = 0; b < problem_.tiles(); ++b) {
            if (a == b || a == p || b == p) continue;
            Add({~Tile(first.from, p), ~Tile(first.to, a), ~Tile(second.to, b)});
          }
        }
      }
    }
  }
}

// A link carries at most one result in each cycle modulo the period. A variable per link, cycle
// and producer says that the producer's result enters the link then; several consumers share it.
void SatFormula::AddLinks() {
  using Use = std::tuple<int, int, int>;  // a link's ends and the cycle modulo the period
  std::map<Use, std::map<int, Lit>> users;
  for (const Dependence& dependence : problem_.dependences) {
    if (!dependence.moves || dependence.from == dependence.to) continue;
    for (int a = 0; a < problem_.tiles() && GoOn(); ++a) {
      for (int b = 0; b < problem_.tiles(); ++b) {
        for (const LinkUse& use : RouteOf(config_, a, b)) {
          for (int s = 0; s < period_; ++s) {
            const int cycle = (s + config_.pipeline_latency + use.delay) % period_;
            auto& by_user = users[{use.from, use.to, cycle}];
            auto at = by_user.find(dependence.from);
            if (at == by_user.end()) at = by_user.emplace(dependence.from, NewVariable()).first;
            Add({~Tile(dependence.from, a), ~Tile(dependence.to, b), ~Slot(dependence.from, s),
                 at->second});
          }
        }
      }
    }
  }
  for (const auto& [use, by_user] : users) {
    std::vector<Lit> literals;
    for (const auto& [user, literal] : by_user) literals.push_back(literal);
    AtMostOne(literals);
  }
}

Answer SatFormula::Solve(int latency, int64_t conflicts, StepBudget* budget,
                         std::vector<Place>* places) {
  if (!holds_) return Answer::kNone;
  std::vector<Lit> assumptions;
  if (latency != kAnyLatency) {
    const int last = latency - config_.pipeline_latency;
    for (int i = 0; i < problem_.size(); ++i) {
      const Lit literal = NotAfter(i, last);
      if (literal == ~true_) return Answer::kNone;
      if (literal != true_) assumptions.push_back(literal);
    }
  }
  // The solver's own limit counts the time of the processor alone.
  constexpr int64_t kConflictsBetweenLooks = 2000;
  CMSat::lbool answer = CMSat::l_Undef;
  for (int64_t left = budget->Left(conflicts); left > 0 && budget->Look();) {
    const uint64_t before = solver_.get_sum_conflicts();
    solver_.set_max_confl(static_cast<uint64_t>(std::min(left, kConflictsBetweenLooks)));
    if (budget->SecondsLeft() < std::numeric_limits<double>::infinity()) {
      solver_.set_max_time(budget->SecondsLeft());
    }
    answer = solver_.solve(&assumptions);
    const auto taken = static_cast<int64_t>(solver_.get_sum_conflicts() - before) + 1;
    budget->Spend(taken);
    if (answer != CMSat::l_Undef) break;
    left -= taken;
  }
  if (answer == CMSat::l_False) return Answer::kNone;
  if (answer != CMSat::l_True) return Answer::kUnknown;
  const std::vector<CMSat::lbool>& model = solver_.get_model();
  places->assign(S(problem_.size()), {});
  const auto is_true = [&](Lit literal) {
    return (model[literal.var()] == CMSat::l_True) != literal.sign();
  };
  for (int i = 0; i < problem_.size(); ++i) {
    Place& place = (*places)[S(i)];
    for (int t = 0; t < problem_.tiles(); ++t) {
      if (is_true(Tile(i, t))) place.tile = t;
    }
    while (!is_true(NotAfter(i, place.issue))) ++place.issue;
  }
  return Answer::kFound;
}

// Cycles by which the latency of a formula may exceed the one that is asked for.
constexpr int kMostSlack = 2;

class SatDecider : public Decider {
 public:
  explicit SatDecider(const Problem& problem) : problem_(problem) {}

  Answer Decide(int initiation_interval, int most_latency, int64_t steps, StepBudget* budget,
                std::vector<Place>* places) override {
    if (initiation_interval % IntervalStep(problem_.config) != 0) return Answer::kNone;
    std::unique_ptr<SatFormula>& formula = formulas_[initiation_interval];
    // What the solver learned serves lower latencies; a formula with many more issue cycles than
    // they need is slow.
    const bool covers =
        formula && (formula->latency() == most_latency ||
                    (most_latency != kAnyLatency && formula->latency() > most_latency &&
                     formula->latency() <= most_latency + kMostSlack));
    if (!covers) {
      // A formula takes long to build.
      if (!budget->Look()) return Answer::kUnknown;
      formula = std::make_unique<SatFormula>(problem_, initiation_interval, most_latency, budget);
      if (!formula->complete()) {
        formula.reset();
        return Answer::kUnknown;
      }
    }
    return formula->Solve(most_latency, steps, budget, places);
  }

 private:
  const Problem& problem_;
  std::map<int, std::unique_ptr<SatFormula>> formulas_;  // by interval
};

class SatMapper : public Mapper {
 public:
  StatusOr<MapResult> Map(const ComputationGraph& graph, const Config& config,
                          const MapOptions& options) const override {
    return MapWithProof(graph, config, options, {.make = MakeSatDecider, .explain = false});
  }
};

}  // namespace

std::unique_ptr<Decider> MakeSatDecider(const Problem& problem, uint64_t seed) {
  return OnFewerTiles(problem, seed, [](const Problem& part, uint64_t /*own*/) {
    return std::make_unique<SatDecider>(part);
  });
}

std::unique_ptr<Mapper> MakeSatMapper() { return std::make_unique<SatMapper>(); }

std::string SatSolverVersion() { return CMSat::SATSolver::get_version(); }

}  // namespace kiln::cgra
