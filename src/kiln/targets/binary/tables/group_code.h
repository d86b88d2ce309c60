// Codes of groups of binary weights, and the tables that they select from.
//
// A group holds s weights of +1 or -1, for s activations x_0 .. x_(s-1). Its 2^s signed sums come
// in pairs of opposite sign, so a half table stores the 2^(s-1) sums in which x_0 counts positive:
//   T[select] = x_0 + sum over j >= 1 of (bit j-1 of select is 1 ? -x_j : +x_j)
// A code is one sign bit and s-1 select bits; sum of the group = sign * T[select].
#ifndef KILN_TARGETS_BINARY_TABLES_GROUP_CODE_H_
#define KILN_TARGETS_BINARY_TABLES_GROUP_CODE_H_

#include <cstdint>

namespace kiln::binary {

inline constexpr int kMaxGroup = 6;  // most weights in a group

// Returns the entries of the half table of a group of `size` weights, 1 .. kMaxGroup.
inline constexpr int HalfEntries(int size) { return 1 << (size - 1); }

struct GroupCode {
  bool negative = false;  // the sum is -T[select]
  uint32_t select = 0;    // index into the half table
};

// Returns the code of a group of `size` weights. Bit j of `weights` is 1 if weight j is +1 and 0 if
// it is -1; bits from `size` on must be 0.
inline constexpr GroupCode CodeOf(uint32_t weights, int size) {
  const bool positive = (weights & 1) != 0;
  const uint32_t others = weights >> 1, all = static_cast<uint32_t>(HalfEntries(size) - 1);
  return {!positive, positive ? others ^ all : others};
}

// Returns the weights that have this code, as in CodeOf.
inline constexpr uint32_t WeightsOf(GroupCode code, int size) {
  const uint32_t all = static_cast<uint32_t>(HalfEntries(size) - 1);
  const uint32_t others = code.negative ? code.select : code.select ^ all;
  return (others << 1) | (code.negative ? 0u : 1u);
}

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_TABLES_GROUP_CODE_H_
