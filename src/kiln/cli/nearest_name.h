// What somebody may have meant by a word that is none of some names.
#ifndef KILN_CLI_NEAREST_NAME_H_
#define KILN_CLI_NEAREST_NAME_H_

#include <span>
#include <string>
#include <string_view>

namespace kiln::cli {

// The name with the fewest letters to insert, leave out, change or swap with their neighbour; the first of several.
// "" where that is more than a third of the word's letters, or more than one of a short word.
std::string NearestName(std::string_view word, std::span<const std::string> names);

}  // namespace kiln::cli

#endif  // KILN_CLI_NEAREST_NAME_H_
