// The steps of synthesis as Yosys commands, shared by `kiln synth` and by the script that emitted
// designs contain for `make synth`. File names are relative to the folder in which Yosys runs. All
// names from outside have been checked (hardware/tool_names.h).
#ifndef KILN_HARDWARE_SYNTHESIS_FLOW_H_
#define KILN_HARDWARE_SYNTHESIS_FLOW_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/hardware/liberty.h"

namespace kiln::hardware {

// The module of rtl/ that implements all memories.
inline constexpr std::string_view kMemoryModule = "kiln_ram_1w";

// Returns commands that read SystemVerilog. Imported C functions are not called.
std::string ReadCommands(const std::vector<std::string>& files);

// The input of elaboration.
struct Elaboration {
  std::vector<std::string> files;    // packages first
  std::vector<std::string> folders;  // searched for other modules, as <module>.sv
  std::vector<std::pair<std::string, std::string>> parameters;  // parameters of the top
  std::string top;
};
// Returns commands that elaborate the sources to registers and operators of the top.
std::string ElaborateCommands(const Elaboration& elaboration);

// The target of mapping to standard cells.
struct CellMapping {
  std::string liberty, constraints;  // file names
  double period_ns = 0;              // clock period
  // Whether the clock comes before the area: the part has a path that is too long for the clock.
  bool for_speed = false;
  const ClockGate* clock_gate = nullptr;  // with the files of ClockGateFiles; null: no clock gates
};

// Registers of fewer bits keep a multiplexer for each bit: a clock gate is as large as two of them.
inline constexpr int kLeastGatedBits = 3;
// The files that CellCommands needs to gate clocks, and their contents in Verilog.
inline constexpr const char *kClockGateCells = "clock_gate_cells.v",
                            *kClockGateMap = "clock_gate_map.v";
struct ClockGateFiles {
  std::string cells;  // the cells as black boxes
  // A map from registers of the rising edge with an enable to registers with a gated clock. A
  // synchronous reset opens the gate, too, if it does not depend on the enable. Registers with an
  // asynchronous reset are not changed.
  std::string map;
};
ClockGateFiles FilesOf(const ClockGate& gate);

// The target of mapping to an FPGA.
struct FpgaMapping {
  std::string family;  // as synth_xilinx names it
  // The file with its cells that FpgaCells() writes, which is read six times faster than their
  // sources.
  std::string cells;
};
// Returns commands that write the cells of Xilinx FPGAs to a file.
std::string FpgaCells(const std::string& file);
// Return commands that map kPartModule (hardware/synthesis_parts.h) to cells. `large`: see
// Boundaries. `is_top`: the part is the top of the whole design, which has pads on an FPGA.
std::string CellCommands(const CellMapping& mapping, bool large);
std::string FpgaCommands(const FpgaMapping& mapping, bool large, bool is_top);
// The same for all modules of a design without a top, none of them large.
std::string FpgaCommands(const FpgaMapping& mapping);

// Returns the script of `make synth` in an emitted design's folder: maps to generic gates module by
// module, with memories as black boxes. Writes build/synth.txt (cells per module and in total) and,
// if there are memories, build/memories.txt (their bits).
std::string ProjectScript(const std::vector<std::string>& files, const std::string& top);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_SYNTHESIS_FLOW_H_
