// Whether the levels agree on a program.
#ifndef TESTS_TARGETS_VTA_AGREEMENT_H_
#define TESTS_TARGETS_VTA_AGREEMENT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "kiln/hardware/axi_port_model.h"
#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/vta/config/config.h"
#include "kiln/targets/vta/isa/counters.h"
#include "kiln/targets/vta/isa/faults.h"
#include "kiln/targets/vta/isa/memory.h"
#include "tests/targets/vta/random_program.h"

namespace kiln::vta {

struct LaunchTotals {
  uint64_t launches = 0, faults = 0, cycles = 0, instructions = 0, steps = 0;
  LaunchTotals& operator+=(const LaunchTotals& other);
};

// The hardware as a third level: a machine that has launched nothing yet.
struct HardwareOutcome {
  std::optional<Fault> fault;
  RunTime time;  // without a fault
};
struct Hardware {
  std::function<StatusOr<HardwareOutcome>(DeviceMemory& memory, uint64_t address,
                                          size_t instructions)>
      launch;
  bool timed = true;  // cycles and counters are comparable
};

// Launches a program twice on a machine of each level; what the first launch leaves on chip is the
// second one's, whose micro-ops may then name what there is not: a fault, of the same instruction
// everywhere. Functional and cycle level leave the same memory and have counted the same loads,
// stores and steps, and cycles skipped at the cycle level are like those gone through one by one.
// So does `hardware`, where there is some, in the cycle level's cycles and with its counters.
// nullopt: so it is; else what differs. `totals` is added to. With `memory` the cycle level
// simulates that memory.
std::optional<std::string> FindDisagreement(
    const Config& config, const RandomProgram& program, LaunchTotals* totals,
    const Hardware* hardware = nullptr,
    const std::optional<hardware::AxiTiming>& memory = std::nullopt);

// Does the same with the simulated hardware as the third level, behind the memory that `options`
// describe; options.seed gives the contents of its registers at power-up.
std::optional<std::string> FindRtlDisagreement(const Config& config, const RandomProgram& program,
                                               const RtlOptions& options, LaunchTotals* totals);

}  // namespace kiln::vta

#endif  // TESTS_TARGETS_VTA_AGREEMENT_H_
