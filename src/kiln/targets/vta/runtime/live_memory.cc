// Finds the rows of loads and stores that are not inside an allocated range.

#include "kiln/targets/vta/runtime/live_memory.h"

#include <algorithm>
#include <iterator>

#include "fmt/format.h"

namespace kiln::vta {

std::optional<std::string> LiveMemory::FindStray(const Instruction& in,
                                                 const Config& config) const {
  const uint64_t bytes = RowBytes(in, config);
  if (bytes == 0) return std::nullopt;
  const uint64_t stride = in.x_stride * static_cast<uint64_t>(ElementBytes(in.memory, config));
  for (uint64_t row = 0; row < in.y_size;) {
    const uint64_t begin = RowAddress(in, static_cast<uint32_t>(row), config);
    const auto above = ranges_.upper_bound(begin);
    const bool any = above != ranges_.begin();
    const auto [first, end] = any ? *std::prev(above) : std::pair<const uint64_t, uint64_t>{0, 0};
    if (begin + bytes > end) {
      const std::string where = fmt::format("row {}, bytes {:#x} to {:#x}, is not inside a buffer",
                                            row, begin, begin + bytes - 1);
      return any ? fmt::format("{}; the one before has {} bytes from {:#x} on", where, end - first,
                               first)
                 : fmt::format("{}; there is none before", where);
    }
    // Skip the following rows that are inside the same range.
    row += stride == 0 ? in.y_size : (end - begin - bytes) / stride + 1;
  }
  return std::nullopt;
}

}  // namespace kiln::vta
