// The instructions straight from their definition in isa.h: one scalar loop for every sum, nothing
// shared with the fast kernels but the arithmetic of single numbers.
#ifndef KILN_TESTS_TARGETS_SYSTOLIC_NAIVE_H_
#define KILN_TESTS_TARGETS_SYSTOLIC_NAIVE_H_

#include <cstdint>
#include <vector>

#include "kiln/targets/systolic/config/config.h"
#include "kiln/targets/systolic/isa/isa.h"

namespace kiln::systolic {

void RunNaively(const Instruction& instruction, const Config& config, std::vector<uint8_t>& memory);

}  // namespace kiln::systolic

#endif  // KILN_TESTS_TARGETS_SYSTOLIC_NAIVE_H_
