// Bytes as hex digits, two a byte.
#ifndef KILN_TARGETS_VTA_HEX_H_
#define KILN_TARGETS_VTA_HEX_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::vta {

std::string HexOf(std::span<const uint8_t> bytes);  // in lower case
// Of either case; nullopt: other than pairs of digits.
std::optional<std::vector<uint8_t>> ParseHex(std::string_view digits);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_HEX_H_
