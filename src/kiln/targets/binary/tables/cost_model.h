// What a look-up table costs and saves, by the number of weights in a group.
//
// The cost of a group of s weights at one position, for N output channels, has three parts:
//   P1  additions that build the table             2^s - 2 (chain)
//   P2  additions of looked-up entries to sums     N
//   P3  multiplexers that select an entry          N * k * (2^(s-1) - 1): one look-up needs
//       2^(s-1) - 1 multiplexers of two inputs, and k is the cost of one of them in additions
// All are divided by s here, so that groups of different sizes compare per weight. Without tables a
// weight costs N additions.
#ifndef KILN_TARGETS_BINARY_TABLES_COST_MODEL_H_
#define KILN_TARGETS_BINARY_TABLES_COST_MODEL_H_

#include <cstdint>
#include <vector>

#include "kiln/targets/binary/tables/builders.h"

namespace kiln::binary {

// Cost of a two-input multiplexer in additions with which the best group sizes change at the output
// channels of the paper (3, 9, 91). Any value from 0.0889 to 0.0891 does.
inline constexpr double kMultiplexerCost = 0.089;

// Costs of one weight at one position, in additions.
struct GroupCost {
  double table = 0;        // P1
  double partial = 0;      // P2
  double multiplexer = 0;  // P3
  double total() const { return table + partial + multiplexer; }
};
// `size` is 1 .. kMaxGroup, `outputs` at least 1, `k` at least 0.
GroupCost CostOfGroup(int size, int64_t outputs, double k, Builder builder = Builder::kChain);

// Returns the share of additions that tables save, R(s, N) = 1 - (P1 + P2) / N. It is negative
// where a table costs more than it saves. `outputs` may be infinite.
double Reduction(int size, double outputs, Builder builder = Builder::kChain);

// As Reduction, where the share `zeros` of outputs is found to be zero after half the work:
//   1 - (1 - R(s, N)) (1 - zeros / 2)
double ReductionWithPrediction(int size, double outputs, double zeros,
                               Builder builder = Builder::kChain);

// Returns the group size with the least total cost; among equals, the smallest.
int BestGroup(int64_t outputs, double k, Builder builder = Builder::kChain,
              int largest = kMaxGroup);

struct SwitchPoint {
  int64_t outputs = 0;  // fewest output channels for which ...
  int size = 0;         // ... this size is the best
};
// Returns the best group sizes for 1 .. `limit` output channels, where they change.
std::vector<SwitchPoint> SwitchPoints(double k, int64_t limit, Builder builder = Builder::kChain);

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_TABLES_COST_MODEL_H_
