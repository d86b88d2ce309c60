// Finds small parts of a problem that have no solution, by deletion.

#include "kiln/targets/cgra/map/core.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "fmt/format.h"
#include "kiln/support/excerpt.h"
#include "kiln/targets/cgra/graph/counted.h"
#include "kiln/targets/cgra/map/branch.h"

namespace kiln::cgra {
namespace {

// What is left of a problem during deletion: instructions, and the rules that still bind them.
// Groups and producers are named by their numbers in the whole problem.
struct Part {
  std::vector<int> instructions;
  std::set<int> groups, producers;
  bool starts = true, loops = true;
};

// Returns the problem of a part: a relaxation of the whole, so that its refutation refutes the
// whole.
Problem ProblemOf(const Problem& whole, const Part& part) {
  // Rules are dropped before instructions, by the whole's numbers.
  Problem problem = whole;
  if (!part.starts) problem.starts.clear();
  std::vector<std::pair<int, int>> siblings;
  std::vector<int> producers;
  for (size_t s = 0; s < whole.siblings.size(); ++s) {
    if (!part.producers.contains(whole.sibling_producer[s])) continue;
    siblings.push_back(whole.siblings[s]);
    producers.push_back(whole.sibling_producer[s]);
  }
  problem.siblings = std::move(siblings);
  problem.sibling_producer = std::move(producers);
  problem.groups.clear();
  problem.group_names.clear();
  problem.group.assign(whole.instructions.size(), -1);
  for (const int g : part.groups) {
    for (const int i : whole.groups[static_cast<size_t>(g)]) {
      problem.group[static_cast<size_t>(i)] = static_cast<int>(problem.groups.size());
    }
    problem.groups.push_back(whole.groups[static_cast<size_t>(g)]);
    problem.group_names.push_back(whole.group_names[static_cast<size_t>(g)]);
  }
  if (!part.loops) {
    std::erase_if(problem.dependences, [](const Dependence& d) { return d.distance > 0; });
  }
  return Restrict(problem, part.instructions);
}

// Tries parts and keeps the ones that are refuted. A part that the effort does not refute counts as
// solvable, so the result is a true refutation that need not be minimal.
class Deletion {
 public:
  Deletion(const Problem& problem, int interval, int latency, int64_t effort, StepBudget* budget)
      : problem_(problem),
        interval_(interval),
        latency_(latency),
        effort_(effort),
        budget_(budget) {
    part_.instructions.resize(problem.instructions.size());
    std::iota(part_.instructions.begin(), part_.instructions.end(), 0);
    for (size_t g = 0; g < problem.groups.size(); ++g) part_.groups.insert(static_cast<int>(g));
    part_.producers.insert(problem.sibling_producer.begin(), problem.sibling_producer.end());
  }

  bool Refuted(const Part& part) {
    if (budget_->spent()) return false;
    const Problem problem = ProblemOf(problem_, part);
    if (problem.size() == 0) return false;
    const std::unique_ptr<Decider> decider = MakeBranchSearch(problem, 1);
    std::vector<Place> places;
    return decider->Decide(interval_, latency_, effort_, budget_, &places) == Answer::kNone;
  }

  // Drops rules first, then ever smaller ranges of instructions, then rules again, because fewer
  // instructions may need fewer of them.
  Part Shrink() {
    DropRules();
    // Halves first, then quarters, down to single instructions.
    for (size_t length = std::max<size_t>(1, part_.instructions.size() / 2); length > 0;
         length /= 2) {
      for (size_t at = 0; at < part_.instructions.size();) {
        Part less = part_;
        const size_t count = std::min(length, less.instructions.size() - at);
        const auto begin = less.instructions.begin() + static_cast<std::ptrdiff_t>(at);
        less.instructions.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
        if (Refuted(less)) {
          part_ = std::move(less);
        } else {
          at += count;
        }
      }
    }
    DropRules();
    return part_;
  }

 private:
  void Try(Part less) {
    if (Refuted(less)) part_ = std::move(less);
  }

  void DropRules() {
    Part less = part_;
    less.starts = false;
    Try(std::move(less));
    less = part_;
    less.loops = false;
    Try(std::move(less));
    for (const int group : std::vector<int>(part_.groups.begin(), part_.groups.end())) {
      less = part_;
      less.groups.erase(group);
      Try(std::move(less));
    }
    for (const int p : std::vector<int>(part_.producers.begin(), part_.producers.end())) {
      less = part_;
      less.producers.erase(p);
      Try(std::move(less));
    }
  }

