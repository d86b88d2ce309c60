// The Yosys commands of each step of synthesis.

#include "kiln/hardware/synthesis_flow.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <initializer_list>

#include "fmt/format.h"
#include "kiln/hardware/synthesis_parts.h"

namespace kiln::hardware {
namespace {

// Returns an ABC command. ABC's default script searches for equivalent nodes with a SAT solver,
// which takes hours on large arithmetic; `quick` replaces it there.
std::string Abc(const std::string& command, const std::string& quick, bool large) {
  return large ? fmt::format("{} -script +{}\n", command, quick) : command + "\n";
}

// Returns ABC's steps for a part that is too slow for the clock. Its default script minimises the
// area of the logic, which makes long chains of carries, and inserts buffers one behind the other.
// These steps balance the logic's depth instead, buffer inputs too, and ask for three times the
// clock, so that cells are chosen for speed.
std::string AbcForSpeed(const CellMapping& mapping, bool large) {
  const auto picoseconds = static_cast<int64_t>(mapping.period_ns * 1e3 / 3);
  return fmt::format(
      "abc -liberty {} -constr {} -D {} -script +strash;{}dc2;strash;if,-g,-K,6;strash;{}map,-B,"
      "0.9,{{D}};topo;buffer,-c,-p;topo;upsize,{{D}};dnsize,{{D}}\n",
      mapping.liberty, mapping.constraints, picoseconds, large ? "" : "ifraig;scorr;",
      large ? "" : "dch,-f;");
}

// Returns the commands that convert operators to gates; `options` are further ones of `synth`.
//
// By default Yosys merges a product and its addends into one carry-save sum, and extends every
// partial product to the width of the sum. An int8 product in an int32 sum is then 40 % larger than
// the product and an adder. Products are therefore converted first.
//
// Yosys' `share` is omitted: it searches for exclusive conditions with a SAT solver, found nothing
// to share in any processing element, and does not terminate on modules with several rounders.
std::string GateCommands(std::string_view top, bool flatten, std::string_view options = "") {
  return fmt::format(
      "{}opt_expr\nopt_clean\nwreduce t:$mul\nalumacc t:$mul\n"
      "synth {}-noshare -top {}{}\n",
      flatten ? "flatten\n" : "", flatten ? "-flatten " : "", top, options);
}

// Returns the same commands for a flat part with gated clocks. Registers are still whole words with
// an enable each where synth's step `fine` begins, once memories have become registers and the last
// enables have been found. Inverters of the clock are merged first, then latches with the same
// enable, then gates.
std::string GatedCommands(const ClockGate& gate) {
  return fmt::format(
      "{}opt -fast -full\nmemory_map\nopt -full\n"
      "read_verilog -lib {}\ntechmap -map {}\nopt_merge\n{}opt_merge -share_all t:{}\nopt_clean\n"
      "synth -noshare -top {} -run fine:\n",
      GateCommands(kPartModule, /*flatten=*/true, " -run begin:fine"), kClockGateCells,
      kClockGateMap,
      gate.latch.empty() ? "" : fmt::format("opt_merge -share_all t:{}\n", gate.latch), gate.gate,
      kPartModule);
}

// Returns the commands of synth_xilinx without `share` and with the ABC commands above. `top` is
// the option that names the top module, or "" for a design without one.
std::string FpgaSteps(const FpgaMapping& mapping, bool large, bool pads, const std::string& top) {
  const std::string synthesis = fmt::format("synth_xilinx -family {} -flatten{}{} -run ",
                                            mapping.family, pads ? "" : " -noiopad -noclkbuf", top);
  return fmt::format("read_rtlil {}\nhierarchy -check{}\n", mapping.cells, top) + synthesis +
         "prepare:coarse\n"
         "techmap -map +/cmp2lut.v -map +/cmp2lcu.v -D LUT_WIDTH=6\nalumacc\nopt\nmemory "
         "-nomap\nopt_clean\n" +
         synthesis + "map_memory:map_luts\nopt_expr -mux_undef -noclkinv\n" +
         Abc("abc -luts 2:2,3,6:5,10,20", "strash;dc2;strash;if", large) +
         "clean\ntechmap -map +/xilinx/ff_map.v\nxilinx_srl -fixed -minlen 3\n"
         "techmap -map +/xilinx/lut_map.v -map +/xilinx/cells_map.v -D LUT_WIDTH=6\nxilinx_dffopt\n"
         "opt_lut_ins -tech xilinx\n" +
         synthesis + "finalize:edif\n";
}

}  // namespace

std::string ReadCommands(const std::vector<std::string>& files) {
  std::string commands;
  for (const std::string& file : files)
    commands += fmt::format("read_verilog -nodpi -sv {}\n", file);
  return commands;
}

std::string ElaborateCommands(const Elaboration& elaboration) {
  std::string commands = ReadCommands(elaboration.files);
  if (!elaboration.parameters.empty()) {
    commands += "chparam";
    for (const auto& [name, value] : elaboration.parameters)
      commands += fmt::format(" -set {} {}", name, value);
    commands += fmt::format(" {}\n", elaboration.top);
  }
  commands += "hierarchy -check";
  for (const std::string& folder : elaboration.folders)
    commands += fmt::format(" -libdir {}", folder);
  return commands + fmt::format(" -top {0}\nrename -top {0}\nproc\nopt_clean\n", elaboration.top);
}

std::string CellCommands(const CellMapping& mapping, bool large) {
  const std::string gates =
      fmt::format("hierarchy -check -top {}\n{}dfflibmap -liberty {}\n", kPartModule,
                  mapping.clock_gate != nullptr ? GatedCommands(*mapping.clock_gate)
                                                : GateCommands(kPartModule, /*flatten=*/true),
                  mapping.liberty);
  if (mapping.for_speed) return gates + AbcForSpeed(mapping, large);
  const std::string abc =
      fmt::format("abc -liberty {} -constr {} -D {}", mapping.liberty, mapping.constraints,
                  static_cast<int64_t>(mapping.period_ns * 1e3));
  return gates + Abc(abc, "strash;dc2;&get,-n;&nf,{D};&put;buffer;upsize,{D};dnsize,{D}", large);
}

ClockGateFiles FilesOf(const ClockGate& gate) {
  // Names are escaped, because a name of Liberty may be a keyword of Verilog.
  const auto box = [](const std::string& cell, std::initializer_list<std::string> inputs,
                      const std::string& output) {
    std::string ports;
    for (const std::string& input : inputs) {
      if (!input.empty()) ports += fmt::format("input \\{} , ", input);
    }
    return fmt::format("(* blackbox *) module \\{} ({}output \\{} ); endmodule\n", cell, ports,
                       output);
  };
  ClockGateFiles files;
  files.cells =
      box(gate.gate, {gate.gate_clock, gate.gate_enable, gate.gate_test}, gate.gate_output);
  std::string cells;
  if (!gate.latch.empty()) {
    files.cells += box(gate.latch, {gate.latch_data, gate.latch_enable}, gate.latch_output);
    cells = fmt::format("  \\{} latch (.\\{} ({}CLK), .\\{} (open), .\\{} (held));\n", gate.latch,
                        gate.latch_enable, gate.latch_is_transparent_low ? "" : "~",
                        gate.latch_data, gate.latch_output);
  } else {
    cells = "  assign held = open;\n";
  }
  cells += fmt::format("  \\{} gate (.\\{} (CLK), .\\{} (held), {}.\\{} (gated));\n", gate.gate,
                       gate.gate_clock, gate.gate_enable,
                       gate.gate_test.empty() ? "" : fmt::format(".\\{} (1'b0), ", gate.gate_test),
                       gate.gate_output);
  files.map = fmt::format(
      R"((* techmap_celltype = "$dffe $sdffe $sdffce" *)
module gated_register (CLK, EN, SRST, D, Q);
  parameter _TECHMAP_CELLTYPE_ = "";
  parameter WIDTH = 1, SRST_VALUE = 0;
  parameter CLK_POLARITY = 1'b1, EN_POLARITY = 1'b1, SRST_POLARITY = 1'b1;
  input CLK, EN, SRST;
  input [WIDTH-1:0] D;
  output [WIDTH-1:0] Q;
  wire _TECHMAP_FAIL_ = WIDTH < {} || !CLK_POLARITY;
  wire enable = EN_POLARITY ? EN : ~EN, reset = SRST_POLARITY ? SRST : ~SRST;
  wire open = _TECHMAP_CELLTYPE_ == "$sdffe" ? enable | reset : enable;
  wire held, gated;
{}  generate
    if (_TECHMAP_CELLTYPE_ == "$dffe") begin
      \$dff #(.WIDTH(WIDTH), .CLK_POLARITY(1'b1)) register (.CLK(gated), .D(D), .Q(Q));
    end else begin
      \$sdff #(.WIDTH(WIDTH), .CLK_POLARITY(1'b1), .SRST_POLARITY(1'b1), .SRST_VALUE(SRST_VALUE))
          register (.CLK(gated), .SRST(reset), .D(D), .Q(Q));
    end
  endgenerate
endmodule
)",
      kLeastGatedBits, cells);
  return files;
}

