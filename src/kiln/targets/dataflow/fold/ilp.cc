// Integer programs for questions at a fixed period. Program builds the rows that ilp.h describes;
// IlpOracle solves a program and checks its solution in exact integers, because CBC's is only valid
// within tolerances.
#include "kiln/targets/dataflow/fold/ilp.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kiln/targets/dataflow/fold/integer_program.h"
#include "kiln/targets/dataflow/fold/model.h"
#include "kiln/targets/dataflow/fold/period_search.h"

namespace kiln::dataflow {
namespace {

using Entry = IntegerProgram::Entry;

constexpr int64_t kMaxIntervals = 4096;

// A variable for one way to build the FIFO of an edge.
struct FifoVariable {
  int variable = 0;
  int edge = 0, in_index = 0;
  int64_t most_slack = 0;  // that its capacity allows, in cycles
  Resources resources{};
  int tag = -1;  // of the option; -1: no FIFO
};

bool SameOptions(const std::vector<FifoOption>& a, const std::vector<FifoOption>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const FifoOption& x, const FifoOption& y) {
                      return x.tag == y.tag && x.resources == y.resources;
                    });
}

// Returns the greatest slack at which the FIFO holds at most `elements`; at least `elements` is the
// burst.
int64_t SlackOf(const Fifo& fifo, int64_t elements, int64_t period, int64_t most) {
  if (fifo.elements_per_frame == 0) return most;
  const auto slack = static_cast<int64_t>(static_cast<__int128>(elements - fifo.burst) * period /
                                          fifo.elements_per_frame);
  return std::min(slack, most);
}

// One question as a program.
class Program {
 public:
  Program(const FoldModel& model, const PeriodQuery& query) : model_(model), query_(query) {}

  // Returns false if some layer or FIFO has no choice at all.
  bool Build() {
    if (!AddCandidates()) return false;
    AddCouplings();
    bool times = model_.has_fifo() || Latency(query_.minimise);
    for (const TermLimit& limit : query_.limits) times = times || Latency(limit.term);
    if (times) AddTimes();
    AddFifos();
    for (int kind = 0; kind < kResourceKinds; ++kind) {
      const int64_t limit = model_.problem().limits[static_cast<size_t>(kind)];
      if (limit == kUnlimited) continue;
      Term term{Term::Kind::kResources, {}, ResourceName(kind)};
      term.weights[static_cast<size_t>(kind)] = 1;
      program_.AddRow(EntriesOf(term), -IntegerProgram::kInfinity, static_cast<double>(limit));
    }
    for (const TermLimit& limit : query_.limits) {
      program_.AddRow(EntriesOf(limit.term), -IntegerProgram::kInfinity,
                      static_cast<double>(limit.limit));
    }
    if (query_.reach_period) AddReach();
    if (query_.minimise) {
      for (const Entry& entry : EntriesOf(*query_.minimise)) {
        program_.SetCost(entry.variable, entry.factor);
      }
    }
    return true;
  }

  const IntegerProgram& program() const { return program_; }
  bool too_many_intervals() const { return too_many_intervals_; }

  // Reads the fold of a solution, with FIFO options for the elements at the period.
  Fold FoldOf(const std::vector<double>& values) const {
    const auto chosen = [&](int variable) {
      return variable >= 0 && values[static_cast<size_t>(variable)] > 0.5;
    };
    Fold fold;
    for (const std::vector<int>& layer : choice_) {
      fold.choice.push_back(
          static_cast<int>(std::find_if(layer.begin(), layer.end(), chosen) - layer.begin()));
      if (fold.choice.back() == static_cast<int>(layer.size())) fold.choice.back() = 0;
    }
    if (!model_.has_fifo()) return fold;
    fold.fifo_option.assign(static_cast<size_t>(model_.edges()), -1);
    const FoldMetrics metrics = EvaluateAt(model_.problem(), fold, query_.period);
    for (const FifoVariable& fifo : fifos_) {
      const auto e = static_cast<size_t>(fifo.edge);
      if (!chosen(fifo.variable) || metrics.elements[e] == 0) continue;
      const std::vector<FifoOption>& options =
          model_.FifoOptions(fifo.edge, fifo.in_index, metrics.elements[e]);
      for (size_t o = 0; o < options.size(); ++o) {
        if (options[o].tag == fifo.tag) fold.fifo_option[e] = static_cast<int>(o);
      }
    }
    return fold;
  }

