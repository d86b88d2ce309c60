// Sorts a vector and keeps the order of equal elements. std::stable_sort does the same, but clang 19
// reports its buffer (std::get_temporary_buffer) as deprecated.
#ifndef KILN_SUPPORT_STABLE_SORT_H_
#define KILN_SUPPORT_STABLE_SORT_H_

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace kiln {

template <typename T, typename Less>
void StableSort(std::vector<T>* values, const Less& less) {
  std::vector<size_t> order(values->size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const T &first = (*values)[a], &second = (*values)[b];
    if (less(first, second)) return true;
    return !less(second, first) && a < b;
  });
  std::vector<T> sorted;
  sorted.reserve(values->size());
  for (const size_t i : order) sorted.push_back(std::move((*values)[i]));
  *values = std::move(sorted);
}

}  // namespace kiln

#endif  // KILN_SUPPORT_STABLE_SORT_H_
