// Numbers that a fuzz target takes from its bytes, one after the other; zeros after their end.
#ifndef KILN_FUZZ_BYTES_H_
#define KILN_FUZZ_BYTES_H_

#include <cstddef>
#include <cstdint>

namespace kiln {

class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), left_(size) {}
  bool empty() const { return left_ == 0; }
  // Returns a number in [0, bound) from as many bytes as it needs; bound > 0.
  uint64_t Below(uint64_t bound) {
    uint64_t number = 0;
    for (uint64_t rest = bound - 1; rest > 0; rest >>= 8) {
      number = number << 8 | (left_ > 0 ? *data_ : 0);
      if (left_ == 0) continue;
      ++data_;
      --left_;
    }
    return number % bound;
  }
  // Returns a number in [low, high].
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(Below(static_cast<uint64_t>(high - low) + 1));
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

}  // namespace kiln

#endif  // KILN_FUZZ_BYTES_H_