std::string FpgaCells(const std::string& file) {
  return fmt::format(
      "read_verilog -lib -specify +/xilinx/cells_sim.v\nread_verilog -lib "
      "+/xilinx/cells_xtra.v\nwrite_rtlil {}\n",
      file);
}

std::string FpgaCommands(const FpgaMapping& mapping, bool large, bool is_top) {
  return FpgaSteps(mapping, large, /*pads=*/is_top, fmt::format(" -top {}", kPartModule));
}

std::string FpgaCommands(const FpgaMapping& mapping) {
  return FpgaSteps(mapping, /*large=*/false, /*pads=*/false, "");
}

std::string ProjectScript(const std::vector<std::string>& files, const std::string& top) {
  std::string script =
      "# Generic gates of this design, module by module: its structure. `kiln synth` runs the same "
      "passes with a cell\n"
      "# library or for an FPGA, and times the result. Run in this folder; Kiln wrote it with the "
      "design.\n";
  script += ElaborateCommands({.files = files, .folders = {}, .parameters = {}, .top = top});
  const bool has_memories = std::ranges::any_of(files, [](const std::string& file) {
    return std::filesystem::path(file).stem() == kMemoryModule;
  });
  if (has_memories) {
    script +=
        fmt::format("tee -q -o build/memories.txt stat *{0}*\nblackbox *{0}*\n", kMemoryModule);
  }
  return script + GateCommands(top, /*flatten=*/false) + "tee -q -o build/synth.txt stat\n";
}

}  // namespace kiln::hardware
