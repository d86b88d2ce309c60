// Looks up measured clocks of modules.
#include "kiln/hardware/clock_model.h"

#include <algorithm>

namespace kiln::hardware {

const std::vector<MeasuredClock>& MeasuredClocks() {
  static const std::vector<MeasuredClock> clocks = {
#include "kiln/hardware/clock_table.inc"
  };
  return clocks;
}

std::optional<double> MeasuredMhz(std::string_view module, std::string_view parameters) {
  const auto& clocks = MeasuredClocks();
  const auto found = std::find_if(clocks.begin(), clocks.end(), [&](const MeasuredClock& row) {
    return module == row.module && parameters == row.parameters;
  });
  if (found == clocks.end()) return std::nullopt;
  return found->mhz;
}

}  // namespace kiln::hardware
