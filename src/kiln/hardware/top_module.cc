// Prints the SystemVerilog text of top modules.

#include "kiln/hardware/top_module.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "kiln/support/check.h"

namespace kiln::hardware {
namespace {

constexpr int kMemoryBaseAlignment = 4096;  // bursts do not cross such addresses

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

// Returns the bits of the widest address that MEMORY_BASE is added to; 0 without any.
int AddressBitsOf(const TopModule& top) {
  int bits = 0;
  for (const BasedAddress& address : top.based) bits = std::max(bits, address.bits);
  return bits;
}

// Returns the sums of addresses and MEMORY_BASE.
std::string BaseText(const TopModule& top) {
  std::string out;
  const int bits = AddressBitsOf(top);
  for (const BasedAddress& address : top.based) {
    const auto resized = [&](std::string text, int from) {
      return from == address.bits ? text : fmt::format("{}'({})", address.bits, text);
    };
    const std::string machine = "machine_" + address.port;
    out += fmt::format("  logic [{}:0] {};\n  assign {} = {} + {};\n", address.machine_bits - 1,
                       machine, address.port, resized(machine, address.machine_bits),
                       resized(kMemoryBase, bits));
  }
  if (!out.empty()) {
    out += fmt::format(
        "  if (MEMORY_BASE % {0} != 0) begin : g_memory_base\n"
        "    $error(\"MEMORY_BASE must be a multiple of {0}\");\n  end\n",
        kMemoryBaseAlignment);
  }
  return out;
}

}  // namespace

void TieOff(const Bus& bus, Instance* instance) {
  for (const Signal& signal : bus.signals) {
    instance->connections.emplace_back(fmt::format("{}_{}", bus.name, signal.name),
                                       signal.output ? "" : "'0");
  }
}

void AddMemoryBase(const Bus& bus, int machine_bits, Instance* instance, TopModule* top) {
  for (const char* name : {"araddr", "awaddr"}) {
    const Signal* const signal = FindSignal(bus, name);
    if (signal == nullptr) continue;
    const std::string port = fmt::format("{}_{}", bus.name, name);
    instance->connections.emplace_back(port, "machine_" + port);
    KILN_CHECK(machine_bits <= signal->bits);
    top->based.push_back({port, signal->bits, machine_bits});
  }
}

std::vector<TopParameter> ParametersOf(const TopModule& top) {
  std::vector<TopParameter> parameters;
  const bool attributes = std::ranges::any_of(top.buses, [](const Bus& bus) {
    return std::ranges::any_of(AttributesOf(bus), [&](const AxiAttribute& attribute) {
      return FindSignal(bus, attribute.signal.name) != nullptr;
    });
  });
  if (attributes) {
    parameters = {
        {"AXI_PROT", 3, 0, "PROT of all bursts; 0: data, secure, unprivileged"},
        {"AXI_CACHE", 4, 3, "CACHE of all bursts; 3: modifiable, bufferable, not allocated"}};
  }
  if (const int bits = AddressBitsOf(top); bits > 0) {
    parameters.push_back(
        {kMemoryBase, bits, 0,
         fmt::format("the address of the machine's memory on the buses; a multiple "
                     "of {}. The machine's own addresses begin at 0",
                     kMemoryBaseAlignment)});
  }
  return parameters;
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
  const std::vector<TopParameter> parameters = ParametersOf(top);
  for (size_t i = 0; i < parameters.size(); ++i) {
    const TopParameter& parameter = parameters[i];
    out += fmt::format("{}    parameter logic [{}:0] {} = {}'h{:x}{}\n", i == 0 ? "#(\n" : "",
                       parameter.bits - 1, parameter.name, parameter.bits, parameter.value,
                       i + 1 < parameters.size() ? "," : "");
  }
  if (!parameters.empty()) out += ") ";
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
  out += attributes + BaseText(top);
  for (const Instance& instance : top.instances) {
    const std::string text = TextOf(instance);
    out += instance.only_in_simulation ? "`ifndef SYNTHESIS\n" + text + "`endif\n" : text;
  }
  return out + "endmodule\n";
}

}  // namespace kiln::hardware
