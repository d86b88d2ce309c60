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

// Returns the indentation of the lines that continue `line`: the width of the blanks at its begin,
// and of its bullet or number.
size_t IndentOf(std::string_view line) {
  const size_t blanks = std::min(line.find_first_not_of(' '), line.size());
  const size_t end = std::min(line.find(' ', blanks), line.size());
  const std::string_view word = line.substr(blanks, end - blanks);
  const bool number = word.size() > 1 && word.back() == '.' &&
                      word.find_first_not_of("0123456789") == word.size() - 1;
  return IsBullet(word) || number ? end + 1 : blanks;
}

// Returns whether lines of a paragraph end before `line`, so that it is not joined to them.
bool BeginsBlock(std::string_view line) {
  const size_t blanks = std::min(line.find_first_not_of(' '), line.size());
  const std::string_view text = line.substr(blanks);
  return text.empty() || text.starts_with('|') || text.starts_with('#') ||
         text.starts_with("```") || IndentOf(line) > blanks;
}

// Appends `text` to `out`, whose last line begins at `line`, in lines of at most kMarkdownColumns
// bytes that begin with `indent` blanks. The first piece is not moved to a line of its own.
void AppendPieces(std::string_view text, size_t indent, size_t line, std::string* out) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = PieceEnd(text, begin);
    const std::string_view piece = text.substr(begin, end - begin);
    const bool fits = out->size() - line + 1 + piece.size() <= kMarkdownColumns;
    if (begin > 0 && !fits) {
      *out += '\n' + std::string(indent, ' ');
      line = out->size() - indent;
    } else if (begin > 0) {
      *out += ' ';
    }
    *out += piece;
    begin = end + 1;
  }
}

}  // namespace

std::string MarkdownItem(std::string_view text) {
  std::string out = "- ";
  AppendPieces(text, 2, 0, &out);
  return out + '\n';
}

std::string WrapMarkdown(std::string_view text) {
  std::string out;
  bool fenced = false;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    if (line.starts_with("```")) fenced = !fenced;
    const size_t indent = std::min(IndentOf(line), line.size());
    const bool table =
        line.substr(std::min(line.find_first_not_of(' '), line.size())).starts_with('|');
    if (fenced || table || line.size() <= kMarkdownColumns) {
      out += line;
    } else {
      const size_t first = out.size();
      out += line.substr(0, indent);
      AppendPieces(line.substr(indent), indent, first, &out);
    }
    if (end < text.size()) out += '\n';
    begin = end + 1;
  }
  return out;
}

std::string ReflowMarkdown(std::string_view text) {
  std::string joined;
  bool fenced = false, in_paragraph = false;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    const bool fence = line.starts_with("```");
    if (in_paragraph && !fenced && !BeginsBlock(line)) {
      joined.back() = ' ';
      joined += line.substr(line.find_first_not_of(' '));
    } else {
      joined += line;
    }
    fenced = fenced != fence;
    const std::string_view words = line.substr(std::min(line.find_first_not_of(' '), line.size()));
    in_paragraph =
        !fenced && !fence && !words.empty() && !words.starts_with('|') && !words.starts_with('#');
    if (end < text.size()) joined += '\n';
    begin = end + 1;
  }
  return WrapMarkdown(joined);
}

}  // namespace kiln
