// Calls OpenSSL's digest.
#include "kiln/support/sha256.h"

#include <openssl/evp.h>

#include "kiln/support/check.h"

namespace kiln {

std::vector<uint8_t> Sha256Of(std::span<const uint8_t> bytes) {
  std::vector<uint8_t> digest(kSha256Bytes);
  // It fails where the library lacks the algorithm or memory, and nowhere else.
  KILN_CHECK(
      EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr) == 1);
  return digest;
}

}  // namespace kiln