 private:
  static bool Latency(const std::optional<Term>& term) {
    return term && term->kind == Term::Kind::kLatency;
  }

  bool AddCandidates() {
    for (int layer = 0; layer < model_.layers(); ++layer) {
      const std::vector<Candidate>& candidates =
          model_.problem().layers[static_cast<size_t>(layer)].candidates;
      std::vector<int>& choice = choice_.emplace_back(candidates.size(), -1);
      std::vector<Entry> one;
      for (size_t c = 0; c < candidates.size(); ++c) {
        if (candidates[c].cycles > query_.period ||
            !Fits(candidates[c].resources, model_.problem().limits)) {
          continue;
        }
        choice[c] = program_.AddBinary();
        one.push_back({choice[c], 1});
      }
      if (one.empty()) return false;
      program_.AddRow(std::move(one), 1, 1);
    }
    return true;
  }

  // Adds `factor` times the candidates of the layer for which `wanted` holds.
  template <typename Wanted>
  void AddChoices(int layer, double factor, Wanted wanted, std::vector<Entry>* row) const {
    const std::vector<int>& choice = choice_[static_cast<size_t>(layer)];
    for (size_t c = 0; c < choice.size(); ++c) {
      if (choice[c] >= 0 && wanted(static_cast<int>(c))) row->push_back({choice[c], factor});
    }
  }

  // A row for each number of lanes of either end: if a candidate with these lanes is chosen, so is
  // one at the other end that couples with it. The relaxation of these rows is tighter than a row
  // for each pair of candidates that do not couple.
  void AddCouplings() {
    for (int e = 0; e < model_.edges(); ++e) {
      if (model_.edge(e).coupling == Coupling::kNone) continue;
      const int from = model_.edge(e).from, to = model_.edge(e).to;
      const LayerModel &producer = model_.layer(from), &consumer = model_.layer(to);
      const auto out_of = [&](int c) { return producer.out_index[static_cast<size_t>(c)]; };
      const auto in_of = [&](int c) { return consumer.in_index[static_cast<size_t>(c)]; };
      for (int b = 0; b < static_cast<int>(producer.out_values.size()); ++b) {
        std::vector<Entry> row;
        AddChoices(from, 1, [&](int c) { return out_of(c) == b; }, &row);
        AddChoices(to, -1, [&](int c) { return model_.Couples(e, b, in_of(c)); }, &row);
        program_.AddRow(std::move(row), -IntegerProgram::kInfinity, 0);
      }
      for (int a = 0; a < static_cast<int>(consumer.in_values.size()); ++a) {
        std::vector<Entry> row;
        AddChoices(to, 1, [&](int c) { return in_of(c) == a; }, &row);
        AddChoices(from, -1, [&](int c) { return model_.Couples(e, out_of(c), a); }, &row);
        program_.AddRow(std::move(row), -IntegerProgram::kInfinity, 0);
      }
    }
  }

  // Adds the entries of factor * (s(layer) + D(layer)).
  void AddFinish(int layer, double factor, std::vector<Entry>* row) const {
    row->push_back({start_[static_cast<size_t>(layer)], factor});
    const std::vector<int>& choice = choice_[static_cast<size_t>(layer)];
    for (size_t c = 0; c < choice.size(); ++c) {
      const int64_t latency = model_.candidate(layer, static_cast<int>(c)).latency;
      if (choice[c] >= 0) row->push_back({choice[c], factor * static_cast<double>(latency)});
    }
  }

