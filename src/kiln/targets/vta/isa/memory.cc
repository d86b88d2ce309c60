// Implements the memory as one reserved range of address space, of which only written pages take
// up physical memory.

#include "kiln/targets/vta/isa/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "kiln/support/check.h"

namespace kiln::vta {
namespace {

// Reserves address space that reads as zeros. The system allocates each page when it is first
// written.
uint8_t* Reserve(uint64_t bytes) {
  if (bytes == 0) return nullptr;
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  return static_cast<uint8_t*>(at);
}

}  // namespace

DeviceMemory::DeviceMemory()
    : base_(kPageBytes), capacity_((uint64_t{1} << 32) - kPageBytes), bytes_(Reserve(capacity_)) {}

DeviceMemory::DeviceMemory(uint64_t base, std::span<const uint8_t> image)
    : base_(base),
      capacity_(image.size()),
      size_(image.size()),
      bytes_(Reserve(capacity_)),
      there_((image.size() + kPageBytes - 1) / kPageBytes, true) {
  KILN_CHECK(base % kPageBytes == 0);
  if (!image.empty()) std::memcpy(bytes_, image.data(), image.size());
}

DeviceMemory::~DeviceMemory() {
  if (bytes_ != nullptr) ::munmap(bytes_, capacity_);
}

void DeviceMemory::Map(uint64_t address, uint64_t bytes) {
  KILN_CHECK(address % kPageBytes == 0 && bytes % kPageBytes == 0 && address >= base_);
  const uint64_t end = address - base_ + bytes;
  KILN_CHECK(end <= capacity_);
  size_ = std::max(size_, end);
  there_.resize(std::max(there_.size(), size_t{size_ / kPageBytes}));
  const auto first = there_.begin() + static_cast<std::ptrdiff_t>((address - base_) / kPageBytes);
  std::fill_n(first, bytes / kPageBytes, true);
}

void DeviceMemory::Unmap(uint64_t address, uint64_t bytes) {
  KILN_CHECK(At(address, bytes) != nullptr && address % kPageBytes == 0 && bytes % kPageBytes == 0);
  const auto first = there_.begin() + static_cast<std::ptrdiff_t>((address - base_) / kPageBytes);
  std::fill_n(first, bytes / kPageBytes, false);
}

const uint8_t* DeviceMemory::At(uint64_t address, uint64_t bytes) const {
  if (address < base_ || address - base_ > size_ || bytes > size_ - (address - base_))
    return nullptr;
  if (bytes > 0) {
    const auto first = there_.begin() + static_cast<std::ptrdiff_t>((address - base_) / kPageBytes);
    const auto past = there_.begin() +
                      static_cast<std::ptrdiff_t>((address - base_ + bytes - 1) / kPageBytes + 1);
    if (std::find(first, past, false) != past) return nullptr;
  }
  return bytes_ + (address - base_);
}

}  // namespace kiln::vta
