// The table of the keys of the family's design points: names, ranges and defaults. config.cc reads
// design points with it.
#ifndef KILN_TARGETS_CGRA_CONFIG_KEYS_H_
#define KILN_TARGETS_CGRA_CONFIG_KEYS_H_

#include "kiln/hardware/key_table.h"
#include "kiln/targets/cgra/config/config.h"

namespace kiln::cgra {

// Returns the table, one row per key, in the order of printed design points.
const hardware::KeyTable<Config>& Keys();

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_CONFIG_KEYS_H_
