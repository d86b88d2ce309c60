// Formats numbers, cleans text that comes from outside, and lays out tables.
#include "kiln/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "kiln/support/check.h"

namespace kiln {
namespace {

// U+FFFD in UTF-8.
constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// Returns the length of the well-formed UTF-8 character at `at`, or 0 if there is none (Unicode
// standard, table 3-7).
size_t CharacterAt(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0};
  };
  const uint8_t lead = byte(at);
  if (lead < 0x80) return 1;
  size_t length = 0;
  uint8_t low = 0x80, high = 0xbf;  // range of the second byte
  if (lead >= 0xc2 && lead <= 0xdf) {
    length = 2;
  } else if (lead >= 0xe0 && lead <= 0xef) {
    length = 3;
    if (lead == 0xe0) low = 0xa0;
    if (lead == 0xed) high = 0x9f;
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    length = 4;
    if (lead == 0xf0) low = 0x90;
    if (lead == 0xf4) high = 0x8f;
  } else {
    return 0;
  }
  if (byte(at + 1) < low || byte(at + 1) > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

// Returns at most `width` characters of clean text. Of a longer text, the characters behind the
// first `front` are replaced by "…" but for those at the end that there is room for.
std::string CutBehind(const std::string& clean, size_t front, size_t width) {
  const size_t length = Width(clean);
  if (length <= width) return clean;
  const size_t back = width - 1 - front;
  std::string out;
  size_t index = 0;
  for (size_t at = 0; at < clean.size(); ++index) {
    const size_t bytes = CharacterAt(clean, at);
    if (index == front) out += "…";
    if (index < front || index >= length - back) out += clean.substr(at, bytes);
    at += bytes;
  }
  return out;
}

// Returns all texts cut in this way; empty if two are then equal, or one is in `taken`.
std::vector<std::string> CutApart(const std::vector<std::string>& texts, size_t front, size_t width,
                                  const std::set<std::string>& taken) {
  std::set<std::string> known = taken;
  std::vector<std::string> out;
  for (const std::string& text : texts) {
    out.push_back(CutBehind(text, front, width));
    if (!known.insert(out.back()).second) return {};
  }
  return out;
}

}  // namespace

std::string Thousands(int64_t value) {
  const std::string digits = fmt::format("{}", value);
  std::string out;
  const size_t first = value < 0 ? 1 : 0;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > first && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string Counted(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", Thousands(count), noun, count == 1 ? "" : "s");
}

std::string Percent(double fraction, int digits) {
  return std::isfinite(fraction) ? fmt::format("{:.{}f} %", 100 * fraction, digits) : "-";
}

std::string ThreeDigits(double value) {
  const double size = std::abs(value);
  // The limits are those at which rounding would add a digit.
  if (size < 0.9995) return fmt::format("{:#.3g}", value);
  return fmt::format("{:.{}f}", value, size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

std::string WithoutExponent(double value) {
  constexpr double kMost = 1e15;  // beyond it, a double does not have all digits
  const double size = std::abs(value);
  if (!(size < kMost)) return fmt::format("{:.4g}", value);
  if (size >= 1000 || value == std::floor(value))
    return Thousands(static_cast<int64_t>(std::llround(value)));
  return size < 0.001 ? ThreeDigits(value) : fmt::format("{:.4g}", value);
}

std::string Metric(double value, std::string_view unit) {
  constexpr std::pair<double, std::string_view> kSteps[] = {
      {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  std::string out = fmt::format("{:g}", value);
  for (const auto& [size, prefix] : kSteps) {
    if (std::abs(value) >= size) {
      out = fmt::format("{} {}", ThreeDigits(value / size), prefix);
      break;
    }
  }
  return unit.empty() ? out : out + " " + std::string(unit);
}

std::string Bytes(int64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  std::string_view unit;
  for (std::string_view next : {"KiB", "MiB", "GiB", "TiB"}) {
    if (value < 1024) break;
    value /= 1024;
    unit = next;
  }
  return fmt::format("{:.1f} {}", value, unit);
}

std::string CleanUtf8(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t length = CharacterAt(text, at);
    const auto byte = static_cast<uint8_t>(text[at]);
    if (length == 0 || byte < 0x20 || byte == 0x7f) {
      out += kReplacement;
      ++at;
    } else {
      out += text.substr(at, length);
      at += length;
    }
  }
  return out;
}

std::string EscapeHtml(std::string_view text) {
  std::string out;
  for (char c : CleanUtf8(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

size_t Width(std::string_view utf8) {
  return static_cast<size_t>(
      std::count_if(utf8.begin(), utf8.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string Shorten(std::string_view text, size_t width) {
  KILN_CHECK(width >= 3);
  // Keep both ends: names of layers often differ at the end.
  return CutBehind(CleanUtf8(text), width / 2, width);
}

std::vector<std::string> ShortenApart(const std::vector<std::string>& texts, size_t width) {
  std::map<std::string, std::string> shown;             // by the clean text
  std::map<std::string, std::vector<std::string>> all;  // clean texts by what Shorten returns
  for (const std::string& text : texts) {
    const std::string clean = CleanUtf8(text);
    if (shown.emplace(clean, "").second) all[Shorten(clean, width)].push_back(clean);
  }
  std::set<std::string> taken;
  for (const auto& [cut, group] : all) {
    if (group.size() > 1) continue;
    shown[group[0]] = cut;
    taken.insert(cut);
  }
  for (const auto& [cut, group] : all) {
    if (group.size() == 1) continue;
    size_t longest = 0;
    for (const std::string& text : group) longest = std::max(longest, Width(text));
    // Whole texts are different, even if one of them looks like what another is cut to.
    std::vector<std::string> apart;
    for (size_t w = width; apart.empty(); w += 4) {
      if (w > longest) apart = group;
      for (const size_t front : {w / 2, w / 4, w * 3 / 4}) {
        if (apart.empty()) apart = CutApart(group, front, w, taken);
      }
    }
    for (size_t i = 0; i < group.size(); ++i) shown[group[i]] = apart[i];
    taken.insert(apart.begin(), apart.end());
  }
  std::vector<std::string> out;
  for (const std::string& text : texts) out.push_back(shown.at(CleanUtf8(text)));
  return out;
}

Table& Table::Column(std::string title, Align align) {
  KILN_CHECK(rows_.empty());
  heads_.push_back({std::move(title), align});
  return *this;
}

void Table::Row(std::vector<std::string> cells) {
  KILN_CHECK(cells.size() == heads_.size());
  for (std::string& cell : cells) cell = CleanUtf8(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::ToString() const {
  std::vector<size_t> widths;
  for (const Head& head : heads_) widths.push_back(Width(head.title));
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::string out;
  const auto line = [&](auto&& cell_of) {
    std::string text;
    for (size_t i = 0; i < heads_.size(); ++i) {
      const std::string cell = cell_of(i);
      const std::string blanks(widths[i] - Width(cell), ' ');
      text += i > 0 ? "  " : "";
      text += heads_[i].align == Align::kRight ? blanks + cell : cell + blanks;
    }
    while (text.ends_with(' ')) text.pop_back();
    out += text + '\n';
  };
  line([&](size_t i) { return heads_[i].title; });
  line([&](size_t i) { return std::string(widths[i], '-'); });
  for (const auto& row : rows_) line([&](size_t i) { return row[i]; });
  return out;
}

}  // namespace kiln
