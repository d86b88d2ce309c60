// Bytes as hex digits, two a byte.
#ifndef KILN_SUPPORT_HEX_H_
#define KILN_SUPPORT_HEX_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

std::string HexOf(std::span<const uint8_t> bytes);  // in lower case
// Of either case; nullopt: other than pairs of digits.
std::optional<std::vector<uint8_t>> ParseHex(std::string_view digits);

}  // namespace kiln

#endif  // KILN_SUPPORT_HEX_H_
