// Writes the IP-XACT component of an emitted folder. Elements are in the order that the schema
// of IEEE 1685-2014 demands (component.xsd and the files that it includes).

#include <algorithm>
#include <cctype>
#include <optional>

#include "fmt/format.h"
#include "kiln/hardware/design_package.h"
#include "kiln/hardware/tool_names.h"
#include "kiln/support/characters.h"
#include "kiln/support/check.h"

namespace kiln::hardware {
namespace {

constexpr char kAddressSpace[] = "memory";
// The registers' addresses have 12 bits (AxiLiteSignals).
constexpr int kRegisterBytes = 0x1000;

// Returns a text for the content of an element or an attribute. Control characters become blanks.
std::string XmlText(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

std::string Upper(std::string_view name) {
  std::string out(name);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::toupper(c); });
  return out;
}

// Writes indented elements. Names of elements are without their prefix.
class Xml {
 public:
  void Open(const std::string& name, const std::string& attributes = "") {
    text_ += fmt::format("{}<ipxact:{}{}>\n", Indent(), name, attributes);
    open_.push_back(name);
  }
  void Close() {
    const std::string name = open_.back();
    open_.pop_back();
    text_ += fmt::format("{}</ipxact:{}>\n", Indent(), name);
  }
  // Writes <name>text</name>.
  void Leaf(const std::string& name, std::string_view text) {
    text_ += fmt::format("{0}<ipxact:{1}>{2}</ipxact:{1}>\n", Indent(), name, XmlText(text));
  }
  void Number(const std::string& name, uint64_t number) { Leaf(name, std::to_string(number)); }
  void Empty(const std::string& name, const std::string& attributes = "") {
    text_ += fmt::format("{}<ipxact:{}{}/>\n", Indent(), name, attributes);
  }
  const std::string& text() const {
    KILN_CHECK(open_.empty());
    return text_;
  }

 private:
  std::string Indent() const { return std::string(2 * open_.size(), ' '); }