  const Problem& problem_;
  int interval_, latency_;
  int64_t effort_;
  StepBudget* budget_;
  Part part_;
};

std::string Describe(const Problem& problem, const Core& core, int interval, int latency) {
  const auto name = [&](int i) { return problem.instructions[static_cast<size_t>(i)].name; };
  std::vector<std::string> names;
  for (const int i : core.instructions) names.push_back(name(i));
  std::string text = fmt::format("at an interval of {}", Counted(interval, "cycle"));
  if (latency != kAnyLatency) text += fmt::format(" and a latency of {}", latency);
  text += fmt::format(" there are no places for {}", ListExcerpt(names, ", ", 12));
  std::vector<std::string> rules;
  for (const int g : core.groups) {
    rules.push_back(
        fmt::format("all that use {} share a tile", problem.group_names[static_cast<size_t>(g)]));
  }
  for (const int p : core.producers) {
    rules.push_back(fmt::format("users of '{}' are on different tiles", Excerpt(name(p))));
  }
  if (core.starts) rules.push_back("instructions that start a flow are on different tiles");
  if (core.loops) rules.push_back("a thread needs values of an earlier one");
  if (!rules.empty()) text += fmt::format(", as {}", ListExcerpt(rules, ", and ", 6));
  return text;
}

}  // namespace

Core FindCore(const Problem& problem, int initiation_interval, int most_latency, int64_t effort,
              StepBudget* budget) {
  Deletion deletion(problem, initiation_interval, most_latency, effort, budget);
  Core core;
  Part part;
  part.instructions.resize(problem.instructions.size());
  std::iota(part.instructions.begin(), part.instructions.end(), 0);
  for (size_t g = 0; g < problem.groups.size(); ++g) part.groups.insert(static_cast<int>(g));
  part.producers.insert(problem.sibling_producer.begin(), problem.sibling_producer.end());
  if (deletion.Refuted(part)) part = deletion.Shrink();
  core.instructions = part.instructions;
  const auto in_core = [&](int i) {
    return std::ranges::find(core.instructions, i) != core.instructions.end();
  };
  // Rules that bind fewer than two of the instructions say nothing.
  for (const int g : part.groups) {
    if (std::ranges::count_if(problem.groups[static_cast<size_t>(g)], in_core) > 1) {
      core.groups.push_back(g);
    }
  }
  std::set<int> producers;
  for (size_t s = 0; s < problem.siblings.size(); ++s) {
    const auto [a, b] = problem.siblings[s];
    const int producer = problem.sibling_producer[s];
    if (in_core(a) && in_core(b) && part.producers.contains(producer)) producers.insert(producer);
  }
  core.producers.assign(producers.begin(), producers.end());
  core.starts = part.starts && std::ranges::count_if(problem.starts, in_core) > 1;
  core.loops = part.loops && std::ranges::any_of(problem.dependences, [&](const Dependence& d) {
                 return d.distance > 0 && in_core(d.from) && in_core(d.to);
               });
  core.text = Describe(problem, core, initiation_interval, most_latency);
  return core;
}

Problem ProblemOfCore(const Problem& problem, const Core& core) {
  Part part;
  part.instructions = core.instructions;
  part.groups.insert(core.groups.begin(), core.groups.end());
  part.producers.insert(core.producers.begin(), core.producers.end());
  part.starts = core.starts;
  part.loops = core.loops;
  return ProblemOf(problem, part);
}

bool HasAllOf(const Problem& problem, const Problem& part) {
  // Without Config::issue_later, each operand more or less changes when an instruction may issue.
  if (!part.config.issue_later) return false;
  std::map<std::vector<int>, int> number;
  for (int i = 0; i < problem.size(); ++i) {
    const Instruction& instruction = problem.instructions[static_cast<size_t>(i)];
    if (!instruction.is_pass) number.emplace(instruction.nodes, i);
  }
  std::vector<int> at;  // by instruction of the part
  for (const Instruction& instruction : part.instructions) {
    const auto found = number.find(instruction.nodes);
    if (instruction.is_pass || found == number.end()) return false;
    at.push_back(found->second);
  }
  const auto of = [&](int i) { return at[static_cast<size_t>(i)]; };
  const auto has = [](const auto& list, const auto& item) {
    return std::ranges::find(list, item) != list.end();
  };
  for (int i = 0; i < part.size(); ++i) {
    const auto own = static_cast<size_t>(i), there = static_cast<size_t>(of(i));
    if (part.source[own] && !problem.source[there]) return false;
  }
  for (const Dependence& d : part.dependences) {
    const Dependence there{of(d.from), of(d.to), d.distance, d.moves};
    if (!has(problem.dependences, there)) return false;
  }
  for (const std::vector<int>& group : part.groups) {
    const int there = problem.group[static_cast<size_t>(of(group[0]))];
    const bool together = std::ranges::all_of(
        group, [&](int i) { return problem.group[static_cast<size_t>(of(i))] == there; });
    if (there < 0 || !together) return false;
  }
  for (const auto& [a, b] : part.siblings) {
    if (!has(problem.siblings, std::pair(std::min(of(a), of(b)), std::max(of(a), of(b))))) {
      return false;
    }
  }
  return std::ranges::all_of(part.starts, [&](int i) { return has(problem.starts, of(i)); });
}

}  // namespace kiln::cgra
