#include "kiln/hardware/axi_signals.h"

#include "fmt/format.h"

namespace kiln::hardware {
namespace {

std::string RangeOf(const Signal& signal) {
  return signal.bits == 1 ? "" : fmt::format(" [{}:0]", signal.bits - 1);
}

}  // namespace

std::vector<Signal> AxiReadSignals(int port_bytes, int address_bits) {
  return {{true, 1, "arvalid"}, {false, 1, "arready"}, {true, address_bits, "araddr"},
          {true, 8, "arlen"},   {true, 3, "arsize"},   {true, 2, "arburst"},
          {false, 1, "rvalid"}, {true, 1, "rready"},   {false, port_bytes * 8, "rdata"},
          {false, 2, "rresp"},  {false, 1, "rlast"}};
}

std::vector<Signal> AxiWriteSignals(int port_bytes, int address_bits) {
  return {{true, 1, "awvalid"},        {false, 1, "awready"}, {true, address_bits, "awaddr"},
          {true, 8, "awlen"},          {true, 3, "awsize"},   {true, 2, "awburst"},
          {true, 1, "wvalid"},         {false, 1, "wready"},  {true, port_bytes * 8, "wdata"},
          {true, port_bytes, "wstrb"}, {true, 1, "wlast"},    {false, 1, "bvalid"},
          {true, 1, "bready"},         {false, 2, "bresp"}};
}

std::vector<Signal> AxiLiteSignals() {
  return {{false, 1, "awvalid"}, {true, 1, "awready"}, {false, 12, "awaddr"}, {false, 1, "wvalid"},
          {true, 1, "wready"},   {false, 32, "wdata"}, {false, 4, "wstrb"},   {true, 1, "bvalid"},
          {false, 1, "bready"},  {true, 2, "bresp"},   {false, 1, "arvalid"}, {true, 1, "arready"},
          {false, 12, "araddr"}, {true, 1, "rvalid"},  {false, 1, "rready"},  {true, 32, "rdata"},
          {true, 2, "rresp"}};
}

std::string PortsOf(const std::string& bus, const std::vector<Signal>& signals) {
  std::string out;
  for (const Signal& s : signals) {
    out += fmt::format(",\n    {} logic{} {}_{}", s.output ? "output" : "input ", RangeOf(s), bus,
                       s.name);
  }
  return out;
}

std::string WiresOf(const std::string& bus, const std::vector<Signal>& signals) {
  std::string out;
  for (const Signal& s : signals) out += fmt::format("  logic{} {}_{};\n", RangeOf(s), bus, s.name);
  return out;
}

}  // namespace kiln::hardware
