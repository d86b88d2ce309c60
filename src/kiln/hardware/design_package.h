// Files that describe an emitted folder to other tools: a FuseSoC core, an IP-XACT component, and a
// Vivado script with its clock constraint. All of them are written from one description, which also
// gives the folder its README and its list of sources.
//
// Names of files, of the top and of its ports become part of scripts, so they are checked
// (tool_names.h); free text is quoted as the format demands.
#ifndef KILN_HARDWARE_DESIGN_PACKAGE_H_
#define KILN_HARDWARE_DESIGN_PACKAGE_H_

#include <string>
#include <utility>
#include <vector>

#include "kiln/hardware/register_map.h"
#include "kiln/hardware/top_module.h"
#include "kiln/support/status.h"

namespace kiln::hardware {

// The clock of the constraint if a design point states none, in MHz.
inline constexpr double kDefaultClockMhz = 100;

// The names of the files.
inline constexpr char kCoreFile[] = "design.core", kComponentFile[] = "component.xml",
                      kVivadoScript[] = "vivado.tcl", kConstraints[] = "design.xdc";

// What the files say. Paths are relative to the folder.
struct DesignPackage {
  std::string name;   // an identifier, for a library of cores
  std::string title;  // one line for readers
  TopModule top;
  std::vector<std::string> sources;   // SystemVerilog, in the order in which tools read it
  std::vector<std::string> contents;  // files that the sources open with $readmemh
  std::vector<std::string> data;      // further files that the simulation opens
  std::vector<std::string> programs;  // C++ of the simulation; the main program is the first
  std::vector<std::string> headers;   // of these programs
  std::string simulation_arguments;   // words without blanks, quotes or backslashes
  // Of AXI4-Lite buses, by the name of the bus.
  std::vector<std::pair<std::string, RegisterMap>> registers;
  double clock_mhz = 0;  // 0: the design point states none
};

// Returns the files with their names. Error: a name or a path that is not plain.
StatusOr<std::vector<std::pair<std::string, std::string>>> PackageFiles(
    const DesignPackage& package);

// Returns the name of the core for FuseSoC: "kiln:accelerators:NAME:1.0.0".
std::string CoreNameOf(const DesignPackage& package);

// Return the text of one file each. The names in the package must be plain.
//
// FuseSoC (CAPI2): filesets with the sources in order, contents of memories, waivers, constraints,
// testbench and data, and the targets default, lint and sim (Verilator) and synth (Vivado).
std::string FuseSocCore(const DesignPackage& package);
// IEEE 1685-2014: bus interfaces with their port maps, memory maps of the registers, ports, file
// sets, the parameters of the top, and those of the machine as fixed values. AXI buses refer to
// ARM's definitions (amba.com:AMBA4); clock, reset and interrupt refer to Xilinx'
// (xilinx.com:signal).
std::string IpXactComponent(const DesignPackage& package);
// Tcl for Vivado: `synth PART` synthesises out of context, `package PART` makes an IP in build/.
std::string VivadoScript(const DesignPackage& package);
// The clock for synthesis, in Xilinx' subset of SDC.
std::string ClockConstraint(const DesignPackage& package);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_DESIGN_PACKAGE_H_
