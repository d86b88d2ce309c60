// Writes parts of Markdown documents.
#ifndef KILN_SUPPORT_MARKDOWN_H_
#define KILN_SUPPORT_MARKDOWN_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace kiln {

inline constexpr size_t kMarkdownColumns = 100;

// Returns the list item "- TEXT" in lines of at most kMarkdownColumns bytes. Lines after the first
// are indented by two spaces. Code in backticks is not split; a piece of code or a word that does
// not fit makes its line longer.
std::string MarkdownItem(std::string_view text);

}  // namespace kiln

#endif  // KILN_SUPPORT_MARKDOWN_H_
