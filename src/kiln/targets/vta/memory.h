// The machine's outer memory: bytes at physical addresses, of which only some pages are there.
#ifndef KILN_TARGETS_VTA_MEMORY_H_
#define KILN_TARGETS_VTA_MEMORY_H_

#include <cstdint>
#include <span>
#include <vector>

namespace kiln::vta {

class DeviceMemory {
 public:
  static constexpr uint64_t kPageBytes = 4096;

  DeviceMemory() = default;
  // All of [base, base + image.size()), and nothing else, is there. `base` is a multiple of a page.
  DeviceMemory(uint64_t base, std::vector<uint8_t> image);

  // Pages come and go; a page that comes holds what it held when it was last there, zeros at first. Both are multiples
  // of a page.
  void Map(uint64_t address, uint64_t bytes);
  void Unmap(uint64_t address, uint64_t bytes);

  // The bytes [address, address + bytes), or null where one of them is not there. Valid until the next Map.
  uint8_t* At(uint64_t address, uint64_t bytes);
  const uint8_t* At(uint64_t address, uint64_t bytes) const;

  uint64_t base() const { return base_; }
  std::span<const uint8_t> bytes() const { return bytes_; }

 private:
  bool Holds(uint64_t address, uint64_t bytes) const;

  uint64_t base_ = kPageBytes;
  std::vector<uint8_t> bytes_;
  std::vector<bool> there_;  // a page each
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_MEMORY_H_
