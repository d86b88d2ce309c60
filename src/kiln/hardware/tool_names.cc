// Character sets of names and paths that are safe in scripts.

#include "kiln/hardware/tool_names.h"

#include <algorithm>

#include "fmt/format.h"
#include "kiln/support/characters.h"

namespace kiln::hardware {
namespace {

// Returns whether a component of a path is plain.
bool IsPlainPart(std::string_view part) {
  if (part == ".") return true;
  return !part.empty() && IsNameCharacter(part.front()) && std::ranges::all_of(part, [](char c) {
    return IsNameCharacter(c) || c == '-' || c == '.' || c == '+';
  });
}

// Returns a character for a message.
std::string NameOf(char c) {
  if (c == ' ') return "a blank";
  const auto code = static_cast<unsigned char>(c);
  return code < 0x20 || code == 0x7f ? fmt::format("character {:#04x}", code)
                                     : fmt::format("'{}'", c);
}

}  // namespace

bool IsIdentifier(std::string_view name) {
  return !name.empty() && !IsDigit(name.front()) && std::ranges::all_of(name, IsNameCharacter);
}

bool IsPlainPath(std::string_view path) {
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    if (!IsPlainPart(path.substr(begin, end - begin))) return false;
    begin = end + 1;
  }
  return true;
}

Status CheckToolPath(const std::filesystem::path& path, std::string_view place) {
  constexpr std::string_view kOthers = "/_-.+,=@~";
  const std::string text = path.string();
  const auto wrong = std::ranges::find_if(text, [&](char c) {
    const bool beyond_ascii = static_cast<unsigned char>(c) >= 0x80;
    return !beyond_ascii && !IsLetter(c) && !IsDigit(c) &&
           kOthers.find(c) == std::string_view::npos;
  });
  if (wrong == text.end()) return OkStatus();
  return ErrorAt(text, place, fmt::format("the tools take no path with {} in it", NameOf(*wrong)),
                 "name a folder whose path has letters, digits and any of / _ - . + , = @ ~ only");
}

std::string PlainName(std::string_view name) {
  std::string plain(name.substr(0, kMostPlainName));
  std::ranges::replace_if(plain, [](char c) { return !IsNameCharacter(c); }, '_');
  return plain;
}

}  // namespace kiln::hardware
