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

  // Addresses are whole pages, so that they are multiples of every element's size.
  uint64_t Add(std::span<const uint8_t> bytes) {
    const uint64_t address = Reserve(bytes.size());
    std::copy(bytes.begin(), bytes.end(), At(address));
    return address;
  }
  uint64_t Reserve(uint64_t bytes) {
    const uint64_t address = kBase + bytes_.size();
    bytes_.resize(bytes_.size() + AlignUp(std::max<uint64_t>(bytes, 1), DeviceMemory::kPageBytes));
    return address;
  }
  std::vector<uint8_t>::iterator At(uint64_t address) {
    return bytes_.begin() + static_cast<std::ptrdiff_t>(address - kBase);
  }
  // From kBase on.
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_MEMORY_IMAGE_H_
