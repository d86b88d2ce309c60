#include "kiln/targets/vta/memory.h"

#include <algorithm>

#include "kiln/support/check.h"

namespace kiln::vta {

DeviceMemory::DeviceMemory(uint64_t base, std::vector<uint8_t> image)
    : base_(base), bytes_(std::move(image)), there_((bytes_.size() + kPageBytes - 1) / kPageBytes, true) {
  KILN_CHECK(base % kPageBytes == 0);
}

void DeviceMemory::Map(uint64_t address, uint64_t bytes) {
  KILN_CHECK(address % kPageBytes == 0 && bytes % kPageBytes == 0 && address >= base_);
  const uint64_t end = address - base_ + bytes;
  if (end > bytes_.size()) {
    bytes_.resize(end);
    there_.resize(end / kPageBytes);
  }
  const auto first = there_.begin() + static_cast<std::ptrdiff_t>((address - base_) / kPageBytes);
  std::fill(first, first + static_cast<std::ptrdiff_t>(bytes / kPageBytes), true);
}

void DeviceMemory::Unmap(uint64_t address, uint64_t bytes) {
  KILN_CHECK(Holds(address, bytes) && address % kPageBytes == 0 && bytes % kPageBytes == 0);
  const auto first = there_.begin() + static_cast<std::ptrdiff_t>((address - base_) / kPageBytes);
  std::fill(first, first + static_cast<std::ptrdiff_t>(bytes / kPageBytes), false);
}

bool DeviceMemory::Holds(uint64_t address, uint64_t bytes) const {
  if (address < base_ || address - base_ > bytes_.size() || bytes > bytes_.size() - (address - base_)) return false;
  if (bytes == 0) return true;
  const auto first = there_.begin() + static_cast<std::ptrdiff_t>((address - base_) / kPageBytes);
  const auto last = there_.begin() + static_cast<std::ptrdiff_t>((address - base_ + bytes - 1) / kPageBytes);
  return std::find(first, last + 1, false) == last + 1;
}

uint8_t* DeviceMemory::At(uint64_t address, uint64_t bytes) {
  return Holds(address, bytes) ? bytes_.data() + (address - base_) : nullptr;
}

const uint8_t* DeviceMemory::At(uint64_t address, uint64_t bytes) const {
  return Holds(address, bytes) ? bytes_.data() + (address - base_) : nullptr;
}

}  // namespace kiln::vta
