// Distances and routes on the array.

#include <algorithm>
#include <cstdlib>

#include "kiln/targets/cgra/check/parts.h"

namespace kiln::cgra::check {

std::vector<Hop> Array::Route(int64_t from, int64_t to) const {
  std::vector<Hop> hops;
  int64_t at = from, cycles = 0;
  // Goes from tile to tile by `step` tile numbers each, `count` times.
  const auto go = [&](int64_t count, int64_t step) {
    while (count != 0) {
      const int64_t length = std::min<int64_t>(std::abs(count), config_.reach);
      const int64_t offset = (count > 0 ? length : -length) * step;
      hops.push_back({at, offset, length, cycles});
      at += offset;
      cycles += length * config_.hop_cycles;
      count -= count > 0 ? length : -length;
    }
  };
  go(to % config_.columns - from % config_.columns, 1);
  go(to / config_.columns - from / config_.columns, config_.columns);
  return hops;
}

bool Array::Reaches(int64_t from, int64_t to) const {
  return config_.relaxed_distance || Route(from, to).size() <= 1;
}

int64_t Array::Cycles(int64_t from, int64_t to) const {
  const int64_t along_row = to % config_.columns - from % config_.columns;
  const int64_t along_column = to / config_.columns - from / config_.columns;
  return (std::abs(along_row) + std::abs(along_column)) * config_.hop_cycles;
}

}  // namespace kiln::cgra::check
