// The top module of an emitted design: a description of its ports and instances, and its
// SystemVerilog text.
//
// Buses that are AXI4 masters with PROT and CACHE (AddAttributes) drive them by the top's
// parameters AXI_PROT (by default 0: data, secure, unprivileged) and AXI_CACHE (by default 3:
// modifiable and bufferable, not allocated in caches), which a system sets to what its interconnect
// wants.
//
// The addresses of buses that AddMemoryBase names are those of the machine plus the top's parameter
// MEMORY_BASE, by default 0, which places the machine's memory in the address space of a system. A
// bus may have more address bits than the machine.
//
// A top has a clock, a reset, buses (axi_signals.h), ports without a bus, and instances of library
// modules whose ports are connected by name. A signal that is not a port of the top is a wire.
#ifndef KILN_HARDWARE_TOP_MODULE_H_
#define KILN_HARDWARE_TOP_MODULE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kiln/hardware/axi_signals.h"
#include "kiln/hardware/key_table.h"

namespace kiln::hardware {

// An instance of a module in the top. `connections` are pairs of a port and an expression, which is
// empty for a port that is left open. Every other port is connected to the signal of its name.
struct Instance {
  std::string module, name;
  std::vector<RtlParameter> parameters = {};
  std::vector<std::pair<std::string, std::string>> connections = {};
  bool only_in_simulation = false;  // for checkers, which synthesis omits
};

// An address signal of a bus that MEMORY_BASE is added to.
struct BasedAddress {
  std::string port;      // of the top
  int bits = 0;          // of this port
  int machine_bits = 0;  // of the machine's address
};

// The description of a top module.
struct TopModule {
  std::string name = "kiln_accelerator";
  std::string comment;  // the comment above the module
  // Ports, in this order after `clock` and `reset`.
  std::vector<Bus> buses;
  std::vector<Signal> ports;
  std::string observed_comment;  // the comment above the ports in `observed`
  std::vector<Signal> observed;  // ports that only testbenches read
  std::vector<Bus> wires;        // buses between instances
  std::vector<Instance> instances;
  std::vector<BasedAddress> based;
};

// Ties off the ports of an instance that belong to a bus which the top does not have: connects
// inputs to zero and leaves outputs open.
void TieOff(const Bus& bus, Instance* instance);

// The name of this parameter.
inline constexpr char kMemoryBase[] = "MEMORY_BASE";

// Adds MEMORY_BASE to the addresses of an AXI4 master of the top that an instance drives, whose
// addresses have `machine_bits` bits, at most as many as those of the bus.
void AddMemoryBase(const Bus& bus, int machine_bits, Instance* instance, TopModule* top);

// A parameter of a top: its name, its bits, and the value that it has unless a system sets another.
struct TopParameter {
  std::string name;
  int bits = 1;
  uint64_t value = 0;
  std::string text;  // for documents: what it is
};
// Returns the parameters of a top, in their order.
std::vector<TopParameter> ParametersOf(const TopModule& top);

// Returns the SystemVerilog text of the module.
std::string SystemVerilogOf(const TopModule& top);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_TOP_MODULE_H_
