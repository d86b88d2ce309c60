// Shared by tests of the array side: random instructions, the times that the cycle level's rules
// give if tokens arrive at random, and the comparison of the RTL's behaviour with them.
#ifndef KILN_TESTS_RTL_SYSTOLIC_UNIT_MODEL_H_
#define KILN_TESTS_RTL_SYSTOLIC_UNIT_MODEL_H_

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kiln/hardware/event_kernel.h"
#include "kiln/numerics/codec.h"
#include "kiln/numerics/format.h"
#include "kiln/support/random.h"
#include "kiln/targets/systolic/config/config.h"
#include "kiln/targets/systolic/isa/isa.h"
#include "kiln/targets/systolic/isa/walk.h"
#include "kiln/targets/systolic/simulate/cycle/cycle_data.h"

namespace kiln::rtl {

// An instruction of a test, values derived from it, and the cycles in which each unit sees it.
struct TestInstruction {
  systolic::Instruction instruction;
  std::vector<uint8_t> memory, encoded;
  systolic::Geometry geometry;
  std::vector<systolic::Visit> visits;
  int64_t first_block = 0;
  int64_t load_at = 0, array_at = 0;
};

// Returns the code of element `at` of a bank of the cycle level, which holds numbers.
inline uint32_t CodeAt(const Format& format, bool whole, const std::vector<int16_t>& words,
                       const std::vector<float>& values, size_t at) {
  if (!whole) return EncodeFloat(format, values[at]);
  if (!format.is_integer()) return EncodeFloat(format, words[at]);
  return static_cast<uint32_t>(words[at]) & CodeMask(format);
}

// Convert lanes of `bits` bits each to the bytes of a port, and back.
inline std::vector<uint8_t> PackLanes(const std::vector<uint32_t>& codes, int bits) {
  std::vector<uint8_t> bytes((codes.size() * static_cast<size_t>(bits) + 7) / 8);
  for (size_t i = 0; i < codes.size() * static_cast<size_t>(bits); ++i) {
    const uint32_t bit = codes[i / static_cast<size_t>(bits)] >> i % static_cast<size_t>(bits) & 1;
    bytes[i / 8] = static_cast<uint8_t>(bytes[i / 8] | bit << i % 8);
  }
  return bytes;
}
inline std::vector<uint32_t> UnpackLanes(const std::vector<uint8_t>& bytes, int bits,
                                         size_t lanes) {
  std::vector<uint32_t> codes(lanes);
  for (size_t i = 0; i < lanes * static_cast<size_t>(bits); ++i) {
    codes[i / static_cast<size_t>(bits)] |= static_cast<uint32_t>(bytes[i / 8] >> i % 8 & 1)
                                            << i % static_cast<size_t>(bits);
  }
  return codes;
}

// Returns a number as bits, with one pattern for all NaNs, so that equal numbers have equal bits.
inline uint32_t BitsOf(float value) {
  return std::isnan(value) ? 0x7fc00000u : std::bit_cast<uint32_t>(value);
}
inline uint32_t BitsOf(const Format& format, uint32_t code) {
  return format.is_integer() ? static_cast<uint32_t>(SignedCode(format, code))
                             : BitsOf(DecodeFloat(format, code));
}

// Cycles in which the RTL must assert a signal, and no others.
class Expected {
 public:
  void Pulse(const std::string& port, int64_t cycle) { ++cycles_[port][cycle]; }
  void Level(const std::string& port, int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) Pulse(port, t);
  }
  // Reports an error unless the port is 1 exactly in the expected cycles.
  void Check(const std::string& port, int64_t cycle, bool value) const {
    const auto found = cycles_.find(port);
    const bool expected = found != cycles_.end() && found->second.count(cycle) > 0;
    EXPECT_EQ(value, expected) << port << " in cycle " << cycle;
  }

 private:
  std::map<std::string, std::map<int64_t, int>> cycles_;
};

}  // namespace kiln::rtl

#endif  // KILN_TESTS_RTL_SYSTOLIC_UNIT_MODEL_H_
