// Volumes of a feature map in memory (channel blocks, rows, columns), and their division into
// rectangles that loads and stores can move. codegen_matrix.cc uses them.
#ifndef KILN_TARGETS_VTA_COMPILE_VOLUME_H_
#define KILN_TARGETS_VTA_COMPILE_VOLUME_H_

#include <cstdint>
#include <vector>

namespace kiln::vta {

// The distances in memory between neighbouring blocks, rows and columns, in elements.
struct Strides {
  int64_t block = 0, row = 0, column = 1;
};

// A volume of elements.
struct Volume {
  int64_t blocks = 1, rows = 1, columns = 1;
  Strides strides;
  int64_t elements() const { return blocks * rows * columns; }
};

// A rectangle that one instruction moves: rows of adjacent columns. `memory` and `chip` are offsets
// in elements from the start of the volume; on chip there are no gaps.
struct VolumePart {
  int64_t memory = 0, chip = 0, rows = 1, columns = 1, stride = 0;
};

// Returns the parts of a volume in the order [block][row][column], in as few rectangles as its
// strides allow.
std::vector<VolumePart> PartsOf(Volume volume);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_COMPILE_VOLUME_H_
