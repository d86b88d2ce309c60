// Timing of the memory ports of rtl/bus, in one place for configurations, closed forms and event-driven models.
#ifndef KILN_HARDWARE_AXI_PORT_H_
#define KILN_HARDWARE_AXI_PORT_H_

#include <algorithm>
#include <bit>
#include <cstdint>

namespace kiln {

// Cycles that a read or write port of rtl/bus adds to the memory behind it (PORT_LATENCY of kiln_axi_pkg.sv). A design
// point's memory_latency L includes it, so the memory itself answers M = L - kAxiPortLatency cycles after an address: L
// must exceed it. Read: the word of a request accepted in cycle t, of n beats, is at the port's output in cycle t + n -
// 1 + L. Write: the port counts the request as done so that it is visible in cycle t + n + L.
inline constexpr int kAxiPortLatency = 2;
// The same where ports share a bus (SHARED_PORT_LATENCY).
inline constexpr int kSharedPortLatency = kAxiPortLatency + 1;

// A beat is an aligned word of a port's width, a power of two of bytes; what begins in the middle of one and ends in
// the next takes both. A request keeps its port for its beats, one without any (a null request) for one cycle.

// Beats that `bytes` bytes from `address` on touch; 0 for none.
inline int64_t BeatsOf(uint64_t address, int64_t bytes, int64_t port_bytes) {
  if (bytes <= 0) return 0;
  const int shift = std::countr_zero(static_cast<uint64_t>(port_bytes));
  const uint64_t first = address & static_cast<uint64_t>(port_bytes - 1);
  return static_cast<int64_t>(((first + static_cast<uint64_t>(bytes) - 1) >> shift) + 1);
}

// The least that so many bytes can take: those of an aligned address.
inline int64_t LeastBeats(int64_t bytes, int64_t port_bytes) {
  return (bytes + port_bytes - 1) / port_bytes;
}

// After how many steps of `stride` bytes addresses lie in their beats as before.
inline int64_t BeatPeriod(int64_t stride, int64_t port_bytes) {
  const auto offset = static_cast<uint64_t>(stride) & static_cast<uint64_t>(port_bytes - 1);
  return offset == 0 ? 1 : port_bytes >> std::countr_zero(offset);
}

// The sum of BeatsOf(address + i * stride, bytes, port_bytes) over 0 <= i < count.
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
