// The machine's external memory: bytes at physical addresses, of which only some pages are mapped.
// All execution levels run programs on it.
#ifndef KILN_TARGETS_VTA_ISA_MEMORY_H_
#define KILN_TARGETS_VTA_ISA_MEMORY_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace kiln::vta {

// The memory of one machine.
class DeviceMemory {
 public:
  static constexpr uint64_t kPageBytes = 4096;

  // Makes a memory in which no page is mapped. All 32-bit addresses except those of page 0 can be
  // mapped. Only written pages take up host memory.
  DeviceMemory();
  // Makes a memory in which exactly the bytes [base, base + image.size()) are mapped. `base` is a
  // multiple of the page size.
  DeviceMemory(uint64_t base, std::span<const uint8_t> image);
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory();

  // Map and unmap whole pages. A page that is mapped again still holds its earlier contents; at
  // first it holds zeros. `address` and `bytes` are multiples of the page size.
  void Map(uint64_t address, uint64_t bytes);
  void Unmap(uint64_t address, uint64_t bytes);

  // Returns a pointer to the bytes [address, address + bytes), or null if one of them is not
  // mapped. The pointer stays valid as long as the memory exists.
  uint8_t* At(uint64_t address, uint64_t bytes) {
    return const_cast<uint8_t*>(std::as_const(*this).At(address, bytes));
  }
  const uint8_t* At(uint64_t address, uint64_t bytes) const;

  // Returns the bytes from `base` to the end of the image or of the highest page ever mapped.
  std::span<const uint8_t> bytes() const { return {bytes_, size_}; }

 private:
  const uint64_t base_;
  const uint64_t capacity_;  // bytes of address space
  uint64_t size_ = 0;        // bytes up to the end of the last page mapped so far
  uint8_t* bytes_ = nullptr;
  std::vector<bool> there_;  // by page: whether it is mapped
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_ISA_MEMORY_H_