  std::vector<std::string> open_;
  std::string text_ = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
};

// The name of a definition: vendor, library, name, version.
struct Definition {
  std::string_view vendor, library, name, version;
};
std::string AttributesOf(const Definition& of) {
  return fmt::format(" vendor=\"{}\" library=\"{}\" name=\"{}\" version=\"{}\"", of.vendor,
                     of.library, of.name, of.version);
}

Definition DefinitionOf(BusKind kind) {
  switch (kind) {
    case BusKind::kAxi:
      return {"amba.com", "AMBA4", "AXI4", "r0p0_0"};
    case BusKind::kAxiRead:
      return {"amba.com", "AMBA4", "AXI4_RO", "r0p0_0"};
    case BusKind::kAxiWrite:
      return {"amba.com", "AMBA4", "AXI4_WO", "r0p0_0"};
    case BusKind::kAxiLite:
      return {"amba.com", "AMBA4", "AXI4-Lite", "r0p0_0"};
    case BusKind::kAxiStream:
      return {"amba.com", "AMBA4", "AXI4Stream", "r0p0_1"};
  }
  KILN_CHECK(false);
  return {};
}

// Pairs of a logical and a physical port.
using PortMaps = std::vector<std::pair<std::string, std::string>>;

// Opens a bus interface and writes everything before its mode.
void OpenInterface(const std::string& name, const Definition& definition, const PortMaps& maps,
                   Xml* xml) {
  xml->Open("busInterface");
  xml->Leaf("name", name);
  xml->Empty("busType", AttributesOf(definition));
  const std::string abstraction = fmt::format("{}_rtl", definition.name);
  xml->Open("abstractionTypes");
  xml->Open("abstractionType");
  xml->Empty("abstractionRef", AttributesOf({definition.vendor, definition.library, abstraction,
                                             definition.version}));
  xml->Open("portMaps");
  for (const auto& [logical, physical] : maps) {
    xml->Open("portMap");
    xml->Open("logicalPort");
    xml->Leaf("name", logical);
    xml->Close();
    xml->Open("physicalPort");
    xml->Leaf("name", physical);
    xml->Close();
    xml->Close();
  }
  for (int i = 0; i < 3; ++i) xml->Close();
}

void WriteParameter(const std::string& id, const std::string& name, std::string_view type,
                    std::string_view value, Xml* xml) {
  xml->Open("parameter",
            fmt::format(" parameterId=\"{}\" resolve=\"immediate\" type=\"{}\"", id, type));
  xml->Leaf("name", name);
  xml->Leaf("value", value);
  xml->Close();
}

// Writes the interface of a clock, a reset or an interrupt, with its parameters.
void WriteSignal(const std::string& port, std::string_view kind, const std::string& logical,
                 bool driven, const std::vector<std::pair<std::string, std::string>>& parameters,
                 Xml* xml) {
  OpenInterface(port, {"xilinx.com", "signal", kind, "1.0"}, {{logical, port}}, xml);
  xml->Empty(driven ? "master" : "slave");
  xml->Open("parameters");
  for (const auto& [name, value] : parameters)
    WriteParameter(fmt::format("{}_{}", port, name), name, "string", value, xml);
  xml->Close();
  xml->Close();
}

// Returns the name of the memory map of a bus.
std::string MapName(const std::string& bus) { return bus + "_registers"; }

void WriteBus(const Bus& bus, bool has_registers, Xml* xml) {
  PortMaps maps;
  for (const Signal& signal : bus.signals)
    maps.emplace_back(Upper(signal.name), fmt::format("{}_{}", bus.name, signal.name));
  const BusKind kind = BusKindOf(bus);
  OpenInterface(bus.name, DefinitionOf(kind), maps, xml);
  switch (kind) {
    case BusKind::kAxiLite:
      if (has_registers) {
        xml->Open("slave");
        xml->Empty("memoryMapRef", fmt::format(" memoryMapRef=\"{}\"", MapName(bus.name)));
        xml->Close();
      } else {
        xml->Empty("slave");
      }
      break;
    case BusKind::kAxiStream:
      xml->Empty(FindSignal(bus, "tvalid")->output ? "master" : "slave");
      break;
    default:
      xml->Open("master");
      xml->Empty("addressSpaceRef", fmt::format(" addressSpaceRef=\"{}\"", kAddressSpace));
      xml->Close();
  }
  xml->Close();
}

// Returns the bits of addresses of the AXI4 masters; 0 if there are none.
int AddressBits(const TopModule& top) {
  int bits = 0;
  for (const Bus& bus : top.buses) {
    if (BusKindOf(bus) == BusKind::kAxiLite) continue;
    for (const char* name : {"araddr", "awaddr"}) {
      if (const Signal* address = FindSignal(bus, name)) bits = std::max(bits, address->bits);
    }
  }
  return bits;
}

std::string_view AccessOf(bool readable, bool writable) {
  return readable && writable ? "read-write" : readable ? "read-only" : "write-only";
}

// Writes a register of 32 bits. Without fields it has one field of all bits, which gets the values.
void WriteRegister(const std::string& name, const std::string& text, uint32_t address,
                   std::string_view access, const std::vector<RegisterField>& fields,
                   const std::vector<RegisterValue>& values, std::optional<uint32_t> reset,
                   Xml* xml) {
  xml->Open("register");
  xml->Leaf("name", PlainName(name));
  xml->Leaf("displayName", name);
  if (!text.empty()) xml->Leaf("description", text);
  xml->Leaf("addressOffset", fmt::format("'h{:x}", address));
  xml->Number("size", 32);
  xml->Leaf("access", access);
  const std::vector<RegisterField> whole = {{"VALUE", 31, 0, ""}};
  for (const RegisterField& field : fields.empty() ? whole : fields) {
    xml->Open("field");
    xml->Leaf("name", PlainName(field.name));
    if (!field.text.empty()) xml->Leaf("description", field.text);
    xml->Number("bitOffset", static_cast<uint64_t>(field.low));
    if (fields.empty() && reset.has_value()) {
      xml->Open("resets");
      xml->Open("reset");
      xml->Leaf("value", fmt::format("'h{:x}", *reset));
      xml->Close();
      xml->Close();
    }
    xml->Number("bitWidth", static_cast<uint64_t>(field.high - field.low + 1));
    xml->Leaf("access", access);
    if (fields.empty() && !values.empty()) {
      xml->Open("enumeratedValues");
      for (const RegisterValue& value : values) {
        xml->Open("enumeratedValue");
        xml->Leaf("name", PlainName(value.name));
        if (!value.text.empty()) xml->Leaf("description", value.text);
        xml->Number("value", value.value);
        xml->Close();
      }
      xml->Close();
    }
    xml->Close();
  }
  xml->Close();
}

void WriteMemoryMap(const std::string& bus, const RegisterMap& map, Xml* xml) {
  xml->Open("memoryMap");
  xml->Leaf("name", MapName(bus));
  xml->Open("addressBlock");
  xml->Leaf("name", MapName(bus));
  xml->Leaf("description", fmt::format("the registers of {}", map.machine));
  xml->Leaf("baseAddress", "0");
  xml->Number("range", kRegisterBytes);
  xml->Number("width", 32);
  xml->Leaf("usage", "register");
  // A register of two words, and each of several, is a register of its own: IP-XACT has arrays of
  // registers only without gaps.
  for (const Register& r : map.registers) {
    std::optional<uint32_t> reset;
    if (r.name == "IDENTITY") reset = map.identity;
    if (r.name == "VERSION" && map.version != 0) reset = map.version;
    for (int i = 0; i < r.count; ++i) {
      for (int word = 0; word < r.words; ++word) {
        const uint32_t address =
            r.address + static_cast<uint32_t>(i) * r.stride + 4 * static_cast<uint32_t>(word);
        WriteRegister(fmt::format("{}{}{}", r.name, word == 1 ? "_HIGH" : "",
                                  r.count > 1 ? fmt::format("_{}", i) : std::string()),
                      r.text, address, AccessOf(r.readable, r.writable), r.fields, r.values, reset,
                      xml);
      }
    }
  }
  for (const CounterRegister& c : map.counters) {
    for (int word = 0; word < c.words; ++word) {
      WriteRegister(c.name + (word == 1 ? "_high" : ""), c.text,
                    c.address + 4 * static_cast<uint32_t>(word), "read-only", {}, {}, std::nullopt,
                    xml);
    }
  }
  xml->Close();
  xml->Number("addressUnitBits", 8);
  xml->Close();
}

void WritePort(const std::string& name, bool output, int bits, Xml* xml) {
  xml->Open("port");
  xml->Leaf("name", name);
  xml->Open("wire");
  xml->Leaf("direction", output ? "out" : "in");
  if (bits > 1) {
    xml->Open("vectors");
    xml->Open("vector");
    xml->Number("left", static_cast<uint64_t>(bits - 1));
    xml->Number("right", 0);
    xml->Close();
    xml->Close();
  }
  xml->Close();
  xml->Close();
}

void WriteModel(const DesignPackage& package, Xml* xml) {
  const TopModule& top = package.top;
  xml->Open("model");
  xml->Open("views");
  xml->Open("view");
  xml->Leaf("name", "rtl");
  xml->Leaf("envIdentifier", "SystemVerilog::");
  xml->Leaf("componentInstantiationRef", "rtl");
  xml->Close();
  xml->Close();
  xml->Open("instantiations");
  xml->Open("componentInstantiation");
  xml->Leaf("name", "rtl");
  xml->Leaf("language", "SystemVerilog");
  xml->Leaf("moduleName", top.name);
  if (const std::vector<TopParameter> parameters = ParametersOf(top); !parameters.empty()) {
    xml->Open("moduleParameters");
    for (const TopParameter& parameter : parameters) {
      xml->Open("moduleParameter", " dataType=\"logic\" usageType=\"typed\"");
      xml->Leaf("name", parameter.name);
      if (parameter.bits > 1) {
        xml->Open("vectors");
        xml->Open("vector");
        xml->Number("left", static_cast<uint64_t>(parameter.bits - 1));
        xml->Number("right", 0);
        xml->Close();
        xml->Close();
      }
      xml->Leaf("value", parameter.name);
      xml->Close();
    }
    xml->Close();
  }
  for (const char* set : {"rtl", "contents", "constraints"}) {
    if (package.contents.empty() && std::string_view(set) == "contents") continue;
    xml->Open("fileSetRef");
    xml->Leaf("localName", set);
    xml->Close();
  }
  xml->Close();
  xml->Close();
  xml->Open("ports");
  WritePort("clock", false, 1, xml);
  WritePort("reset", false, 1, xml);
  for (const Bus& bus : top.buses) {
    for (const Signal& s : bus.signals)
      WritePort(fmt::format("{}_{}", bus.name, s.name), s.output, s.bits, xml);
  }
  for (const auto* ports : {&top.ports, &top.observed}) {
    for (const Signal& s : *ports) WritePort(s.name, s.output, s.bits, xml);
  }
  xml->Close();
  xml->Close();
}

void WriteFileSet(const std::string& name, const std::vector<std::string>& files,
                  const std::string& type, Xml* xml) {
  if (files.empty()) return;
  xml->Open("fileSet");
  xml->Leaf("name", name);
  for (const std::string& file : files) {
    xml->Open("file");
    xml->Leaf("name", file);
    xml->Leaf("fileType", type);
    xml->Close();
  }
  xml->Close();
}

// Writes the parameters of the top, which a system may set, and those of the machine's instances
// that are plain numbers, whose values are fixed.
void WriteParameters(const DesignPackage& package, Xml* xml) {
  xml->Open("parameters");
  for (const TopParameter& parameter : ParametersOf(package.top)) {
    xml->Open("parameter",
              fmt::format(" parameterId=\"{}\" resolve=\"user\" type=\"longint\"", parameter.name));
    xml->Leaf("name", parameter.name);
    xml->Leaf("description", parameter.text);
    xml->Number("value", parameter.value);
    xml->Close();
  }
  if (package.clock_mhz > 0) {
    WriteParameter("clock_mhz", "clock_mhz", "real", fmt::format("{}", package.clock_mhz), xml);
  }
  for (const Instance& instance : package.top.instances) {
    if (instance.only_in_simulation) continue;
    for (const RtlParameter& parameter : instance.parameters) {
      const bool number = !parameter.value.empty() && std::ranges::all_of(parameter.value, IsDigit);
      if (!number) continue;
      const std::string name = fmt::format("{}_{}", instance.name, parameter.name);
      WriteParameter(name, name, "longint", parameter.value, xml);
    }
  }
  xml->Close();
}

}  // namespace

