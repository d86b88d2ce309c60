// Timing of the memory ports of rtl/bus: latencies and beat counts. Configurations, closed-form
// models and event-driven models all use these functions.
#ifndef KILN_HARDWARE_AXI_PORT_H_
#define KILN_HARDWARE_AXI_PORT_H_

#include <algorithm>
#include <bit>
#include <cstdint>

namespace kiln {

// Latency in cycles that a read or write port of rtl/bus adds to the memory (PORT_LATENCY of
// kiln_axi_pkg.sv). A design point's memory_latency L includes it: the memory itself answers M = L
// - kAxiPortLatency cycles after an address, so L must be larger. Read: if a request of n beats is
// accepted in cycle t, the word is at the port's output in cycle t + n - 1 + L. Write: the request
// counts as complete in cycle t + n + L.
inline constexpr int kAxiPortLatency = 2;
// The latency of ports that share a bus (SHARED_PORT_LATENCY).
inline constexpr int kSharedPortLatency = kAxiPortLatency + 1;

// A beat is one transfer of a port: an aligned unit of the port's width, a power of two of bytes.
// Data that cross a beat boundary need both beats. A request occupies its port for its beats; a
// request without any (a null request) occupies it for one cycle.

// Returns the number of beats that `bytes` bytes from `address` on touch; 0 for no bytes.
inline int64_t BeatsOf(uint64_t address, int64_t bytes, int64_t port_bytes) {
  if (bytes <= 0) return 0;
  const int shift = std::countr_zero(static_cast<uint64_t>(port_bytes));
  const uint64_t first = address & static_cast<uint64_t>(port_bytes - 1);
  return static_cast<int64_t>(((first + static_cast<uint64_t>(bytes) - 1) >> shift) + 1);
}

// Returns the smallest number of beats for `bytes` bytes, which an aligned address achieves.
inline int64_t LeastBeats(int64_t bytes, int64_t port_bytes) {
  return (bytes + port_bytes - 1) / port_bytes;
}

// Returns the number of increments by `stride` bytes after which addresses have the same offset
// within a beat again. The offsets repeat with period port_bytes / gcd(stride, port_bytes).
inline int64_t BeatPeriod(int64_t stride, int64_t port_bytes) {
  const auto offset = static_cast<uint64_t>(stride) & static_cast<uint64_t>(port_bytes - 1);
  return offset == 0 ? 1 : port_bytes >> std::countr_zero(offset);
}

// Returns the sum of BeatsOf(address + i * stride, bytes, port_bytes) over 0 <= i < count.
// Evaluates one period of offsets only.
inline int64_t BeatsOfRun(uint64_t address, int64_t stride, int64_t count, int64_t bytes,
                          int64_t port_bytes) {
  if (count <= 0) return 0;
  const int64_t period = std::min(count, BeatPeriod(stride, port_bytes));
  const int64_t rounds = count / period, rest = count % period;
  int64_t beats = 0;
  for (int64_t i = 0; i < period; ++i) {
    beats += BeatsOf(address + static_cast<uint64_t>(i * stride), bytes, port_bytes) *
             (rounds + (i < rest ? 1 : 0));
  }
  return beats;
}

}  // namespace kiln

#endif  // KILN_HARDWARE_AXI_PORT_H_
