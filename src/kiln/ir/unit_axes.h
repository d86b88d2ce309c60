// Comparison of shapes that differ only in axes of length 1, as those of data files and network
// inputs often do.
#ifndef KILN_IR_UNIT_AXES_H_
#define KILN_IR_UNIT_AXES_H_

#include <cstdint>
#include <vector>

namespace kiln {

// Returns the dimensions other than 1, in order.
inline std::vector<int64_t> WithoutOnes(std::vector<int64_t> dims) {
  std::erase(dims, 1);
  return dims;
}

}  // namespace kiln

#endif  // KILN_IR_UNIT_AXES_H_
