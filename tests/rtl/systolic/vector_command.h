// Builds the command and the stage writes that the command processor sends to the vector unit
// (rtl/systolic/kiln_systolic_pkg.sv) from an instruction's words.
#ifndef KILN_TESTS_RTL_SYSTOLIC_VECTOR_COMMAND_H_
#define KILN_TESTS_RTL_SYSTOLIC_VECTOR_COMMAND_H_

#include <array>
#include <cstdint>
#include <vector>

#include "kiln/targets/systolic/config/config.h"
#include "kiln/targets/systolic/isa/isa.h"

namespace kiln::rtl {

// A number of any width, assembled from its most significant bit down.
class BitString {
 public:
  void Append(int bits, uint64_t value) {
    for (int i = bits - 1; i >= 0; --i) bits_.push_back((value >> i & 1) != 0);
  }
  void Append(const BitString& other) {
    bits_.insert(bits_.end(), other.bits_.begin(), other.bits_.end());
  }
  size_t size() const { return bits_.size(); }
  // Returns the bytes, least significant first.
  std::vector<uint8_t> Bytes() const {
    std::vector<uint8_t> bytes((bits_.size() + 7) / 8);
    for (size_t i = 0; i < bits_.size(); ++i) {
      const size_t place = bits_.size() - 1 - i;
      bytes[place / 8] = static_cast<uint8_t>(bytes[place / 8] | (bits_[i] ? 1u : 0u) << place % 8);
    }
    return bytes;
  }

 private:
  std::vector<bool> bits_;
};

struct VectorCommand {
  std::vector<uint8_t> command;                    // vector_command_t
  std::vector<uint8_t> scales;                     // vector_scales_t
  std::vector<std::vector<uint8_t>> stage_writes;  // stage_write_t, in order
};

// `number` counts instructions; `slot` is the index in the stage memories.
inline VectorCommand MakeVectorCommand(const systolic::Instruction& instruction,
                                       const systolic::Config& config, int number, int slot) {
  constexpr int kPayloadBytes = 14;
  const std::vector<uint8_t> words = systolic::Encode(instruction, config);
  // The payload of every word by tag and index; absent words are 0.
  std::array<std::array<BitString, 256>, 15> payloads;
  VectorCommand result;
  for (size_t at = 0; at < words.size(); at += 16) {
    BitString payload;
    for (int i = kPayloadBytes - 1; i >= 0; --i)
      payload.Append(8, words[at + static_cast<size_t>(i)]);
    const uint8_t index = words[at + 14], tag = words[at + 15];
    if (tag == 14) {  // a stage
      BitString write;
      write.Append(6, static_cast<uint64_t>(slot));
      write.Append(2, index >> 5);
      write.Append(1, index >> 4 & 1u);
      write.Append(4, index & 15u);
      write.Append(payload);
      result.stage_writes.push_back(write.Bytes());
    }
    payloads.at(tag).at(index) = payload;
  }
  BitString command;
  const auto section = [&](size_t tag, size_t first, size_t count) {
    for (size_t i = first; i < first + count; ++i) {
      BitString& payload = payloads.at(tag).at(i);
      if (payload.size() == 0) payload.Append(8 * kPayloadBytes, 0);
      command.Append(payload);
    }
  };
  command.Append(16, static_cast<uint64_t>(number));
  command.Append(6, static_cast<uint64_t>(slot));
  section(0, 0, 1);   // header
  section(1, 0, 3);   // tiling
  section(9, 0, 2);   // loops
  section(12, 0, 7);  // window
  for (size_t stream = 0; stream < 4; ++stream) section(10, 16 * stream, 4);
  section(13, 0, 4);  // passes
  result.command = command.Bytes();
  command = BitString();
  for (size_t stream = 0; stream < 4; ++stream) section(11, 16 * stream, 7);
  result.scales = command.Bytes();
  return result;
}

}  // namespace kiln::rtl

#endif  // KILN_TESTS_RTL_SYSTOLIC_VECTOR_COMMAND_H_
