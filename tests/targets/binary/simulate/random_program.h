// Random design points, programs and pixels of the binary family, for tests and benchmarks.
#ifndef KILN_TESTS_TARGETS_BINARY_SIMULATE_RANDOM_PROGRAM_H_
#define KILN_TESTS_TARGETS_BINARY_SIMULATE_RANDOM_PROGRAM_H_

#include <cstdint>
#include <vector>

#include "kiln/support/random.h"
#include "kiln/targets/binary/isa/program.h"

namespace kiln::binary {

// Returns a small design point.
Config RandomConfig(Random& random);

// A program that passes Check, and the records of its pixels.
struct RandomBlock {
  BlockProgram program;
  std::vector<int32_t> records;
};
RandomBlock MakeRandomBlock(const Config& config, Random& random);

}  // namespace kiln::binary

#endif  // KILN_TESTS_TARGETS_BINARY_SIMULATE_RANDOM_PROGRAM_H_
