// Splits volumes into rectangles, after merging rows and blocks that are contiguous in memory.

#include "kiln/targets/vta/compile/volume.h"

namespace kiln::vta {
namespace {

constexpr int64_t kMostStride = UINT16_MAX;  // the greatest value of the field x_stride

// Returns the parts of a volume whose columns are not adjacent: each column is a row of one
// element.
std::vector<VolumePart> PartsOfColumns(const Volume& v) {
  std::vector<VolumePart> parts;
  for (int64_t block = 0; block < v.blocks; ++block) {
    for (int64_t row = 0; row < v.rows; ++row) {
      parts.push_back({.memory = block * v.strides.block + row * v.strides.row,
                       .chip = (block * v.rows + row) * v.columns,
                       .rows = v.columns,
                       .columns = 1,
                       .stride = v.strides.column});
    }
  }
  return parts;
}

}  // namespace

std::vector<VolumePart> PartsOf(Volume v) {
  if (v.columns == 1) v.strides.column = 1;
  // Merge contiguous rows into one.
  if (v.strides.row == v.columns * v.strides.column || v.rows == 1) {
    v.columns *= v.rows;
    v.rows = 1;
  }
  if (v.strides.column > 1) return PartsOfColumns(v);
  const bool as_rows = v.blocks > 1 && v.strides.block <= kMostStride;
  if (v.rows == 1 && as_rows) {
    v.rows = v.blocks;
    v.strides.row = v.strides.block;
    v.blocks = 1;
  } else if (as_rows && v.strides.block == v.rows * v.strides.row) {
    v.rows *= v.blocks;
    v.blocks = 1;
  }
  std::vector<VolumePart> parts;
  for (int64_t block = 0; block < v.blocks; ++block) {
    parts.push_back({.memory = block * v.strides.block,
                     .chip = block * v.rows * v.columns,
                     .rows = v.rows,
                     .columns = v.columns,
                     .stride = v.rows == 1 ? v.columns : v.strides.row});
  }
  return parts;
}

}  // namespace kiln::vta
