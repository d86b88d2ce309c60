// The memory of a compiled network before an image comes: constants, programs, borders, and room for what layers write.
#ifndef KILN_TARGETS_VTA_MEMORY_IMAGE_H_
#define KILN_TARGETS_VTA_MEMORY_IMAGE_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "kiln/support/integer.h"
#include "kiln/targets/vta/memory.h"

namespace kiln::vta {

class MemoryImage {
 public:
  static constexpr uint64_t kBase = DeviceMemory::kPageBytes;  // page 0 is never there

  // An image that hands out addresses and holds nothing, for programs that are only timed.
  static MemoryImage WithoutBytes() {
    MemoryImage image;
    image.has_bytes_ = false;
    return image;
  }
  bool has_bytes() const { return has_bytes_; }
  // Makes room for so many bytes in all, so that adding them moves nothing.
  void MakeRoom(uint64_t bytes) { bytes_.reserve(bytes); }

  // Addresses are whole pages, so that they are multiples of every element's size.
  uint64_t Add(std::span<const uint8_t> bytes) {
    const uint64_t address = Reserve(bytes.size());
    if (has_bytes_) std::copy(bytes.begin(), bytes.end(), At(address));
    return address;
  }
  // Bytes are zero at first.
  uint64_t Reserve(uint64_t bytes) {
    const uint64_t address = kBase + size_;
    size_ += AlignUp(std::max<uint64_t>(bytes, 1), DeviceMemory::kPageBytes);
    if (has_bytes_) bytes_.resize(size_);
    return address;
  }
  std::vector<uint8_t>::iterator At(uint64_t address) {
    return bytes_.begin() + static_cast<std::ptrdiff_t>(address - kBase);
  }
  // From kBase on.
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  bool has_bytes_ = true;
  uint64_t size_ = 0;
  std::vector<uint8_t> bytes_;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_MEMORY_IMAGE_H_
