// Hashes that are the same on every machine and in every run.
#ifndef KILN_SUPPORT_HASH_H_
#define KILN_SUPPORT_HASH_H_

#include <cstdint>
#include <string_view>

namespace kiln {

// FNV-1a with 64 bits (G. Fowler, L. C. Noll, K.-P. Vo, "The FNV Non-Cryptographic Hash Algorithm"). For names and for
// finding what changed, not against anybody's intent. `basis`: the hash of what came before.
constexpr uint64_t StableHash(std::string_view bytes, uint64_t basis = 0xcbf29ce484222325) {
  for (const char c : bytes) basis = (basis ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return basis;
}

}  // namespace kiln

#endif  // KILN_SUPPORT_HASH_H_
