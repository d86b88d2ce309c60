// Sizes and widths of a stage that the keys do not state, as rtl/binary has them. The cycle level
// and the cost model use them.
#ifndef KILN_TARGETS_BINARY_ISA_DERIVED_H_
#define KILN_TARGETS_BINARY_ISA_DERIVED_H_

#include <cstdint>

#include "kiln/support/integer.h"

namespace kiln::binary {

// Words of each queue of results: for the next stage, and for the stream out.
inline constexpr int kResultQueueWords = 16;

// Pixels whose sums a column keeps. While the rounds of one go on, the last sums of others are
// under way, which takes longer than the rounds of a short pixel, and one more pixel's are read.
inline constexpr int kSumBuffers = 4;

// Cycles from the read of the columns' sums to the last of their results, where `share` columns
// have one requantiser.
inline int64_t ResultCycles(int64_t share) { return 8 + share; }

// Entries of a table of `group` activations, and the bits of one: a signed sum of digits of 4 bits.
inline int64_t EntriesOf(int64_t group) { return int64_t{1} << (group - 1); }
inline int64_t EntryBits(int64_t group) { return CeilLog2(15 * group + 1) + 1; }
// Bits of the sum of one digit of `channels` activations, and of the same over a window.
inline int64_t WordSumBits(int64_t channels) { return 5 + CeilLog2(channels); }
inline int64_t WindowSumBits(int64_t channels) { return WordSumBits(channels) + 12; }
// Cycles of a tree of adders of `terms` numbers with a register after every second level.
inline int64_t TreeCycles(int64_t terms) { return (CeilLog2(terms) + 1) / 2; }

// Cycles from a look-up until its sum is written and tested, and thus from the end of a pixel's
// last round until its sums are complete (DRAIN of rtl/binary). The reads begin two cycles later.
inline int64_t DrainCycles(int64_t tables) { return 5 + TreeCycles(tables); }

// A level of a tree of adders (kiln_sum_tree).
struct TreeLevel {
  int64_t adders = 0;  // of two numbers each
  int64_t sums = 0;    // results; an odd number passes without an adder
  int64_t bits = 0;    // of a result
  bool registers = false;
};
// Calls `use` with each level of a tree of `terms` numbers of `bits` bits, the first one first.
template <typename Use>
void ForTreeLevels(int64_t terms, int64_t bits, const Use& use) {
  const int64_t levels = CeilLog2(terms);
  for (int64_t level = 1, operands = terms; level <= levels; ++level) {
    const int64_t sums = (operands + 1) / 2;
    use(TreeLevel{.adders = operands / 2,
                  .sums = sums,
                  .bits = bits + level,
                  .registers = level % 2 == 0 || level == levels});
    operands = sums;
  }
}

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_ISA_DERIVED_H_
