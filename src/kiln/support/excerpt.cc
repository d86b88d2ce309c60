// Cuts long text for messages.

#include "kiln/support/excerpt.h"

namespace kiln {
namespace {

// Returns whether a byte continues a UTF-8 character.
bool Continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// Returns the start of the UTF-8 character that the byte at `at` belongs to. Looks at most three
// bytes back, the most that a character has behind its first.
size_t CharacterStart(std::string_view text, size_t at) {
  const size_t least = at < 3 ? 0 : at - 3;
  size_t start = at;
  while (start > least && Continues(text[start])) --start;
  return Continues(text[start]) ? at : start;
}

// Returns the two ends of a text of more than `most` bytes.
std::string Ends(std::string_view text, size_t most) {
  const size_t head = CharacterStart(text, most - most / 4);
  const size_t tail = CharacterStart(text, text.size() - most / 4);
  return std::string(text.substr(0, head)) + "..." + std::string(text.substr(tail));
}

}  // namespace

std::string Excerpt(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  return Ends(text, most) + fmt::format(" ({} bytes in all)", text.size());
}

std::string QuotedExcerpt(std::string_view text, size_t most) {
  if (text.size() <= most) return "'" + std::string(text) + "'";
  return "'" + Ends(text, most) + fmt::format("' ({} bytes in all)", text.size());
}

}  // namespace kiln
