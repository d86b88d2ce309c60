// Elements of a feature map in memory - blocks of channels, rows, columns - as the rectangles that loads and stores
// move.
#ifndef KILN_TARGETS_VTA_VOLUME_H_
#define KILN_TARGETS_VTA_VOLUME_H_

#include <cstdint>
#include <vector>

namespace kiln::vta {

// How far apart things are in memory, in elements.
struct Strides {
  int64_t block = 0, row = 0, column = 1;
};

struct Volume {
  int64_t blocks = 1, rows = 1, columns = 1;
  Strides strides;
  int64_t elements() const { return blocks * rows * columns; }
};

// What one instruction moves: rows of columns side by side. Both places are counted in elements from the volume's
// begin; on chip there are no gaps.
struct VolumePart {
  int64_t memory = 0, chip = 0, rows = 1, columns = 1, stride = 0;
};

// The volume in the order [block][row][column], in as few rectangles as its strides allow.
std::vector<VolumePart> PartsOf(Volume volume);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_VOLUME_H_
