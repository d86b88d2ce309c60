// Random programs of several instructions: for differential tests between the levels of the whole
// machine.
#ifndef KILN_TESTS_TARGETS_SYSTOLIC_RANDOM_PROGRAM_H_
#define KILN_TESTS_TARGETS_SYSTOLIC_RANDOM_PROGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kiln/support/random.h"
#include "kiln/targets/systolic/config/config.h"
#include "kiln/targets/systolic/isa/isa.h"

namespace kiln::systolic {

struct RandomProgramCase {
  std::vector<Instruction> instructions;
  std::vector<uint8_t> memory;  // everything that they read, and room for what they write
  uint64_t address = 0;         // for the encoded program, behind all that

  std::string Text(const Config& config) const;
  std::vector<uint8_t> Encoded(const Config& config) const;  // with its end
};

// `length` or one more instructions one behind the other, each in a memory of its own at any place
// of a beat, or the one before once more. (Programs whose instructions read what others wrote are
// those of the networks.)
RandomProgramCase RandomProgram(Random& random, const Config& config, int length);

}  // namespace kiln::systolic

#endif  // KILN_TESTS_TARGETS_SYSTOLIC_RANDOM_PROGRAM_H_
