// Sums over the pixel tiles of one axis of an image, for the closed forms of cycles and of events.
#ifndef KILN_TARGETS_SYSTOLIC_COMPILE_AXIS_SUMS_H_
#define KILN_TARGETS_SYSTOLIC_COMPILE_AXIS_SUMS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kiln/targets/systolic/isa/walk.h"

namespace kiln::systolic {

// The positions that all tiles fetch along an axis, and those of them inside the image.
struct AxisSums {
  int64_t places = 0, inside = 0;
};

// Returns the sums for `outputs` outputs in tiles of `tile`, over an image of `limit` positions.
inline AxisSums SumsOf(const RegionAxis& axis, int32_t outputs, int32_t tile, int32_t limit) {
  AxisSums sums;
  for (int32_t first = 0; first < outputs; first += tile) {
    const int32_t places = axis.Places(std::min(tile, outputs - first));
    sums.places += places;
    for (int32_t p = 0; p < places; ++p) {
      const int32_t at = axis.Coordinate(first, p);
      sums.inside += at >= 0 && at < limit ? 1 : 0;
    }
  }
  return sums;
}

// The tiles of one size along an axis.
struct AxisPieces {
  int32_t size = 0;
  int64_t count = 0;
};

// Returns the tiles of each size, for `outputs` outputs in tiles of `tile`.
inline std::vector<AxisPieces> PiecesOf(int32_t outputs, int32_t tile) {
  std::vector<AxisPieces> pieces;
  if (outputs / tile > 0) pieces.push_back({tile, outputs / tile});
  if (outputs % tile > 0) pieces.push_back({outputs % tile, 1});
  return pieces;
}

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_COMPILE_AXIS_SUMS_H_
