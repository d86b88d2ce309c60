// The order in which the array takes a reduction's rows, implemented for the functional level from
// docs/systolic.md ("Row tiles"). The cycle level, the compiler and the RTL's tests use walk.h.
// Comparing the levels on random instructions checks that both are the same.
#ifndef KILN_TARGETS_SYSTOLIC_SIMULATE_FUNCTIONAL_FUNCTIONAL_ORDER_H_
#define KILN_TARGETS_SYSTOLIC_SIMULATE_FUNCTIONAL_FUNCTIONAL_ORDER_H_

#include <algorithm>
#include <cstdint>

#include "kiln/support/integer.h"
#include "kiln/targets/systolic/config/config.h"
#include "kiln/targets/systolic/isa/isa.h"

namespace kiln::systolic {

inline bool PacksTaps(const Instruction& instruction) {
  return instruction.tiling.packing == Packing::kTaps;
}

// Returns the number of row tiles of a matrix instruction.
inline int64_t RowTileCount(const Instruction& instruction, const Config& config) {
  const Convolution& c = instruction.convolution;
  if (PacksTaps(instruction)) return CeilDivide(int64_t{c.taps()} * c.channels, config.array_rows);
  return CeilDivide(c.channels, config.array_rows) * c.taps();
}

// Calls take(row tile, row in it, entry of the weight list (ky, kx, c)) for all valid rows of a
// matrix instruction, in the machine's order. With tap packing the list is cut into pieces of
// array_rows. With channel packing the channels are cut into pieces of array_rows, and each piece
// takes one tap after the other.
template <typename Take>
void ForEachArrayRow(const Instruction& instruction, const Config& config, const Take& take) {
  const Convolution& c = instruction.convolution;
  const int64_t taps = c.taps(), channels = c.channels, rows = config.array_rows;
  if (PacksTaps(instruction)) {
    for (int64_t entry = 0; entry < taps * channels; ++entry)
      take(entry / rows, entry % rows, entry);
    return;
  }
  int64_t tile = 0;
  for (int64_t first = 0; first < channels; first += rows) {
    const int64_t end = std::min(first + rows, channels);
    for (int64_t tap = 0; tap < taps; ++tap, ++tile) {
      for (int64_t channel = first; channel < end; ++channel)
        take(tile, channel - first, tap * channels + channel);
    }
  }
}

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_SIMULATE_FUNCTIONAL_FUNCTIONAL_ORDER_H_
