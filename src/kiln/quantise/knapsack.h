// An exact solver of the multiple-choice knapsack problem: pick one choice of each group at least
// total cost, with the total damage within a budget.
//
// The mixed-precision search (mixed_precision.h) assigns number types to layers with it.
#ifndef KILN_QUANTISE_KNAPSACK_H_
#define KILN_QUANTISE_KNAPSACK_H_

#include <cstdint>
#include <vector>

namespace kiln {

// One choice of a group (a class, in the literature).
struct Choice {
  double cost = 0;    // finite, not negative
  double damage = 0;  // finite, not negative
};

// The picks found, and a bound that certifies them.
struct KnapsackResult {
  std::vector<int> picks;  // the choice of each group; empty if no assignment is within the budget
  double cost = 0;
  double damage = 0;
  // No assignment within the budget costs less. Equal to `cost` if the search was complete. If it
  // exceeded `max_states`, this is the bound of the linear relaxation and the picks are the best
  // found.
  double lower_bound = 0;
};

// Finds the assignment of least cost whose damage does not exceed `budget`; among equal costs, the
// one of least damage. Dynamic programming over the groups in order, on the states (cost, damage)
// that no other state beats in both. A state is dropped if even the linear relaxation of the
// remaining groups cannot make it cheaper than the best assignment known.
//   groups  choices of each group; no group is empty
//   source  H. Kellerer, U. Pferschy, D. Pisinger, "Knapsack Problems", 2004, chapter 11
KnapsackResult SolveKnapsack(const std::vector<std::vector<Choice>>& groups, double budget,
                             int64_t max_states = int64_t{1} << 20);

}  // namespace kiln

#endif  // KILN_QUANTISE_KNAPSACK_H_
