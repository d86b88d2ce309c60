// Bytes as hex digits: two a byte, 0-9 a-f.
#ifndef KILN_TARGETS_VTA_HEX_H_
#define KILN_TARGETS_VTA_HEX_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::vta {

std::string HexOf(std::span<const uint8_t> bytes);
// nullopt: other than pairs of such digits.
std::optional<std::vector<uint8_t>> ParseHex(std::string_view digits);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_HEX_H_
