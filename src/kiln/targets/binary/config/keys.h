// The table of the family's design-point keys.
#ifndef KILN_TARGETS_BINARY_CONFIG_KEYS_H_
#define KILN_TARGETS_BINARY_CONFIG_KEYS_H_

#include "kiln/hardware/key_table.h"
#include "kiln/targets/binary/config/config.h"

namespace kiln::binary {

// Returns the table, one row per key, in the order of printed design points.
const hardware::KeyTable<Config>& Keys();

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_CONFIG_KEYS_H_
