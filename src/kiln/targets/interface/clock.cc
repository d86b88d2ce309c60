// Looks up the clocks of machines.
#include "kiln/targets/interface/clock.h"

#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/hardware/clock_model.h"
#include "kiln/hardware/technology.h"

namespace kiln {

std::string MachineClock::unknown() const {
  if (known()) return "";
  if (machine.top.empty()) return no_model;
  return "this machine has not been synthesised; `kiln synth` finds its clock";
}

MachineClock ClockAt(MachineIdentity machine, int node_nm) {
  MachineClock clock{.machine = std::move(machine)};
  const auto found =
      hardware::FindClock(hardware::MeasuredMachines(), clock.machine.top, clock.machine.keys);
  if (!found.has_value()) return clock;
  clock.mhz = found->mhz / hardware::DelayScale(hardware::kClockNode, node_nm);
  if (!found->latencies.empty())
    clock.in_place = fmt::format("with memory_latency {}", fmt::join(found->latencies, " and "));
  clock.source = fmt::format("{}; {}", hardware::kClockSource, hardware::kScalingSource);
  return clock;
}

}  // namespace kiln
