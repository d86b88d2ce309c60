// The table of the keys of the family's design points: names, ranges, defaults and the RTL's
// parameters. The reader and printer of design points (config.cc) and the emitter use it.
#ifndef KILN_TARGETS_SYSTOLIC_CONFIG_KEYS_H_
#define KILN_TARGETS_SYSTOLIC_CONFIG_KEYS_H_

#include "kiln/hardware/key_table.h"
#include "kiln/targets/systolic/config/config.h"

namespace kiln::systolic {

// Returns the table, with one row per key in the order of printed design points.
const hardware::KeyTable<Config>& Keys();

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_CONFIG_KEYS_H_