  // Finds the ranges that times can have with the candidates that are variables.
  void FindRanges() {
    std::vector<int64_t> least, most;
    for (int layer = 0; layer < model_.layers(); ++layer) {
      const std::vector<int>& choice = choice_[static_cast<size_t>(layer)];
      least.push_back(kUnlimited);
      most.push_back(0);
      for (size_t c = 0; c < choice.size(); ++c) {
        if (choice[c] < 0) continue;
        const int64_t latency = model_.candidate(layer, static_cast<int>(c)).latency;
        least.back() = std::min(least.back(), latency);
        most.back() = std::max(most.back(), latency);
      }
    }
    slack_ = SlackRanges(model_, least, most);
    first_start_.assign(least.size(), 0);
    last_start_.assign(least.size(), 0);
    for (const int layer : model_.order()) {
      const auto l = static_cast<size_t>(layer);
      for (const int e : model_.layer(layer).in_edges) {
        const auto u = static_cast<size_t>(model_.edge(e).from);
        first_start_[l] = std::max(first_start_[l], first_start_[u] + least[u]);
        last_start_[l] = std::max(last_start_[l], last_start_[u] + most[u]);
      }
      longest_ = std::max(longest_, last_start_[l] + most[l]);
    }
  }

  // A start time per layer, within the range that the candidates allow, and an end after all
  // results, which is the latency.
  void AddTimes() {
    FindRanges();
    for (size_t l = 0; l < first_start_.size(); ++l) {
      start_.push_back(program_.AddContinuous(static_cast<double>(first_start_[l]),
                                              static_cast<double>(last_start_[l])));
    }
    end_ = program_.AddContinuous(0, static_cast<double>(longest_));
    for (int layer = 0; layer < model_.layers(); ++layer) {
      std::vector<Entry> last = {{end_, 1}};
      AddFinish(layer, -1, &last);
      program_.AddRow(std::move(last), 0, IntegerProgram::kInfinity);
      AddStart(layer);
    }
  }

  // The layer starts after all inputs, and with FIFOs not later than the last of them.
  void AddStart(int layer) {
    const std::vector<int>& inputs = model_.layer(layer).in_edges;
    std::vector<Entry> one_is_last;
    for (const int e : inputs) {
      std::vector<Entry> row = {{start_[static_cast<size_t>(layer)], 1}};
      AddFinish(model_.edge(e).from, -1, &row);
      if (inputs.size() == 1) {
        program_.AddRow(std::move(row), 0, model_.has_fifo() ? 0 : IntegerProgram::kInfinity);
        continue;
      }
      const SlackRange& slack = slack_[static_cast<size_t>(e)];
      const auto least = static_cast<double>(slack.least), most = static_cast<double>(slack.most);
      program_.AddRow(row, least, IntegerProgram::kInfinity);
      if (!model_.has_fifo() || slack.least > 0) continue;
      const int is_last = program_.AddBinary();
      one_is_last.push_back({is_last, 1});
      row.push_back({is_last, most});
      program_.AddRow(std::move(row), -IntegerProgram::kInfinity, most);
    }
    if (!one_is_last.empty()) program_.AddRow(std::move(one_is_last), 1, 1);
  }

  // For each FIFO and each number of the consumer's lanes: exactly one way to build it is chosen if
  // the consumer has these lanes, and none otherwise. The capacity of the chosen way bounds the
  // slack.
  void AddFifos() {
    for (int e = 0; e < model_.edges(); ++e) {
      if (!model_.edge(e).fifo) continue;
      const int to = model_.edge(e).to;
      std::vector<Entry> slack = {{start_[static_cast<size_t>(to)], 1}};
      AddFinish(model_.edge(e).from, -1, &slack);
      for (int a = 0; a < static_cast<int>(model_.layer(to).in_values.size()); ++a) {
        std::vector<Entry> used;
        AddChoices(
            to, -1, [&](int c) { return model_.layer(to).in_index[static_cast<size_t>(c)] == a; },
            &used);
        if (used.empty()) continue;
        for (const FifoVariable& fifo : WaysToBuild(e, a)) {
          fifos_.push_back(fifo);
          fifos_.back().variable = program_.AddBinary();
          used.push_back({fifos_.back().variable, 1});
          slack.push_back({fifos_.back().variable, -static_cast<double>(fifo.most_slack)});
        }
        program_.AddRow(std::move(used), 0, 0);
      }
      program_.AddRow(std::move(slack), -IntegerProgram::kInfinity, 0);
    }
  }

