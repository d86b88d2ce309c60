// The multiple-choice knapsack problem, solved exactly: one choice of each group, least cost, damage within a budget.
#ifndef KILN_QUANTISE_KNAPSACK_H_
#define KILN_QUANTISE_KNAPSACK_H_

#include <cstdint>
#include <vector>

namespace kiln {

struct Choice {
  double cost = 0;    // finite, not negative
  double damage = 0;  // finite, not negative
};

struct KnapsackResult {
  std::vector<int> picks;  // a choice of each group; empty where no pick is within the budget
  double cost = 0;
  double damage = 0;
  // No pick within the budget costs less. Equal to `cost`, unless there were more states than `max_states`: then it is
  // the bound of the linear relaxation, and the pick is the best found.
  double lower_bound = 0;
};

// Dynamic programming over the groups in order, on the states (cost, damage) that no other state beats in both. A state
// is dropped when even the linear relaxation of the groups to come cannot make it better than the best pick known.
//   source  H. Kellerer, U. Pferschy, D. Pisinger, "Knapsack Problems", 2004, chapter 11
// Of picks of equal cost the least damage counts.
KnapsackResult SolveKnapsack(const std::vector<std::vector<Choice>>& groups, double budget,
                             int64_t max_states = int64_t{1} << 20);

}  // namespace kiln

#endif  // KILN_QUANTISE_KNAPSACK_H_
