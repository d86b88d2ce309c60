// A small checker of well-formed XML: tags nest, attributes are quoted, ampersands are escaped,
// text is UTF-8.
#ifndef TESTS_REPORT_WELL_FORMED_H_
#define TESTS_REPORT_WELL_FORMED_H_

#include <regex>
#include <string>
#include <vector>

#include "kiln/report/text.h"

namespace kiln {

// Returns the first fault of a page; empty if it is well-formed.
inline std::string WellFormedFault(const std::string& text) {
  std::vector<std::string> open;
  bool had_root = false;
  const std::regex tag(
      R"(<(/?)([A-Za-z][A-Za-z0-9]*)((?:\s+[A-Za-z_:][-A-Za-z0-9_:]*="[^"<]*")*)\s*(/?)>)");
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '&') {
      std::smatch match;
      const std::string rest = text.substr(at, 12);
      if (!std::regex_search(rest, match, std::regex("^&(amp|lt|gt|quot|#[0-9]+);")))
        return "stray & before " + rest;
      at += static_cast<size_t>(match.length());
    } else if (text.compare(at, 9, "<!DOCTYPE") == 0) {
      at = text.find('>', at) + 1;
    } else if (text[at] == '<') {
      const size_t end = text.find('>', at);
      if (end == std::string::npos) return "tag without end";
      const std::string one = text.substr(at, end - at + 1);
      std::smatch match;
      if (!std::regex_match(one, match, tag)) return "malformed tag " + one;
      if (match[1].length() > 0) {
        if (open.empty() || open.back() != match[2].str()) return "unexpected " + one;
        open.pop_back();
      } else if (match[4].length() == 0) {
        if (open.empty() && had_root) return "second root " + one;
        had_root = true;
        open.push_back(match[2].str());
      }
      at = end + 1;
    } else {
      ++at;
    }
  }
  if (!open.empty()) return "<" + open.back() + "> is not closed";
  std::string one_line = text;
  for (char& c : one_line) {
    if (c == '\n') c = ' ';
  }
  return CleanUtf8(one_line) == one_line ? "" : "not clean UTF-8";
}

}  // namespace kiln

#endif  // TESTS_REPORT_WELL_FORMED_H_
