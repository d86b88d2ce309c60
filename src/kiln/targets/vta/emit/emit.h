// Emits the hardware of a design point as a self-contained folder of SystemVerilog
// (hardware/rtl_project.h): the modules of rtl/vta below a top module with the design point's
// parameters, a testbench, and programs for it.
#ifndef KILN_TARGETS_VTA_EMIT_EMIT_H_
#define KILN_TARGETS_VTA_EMIT_EMIT_H_

#include <filesystem>
#include <string>

#include "kiln/hardware/rtl_project.h"
#include "kiln/hardware/top_module.h"
#include "kiln/support/status.h"
#include "kiln/targets/vta/config/config.h"
#include "kiln/targets/vta/isa/program_vector.h"

namespace kiln::vta {

// Returns the top module, kiln_accelerator. Its ports are clock, reset, the AXI4 master `memory`,
// the AXI4-Lite slave `control` and `irq`, and for testbenches `running` and `starts`.
hardware::TopModule TopOf(const Config& config);

// Returns the project of the machine with its testbench, without a program.
hardware::RtlProject MachineProject(const Config& config);

// Writes the project of the machine. Its build/simulate accepts programs
// (rtl/testbench/kiln_vta_testbench.cc); `make sim` runs one that consists of FINISH, or those that
// ARGUMENTS names. Errors: a folder that cannot be written; the SystemVerilog library is missing.
Status EmitMachine(const Config& config, const std::filesystem::path& folder);

// Returns the project with the vector's memory and launches, which `make sim` runs.
hardware::RtlProject ProjectOf(const ProgramVector& vector);

// Writes the project of ProjectOf.
Status EmitVta(const ProgramVector& vector, const std::filesystem::path& folder);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_EMIT_EMIT_H_
