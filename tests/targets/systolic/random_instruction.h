// Random instructions that a machine must accept, with a memory image for each: for differential
// tests between the definition, the functional level and the cycle level.
#ifndef KILN_TESTS_TARGETS_SYSTOLIC_RANDOM_INSTRUCTION_H_
#define KILN_TESTS_TARGETS_SYSTOLIC_RANDOM_INSTRUCTION_H_

#include <cstdint>
#include <vector>

#include "kiln/support/random.h"
#include "kiln/targets/systolic/config/config.h"
#include "kiln/targets/systolic/isa/isa.h"

namespace kiln::systolic {

// A small design point: sides of 1 to 8 (not only powers of two), short buffers, every width of a
// port, every count of banks and multipliers, no depthwise unit among them.
Config RandomConfig(Random& random);

// Gives it formats of every kind: integers, floats, posits and codebooks, with and without block
// scales.
void RandomFormats(Random& random, Config* config);

// The same for the input and weight format that stand there already.
void RandomSums(Random& random, Config* config);

struct RandomCase {
  Instruction instruction;  // kMatrix, kDepthwise or kVector
  std::vector<uint8_t>
      memory;  // everything it reads, and room for what it writes; sizes of some kilobytes
};

// In place of kDepthwise a design point without such a unit gets a kMatrix.
RandomCase RandomInstruction(Random& random, const Config& config, Opcode opcode);

}  // namespace kiln::systolic

#endif  // KILN_TESTS_TARGETS_SYSTOLIC_RANDOM_INSTRUCTION_H_
