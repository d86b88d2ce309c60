// The modules that bound the clock of a systolic machine.
#ifndef KILN_TARGETS_SYSTOLIC_COST_CLOCK_MODEL_H_
#define KILN_TARGETS_SYSTOLIC_COST_CLOCK_MODEL_H_

#include <vector>

#include "kiln/targets/interface/clock.h"
#include "kiln/targets/systolic/config/config.h"

namespace kiln::systolic {

// Returns the modules with the parameters that the machine gives them, without periods.
std::vector<TimedModule> TimedModulesOf(const Config& config);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_COST_CLOCK_MODEL_H_
