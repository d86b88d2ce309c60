// Digests of memory images.
#ifndef KILN_SUPPORT_SHA256_H_
#define KILN_SUPPORT_SHA256_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kiln {

inline constexpr size_t kSha256Bytes = 32;
// SHA-256 (FIPS 180-4), by OpenSSL's libcrypto.
std::vector<uint8_t> Sha256Of(std::span<const uint8_t> bytes);

}  // namespace kiln

#endif  // KILN_SUPPORT_SHA256_H_
