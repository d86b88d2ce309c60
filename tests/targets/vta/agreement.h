// Whether the levels agree on a program.
#ifndef TESTS_TARGETS_VTA_AGREEMENT_H_
#define TESTS_TARGETS_VTA_AGREEMENT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "kiln/targets/vta/config.h"
#include "tests/targets/vta/random_program.h"

namespace kiln::vta {

struct LaunchTotals {
  uint64_t launches = 0, faults = 0, cycles = 0, instructions = 0, steps = 0;
  LaunchTotals& operator+=(const LaunchTotals& other);
};

// Launches a program twice on a machine of each level; what the first launch leaves on chip is the second one's, whose
// micro-ops may then name what there is not: a fault, of the same instruction everywhere. Functional and cycle level
// leave the same memory and have counted the same loads, stores and steps, and cycles skipped at the cycle level are
// like those gone through one by one. nullopt: so it is; else what differs. `totals` is added to.
std::optional<std::string> FindDisagreement(const Config& config, const RandomProgram& program, LaunchTotals* totals);

}  // namespace kiln::vta

#endif  // TESTS_TARGETS_VTA_AGREEMENT_H_
