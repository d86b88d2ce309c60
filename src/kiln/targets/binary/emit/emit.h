// Writes the hardware of a design point, with a program beside it, as a project that Verilator and
// Yosys take.
#ifndef KILN_TARGETS_BINARY_EMIT_EMIT_H_
#define KILN_TARGETS_BINARY_EMIT_EMIT_H_

#include <filesystem>

#include "kiln/hardware/rtl_project.h"
#include "kiln/support/status.h"
#include "kiln/targets/binary/isa/program.h"

namespace kiln::binary {

// Returns the project of a design point: design.yaml beside the hardware.
hardware::RtlProject ProjectOf(const Config& config);
// Returns the project with a program that passes Check: its text, the stream that loads it, and as
// the example of `make sim` a run on pixels that follow from a seed.
hardware::RtlProject ProjectOf(const BlockProgram& program);

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_EMIT_EMIT_H_
