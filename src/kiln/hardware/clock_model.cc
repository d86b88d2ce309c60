// Looks up measured clocks of machines.
#include "kiln/hardware/clock_model.h"

#include <absl/strings/numbers.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>

namespace kiln::hardware {
namespace {

// Holds a machine's keys, in `others` without the value of `memory_latency`. That value is -1 where
// the key is absent.
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
  std::map<int, double> clocks;  // of the machines with the same other keys, by memory_latency
  for (const MeasuredMachine& row : rows) {
    if (top != row.top) continue;
    const MachineKeys measured = SplitKeys(row.keys);
    if (measured.others == wanted.others) clocks[measured.memory_latency] = row.mhz;
  }
  const auto above = clocks.lower_bound(wanted.memory_latency);
  if (above == clocks.end()) return std::nullopt;
  if (above->first == wanted.memory_latency) return MeasuredClock{.mhz = above->second};
  if (above == clocks.begin()) return std::nullopt;
  const auto below = std::prev(above);
  return MeasuredClock{.mhz = std::min(below->second, above->second),
                       .latencies = {below->first, above->first}};
}

}  // namespace kiln::hardware
