// Finds the name that a misspelt word probably means, for "did you mean" hints.
#ifndef KILN_SUPPORT_NEAREST_NAME_H_
#define KILN_SUPPORT_NEAREST_NAME_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace kiln {

// Returns the fewest insertions, deletions, changes and swaps of neighbouring letters that make one
// text of the other, where no part is edited twice (optimal string alignment). Time and memory are
// proportional to the product of the lengths.
size_t EditDistance(std::string_view a, std::string_view b);

// Returns the name with the least EditDistance; the first of several. Returns "" if the distance is
// more than a third of the word's letters, or more than one for a short word.
std::string NearestName(std::string_view word, std::span<const std::string> names);

}  // namespace kiln

#endif  // KILN_SUPPORT_NEAREST_NAME_H_
