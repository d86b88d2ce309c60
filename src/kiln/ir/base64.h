// Base64 with padding (RFC 4648, section 4). The text form of graphs (text.h) stores large
// constants in it.
#ifndef KILN_IR_BASE64_H_
#define KILN_IR_BASE64_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

// Returns the encoding of `bytes`.
std::string EncodeBase64(std::span<const std::byte> bytes);
// Returns the decoded bytes, or nullopt for any text that EncodeBase64 would not have written.
std::optional<std::vector<std::byte>> DecodeBase64(std::string_view text);

}  // namespace kiln

#endif  // KILN_IR_BASE64_H_
