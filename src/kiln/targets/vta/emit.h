// The hardware of a design point as a folder of SystemVerilog that stands by itself (hardware/rtl_project.h): the
// modules of rtl/vta under a top that gives them the design point's parameters, a testbench, and programs for it.
#ifndef KILN_TARGETS_VTA_EMIT_H_
#define KILN_TARGETS_VTA_EMIT_H_

#include <filesystem>
#include <string>

#include "kiln/support/status.h"
#include "kiln/targets/vta/config.h"
#include "kiln/targets/vta/program_vector.h"

namespace kiln::vta {

// The top module, kiln_accelerator: ports clock, reset, the AXI4 master memory, the AXI4-Lite slave control, irq;
// running and starts for testbenches.
std::string TopModule(const Config& config);

// Writes the machine: build/simulate then takes programs (rtl/testbench/kiln_vta_testbench.cc); `make sim` runs one
// that only finishes, and others by its ARGUMENTS. Errors: a folder that cannot be written; no SystemVerilog library.
Status EmitMachine(const Config& config, const std::filesystem::path& folder);

// The same with the vector's memory and launches, which `make sim` runs.
Status EmitVta(const ProgramVector& vector, const std::filesystem::path& folder);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_EMIT_H_
