// Prints the modules that bound the clocks of design points, a line each: module, blank, parameters
// as for `kiln synth --parameters`. bench/clock_grid measures them:
//   build/timed_modules accelerators/systolic-int8-16x16.yaml ...
#include <fmt/format.h>

#include <cstdio>

#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/registry.h"

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    const auto machine = kiln::LoadAccelerator(arguments[i]);
    if (!machine.ok()) {
      fmt::print(stderr, "timed_modules: {}\n", kiln::MessageOf(machine.status()));
      return 1;
    }
    const auto cost = (*machine)->EstimateCost(kiln::kDefaultNode);
    if (!cost.ok()) {
      fmt::print(stderr, "timed_modules: {}\n", kiln::MessageOf(cost.status()));
      return 1;
    }
    for (const kiln::TimedModule& module : cost->clock.modules) {
      if (module.unmeasurable.empty()) fmt::print("{} {}\n", module.module, module.parameters);
    }
  }
  return 0;
}
