// Random design points and instructions of the VTA family.
#ifndef TESTS_TARGETS_VTA_RANDOM_PROGRAM_H_
#define TESTS_TARGETS_VTA_RANDOM_PROGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kiln/support/random.h"
#include "kiln/targets/vta/config/config.h"
#include "kiln/targets/vta/isa/isa.h"

namespace kiln::vta {

// A design point that ParseConfig accepts.
Config RandomConfig(Random& random);
// Such a design point of a seed, with a simulation that builds in seconds.
Config SmallConfig(uint64_t seed);

// Fields drawn from all that have a place in their bits, reserved numbers too.
Instruction RandomFields(Random& random, const Config& config);

// A program with its memory. It runs to its end without a fault, and whatever one stage does that
// another could see in two states is ordered by tokens - only that, so that the stages overlap
// where they may.
struct RandomProgram {
  static constexpr uint64_t kBase = 4096;  // of the memory

  std::vector<uint8_t> memory;
  std::vector<Instruction> instructions;
  uint64_t address = 0;  // of the encoded instructions in the memory

  std::string Text(const Config& config) const;  // the design point and the disassembly
};
// About `operations` loads, stores and computations, and tokens between them. For configs whose
// elements fit a few times into 64 KiB.
RandomProgram MakeRandomProgram(Random& random, const Config& config, int operations);

}  // namespace kiln::vta

#endif  // TESTS_TARGETS_VTA_RANDOM_PROGRAM_H_
