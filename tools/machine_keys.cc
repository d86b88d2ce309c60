// Prints what identifies the machines of design points, a line each: the top module, a blank, the
// keys that determine the hardware (KeyTable::HardwareKeys). bench/machine_grid synthesises them:
//   build/machine_keys accelerators/systolic-int8-16x16.yaml ...
#include <fmt/format.h>

#include <cstdio>

#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/registry.h"

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    const auto machine = kiln::LoadAccelerator(arguments[i]);
    if (!machine.ok()) {
      fmt::print(stderr, "machine_keys: {}\n", kiln::MessageOf(machine.status()));
      return 1;
    }
    const auto cost = (*machine)->EstimateCost(kiln::kDefaultNode);
    if (!cost.ok()) {
      fmt::print(stderr, "machine_keys: {}\n", kiln::MessageOf(cost.status()));
      return 1;
    }
    const auto& [top, keys] = cost->clock.machine;
    if (top.empty()) {
      fmt::print(stderr, "machine_keys: {}: {}\n", arguments[i], cost->clock.unknown());
      return 1;
    }
    fmt::print("{} {}\n", top, keys);
  }
  return 0;
}
