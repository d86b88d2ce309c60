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

// Sets random formats of sums for the input and weight formats of `config`.
void RandomSums(Random& random, Config* config);

struct RandomCase {
  Instruction instruction;  // kMatrix, kDepthwise or kVector
  // All data that the instruction reads, and space for its results; some kilobytes.
  std::vector<uint8_t> memory;
};

// Returns a random instruction. A design point without a depthwise unit gets a kMatrix instead of a
// kDepthwise.
RandomCase RandomInstruction(Random& random, const Config& config, Opcode opcode);

}  // namespace kiln::systolic

#endif  // KILN_TESTS_TARGETS_SYSTOLIC_RANDOM_INSTRUCTION_H_
