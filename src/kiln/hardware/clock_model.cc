// Looks up measured clocks of machines.
#include "kiln/hardware/clock_model.h"

#include <absl/strings/numbers.h>

#include <algorithm>
#include <string>

namespace kiln::hardware {
namespace {

// A machine's keys. `others` lacks the value of `memory_latency`, which is -1 if there is no such
// key.
struct MachineKeys {
  std::string others;
  int memory_latency = -1;
};

MachineKeys SplitKeys(std::string_view keys) {
  constexpr std::string_view kKey = ",memory_latency=";
  MachineKeys split{.others = std::string(keys)};
  const size_t at = keys.find(kKey);
  if (at == std::string_view::npos) return split;
  const size_t begin = at + kKey.size(), end = std::min(keys.find(',', begin), keys.size());
  if (!absl::SimpleAtoi(std::string(keys.substr(begin, end - begin)), &split.memory_latency))
    return split;
  split.others.erase(begin, end - begin);
  return split;
}

}  // namespace

const std::vector<MeasuredMachine>& MeasuredMachines() {
  static const std::vector<MeasuredMachine> machines = {
#include "kiln/hardware/machine_table.inc"
  };
  return machines;
}

std::optional<MeasuredClock> FindClock(std::span<const MeasuredMachine> rows, std::string_view top,
                                       std::string_view keys) {
  const MachineKeys wanted = SplitKeys(keys);
  // The rows with the nearest latencies that are not above and not below the wanted one.
  const MeasuredMachine *below = nullptr, *above = nullptr;
  int latency_below = 0, latency_above = 0;
  for (const MeasuredMachine& row : rows) {
    if (top != row.top) continue;
    const MachineKeys measured = SplitKeys(row.keys);
    if (measured.others != wanted.others) continue;
    const int latency = measured.memory_latency;
    if (latency <= wanted.memory_latency && (below == nullptr || latency > latency_below)) {
      below = &row;
      latency_below = latency;
    }
    if (latency >= wanted.memory_latency && (above == nullptr || latency < latency_above)) {
      above = &row;
      latency_above = latency;
    }
  }
  if (below == nullptr || above == nullptr) return std::nullopt;
  MeasuredClock clock{.mhz = std::min(below->mhz, above->mhz)};
  if (below != above) clock.latencies = {latency_below, latency_above};
  return clock;
}

}  // namespace kiln::hardware
