// Runs a program vector (isa/program_vector.h) at an execution level and compares the results with
// those that the vector states. `kiln vta exec` and the tests use it.
#ifndef KILN_TARGETS_VTA_RUN_RUN_VECTOR_H_
#define KILN_TARGETS_VTA_RUN_RUN_VECTOR_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "kiln/support/status.h"
#include "kiln/targets/vta/isa/counters.h"
#include "kiln/targets/vta/isa/faults.h"
#include "kiln/targets/vta/isa/memory.h"
#include "kiln/targets/vta/isa/profile.h"
#include "kiln/targets/vta/isa/program_vector.h"
#include "kiln/targets/vta/isa/timeline.h"
#include "kiln/targets/vta/simulate/rtl/rtl_machine.h"

namespace kiln::vta {

// Runs the vector's launches in order on one machine and compares the fault, all bytes and the
// counters. `launch` runs one launch; `profile` holds the machine's counters. Returns the first
// difference, or nullopt if everything is as the vector states.
using Launcher =
    std::function<std::optional<Fault>(DeviceMemory& memory, const ProgramVector::Launch& launch)>;
std::optional<std::string> FindDifference(const ProgramVector& vector, const Launcher& launch,
                                          const Profile& profile);

// Does the same at the functional level, with the stages in the order `order` (StageOrder). No
// launch may take more than `most_steps` steps (FunctionalMachine).
std::optional<std::string> FindDifference(const ProgramVector& vector, uint64_t order,
                                          uint64_t most_steps = UINT64_MAX);

// Does the same at the cycle level. No launch may take more than `most_cycles` cycles. `time` and
// `timeline` may be null. Launches without a fault add their cycles and counters to `time`; all
// launches are recorded in `timeline`.
std::optional<std::string> FindCycleDifference(const ProgramVector& vector, uint64_t most_cycles,
                                               RunTime* time, Timeline* timeline);

// Does the same in simulated hardware (simulate/rtl/rtl_machine.h) and compares its cycles,
// counters and faults with the cycle level's. If the tokens alone make a program faulty, the vector
// must state the cycle level's fault, whichever fault the hardware met. Errors: hardware that
// cannot be built, and a simulation that ends early.
StatusOr<std::optional<std::string>> FindRtlDifference(const ProgramVector& vector,
                                                       RtlDesigns& designs, uint64_t most_cycles,
                                                       RunTime* time);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_RUN_RUN_VECTOR_H_
