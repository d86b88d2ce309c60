// Finds the slowest module of a machine, and names the modules without a measurement.
#include "kiln/targets/interface/clock.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/hardware/clock_model.h"
#include "kiln/hardware/technology.h"

namespace kiln {

const TimedModule* MachineClock::slowest() const {
  const auto by_period = [](const TimedModule& a, const TimedModule& b) {
    return a.period_ns < b.period_ns;
  };
  const auto [least, most] = std::minmax_element(modules.begin(), modules.end(), by_period);
  return modules.empty() || least->period_ns < 0 ? nullptr : &*most;
}

double MachineClock::mhz() const {
  const TimedModule* module = slowest();
  return module == nullptr ? -1 : 1e3 / module->period_ns;
}

std::string MachineClock::unknown() const {
  if (modules.empty()) return "the family has no clock model";
  std::vector<std::string> missing;
  for (const TimedModule& module : modules) {
    if (module.period_ns >= 0) continue;
    std::string name = module.unmeasurable.empty()
                           ? module.module
                           : fmt::format("{} ({})", module.module, module.unmeasurable);
    if (std::find(missing.begin(), missing.end(), name) == missing.end())
      missing.push_back(std::move(name));
  }
  return missing.empty() ? "" : fmt::format("no measurement of {}", fmt::join(missing, ", "));
}

MachineClock ClockAt(std::vector<TimedModule> modules, int node_nm) {
  MachineClock clock{.node_nm = node_nm, .modules = std::move(modules), .source = ""};
  const double scale = hardware::DelayScale(hardware::kClockNode, node_nm);
  for (TimedModule& module : clock.modules) {
    if (!module.unmeasurable.empty()) continue;
    const std::optional<double> mhz = hardware::MeasuredMhz(module.module, module.parameters);
    if (mhz.has_value()) module.period_ns = 1e3 / *mhz * scale;
  }
  clock.source = fmt::format("{}; {}", hardware::kClockSource, hardware::kScalingSource);
  return clock;
}

}  // namespace kiln
