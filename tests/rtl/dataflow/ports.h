// Access to ports of a bench that hold many stages: bit i of a vector of flags, and slot i of a
// vector of words.
#ifndef KILN_TESTS_RTL_DATAFLOW_PORTS_H_
#define KILN_TESTS_RTL_DATAFLOW_PORTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace kiln::rtl {

template <typename Port>
void SetBit(Port& port, size_t i, bool value) {
  auto* bytes = reinterpret_cast<uint8_t*>(&port);
  bytes[i / 8] = static_cast<uint8_t>((bytes[i / 8] & ~(1u << i % 8)) | (value ? 1u : 0u) << i % 8);
}

template <typename Port>
bool GetBit(const Port& port, size_t i) {
  return (reinterpret_cast<const uint8_t*>(&port)[i / 8] >> i % 8 & 1) != 0;
}

// Sets slot i, of `slot_bytes` bytes, and fills it up with zeros.
template <typename Port>
void SetSlot(Port& port, size_t i, size_t slot_bytes, const std::vector<uint8_t>& bytes) {
  auto* slot = reinterpret_cast<uint8_t*>(&port) + i * slot_bytes;
  std::memset(slot, 0, slot_bytes);
  std::copy(bytes.begin(), bytes.end(), slot);
}

template <typename Port>
std::vector<uint8_t> GetSlot(const Port& port, size_t i, size_t slot_bytes) {
  const auto* slot = reinterpret_cast<const uint8_t*>(&port) + i * slot_bytes;
  return {slot, slot + slot_bytes};
}

}  // namespace kiln::rtl

#endif  // KILN_TESTS_RTL_DATAFLOW_PORTS_H_
