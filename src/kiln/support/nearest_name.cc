// Edit distance by dynamic programming.
#include "kiln/support/nearest_name.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace kiln {

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min(
          {d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

std::string NearestName(std::string_view word, std::span<const std::string> names) {
  constexpr size_t kLongest = 100;  // far longer than any name; bounds the time
  if (word.size() > kLongest) return "";
  size_t least = std::max<size_t>(1, word.size() / 3) + 1;
  std::string nearest;
  for (const std::string& name : names) {
    // The distance is at least the difference in length; this also bounds the time for long names.
    const size_t longer = std::max(word.size(), name.size());
    if (longer - std::min(word.size(), name.size()) >= least) continue;
    const size_t distance = EditDistance(word, name);
    // A distance of the whole name means that nothing of it matched.
    if (distance >= least || distance >= name.size()) continue;
    least = distance;
    nearest = name;
  }
  return nearest;
}

}  // namespace kiln
