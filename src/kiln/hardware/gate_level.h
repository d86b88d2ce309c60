// The gate level: a design is simulated as the netlist of standard cells that `kiln synth` maps.
// Verilator reads the netlist in place of the sources, with the same testbench, so that Yosys and
// Verilator are held to one meaning of the sources.
#ifndef KILN_HARDWARE_GATE_LEVEL_H_
#define KILN_HARDWARE_GATE_LEVEL_H_

#include <filesystem>

#include "kiln/hardware/netlist_kind.h"
#include "kiln/hardware/simulation_cache.h"
#include "kiln/hardware/synthesis.h"
#include "kiln/support/status.h"

namespace kiln::hardware {

// Returns the sources of a simulation (rtl_project.h) with the netlist in place of the design's
// modules: the cells are expressions with the functions of the Liberty file, and memories
// (kiln_ram_1w) remain modules of rtl/ (netlist_models.h). The netlist has no assertions. Registers
// without a reset begin with random contents, as those of the sources do. `clock_gating` is
// SynthesisOptions::clock_gating.
//
// Takes seconds for a unit and minutes for a machine. Errors: those of Synthesise.
StatusOr<SimulationSources> NetlistSources(const SimulationSources& sources,
                                           bool clock_gating = false,
                                           const std::filesystem::path& liberty = DefaultLiberty());

// Returns NetlistSources of the default library as a step of SimulationCache; `kind` is not kNone.
// Error: the library is not installed.
StatusOr<Preparation> GateLevel(NetlistKind kind);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_GATE_LEVEL_H_
