// Random design points and programs, and whether the levels agree on them.
#ifndef KILN_TESTS_TARGETS_SYSTOLIC_AGREEMENT_H_
#define KILN_TESTS_TARGETS_SYSTOLIC_AGREEMENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kiln/numerics/format.h"
#include "kiln/targets/systolic/config/config.h"
#include "kiln/targets/systolic/simulate/rtl/simulation.h"
#include "tests/targets/systolic/random_program.h"

namespace kiln::systolic {

// Returns the named formats that a design point can have in the field `place`, with defaults
// elsewhere.
std::vector<Format> NamedFormatsFor(Format Config::* place);

// Returns a design point that a YAML file could describe and the RTL implements, with at most
// `largest_array` rows and columns, and in `vector_format` if given. Formats take turns: with N
// operand formats, N consecutive seeds use each format once for inputs.
Config RandomDesignPoint(uint64_t seed, int largest_array,
                         const std::optional<Format>& vector_format = {});

// Returns the random program of a seed, of one to six instructions.
RandomProgramCase ProgramOfSeed(uint64_t seed, const Config& config);

// Runs the program of a seed at the functional and the cycle level. Returns where the contents of
// their memories first differ; nullopt if they are equal.
std::optional<std::string> FindDisagreement(const Config& config, uint64_t seed);

// Also runs it in hardware, whose registers begin at random, behind the memory `memory` of the
// simulation. The contents of the memory are those of the other levels and, if the cycle level
// simulates the memory, each instruction ends in the cycle of the cycle level.
std::optional<std::string> FindRtlDisagreement(const Config& config, const Simulation& simulation,
                                               uint64_t seed, const RtlOptions& memory);

}  // namespace kiln::systolic

#endif  // KILN_TESTS_TARGETS_SYSTOLIC_AGREEMENT_H_
