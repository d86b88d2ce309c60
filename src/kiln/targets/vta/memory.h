// The machine's outer memory: bytes at physical addresses, of which only some pages are there.
#ifndef KILN_TARGETS_VTA_MEMORY_H_
#define KILN_TARGETS_VTA_MEMORY_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace kiln::vta {

class DeviceMemory {
 public:
  static constexpr uint64_t kPageBytes = 4096;

  // Nothing is there; all addresses of 32 bits but those of page 0 can be. Takes room only where it has been written.
  DeviceMemory();
  // All of [base, base + image.size()), and nothing else, is there. `base` is a multiple of a page.
  DeviceMemory(uint64_t base, std::span<const uint8_t> image);
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory();

  // Pages come and go; a page that comes holds what it held when it was last there, zeros at first. Both are multiples
  // of a page.
  void Map(uint64_t address, uint64_t bytes);
  void Unmap(uint64_t address, uint64_t bytes);

  // The bytes [address, address + bytes), or null where one of them is not there. Their place stays the same.
  uint8_t* At(uint64_t address, uint64_t bytes) {
    return const_cast<uint8_t*>(std::as_const(*this).At(address, bytes));
  }
  const uint8_t* At(uint64_t address, uint64_t bytes) const;

  // From `base` on, to the end of the image.
  std::span<const uint8_t> bytes() const { return {bytes_, size_}; }

 private:
  const uint64_t base_;
  const uint64_t capacity_;  // bytes of address space
  uint64_t size_ = 0;        // bytes that may be there
  uint8_t* bytes_ = nullptr;
  std::vector<bool> there_;  // a page each
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_MEMORY_H_
