// The modules that bound the clock of a vta machine.
#ifndef KILN_TARGETS_VTA_COST_CLOCK_MODEL_H_
#define KILN_TARGETS_VTA_COST_CLOCK_MODEL_H_

#include <vector>

#include "kiln/targets/interface/clock.h"
#include "kiln/targets/vta/config/config.h"

namespace kiln::vta {

// Returns the modules with the parameters that the machine gives them, without periods.
std::vector<TimedModule> TimedModulesOf(const Config& config);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_COST_CLOCK_MODEL_H_
