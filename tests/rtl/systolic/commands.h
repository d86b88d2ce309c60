// Builds the commands of units (structs of kiln_systolic_pkg) from an encoded instruction, as the
// command processor does, for tests of one unit.
#ifndef KILN_TESTS_RTL_SYSTOLIC_COMMANDS_H_
#define KILN_TESTS_RTL_SYSTOLIC_COMMANDS_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "kiln/support/check.h"
#include "kiln/targets/systolic/isa/isa.h"

namespace kiln::rtl {

// Section tags of kiln_systolic_pkg.
enum class Tag : uint8_t {
  kHeader = 0,
  kTiling = 1,
  kReduction = 2,
  kRegion = 3,
  kInput = 4,
  kInputScales = 5,
  kWeights = 6,
  kWeightScales = 7,
  kParameters = 8,
};

// A packed struct. Members are appended in order; the first occupies the highest bits.
class PackedBits {
 public:
  void Append(uint64_t value, int bits) {
    for (int i = bits - 1; i >= 0; --i) bits_.push_back((value >> i & 1) != 0);
  }
  // Appends the payloads of a section's words in order.
  void AppendSection(const std::vector<uint8_t>& instruction, Tag tag) {
    constexpr size_t kWordBytes = 16, kPayloadBytes = 14;
    bool found = false;
    for (size_t at = 0; at < instruction.size(); at += kWordBytes) {
      if (instruction[at + kWordBytes - 1] != static_cast<uint8_t>(tag)) continue;
      for (size_t byte = kPayloadBytes; byte-- > 0;) Append(instruction[at + byte], 8);
      found = true;
    }
    KILN_CHECK(found);
  }
  // Returns the struct little-endian, as Verilator stores a port.
  std::vector<uint8_t> Bytes() const {
    std::vector<uint8_t> bytes((bits_.size() + 7) / 8);
    for (size_t i = 0; i < bits_.size(); ++i) {
      const size_t bit = bits_.size() - 1 - i;
      if (bits_[i]) bytes[bit / 8] |= static_cast<uint8_t>(1u << bit % 8);
    }
    return bytes;
  }

 private:
  std::vector<bool> bits_;
};

// Builds a command. `numbers` are the 16-bit members before the sections (the instruction's number
// and, for the array and the depthwise unit, its first block).
inline std::vector<uint8_t> CommandBytes(const std::vector<uint8_t>& instruction,
                                         std::initializer_list<uint64_t> numbers,
                                         std::initializer_list<Tag> sections) {
  PackedBits bits;
  for (const uint64_t number : numbers) bits.Append(number & 0xffff, 16);
  for (const Tag tag : sections) bits.AppendSection(instruction, tag);
  return bits.Bytes();
}

}  // namespace kiln::rtl

#endif  // KILN_TESTS_RTL_SYSTOLIC_COMMANDS_H_
