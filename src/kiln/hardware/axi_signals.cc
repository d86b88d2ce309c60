// The lists of AXI signals and their text in SystemVerilog.

#include "kiln/hardware/axi_signals.h"

#include <algorithm>
#include <utility>

namespace kiln::hardware {
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

std::vector<Signal> AxiSignals(int port_bytes, int address_bits) {
  std::vector<Signal> signals = AxiReadSignals(port_bytes, address_bits);
  const std::vector<Signal> writes = AxiWriteSignals(port_bytes, address_bits);
  signals.insert(signals.end(), writes.begin(), writes.end());
  return signals;
}

std::vector<Signal> AxiSignalsWithIds(int port_bytes, int address_bits, int id_bits) {
  std::vector<Signal> signals = AxiSignals(port_bytes, address_bits);
  for (const auto& [output, name] :
       {std::pair{true, "arid"}, {false, "rid"}, {true, "awid"}, {false, "bid"}}) {
    signals.push_back({output, id_bits, name});
  }
  return signals;
}

std::vector<Signal> AxiLiteSignals() {
  return {{false, 1, "awvalid"}, {true, 1, "awready"}, {false, 12, "awaddr"}, {false, 1, "wvalid"},
          {true, 1, "wready"},   {false, 32, "wdata"}, {false, 4, "wstrb"},   {true, 1, "bvalid"},
          {false, 1, "bready"},  {true, 2, "bresp"},   {false, 1, "arvalid"}, {true, 1, "arready"},
          {false, 12, "araddr"}, {true, 1, "rvalid"},  {false, 1, "rready"},  {true, 32, "rdata"},
          {true, 2, "rresp"}};
}

std::vector<Signal> AxiStreamSinkSignals(int data_bytes) {
  return {{false, 1, "tvalid"}, {true, 1, "tready"}, {false, data_bytes * 8, "tdata"}};
}

std::vector<Signal> AxiStreamSourceSignals(int data_bytes, bool marks_last) {
  std::vector<Signal> signals = AxiStreamSinkSignals(data_bytes);
  for (Signal& signal : signals) signal.output = !signal.output;
  if (marks_last) signals.push_back({true, 1, "tlast"});
  return signals;
}

const Signal* FindSignal(const Bus& bus, std::string_view name) {
  const auto at = std::ranges::find(bus.signals, name, &Signal::name);
  return at == bus.signals.end() ? nullptr : &*at;
}

BusKind BusKindOf(const Bus& bus) {
  const auto has = [&](std::string_view name) { return FindSignal(bus, name) != nullptr; };
  if (has("tvalid")) return BusKind::kAxiStream;
  const bool reads = has("arvalid"), writes = has("awvalid");
  if (!has("arlen") && !has("awlen")) return BusKind::kAxiLite;
  return reads && writes ? BusKind::kAxi : reads ? BusKind::kAxiRead : BusKind::kAxiWrite;
}

std::vector<AxiAttribute> AttributesOf(const Bus& bus) {
  std::vector<AxiAttribute> attributes;
  if (FindSignal(bus, "arlen") != nullptr)
    attributes = {{{true, 3, "arprot"}, "AXI_PROT"}, {{true, 4, "arcache"}, "AXI_CACHE"}};
  if (FindSignal(bus, "awlen") != nullptr) {
    attributes.push_back({{true, 3, "awprot"}, "AXI_PROT"});
    attributes.push_back({{true, 4, "awcache"}, "AXI_CACHE"});
  }
  return attributes;
}

void AddAttributes(Bus* bus) {
  for (const AxiAttribute& attribute : AttributesOf(*bus)) bus->signals.push_back(attribute.signal);
}

}  // namespace kiln::hardware
