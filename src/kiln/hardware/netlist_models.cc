// Writes Verilog modules for what a netlist of standard cells leaves open.

#include "kiln/hardware/netlist_models.h"

#include <cstdlib>
#include <sstream>
#include <string_view>

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
  return fmt::format("read_liberty {}\nwrite_verilog -noattr {}\n", liberty, models);
}

std::string MemoryModel(const RtlilModule& memory, const std::string& name) {
  if (name == kMemoryModule) return "";
  std::string ports, connections, parameters;
  for (const std::string& line : memory.ports) {
    std::istringstream words(line);
    std::string direction, range;
    for (std::string word; words >> word;) {
      if (word == "width") {
        words >> word;
        range = fmt::format(" [{}:0]", std::atoi(word.c_str()) - 1);
      } else if (word == "input" || word == "output") {
        direction = word;
      }
    }
    const std::string port = line.substr(line.rfind(' ') + 2);  // without the backslash
    ports += fmt::format("{}\n    {} wire{} {}", ports.empty() ? "" : ",", direction, range, port);
    connections += fmt::format("{0}\n      .{1}({1})", connections.empty() ? "" : ",", port);
  }
  for (const auto& [parameter, value] : memory.parameters) {
    parameters += fmt::format("{}\n      .{}({})", parameters.empty() ? "" : ",", parameter,
                              VerilogConstant(value));
  }
  return fmt::format("module \\{} ({}\n);\n  {} #({}\n  ) memory ({}\n  );\nendmodule\n", name,
                     ports, kMemoryModule, parameters, connections);
}

}  // namespace kiln::hardware
