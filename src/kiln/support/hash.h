// A hash function with the same result on every machine and in every run, unlike std::hash. For
// names and for the detection of changes.
#ifndef KILN_SUPPORT_HASH_H_
#define KILN_SUPPORT_HASH_H_

#include <cstdint>
#include <string_view>

namespace kiln {

// Returns the 64-bit FNV-1a hash of `bytes` (G. Fowler, L. C. Noll, K.-P. Vo, "The FNV
// Non-Cryptographic Hash Algorithm"). Not collision-resistant against deliberate input. `basis` is
// the hash of the preceding bytes when a longer text is hashed piece by piece.
constexpr uint64_t StableHash(std::string_view bytes, uint64_t basis = 0xcbf29ce484222325) {
  for (const char c : bytes) basis = (basis ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return basis;
}

}  // namespace kiln

#endif  // KILN_SUPPORT_HASH_H_
