// Writes Verilog modules for what a netlist of standard cells leaves open.

#include "kiln/hardware/netlist_models.h"

#include <absl/strings/str_replace.h>

#include <set>

#include "fmt/format.h"
#include "kiln/hardware/synthesis_flow.h"

namespace kiln::hardware {
namespace {

// Returns a constant of RTLIL in Verilog: 8 is 8, and 4'0110 is 4'b0110.
std::string VerilogConstant(const std::string& constant) {
  const size_t quote = constant.find('\'');
  if (quote == std::string::npos) return constant;
  return constant.substr(0, quote) + "'b" + constant.substr(quote + 1);
}

}  // namespace

std::string CellModelCommands(const std::string& liberty, const std::string& models) {
  return fmt::format("read_liberty -ignore_miss_func {}\nwrite_verilog -noattr {}\n", liberty,
                     models);
}

std::string ExpressionCommands(const std::string& liberty, const std::string& top,
                               const std::string& expressions) {
  // Flattening makes nets of the cells' ports, such as _12_.A, whose names are hidden.
  return fmt::format(
      "read_verilog {}\nsetattr -mod -set keep_hierarchy 1 *\nread_verilog -lib {}\n"
      "read_liberty {}\nhierarchy -top {}\nflatten\nrename -hide w:_*_.*\nclean\n"
      "splitnets -ports * {} %d\nclean\nwrite_verilog -noattr {}\n",
      kNetlist, kMemoryModels, liberty, top, top, expressions);
}

std::string MemoryModel(const RtlilModule& memory, const std::string& name) {
  if (name == kMemoryModule) return "";
  std::string ports, connections, parameters;
  for (const std::string& line : memory.ports) {
    const RtlilPort port = PortOf(line);
    const std::string range = port.width > 1 ? fmt::format(" [{}:0]", port.width - 1) : "";
    ports += fmt::format("{}\n    {} wire{} {}", ports.empty() ? "" : ",",
                         port.input ? "input" : "output", range, port.name);
    connections += fmt::format("{0}\n      .{1}({1})", connections.empty() ? "" : ",", port.name);
  }
  for (const auto& [parameter, value] : memory.parameters) {
    parameters += fmt::format("{}\n      .{}({})", parameters.empty() ? "" : ",", parameter,
                              VerilogConstant(value));
  }
  return fmt::format("module \\{} ({}\n);\n  {} #({}\n  ) memory ({}\n  );\nendmodule\n", name,
                     ports, kMemoryModule, parameters, connections);
}

std::string MemoryLibrary(const std::vector<MemoryMacro>& memories) {
  std::string cells;
  std::set<int> widths;  // of buses
  for (const MemoryMacro& memory : memories) {
    // A backslash in a string of Liberty is two.
    const std::string name = absl::StrReplaceAll(memory.name, {{"\\", "\\\\"}});
    cells += fmt::format("  cell (\"{}\") {{\n    area : 0;\n", name);
    for (const std::string& line : memory.module->ports) {
      const RtlilPort port = PortOf(line);
      if (port.width > 1) widths.insert(port.width);
      const std::string head =
          port.width > 1 ? fmt::format("bus ({}) {{ bus_type : bits{};", port.name, port.width)
                         : fmt::format("pin ({}) {{", port.name);
      if (port.name == "clock") {
        cells += fmt::format("    {} direction : input; clock : true; capacitance : {}; }}\n", head,
                             kMemoryInputPf);
      } else if (port.input) {
        cells += fmt::format(
            "    {0} direction : input; capacitance : {1};\n"
            "      timing () {{ related_pin : \"clock\"; timing_type : setup_rising;\n"
            "        rise_constraint (scalar) {{ values (\"{2}\"); }}\n"
            "        fall_constraint (scalar) {{ values (\"{2}\"); }} }} }}\n",
            head, kMemoryInputPf, kMemorySetupNs);
      } else {
        cells += fmt::format(
            "    {} direction : output;\n"
            "      timing () {{ related_pin : \"clock\"; timing_type : rising_edge;\n",
            head);
        for (const char* edge : {"rise", "fall"}) {
          cells += fmt::format(
              "        cell_{0} (load) {{ values (\"{1:.6g}, {2:.6g}\"); }}\n"
              "        {0}_transition (load) {{ values (\"{3:.6g}, {4:.6g}\"); }}\n",
              edge, memory.access_ns, memory.access_ns + kMemoryDriveNsPerPf, kMemorySlewNs,
              kMemorySlewNs + kMemorySlewNsPerPf);
        }
        cells += "      } }\n";
      }
    }
    cells += "  }\n";
  }
  std::string types;
  for (const int width : widths) {
    types += fmt::format(
        "  type (bits{0}) {{ base_type : array; data_type : bit; bit_width : {0}; "
        "bit_from : {1}; bit_to : 0; }}\n",
        width, width - 1);
  }
  return fmt::format(
      R"(library (memories) {{
  delay_model : table_lookup;
  time_unit : "1ns";
  voltage_unit : "1V";
  current_unit : "1mA";
  pulling_resistance_unit : "1kohm";
  leakage_power_unit : "1nW";
  capacitive_load_unit (1, pf);
  input_threshold_pct_rise : 50;
  input_threshold_pct_fall : 50;
  output_threshold_pct_rise : 50;
  output_threshold_pct_fall : 50;
  slew_lower_threshold_pct_rise : 20;
  slew_lower_threshold_pct_fall : 20;
  slew_upper_threshold_pct_rise : 80;
  slew_upper_threshold_pct_fall : 80;
  lu_table_template (load) {{ variable_1 : total_output_net_capacitance; index_1 ("0, 1"); }}
{}{}}}
)",
      types, cells);
}

}  // namespace kiln::hardware
