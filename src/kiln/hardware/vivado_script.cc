// Writes Vivado's script of an emitted folder and the constraint of its clock.
//
// All words of the script that depend on the design are plain names (tool_names.h), which Tcl does
// not substitute.

#include <algorithm>
#include <string_view>

#include "fmt/format.h"
#include "kiln/hardware/design_package.h"

namespace kiln::hardware {
namespace {

// Returns `set NAME { ... }` with one word on a line.
std::string ListOf(std::string_view name, const std::vector<std::string>& words) {
  std::string out = fmt::format("set {} {{\n", name);
  for (const std::string& word : words) out += fmt::format("  {}\n", word);
  return out + "}\n";
}

// Returns Vivado's name of a bus' abstraction.
std::string_view AbstractionOf(const Bus& bus) {
  return BusKindOf(bus) == BusKind::kAxiStream ? "xilinx.com:interface:axis_rtl:1.0"
                                               : "xilinx.com:interface:aximm_rtl:1.0";
}

}  // namespace

std::string VivadoScript(const DesignPackage& package) {
  const TopModule& top = package.top;
  std::string out =
      "# Vivado's script of this folder, emitted by Kiln.\n"
      "#   vivado -mode batch -source vivado.tcl -tclargs synth PART\n"
      "#     synthesises the top out of context for a part, such as xc7z020clg400-1, and writes\n"
      "#     utilisation, timing and a checkpoint to build/\n"
      "#   vivado -mode batch -source vivado.tcl -tclargs package PART\n"
      "#     makes an IP for the block design in build/vivado_ip\n";
  out += fmt::format("set top {}\nset name {}\n", top.name, package.name);
  out += "# In the order in which tools can read them.\n" + ListOf("sources", package.sources);
  out += "# Contents of memories, which the sources open by these paths.\n" +
         ListOf("contents", package.contents);
  out += "# Each bus: its name, its abstraction, and its ports.\nset buses {\n";
  for (const Bus& bus : top.buses) {
    out += fmt::format("  {} {} {{\n", bus.name, AbstractionOf(bus));
    for (const Signal& signal : bus.signals)
      out += fmt::format("    {}_{}\n", bus.name, signal.name);
    out += "  }\n";
  }
  out += "}\n";
  const bool interrupt =
      std::ranges::find(top.ports, std::string_view("irq"), &Signal::name) != top.ports.end();
  out += fmt::format("set interrupts {{{}}}\n", interrupt ? "irq" : "");
  out += "# Buses with registers, and the bytes of their addresses.\nset registers {";
  for (const auto& [bus, map] : package.registers) out += fmt::format("{} 4096 ", bus);
  if (!package.registers.empty()) out.pop_back();
  out += "}\n";
  out += R"tcl(
if {[llength $argv] != 2 || [lindex $argv 0] ni {synth package}} {
  puts stderr "usage: vivado -mode batch -source vivado.tcl -tclargs synth|package PART"
  exit 2
}
lassign $argv action part
# Paths, including those of $readmemh, are relative to this folder.
cd [file dirname [file normalize [info script]]]
file mkdir build

if {$action eq "synth"} {
  read_verilog -sv $sources
  read_xdc design.xdc
  synth_design -top $top -part $part -mode out_of_context
  report_utilization -file build/vivado_utilization.txt
  report_timing_summary -file build/vivado_timing.txt
  write_checkpoint -force build/vivado_synth.dcp
} else {
  create_project -in_memory -part $part
  add_files -norecurse $sources
  if {[llength $contents] > 0} {
    add_files -norecurse $contents
    set_property file_type {Memory Initialization Files} [get_files $contents]
  }
  add_files -fileset constrs_1 -norecurse design.xdc
  set_property top $top [current_fileset]
  # Vivado writes a component.xml of its own format, so the IP has a folder of its own.
  ipx::package_project -root_dir build/vivado_ip -vendor kiln -library accelerators \
    -taxonomy /Kiln -import_files -force
  set core [ipx::current_core]
  set_property name $name $core
  set_property version 1.0 $core
  ipx::infer_bus_interface clock xilinx.com:signal:clock_rtl:1.0 $core
  ipx::infer_bus_interface reset xilinx.com:signal:reset_rtl:1.0 $core
  set polarity [ipx::add_bus_parameter POLARITY [ipx::get_bus_interfaces reset -of_objects $core]]
  set_property value ACTIVE_HIGH $polarity
  foreach interrupt $interrupts {
    ipx::infer_bus_interface $interrupt xilinx.com:signal:interrupt_rtl:1.0 $core
    set sensitivity [ipx::add_bus_parameter SENSITIVITY \
      [ipx::get_bus_interfaces $interrupt -of_objects $core]]
    set_property value LEVEL_HIGH $sensitivity
  }
  foreach {bus abstraction ports} $buses {
    ipx::infer_bus_interface $ports $abstraction $core
    ipx::associate_bus_interfaces -busif $bus -clock clock $core
  }
  ipx::associate_bus_interfaces -clock clock -reset reset $core
  foreach {bus bytes} $registers {
    # Vivado may have made a map when it found the bus.
    if {[llength [ipx::get_memory_maps $bus -of_objects $core]] == 0} {
      ipx::add_memory_map $bus $core
    }
    set interface [ipx::get_bus_interfaces $bus -of_objects $core]
    set_property slave_memory_map_ref $bus $interface
    set map [ipx::get_memory_maps $bus -of_objects $core]
    if {[llength [ipx::get_address_blocks -of_objects $map]] == 0} {
      ipx::add_address_block registers $map
    }
    set block [lindex [ipx::get_address_blocks -of_objects $map] 0]
    set_property range $bytes $block
    set_property width 32 $block
    set_property usage register $block
  }
  ipx::create_xgui_files $core
  ipx::update_checksums $core
  ipx::save_core $core
}
)tcl";
  return out;
}

std::string ClockConstraint(const DesignPackage& package) {
  const bool stated = package.clock_mhz > 0;
  const double mhz = stated ? package.clock_mhz : kDefaultClockMhz;
  return fmt::format(
      "# The clock of {}, emitted by Kiln: {} MHz.\n# {}.\n"
      "create_clock -name clock -period {:.3f} [get_ports clock]\n",
      package.top.name, mhz,
      stated ? "The design point states this frequency"
             : "The design point states no clock; this frequency is a starting point",
      1000 / mhz);
}

}  // namespace kiln::hardware
