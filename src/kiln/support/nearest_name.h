// Finds the name that a misspelt word probably means, for "did you mean" hints.
#ifndef KILN_SUPPORT_NEAREST_NAME_H_
#define KILN_SUPPORT_NEAREST_NAME_H_

#include <span>
#include <string>
#include <string_view>

namespace kiln {

// Returns the name that needs the fewest insertions, deletions, changes and swaps of neighbouring
// letters; the first of several. Returns "" if it needs more than a third of the word's letters, or
// more than one for a short word.
std::string NearestName(std::string_view word, std::span<const std::string> names);

}  // namespace kiln

#endif  // KILN_SUPPORT_NEAREST_NAME_H_
