// Converts bytes to hex digits and back.
#include "kiln/support/hex.h"

namespace kiln {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

std::string HexOf(std::span<const uint8_t> bytes) {
  std::string digits;
  for (const uint8_t byte : bytes) {
    digits += kDigits[byte >> 4];
    digits += kDigits[byte & 15];
  }
  return digits;
}

std::optional<std::vector<uint8_t>> ParseHex(std::string_view digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  std::vector<uint8_t> bytes(digits.size() / 2);
  for (size_t i = 0; i < digits.size(); ++i) {
    const char letter =
        digits[i] >= 'A' && digits[i] <= 'F' ? static_cast<char>(digits[i] - 'A' + 'a') : digits[i];
    const size_t digit = kDigits.find(letter);
    if (digit == std::string_view::npos) return std::nullopt;
    bytes[i / 2] = static_cast<uint8_t>(bytes[i / 2] << 4 | digit);
  }
  return bytes;
}

}  // namespace kiln
