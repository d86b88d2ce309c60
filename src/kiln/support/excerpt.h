// Cuts text and lists that come from files to a length that fits into a message of one line. Every
// name, attribute or list of a file that enters a message goes through these functions, because a
// hostile or damaged file may hold values of any length.
#ifndef KILN_SUPPORT_EXCERPT_H_
#define KILN_SUPPORT_EXCERPT_H_

#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

namespace kiln {

inline constexpr size_t kExcerptBytes = 120;
inline constexpr size_t kExcerptElements = 8;

// Returns `text` if it has at most `most` bytes. Otherwise returns the first three quarters and the
// last quarter of `most` bytes, without splitting a UTF-8 character, and the length:
// "aaaa...bb (5000 bytes in all)". Both ends are kept because names of layers often differ at the
// end.
std::string Excerpt(std::string_view text, size_t most = kExcerptBytes);

// Returns Excerpt(text) in single quotes; the length follows the closing quote.
std::string QuotedExcerpt(std::string_view text, size_t most = kExcerptBytes);

// Returns the elements of a list with `separator` between them, each cut as Excerpt does. Of a list
// with more than `most` elements returns the first `most` and the length:
// "1,2,3,4,5,6,7,8,... (5000 in all)".
template <typename List>
std::string ListExcerpt(const List& list, std::string_view separator = ",",
                        size_t most = kExcerptElements) {
  std::string out;
  size_t count = 0;
  for (const auto& element : list) {
    if (count > 0) out += separator;
    if (count == most) return out + fmt::format("... ({} in all)", std::size(list));
    out += Excerpt(fmt::format("{}", element));
    ++count;
  }
  return out;
}

}  // namespace kiln

#endif  // KILN_SUPPORT_EXCERPT_H_
