// The signals of AXI buses, for emitted tops (top_module.h): direction as the accelerator sees it,
// bits, and the name that follows the name of the bus.
#ifndef KILN_HARDWARE_AXI_SIGNALS_H_
#define KILN_HARDWARE_AXI_SIGNALS_H_

#include <string>
#include <string_view>
#include <vector>

namespace kiln::hardware {

// A port of a module, or a wire inside it.
struct Signal {
  bool output;  // driven by the accelerator
  int bits;
  const char* name;  // "arvalid"; the bus prefix and '_' precede it
};

// Signals that share the prefix `name`_.
struct Bus {
  std::string name;
  std::vector<Signal> signals;
};

// Return the signals of an AXI4 master without IDs: the read channels, the write channels, or both.
std::vector<Signal> AxiReadSignals(int port_bytes, int address_bits);
std::vector<Signal> AxiWriteSignals(int port_bytes, int address_bits);
std::vector<Signal> AxiSignals(int port_bytes, int address_bits);
// Returns the signals of an AXI4 master with IDs of `id_bits` bits.
std::vector<Signal> AxiSignalsWithIds(int port_bytes, int address_bits, int id_bits);
// Returns the signals of an AXI4-Lite slave with 32-bit data and 12-bit addresses.
std::vector<Signal> AxiLiteSignals();
// Return the signals of an AXI4-Stream with `data_bytes` bytes per beat, all of them used, that the
// accelerator receives (sink) or sends (source). A source may mark the ends of its packets by
// TLAST.
std::vector<Signal> AxiStreamSinkSignals(int data_bytes);
std::vector<Signal> AxiStreamSourceSignals(int data_bytes, bool marks_last);

// Returns the signal `name` of a bus, or null.
const Signal* FindSignal(const Bus& bus, std::string_view name);

// A signal of an AXI4 master that is the same for all bursts: its name, and the parameter of the
// top that holds its value (top_module.h).
struct AxiAttribute {
  Signal signal;
  const char* parameter;
};
// Returns PROT and CACHE of the address channels that a bus has; none for other buses.
std::vector<AxiAttribute> AttributesOf(const Bus& bus);
// Adds these signals to a bus that has none of them.
void AddAttributes(Bus* bus);

// The kind of a bus, by its signals. AXI4 buses are masters; read and write are those with the read
// or the write channels alone. AXI4-Lite is a slave.
enum class BusKind { kAxi, kAxiRead, kAxiWrite, kAxiLite, kAxiStream };
BusKind BusKindOf(const Bus& bus);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_AXI_SIGNALS_H_
