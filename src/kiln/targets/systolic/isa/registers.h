// The registers of the machine (rtl/systolic/kiln_control_pkg.sv): the description from which the
// list in docs/rtl.md and the C header of an emitted folder are made.
#ifndef KILN_TARGETS_SYSTOLIC_ISA_REGISTERS_H_
#define KILN_TARGETS_SYSTOLIC_ISA_REGISTERS_H_

#include "kiln/hardware/register_map.h"

namespace kiln::systolic {

// Returns the register map, which is the same for all design points. Its counters belong to
// the units in units.h: cycles at work, cycles of waiting by cause, bytes read and written.
hardware::RegisterMap Registers();

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_ISA_REGISTERS_H_
