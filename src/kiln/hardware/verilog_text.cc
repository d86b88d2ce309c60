// Finds names in SystemVerilog text by scanning words.

#include "kiln/hardware/verilog_text.h"

#include <algorithm>

#include "kiln/support/characters.h"

namespace kiln::hardware {
namespace {

// Returns the first name at or after position `at`; empty at the end of the text.
std::string_view NextName(std::string_view text, size_t at) {
  const char* const end = text.data() + text.size();
  const char* const begin =
      std::find_if(text.data() + std::min(at, text.size()), end, IsNameCharacter);
  return {begin, static_cast<size_t>(std::find_if_not(begin, end, IsNameCharacter) - begin)};
}

// Returns the position after `name`, which must be a part of `text`.
size_t EndOf(std::string_view text, std::string_view name) {
  return static_cast<size_t>(name.data() - text.data()) + name.size();
}

}  // namespace

std::string WithoutComments(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    if (text.compare(i, 2, "//") == 0) {
      i = std::min(text.find('\n', i), text.size());
    } else if (text.compare(i, 2, "/*") == 0) {
      const size_t end = text.find("*/", i + 2);
      i = end == std::string::npos ? text.size() : end + 2;
      out += ' ';
    } else {
      out += text[i++];
    }
  }
  return out;
}

std::set<std::string> NamesIn(std::string_view text) {
  std::set<std::string> names;
  for (std::string_view name = NextName(text, 0); !name.empty();
       name = NextName(text, EndOf(text, name))) {
    names.emplace(name);
  }
  return names;
}

std::optional<std::string_view> ModuleIn(std::string_view text, std::string_view module) {
  std::string_view before;
  for (std::string_view name = NextName(text, 0); !name.empty();
       name = NextName(text, EndOf(text, name))) {
    if (before == "module" && name == module) {
      const size_t begin = EndOf(text, name) - name.size();
      return text.substr(begin, text.find("endmodule", begin) - begin);
    }
    before = name;
  }
  return std::nullopt;
}

}  // namespace kiln::hardware
