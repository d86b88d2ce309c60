// VTA's semantics in the plainest words, one number at a time: what simulators are compared with.
#ifndef TESTS_TARGETS_VTA_NAIVE_H_
#define TESTS_TARGETS_VTA_NAIVE_H_

#include <cstdint>
#include <vector>

#include "kiln/targets/vta/config/config.h"
#include "kiln/targets/vta/isa/isa.h"

namespace kiln::vta {

// Runs instructions one after the other in the order of the program, tokens left out. `memory`
// stands at byte address `base`. The program is right.
void RunNaive(const Config& config, const std::vector<Instruction>& program, uint64_t base,
              std::vector<uint8_t>& memory);

}  // namespace kiln::vta

#endif  // TESTS_TARGETS_VTA_NAIVE_H_