  // Returns a variable for each interval of capacities with the same options and each option.
  std::vector<FifoVariable> WaysToBuild(int e, int in_index) {
    const Fifo& fifo = *model_.edge(e).fifo;
    const SlackRange& slack = slack_[static_cast<size_t>(e)];
    const int64_t last = FifoElements(fifo, slack.most, query_.period);
    std::vector<FifoVariable> ways;
    FifoVariable way;
    way.edge = e;
    way.in_index = in_index;
    int64_t first = FifoElements(fifo, slack.least, query_.period);
    if (first == 0) {
      way.most_slack = SlackOf(fifo, 0, query_.period, slack.most);
      ways.push_back(way);
      first = 1;
    }
    for (int64_t intervals = 0; first <= last; ++intervals) {
      if (intervals == kMaxIntervals) {
        too_many_intervals_ = true;
        break;
      }
      const std::vector<FifoOption> options = OptionsOf(
          fifo, first, model_.layer(model_.edge(e).to).in_values[static_cast<size_t>(in_index)]);
      // Options never become cheaper with the capacity, so that equal ends mean an equal interval.
      int64_t low = first, high = last;
      while (low < high) {
        const int64_t middle = low + (high - low + 1) / 2;
        const bool same = SameOptions(
            options,
            OptionsOf(fifo, middle,
                      model_.layer(model_.edge(e).to).in_values[static_cast<size_t>(in_index)]));
        if (same) {
          low = middle;
        } else {
          high = middle - 1;
        }
      }
      way.most_slack = SlackOf(fifo, low, query_.period, slack.most);
      for (const FifoOption& option : options) {
        way.resources = option.resources;
        way.tag = option.tag;
        ways.push_back(way);
      }
      first = low + 1;
    }
    return ways;
  }

  // Returns a term as a linear function of the variables.
  std::vector<Entry> EntriesOf(const Term& term) const {
    if (term.kind == Term::Kind::kLatency) return {{end_, 1}};
    std::vector<Entry> entries;
    for (int layer = 0; layer < model_.layers(); ++layer) {
      const std::vector<int>& choice = choice_[static_cast<size_t>(layer)];
      for (size_t c = 0; c < choice.size(); ++c) {
        if (choice[c] < 0) continue;
        const Candidate& candidate = model_.candidate(layer, static_cast<int>(c));
        const int64_t value = term.kind == Term::Kind::kIdle
                                  ? query_.period - candidate.cycles
                                  : Weighted(term.weights, candidate.resources);
        if (value != 0) entries.push_back({choice[c], static_cast<double>(value)});
      }
    }
    if (term.kind == Term::Kind::kIdle) return entries;
    for (const FifoVariable& fifo : fifos_) {
      const int64_t value = Weighted(term.weights, fifo.resources);
      if (value != 0) entries.push_back({fifo.variable, static_cast<double>(value)});
    }
    return entries;
  }

  void AddReach() {
    std::vector<Entry> row;
    for (int layer = 0; layer < model_.layers(); ++layer) {
      AddChoices(
          layer, 1, [&](int c) { return model_.candidate(layer, c).cycles == query_.period; },
          &row);
    }
    program_.AddRow(std::move(row), 1, IntegerProgram::kInfinity);
  }

  const FoldModel& model_;
  const PeriodQuery& query_;
  IntegerProgram program_;
  std::vector<std::vector<int>> choice_;  // [layer][candidate]: variable, or -1
  std::vector<int> start_;                // per layer
  int end_ = -1;
  std::vector<SlackRange> slack_;                  // per edge
  std::vector<int64_t> first_start_, last_start_;  // per layer
  int64_t longest_ = 0;                            // no path is longer
  std::vector<FifoVariable> fifos_;
  bool too_many_intervals_ = false;
};

