// The models with which a netlist of standard cells is simulated. Cells have the functions that the
// Liberty file states. They were chosen by the same file, and Verilator does not read the
// user-defined primitives in the Verilog models of libraries such as OSU's. Memories are those of
// rtl/ (kMemoryModule), because they are not mapped.
#ifndef KILN_HARDWARE_NETLIST_MODELS_H_
#define KILN_HARDWARE_NETLIST_MODELS_H_

#include <string>
#include <vector>

#include "kiln/hardware/rtlil.h"

namespace kiln::hardware {

// The files of the netlist, of the cells' Liberty file, and of the models beside it.
inline constexpr char kNetlist[] = "netlist.v", kCellLibrary[] = "cells.lib",
                      kCellModels[] = "cells.v", kMemoryModels[] = "memories.v";

// Returns Yosys commands that write a Verilog module for each cell of a Liberty file whose outputs
// have functions. (Cells that keep state by a `statetable` have none.)
std::string CellModelCommands(const std::string& liberty, const std::string& models);

// Returns Yosys commands that read the netlist (kNetlist) of `top` and its memories (kMemoryModels)
// and write it to the file `expressions` with each cell as the expressions of its functions, or as
// a register, and with each bit as a net or port of its own, those of the top excepted. Modules
// remain, and so do the names of nets. Verilator needs a multiple of the time and memory for
// instances of cells, and takes the bits of a vector that depend on each other for a loop.
std::string ExpressionCommands(const std::string& liberty, const std::string& top,
                               const std::string& expressions);

// Returns a Verilog module with the name that a memory has in the netlist (`name`, as in
// RtlilDesign) and its ports: the module kMemoryModule of rtl/ with the parameters of `memory`.
// Returns "" if the name is kMemoryModule itself.
std::string MemoryModel(const RtlilModule& memory, const std::string& name);

// The timing of a memory, which synthesis does not map.
struct MemoryMacro {
  std::string name;  // in the netlist, as in RtlilDesign
  const RtlilModule* module = nullptr;
  double access_ns = 0;  // from the clock to the data, without load
};
// The rest is the same for all memories, of the size that it has in 0.18 um cells: inputs must be
// stable for as long before the clock as those of a flip-flop, and load their driver as an inverter
// does; outputs have the resistance of a buffer four times as strong as the smallest.
inline constexpr double kMemorySetupNs = 0.2, kMemoryInputPf = 0.01, kMemoryDriveNsPerPf = 0.45,
                        kMemorySlewNs = 0.05, kMemorySlewNsPerPf = 0.55;
// Returns a Liberty file with a cell for each of these memories.
std::string MemoryLibrary(const std::vector<MemoryMacro>& memories);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_NETLIST_MODELS_H_
