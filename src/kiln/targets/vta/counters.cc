#include "kiln/targets/vta/counters.h"

namespace kiln::vta {

std::span<const CounterInfo> CounterTable() {
  static constexpr CounterInfo kTable[] = {
#define KILN_VTA_COUNTER(id, unit, name, what) {unit, name, what},
#include "kiln/targets/vta/counters.def"
#undef KILN_VTA_COUNTER
  };
  return kTable;
}

}  // namespace kiln::vta