class IlpOracle : public PeriodOracle {
 public:
  IlpOracle(const FoldModel& model, int64_t most_nodes) : model_(model), most_nodes_(most_nodes) {}

  bool too_many_intervals() const { return too_many_intervals_; }
  int64_t work() const override { return nodes_; }

  PeriodAnswer Answer(const PeriodQuery& query) override {
    PeriodAnswer answer;
    answer.complete = true;
    if (query.start != nullptr) {
      answer.fold = *query.start;
      answer.value = answer.bound = query.start_value;
    }
    Program program(model_, query);
    if (!program.Build()) return answer;
    too_many_intervals_ = too_many_intervals_ || program.too_many_intervals();
    const IntegerProgram::Solution solution = program.program().Solve(most_nodes_);
    nodes_ += solution.nodes + 1;
    if (solution.outcome == IntegerProgram::Solution::Outcome::kInfeasible) return answer;
    answer.complete = solution.outcome == IntegerProgram::Solution::Outcome::kOptimal;
    if (!solution.values.empty()) {
      Fold fold = program.FoldOf(solution.values);
      const FoldMetrics metrics = EvaluateAt(model_.problem(), fold, query.period);
      // A solution that is valid only within CBC's tolerances does not count.
      if (Valid(query, fold, metrics)) {
        const int64_t value = query.minimise ? ValueAt(*query.minimise, query.period, metrics) : 0;
        if (!answer.fold || value < answer.value) {
          answer.fold = std::move(fold);
          answer.value = value;
        }
      } else {
        answer.complete = false;
      }
    }
    answer.bound = answer.value;
    if (!answer.complete) {
      const double bound = std::ceil(solution.bound - 1e-6);
      answer.bound = bound <= 0 || !query.minimise ? 0 : static_cast<int64_t>(bound);
      if (answer.fold) answer.bound = std::min(answer.bound, answer.value);
    }
    return answer;
  }

 private:
  int64_t ValueAt(const Term& term, int64_t period, const FoldMetrics& metrics) const {
    if (term.kind != Term::Kind::kIdle) return ValueOf(term, metrics);
    return metrics.l_sum + (period - metrics.l_max) * model_.layers();
  }

  bool Valid(const PeriodQuery& query, const Fold& fold, const FoldMetrics& metrics) const {
    if (metrics.l_max > query.period || (query.reach_period && metrics.l_max != query.period) ||
        !Fits(metrics.resources, model_.problem().limits)) {
      return false;
    }
    for (int e = 0; e < model_.edges(); ++e) {
      const Edge& edge = model_.edge(e);
      const Candidate& from =
          model_.candidate(edge.from, fold.choice[static_cast<size_t>(edge.from)]);
      const Candidate& to = model_.candidate(edge.to, fold.choice[static_cast<size_t>(edge.to)]);
      if (!Couples(edge.coupling, from.out_lanes, to.in_lanes)) return false;
      const bool needs_fifo = metrics.elements[static_cast<size_t>(e)] > 0;
      if (needs_fifo && fold.fifo_option[static_cast<size_t>(e)] < 0) return false;
    }
    return std::all_of(query.limits.begin(), query.limits.end(), [&](const TermLimit& limit) {
      return ValueAt(limit.term, query.period, metrics) <= limit.limit;
    });
  }

  const FoldModel& model_;
  const int64_t most_nodes_;
  int64_t nodes_ = 0;
  bool too_many_intervals_ = false;
};

}  // namespace

StatusOr<FoldResult> SolveIlp(const FoldProblem& problem, const Objective& objective,
                              const IlpOptions& options) {
  KILN_RETURN_IF_ERROR(CheckProblem(problem));
  KILN_RETURN_IF_ERROR(CheckObjective(objective));
  const FoldModel model(problem);
  IlpOracle oracle(model, options.most_nodes);
  FoldResult result = SearchPeriods(model, objective, oracle);
  if (oracle.too_many_intervals()) {
    return UnsupportedAt(
        "", "", fmt::format("a FIFO has more than {} intervals of capacities", kMaxIntervals),
        "use the exact search");
  }
  return result;
}

}  // namespace kiln::dataflow
