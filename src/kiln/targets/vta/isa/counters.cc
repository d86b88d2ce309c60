// The table of the machine's counters, expanded from counters.def.

#include "kiln/targets/vta/isa/counters.h"

namespace kiln::vta {

std::span<const CounterInfo> CounterTable() {
  static constexpr CounterInfo kTable[] = {
#define KILN_VTA_COUNTER(id, unit, name, what) {unit, name, what},
#include "kiln/targets/vta/isa/counters.def"
#undef KILN_VTA_COUNTER
  };
  return kTable;
}

}  // namespace kiln::vta
