// The memory of a compiled network before it is given inputs: constants, programs, borders, and
// space for the layers' outputs. The compiler allocates from it.
#ifndef KILN_TARGETS_VTA_ISA_MEMORY_IMAGE_H_
#define KILN_TARGETS_VTA_ISA_MEMORY_IMAGE_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "kiln/support/buffer.h"
#include "kiln/support/integer.h"
#include "kiln/targets/vta/isa/memory.h"

namespace kiln::vta {

// Memory that grows from kBase upwards. Addresses are byte addresses of the device.
class MemoryImage {
 public:
  static constexpr uint64_t kBase = DeviceMemory::kPageBytes;  // page 0 is never mapped

  // Returns an image that allocates addresses but stores no bytes, for programs that are only
  // timed.
  static MemoryImage WithoutBytes() {
    MemoryImage image;
    image.has_bytes_ = false;
    return image;
  }
  bool has_bytes() const { return has_bytes_; }
  // Reserves capacity for `bytes` bytes in total, so that adding them does not reallocate.
  void MakeRoom(uint64_t bytes) { bytes_.reserve(bytes); }

  // Adds `bytes` and returns their address. Addresses are multiples of the page size, and therefore
  // of every element's size.
  uint64_t Add(std::span<const uint8_t> bytes) {
    const uint64_t address = Reserve(bytes.size());
    if (has_bytes_) std::copy(bytes.begin(), bytes.end(), At(address));
    return address;
  }
  // Allocates `bytes` bytes, which are zero at first, and returns their address.
  uint64_t Reserve(uint64_t bytes) {
    const uint64_t address = kBase + size_;
    size_ += AlignUp(std::max<uint64_t>(bytes, 1), DeviceMemory::kPageBytes);
    if (!has_bytes_) return address;
    // Grows by an eighth rather than doubling: the image of a large program is most of its memory.
    if (size_ > bytes_.capacity()) bytes_.reserve(size_ + size_ / 8);
    bytes_.resize(size_);
    return address;
  }
  // Returns an iterator to the byte at an address. Adding more bytes invalidates it.
  LargeBytes::iterator At(uint64_t address) {
    return bytes_.begin() + static_cast<std::ptrdiff_t>(address - kBase);
  }
  // Returns the bytes from kBase on.
  const LargeBytes& bytes() const { return bytes_; }
  // Moves the bytes out; the image must not be used afterwards.
  LargeBytes TakeBytes() { return std::move(bytes_); }

 private:
  bool has_bytes_ = true;
  uint64_t size_ = 0;
  LargeBytes bytes_;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_ISA_MEMORY_IMAGE_H_
