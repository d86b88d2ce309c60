// Emits the hardware of a design point, and a program for it, as a self-contained folder of
// SystemVerilog (hardware/rtl_project.h): the modules of rtl/systolic under a top module with the
// design point's parameters, the memory image with constants and programs, and a testbench.
#ifndef KILN_TARGETS_SYSTOLIC_EMIT_EMIT_H_
#define KILN_TARGETS_SYSTOLIC_EMIT_EMIT_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "kiln/hardware/rtl_project.h"
#include "kiln/hardware/sample_run.h"
#include "kiln/hardware/top_module.h"
#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/systolic/config/config.h"
#include "kiln/targets/systolic/isa/program.h"

namespace kiln::systolic {

// Returns the key of a design point that the RTL does not support, and the reason; nullopt if it
// supports the design point.
std::optional<FormatFault> FindRtlFault(const Config& config);

// Returns the top module, kiln_accelerator. Its ports are clock, reset, the AXI4 buses
// program, input, weight, operand (read) and output (write), the AXI4-Lite bus control, and the
// interrupt; `running` and `finished` are for testbenches.
hardware::TopModule TopOf(const Config& config);

// Return the machine with its testbench, without a program and with one. Errors: UnsupportedAt if
// the RTL lacks something; a program without instructions.
StatusOr<hardware::RtlProject> MachineProject(const Config& config);
StatusOr<hardware::RtlProject> DesignProject(const SystolicProgram& program);

// Writes the folder without a program; each run of the simulation then provides its own program
// (simulation.h). Errors: those of EmitDesign.
Status EmitMachine(const Config& config, const std::filesystem::path& folder);

// Writes the folder. Files whose content would not change are left untouched. Errors: UnsupportedAt
// if the RTL lacks something; a folder that cannot be written.
//   content  the names and figures for the README
//   sample   the steps of `make sim` on the program's memory image; may be empty
Status EmitDesign(const SystolicProgram& program, const FolderContent& content,
                  const hardware::SampleRun& sample, const std::filesystem::path& folder);

// Returns where a binding's codes are: one tensor, and another one for block scales, if it has any.
std::vector<hardware::PlacedTensor> PlacesOf(const Binding& binding);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_EMIT_EMIT_H_