std::string IpXactComponent(const DesignPackage& package) {
  const TopModule& top = package.top;
  Xml xml;
  xml.Open("component",
           " xmlns:ipxact=\"http://www.accellera.org/XMLSchema/IPXACT/1685-2014\""
           " xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\""
           " xsi:schemaLocation=\"http://www.accellera.org/XMLSchema/IPXACT/1685-2014"
           " http://www.accellera.org/XMLSchema/IPXACT/1685-2014/index.xsd\"");
  xml.Leaf("vendor", "kiln");
  xml.Leaf("library", "accelerators");
  xml.Leaf("name", package.name);
  xml.Leaf("version", "1.0.0");

  xml.Open("busInterfaces");
  std::string buses;
  for (const Bus& bus : top.buses) buses += (buses.empty() ? "" : ":") + bus.name;
  WriteSignal("clock", "clock", "CLK", false,
              {{"ASSOCIATED_BUSIF", buses}, {"ASSOCIATED_RESET", "reset"}}, &xml);
  WriteSignal("reset", "reset", "RST", false, {{"POLARITY", "ACTIVE_HIGH"}}, &xml);
  for (const Signal& port : top.ports) {
    if (std::string_view(port.name) == "irq")
      WriteSignal("irq", "interrupt", "INTERRUPT", true, {{"SENSITIVITY", "LEVEL_HIGH"}}, &xml);
  }
  for (const Bus& bus : top.buses) {
    const bool has_registers = std::ranges::any_of(
        package.registers, [&](const auto& of_bus) { return of_bus.first == bus.name; });
    WriteBus(bus, has_registers, &xml);
  }
  xml.Close();

  if (const int bits = AddressBits(top); bits > 0) {
    xml.Open("addressSpaces");
    xml.Open("addressSpace");
    xml.Leaf("name", kAddressSpace);
    xml.Number("range", uint64_t{1} << bits);
    xml.Number("width", 8);
    xml.Number("addressUnitBits", 8);
    xml.Close();
    xml.Close();
  }
  if (!package.registers.empty()) {
    xml.Open("memoryMaps");
    for (const auto& [bus, map] : package.registers) WriteMemoryMap(bus, map, &xml);
    xml.Close();
  }
  WriteModel(package, &xml);
  xml.Open("fileSets");
  WriteFileSet("rtl", package.sources, "systemVerilogSource", &xml);
  WriteFileSet("contents", package.contents, "unknown", &xml);
  WriteFileSet("constraints", {kConstraints}, "SDC", &xml);
  xml.Close();
  xml.Leaf("description", package.title);
  WriteParameters(package, &xml);
  xml.Close();
  return xml.text();
}

}  // namespace kiln::hardware
