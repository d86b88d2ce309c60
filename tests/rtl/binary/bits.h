// Fields of wide ports.
#ifndef KILN_TESTS_RTL_BINARY_BITS_H_
#define KILN_TESTS_RTL_BINARY_BITS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kiln::rtl {

// The bits of a port, lowest first.
class Bits {
 public:
  explicit Bits(size_t bits) : bytes_((bits + 7) / 8, 0) {}
  explicit Bits(std::vector<uint8_t> bytes) : bytes_(std::move(bytes)) {}
  // Sets `width` bits from bit `at` on to the lowest bits of a value.
  void Set(size_t at, size_t width, int64_t value) {
    for (size_t i = 0; i < width; ++i) {
      const auto mask = static_cast<uint8_t>(1U << ((at + i) % 8));
      uint8_t& byte = bytes_[(at + i) / 8];
      byte = static_cast<uint8_t>((value >> i & 1) != 0 ? byte | mask : byte & ~mask);
    }
  }
  // Returns `width` bits from bit `at` on, below 64, as an unsigned number.
  int64_t Get(size_t at, size_t width) const {
    int64_t value = 0;
    for (size_t i = 0; i < width; ++i)
      value |= int64_t{bytes_[(at + i) / 8] >> ((at + i) % 8) & 1} << i;
    return value;
  }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

// Returns a field of `width` bits as a number in two's complement.
inline int64_t SignedField(int64_t field, int width) {
  const int64_t sign = int64_t{1} << (width - 1);
  return ((field & (2 * sign - 1)) ^ sign) - sign;
}

}  // namespace kiln::rtl

#endif  // KILN_TESTS_RTL_BINARY_BITS_H_
