// Timing of the memory ports of rtl/bus, in one place for configurations, closed forms and event-driven models.
#ifndef KILN_HARDWARE_AXI_PORT_H_
#define KILN_HARDWARE_AXI_PORT_H_

#include <cstdint>

namespace kiln {

// Cycles that a read or write port of rtl/bus adds to the memory behind it (PORT_LATENCY of kiln_axi_pkg.sv). A design
// point's memory_latency L includes it, so the memory itself answers M = L - kAxiPortLatency cycles after an address: L
// must exceed it. Read: the word of a request accepted in cycle t, of n beats, is at the port's output in cycle t + n -
// 1 + L. Write: the port counts the request as done so that it is visible in cycle t + n + L.
inline constexpr int kAxiPortLatency = 2;

// Cycles that a request of `bytes` bytes from byte address `address` keeps a port of `port_bytes`: the aligned words of
// the memory that it touches, at least 1 (a null request, bytes = 0, takes 1). address >= 0, port_bytes a power of two.
constexpr int64_t PortBeats(int64_t address, int64_t bytes, int64_t port_bytes) {
  return bytes == 0 ? 1 : (address + bytes - 1) / port_bytes - address / port_bytes + 1;
}

}  // namespace kiln

#endif  // KILN_HARDWARE_AXI_PORT_H_
