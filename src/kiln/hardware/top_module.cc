// Prints the SystemVerilog text of top modules.

#include "kiln/hardware/top_module.h"

#include "fmt/format.h"

namespace kiln::hardware {
namespace {

// Returns a declaration such as "logic [7:0] NAME".
std::string DeclarationOf(const Signal& signal, const std::string& bus) {
  return fmt::format("logic{} {}{}{}",
                     signal.bits == 1 ? "" : fmt::format(" [{}:0]", signal.bits - 1), bus,
                     bus.empty() ? "" : "_", signal.name);
}

std::string PortOf(const Signal& signal, const std::string& bus) {
  return fmt::format("{} {}", signal.output ? "output" : "input ", DeclarationOf(signal, bus));
}

std::string TextOf(const Instance& instance) {
  std::string out = "  " + instance.module;
  if (!instance.parameters.empty()) {
    out += " #(\n";
    for (const RtlParameter& parameter : instance.parameters) {
      out += fmt::format("      .{}({}){}\n", parameter.name, parameter.value,
                         &parameter == &instance.parameters.back() ? "" : ",");
    }
    out += "  )";
  }
  out += " " + instance.name + " (";
  if (instance.connections.empty()) return out + ".*);\n";
  for (const auto& [port, expression] : instance.connections) {
    out += fmt::format("\n      .{}({}),", port, expression);
  }
  return out + "\n      .*\n  );\n";
}

}  // namespace

void TieOff(const Bus& bus, Instance* instance) {
  for (const Signal& signal : bus.signals) {
    instance->connections.emplace_back(fmt::format("{}_{}", bus.name, signal.name),
                                       signal.output ? "" : "'0");
  }
}

std::string SystemVerilogOf(const TopModule& top) {
  std::string attributes;
  for (const Bus& bus : top.buses) {
    for (const AxiAttribute& attribute : AttributesOf(bus)) {
      if (FindSignal(bus, attribute.signal.name) == nullptr) continue;
      attributes += fmt::format("  assign {}_{} = {};\n", bus.name, attribute.signal.name,
                                attribute.parameter);
    }
  }
  std::string out = fmt::format("// {}\nmodule {} ", top.comment, top.name);
  if (!attributes.empty()) {
    out +=
        "#(\n"
        "    parameter logic [2:0] AXI_PROT = 3'b000,\n"
        "    parameter logic [3:0] AXI_CACHE = 4'b0011\n"
        ") ";
  }
  out += "(\n    input  logic clock,\n    input  logic reset";
  for (const Bus& bus : top.buses) {
    for (const Signal& signal : bus.signals) out += ",\n    " + PortOf(signal, bus.name);
  }
  for (const Signal& signal : top.ports) out += ",\n    " + PortOf(signal, "");
  for (size_t i = 0; i < top.observed.size(); ++i) {
    out += ",\n    ";
    if (i == 0 && !top.observed_comment.empty()) out += "// " + top.observed_comment + "\n    ";
    out += PortOf(top.observed[i], "");
  }
  out += "\n);\n";
  for (const Bus& wires : top.wires) {
    for (const Signal& signal : wires.signals) {
      out += "  " + DeclarationOf(signal, wires.name) + ";\n";
    }
  }
  out += attributes;
  for (const Instance& instance : top.instances) {
    const std::string text = TextOf(instance);
    out += instance.only_in_simulation ? "`ifndef SYNTHESIS\n" + text + "`endif\n" : text;
  }
  return out + "endmodule\n";
}

}  // namespace kiln::hardware
