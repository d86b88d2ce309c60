// The registers of the machine (rtl/vta/kiln_vta_pkg.sv): the description from which the list in
// docs/vta-machine.md and the C header of an emitted folder are made.
#ifndef KILN_TARGETS_VTA_ISA_REGISTERS_H_
#define KILN_TARGETS_VTA_ISA_REGISTERS_H_

#include "kiln/hardware/register_map.h"

namespace kiln::vta {

// Returns the register map, which is the same for all design points. Its counters are
// ACCUMULATOR_WRITES and the rows of counters.def.
hardware::RegisterMap Registers();

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_ISA_REGISTERS_H_
