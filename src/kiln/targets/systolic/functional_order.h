// The order in which the array takes a reduction's rows, as the functional level reads it from docs/systolic.md ("Row
// tiles"). The cycle level, the compiler and the RTL's tests have theirs in walk.h; that both are the same is what
// comparisons of the levels on random instructions find.
#ifndef KILN_TARGETS_SYSTOLIC_FUNCTIONAL_ORDER_H_
#define KILN_TARGETS_SYSTOLIC_FUNCTIONAL_ORDER_H_

#include <algorithm>
#include <cstdint>

#include "kiln/support/integer.h"
#include "kiln/targets/systolic/config.h"
#include "kiln/targets/systolic/isa.h"

namespace kiln::systolic {

inline bool PacksTaps(const Instruction& instruction) {
  return instruction.tiling.packing == Packing::kTaps;
}

// Row tiles of a matrix instruction.
inline int64_t RowTileCount(const Instruction& instruction, const Config& config) {
  const Convolution& c = instruction.convolution;
  if (PacksTaps(instruction)) return CeilDivide(int64_t{c.taps()} * c.channels, config.array_rows);
  return CeilDivide(c.channels, config.array_rows) * c.taps();
}

// Calls take(row tile, row in it, entry of the weight list (ky, kx, c)) for all rows of a matrix instruction that
// count, in the machine's order: with tap packing the list in pieces of array_rows, else the channels in pieces of
// array_rows and of each piece one tap after the other.
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

#endif  // KILN_TARGETS_SYSTOLIC_FUNCTIONAL_ORDER_H_
