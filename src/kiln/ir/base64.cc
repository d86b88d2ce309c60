// Base64 by table lookup, three bytes to four digits at a time.

#include "kiln/ir/base64.h"

#include <array>
#include <cstdint>

namespace kiln {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// The value of each digit by character code; -1 for characters that are not digits.
constexpr std::array<int8_t, 256> kValues = [] {
  std::array<int8_t, 256> values{};
  for (int8_t& value : values) value = -1;
  for (size_t i = 0; i < kDigits.size(); ++i)
    values[static_cast<uint8_t>(kDigits[i])] = static_cast<int8_t>(i);
  return values;
}();

}  // namespace

std::string EncodeBase64(std::span<const std::byte> bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t n = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j)
      group = group << 8 | (j < n ? static_cast<uint32_t>(bytes[i + j]) : 0);
    for (size_t j = 0; j < 4; ++j) out += j <= n ? kDigits[(group >> (18 - 6 * j)) & 63] : '=';
  }
  return out;
}

std::optional<std::vector<std::byte>> DecodeBase64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::vector<std::byte> out;
  out.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    const bool last = i + 4 == text.size();
    const size_t padding = last && text[i + 3] == '=' ? (text[i + 2] == '=' ? 2 : 1) : 0;
    uint32_t group = 0;
    for (size_t j = 0; j < 4; ++j) {
      const int value = j < 4 - padding ? kValues[static_cast<uint8_t>(text[i + j])] : 0;
      if (value < 0) return std::nullopt;
      group = group << 6 | static_cast<uint32_t>(value);
    }
    const size_t n = 3 - padding;
    // The unused bits of the last digit must be 0, so that every byte string has one encoding.
    if (n < 3 && (group & ((uint32_t{1} << (8 * (3 - n))) - 1)) != 0) return std::nullopt;
    for (size_t j = 0; j < n; ++j)
      out.push_back(static_cast<std::byte>(group >> (16 - 8 * j) & 255));
  }
  return out;
}

}  // namespace kiln
