// The signals of AXI buses, for emitted tops: direction as the accelerator sees it, bits, and name behind the bus' own.
#ifndef KILN_HARDWARE_AXI_SIGNALS_H_
#define KILN_HARDWARE_AXI_SIGNALS_H_

#include <string>
#include <vector>

namespace kiln::hardware {

struct Signal {
  bool output;
  int bits;
  const char* name;
};

// Masters without IDs: read channels, write channels.
std::vector<Signal> AxiReadSignals(int port_bytes, int address_bits);
std::vector<Signal> AxiWriteSignals(int port_bytes, int address_bits);
// An AXI4-Lite slave of 32 bits with addresses of 12.
std::vector<Signal> AxiLiteSignals();

// Ports of a module, each with a comma in front: ",\n    output logic [7:0] BUS_arlen".
std::string PortsOf(const std::string& bus, const std::vector<Signal>& signals);
// The same as wires inside a module, a line each.
std::string WiresOf(const std::string& bus, const std::vector<Signal>& signals);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_AXI_SIGNALS_H_
