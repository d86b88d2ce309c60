// A 0-1 integer program, solved by CBC (COIN-OR branch and cut).
//
// Internal to the folder fold/.
#ifndef KILN_TARGETS_DATAFLOW_FOLD_INTEGER_PROGRAM_H_
#define KILN_TARGETS_DATAFLOW_FOLD_INTEGER_PROGRAM_H_

#include <cstdint>
#include <limits>
#include <vector>

namespace kiln::dataflow {

// Collects variables and rows, and solves them. CBC works in binary64, so a solution meets the rows
// only within its tolerances.
class IntegerProgram {
 public:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  struct Entry {
    int variable;
    double factor;
  };

  // Each returns the number of the variable.
  int AddBinary();
  int AddContinuous(double low, double high);
  // Adds low <= sum of entries <= high. Entries of the same variable are added up.
  void AddRow(std::vector<Entry> entries, double low, double high);
  // The cost of a variable in the objective, which is minimised; 0 if not set.
  void SetCost(int variable, double cost);

  int variables() const { return static_cast<int>(low_.size()); }

  struct Solution {
    enum class Outcome { kOptimal, kInfeasible, kStopped };
    Outcome outcome = Outcome::kStopped;
    std::vector<double> values;  // of the best solution found; empty if there is none
    double bound = 0;            // of the objective, if stopped
    int64_t nodes = 0;           // of the branch and bound
  };
  // Solves with one thread and with no time limit, so that the result is deterministic. Stops after
  // `most_nodes` nodes.
  Solution Solve(int64_t most_nodes) const;

 private:
  struct Row {
    std::vector<Entry> entries;
    double low, high;
  };
  std::vector<double> low_, high_, cost_;
  std::vector<char> integer_;
  std::vector<Row> rows_;
};

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_FOLD_INTEGER_PROGRAM_H_
