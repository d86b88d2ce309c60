// Random programs of the cgra machine that come from no graph: instructions are placed one by one
// on tiles and slots, and take any message that reaches them, so that all fields of a configuration
// occur in combinations that mappers do not make.
#ifndef KILN_TESTS_RTL_CGRA_PLACED_PROGRAM_H_
#define KILN_TESTS_RTL_CGRA_PLACED_PROGRAM_H_

#include <cstdint>
#include <vector>

#include "kiln/support/random.h"
#include "kiln/targets/cgra/isa/program.h"

namespace kiln::cgra {

// Returns a program that passes Check. Every output gets a result of every thread.
CgraProgram PlacedProgram(const Config& config, Random* random);

// Returns the data of `threads` threads (AppendRun), small numbers and large ones.
std::vector<int32_t> RandomData(const CgraProgram& program, int64_t threads, Random* random);

// Appends a few runs of random programs, each loaded first, and returns the number of beats that
// the machine sends.
int64_t AppendRandomRuns(const Config& config, Random* random, std::vector<uint8_t>* stream);

}  // namespace kiln::cgra

#endif  // KILN_TESTS_RTL_CGRA_PLACED_PROGRAM_H_
