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

// Breaks the lines of `text` that are longer than kMarkdownColumns bytes, where MarkdownItem would
// break them. The rest of a list item is indented to its text, the rest of another line as the line
// is. Rows of tables and blocks of code between ``` stay as they are.
std::string WrapMarkdown(std::string_view text);

// Joins the lines of each paragraph and list item of `text` and breaks them as WrapMarkdown does.
// Headings, rows of tables and blocks of code between ``` stay as they are.
std::string ReflowMarkdown(std::string_view text);

}  // namespace kiln

#endif  // KILN_SUPPORT_MARKDOWN_H_
