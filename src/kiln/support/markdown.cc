// Writes parts of Markdown documents.

#include "kiln/support/markdown.h"

#include <algorithm>

namespace kiln {
namespace {

// Returns whether a line that begins with the word begins another list item.
bool IsBullet(std::string_view word) { return word == "-" || word == "+" || word == "*"; }

// Returns the end of the piece of `text` that begins at `begin` and may not be split: up to a space
// outside code that no bullet follows.
size_t PieceEnd(std::string_view text, size_t begin) {
  bool code = false;
  for (size_t at = begin; at < text.size(); ++at) {
    if (text[at] == '`') code = !code;
    if (text[at] != ' ' || code) continue;
    const size_t end = std::min(text.find(' ', at + 1), text.size());
    if (!IsBullet(text.substr(at + 1, end - at - 1))) return at;
  }
  return text.size();
}

}  // namespace

std::string MarkdownItem(std::string_view text) {
  std::string out = "-";
  size_t line = 0;  // where the current line begins
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = PieceEnd(text, begin);
    const std::string_view piece = text.substr(begin, end - begin);
    const bool fits = out.size() - line + 1 + piece.size() <= kMarkdownColumns;
    if (!fits && begin > 0) {
      out += "\n ";
      line = out.size() - 1;
    }
    out += ' ';
    out += piece;
    begin = end + 1;
  }
  return out + '\n';
}

}  // namespace kiln
