// The table of the keys of the family's design points: names, ranges, defaults, the RTL's
// parameters, and the keys of the original's configuration. config.cc reads design points with it.
#ifndef KILN_TARGETS_VTA_CONFIG_KEYS_H_
#define KILN_TARGETS_VTA_CONFIG_KEYS_H_

#include "kiln/hardware/key_table.h"
#include "kiln/targets/vta/config/config.h"

namespace kiln::vta {

// Returns the table, one row per key, in the order of printed design points.
const hardware::KeyTable<Config>& Keys();

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_CONFIG_KEYS_H_
