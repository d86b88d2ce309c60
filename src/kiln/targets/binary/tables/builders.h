// Three ways to build the half table of a group, each with the additions that it needs.
//
//   builder  how                                              additions for s inputs  s = 2 .. 6
//   chain    each further input doubles the table             2^s - 2                 2 6 14 30 62
//   tree     joins the half tables of both halves of inputs   2^(s-1) + both halves'  2 6 12 24 44
//   Gray     one sign changes per step: +-2x to the last sum  2^(s-1) + s - 2         2 5 10 19 36
//
// A subtraction counts as an addition. Doubling an input for the Gray walk is wiring; it is counted
// apart as a shift. The depth says how many additions follow each other: the Gray walk needs the
// fewest additions, but almost all of them in series.
#ifndef KILN_TARGETS_BINARY_TABLES_BUILDERS_H_
#define KILN_TARGETS_BINARY_TABLES_BUILDERS_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kiln/targets/binary/tables/group_code.h"

namespace kiln::binary {

enum class Builder { kChain, kTree, kGray };
inline constexpr Builder kBuilders[] = {Builder::kChain, Builder::kTree, Builder::kGray};
// Returns "chain", "tree" or "gray".
std::string_view NameOf(Builder builder);

struct TableBuild {
  std::vector<int32_t> entries;  // [HalfEntries(size)], by select (group_code.h)
  int64_t additions = 0;         // additions and subtractions that were done
  int64_t shifts = 0;            // inputs that were doubled
  int depth = 0;                 // additions on the longest path from an input to an entry
};

// Builds the half table of 1 .. kMaxGroup inputs with |input| <= 2^24.
TableBuild BuildTable(Builder builder, std::span<const int32_t> inputs);

// Returns the additions of BuildTable for `size` inputs by the closed form above.
int64_t BuildAdditions(Builder builder, int size);

// Returns the bits of the two's complement number that holds every entry of a half table whose
// inputs are in [lowest, highest], and (LookUpBits) every entry with either sign. Two's complement
// with 0 .. 15 and three inputs takes 7 bits: -45 .. 45 after the sign.
int EntryBits(int size, int64_t lowest, int64_t highest);
int LookUpBits(int size, int64_t lowest, int64_t highest);

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_TABLES_BUILDERS_H_
