// The hardware of a design point, and a program for it, as a folder of SystemVerilog that stands by itself
// (hardware/rtl_project.h): the modules of rtl/systolic under a top that gives them the design point's parameters, the
// memory image with constants and programs, a testbench.
#ifndef KILN_TARGETS_SYSTOLIC_EMIT_H_
#define KILN_TARGETS_SYSTOLIC_EMIT_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/systolic/config.h"
#include "kiln/targets/systolic/program.h"

namespace kiln::systolic {

// What of a design point the RTL has not: its key and why; nullopt where it has everything.
std::optional<FormatFault> FindRtlFault(const Config& config);

// The top module, kiln_accelerator: ports clock, reset, AXI4 buses program, input, weight, operand (read) and output
// (write), the AXI4-Lite bus control, interrupt; running and finished for testbenches.
std::string TopModule(const Config& config);

// Where the programs of a network stand in memory, behind everything else: one for each step of kind kInstructions, in
// order.
struct ProgramImage {
  uint64_t base = 0;                // address of bytes[0]
  std::vector<uint8_t> bytes;       // the encoded instructions of all those steps
  std::vector<uint64_t> addresses;  // where each begins
  uint64_t memory_bytes = 0;        // memory that the machine needs, programs included
};
ProgramImage ProgramImageOf(const SystolicProgram& program);

// Writes the folder without a program: what is simulated is said when it is run (simulation.h). Errors as EmitDesign's.
Status EmitMachine(const Config& config, const std::filesystem::path& folder);

// Writes the folder. What it finds there is left as it is where it would not change. Errors: UnsupportedAt where the
// RTL lacks something; a folder that cannot be written.
Status EmitDesign(const SystolicProgram& program, const std::filesystem::path& folder);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_EMIT_H_
