// The registers of a machine (rtl/dataflow/kiln_dataflow_control.sv): the description from which
// the list in docs/dataflow-machine.md and the C header of an emitted folder are made.
#ifndef KILN_TARGETS_DATAFLOW_ISA_REGISTERS_H_
#define KILN_TARGETS_DATAFLOW_ISA_REGISTERS_H_

#include "kiln/hardware/register_map.h"

namespace kiln::dataflow {

// Returns the register map of a machine with this number of channels and of streams of weights. A
// machine without streams of weights has the registers of one stream, which it does not use.
hardware::RegisterMap Registers(int channels, int streams);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_ISA_REGISTERS_H_
