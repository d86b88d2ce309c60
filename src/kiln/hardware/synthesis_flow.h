// The passes of synthesis as commands of Yosys: one place for `kiln synth` and for the script that emitted designs have
// for `make synth`. Files are named relative to the folder that Yosys runs in; all names that come from outside have
// been checked (hardware/tool_names.h).
#ifndef KILN_HARDWARE_SYNTHESIS_FLOW_H_
#define KILN_HARDWARE_SYNTHESIS_FLOW_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln::hardware {

// The module of rtl/ that all memories are instances of.
inline constexpr std::string_view kMemoryModule = "kiln_ram_1w";

// Reads SystemVerilog. Functions of C that a source imports are not called.
std::string ReadCommands(const std::vector<std::string>& files);

// From sources to registers and operators of `top`.
struct Elaboration {
  std::vector<std::string> files;    // packages first
  std::vector<std::string> folders;  // where other modules are, <module>.sv
  std::vector<std::pair<std::string, std::string>> parameters;  // of the top
  std::string top;
};
std::string ElaborateCommands(const Elaboration& elaboration);

// For standard cells; the clock's period in ns.
struct CellMapping {
  std::string liberty, constraints;
  double period_ns = 0;
};
// For an FPGA.
struct FpgaMapping {
  std::string family;  // as synth_xilinx names it
  std::string
      cells;  // its cells as FpgaCells() leaves them: reading that takes a sixth of the time that their sources do
};
std::string FpgaCells(const std::string& file);
// The commands that make cells of kPartModule (hardware/synthesis_parts.h). `is_top`: the whole design's top, which on
// an FPGA has pads.
std::string CellCommands(const CellMapping& mapping, bool large);
std::string FpgaCommands(const FpgaMapping& mapping, bool large, bool is_top);

// The whole script of `make synth` in an emitted design's folder: generic gates, module by module, with memories as
// black boxes. Writes build/synth.txt (cells of the modules and of the whole) and, where there are memories,
// build/memories.txt (their bits).
std::string ProjectScript(const std::vector<std::string>& files, const std::string& top);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_SYNTHESIS_FLOW_H_
