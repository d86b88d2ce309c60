// The time that a memory behind AXI4 ports takes for bursts. The memory of the testbenches
// (kiln_axi_memory.h) and the models of machines in C++ book their bursts here, so that both get
// the same cycles. Self-contained C++17, because it is copied into emitted designs.
//
// Timing (all cycles of the bus clock):
//   ideal      The first beat of a burst is on the bus `latency` cycles after its AR handshake, or
//              right after the previous burst if that is later; then one beat follows per cycle. A
//              response is on the bus `latency` cycles after the handshake of the last beat, or of
//              the address if that is later.
//   DRAM       All ports share a data bus of `bytes_per_cycle`, on which bursts follow each other
//              in the order of their bookings. A burst to the open row of its bank waits `latency`,
//              any other burst `latency` + `row_miss`.
// Within a cycle, ports book in the order in which the testbench samples them.
#ifndef KILN_TESTBENCH_MEMORY_TIMING_H_
#define KILN_TESTBENCH_MEMORY_TIMING_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace kiln::testbench {

// The timing of a memory.
struct AxiTiming {
  // Cycles from the handshake of a request to its first beat or its response; at least 1. A machine
  // with a memory latency of L and an ideal memory has latency = L - PORT_LATENCY
  // (rtl/bus/kiln_axi_pkg.sv; SHARED_PORT_LATENCY on a shared bus).
  uint64_t latency = 14;

  // The DRAM model; with bytes_per_cycle = 0 the memory is ideal.
  double bytes_per_cycle = 0;
  uint64_t row_miss = 0;      // additional cycles for a burst to another row of its bank
  uint64_t row_bytes = 2048;  // consecutive rows are in consecutive banks
  uint64_t banks = 8;

  // The probability that a stretch of cycles of a channel is stalled. Only the testbench's memory
  // stalls.
  double stall_ar = 0, stall_r = 0, stall_aw = 0, stall_w = 0, stall_b = 0;
  uint64_t longest_stall = 8;  // a stretch has 1 to longest_stall cycles, uniformly distributed

  // Sets the stall probability of all channels.
  AxiTiming& StallAll(double probability) {
    stall_ar = stall_r = stall_aw = stall_w = stall_b = probability;
    return *this;
  }
};

// The data bus and the open rows of a memory. Times are counted in ticks, 2^20 per cycle, so that a
// run takes the same cycles in whichever cycle it begins.
class MemoryBus {
 public:
  static constexpr unsigned kTickBits = 20;
  static constexpr uint64_t kCycle = uint64_t{1} << kTickBits;

  // The time of a burst, in ticks.
  struct Burst {
    uint64_t begin;     // when its first beat begins
    uint64_t per_beat;  // rounded up, so that the memory does not exceed its bandwidth
  };

  explicit MemoryBus(const AxiTiming& timing)
      : timing_(timing), open_row_(std::max<uint64_t>(timing.banks, 1), ~uint64_t{0}) {}

  const AxiTiming& timing() const { return timing_; }
  bool is_dram() const { return timing_.bytes_per_cycle > 0; }

  // Reserves the bus for a burst that is requested in cycle `now`.
  Burst Book(uint64_t now, uint64_t address, uint64_t beats, uint64_t beat_bytes) {
    if (!is_dram()) return {(now + timing_.latency) << kTickBits, kCycle};
    const uint64_t row = address / timing_.row_bytes;
    uint64_t& open = open_row_[row % open_row_.size()];
    const uint64_t wait = timing_.latency + (open == row ? 0 : timing_.row_miss);
    open = row;
    if (beat_bytes != beat_bytes_) {
      beat_bytes_ = beat_bytes;
      per_beat_ = static_cast<uint64_t>(std::ceil(
          static_cast<double>(beat_bytes) * static_cast<double>(kCycle) / timing_.bytes_per_cycle));
    }
    const Burst burst{std::max((now + wait) << kTickBits, free_), per_beat_};
    free_ = burst.begin + burst.per_beat * beats;
    return burst;
  }

  // Begins to count cycles from 0 again. No burst may be in flight; open rows stay open.
  void RestartClock() { free_ = 0; }

 private:
  AxiTiming timing_;
  std::vector<uint64_t> open_row_;  // by bank
  uint64_t free_ = 0;               // when the DRAM's bus is free
  uint64_t beat_bytes_ = 0, per_beat_ = 0;
};

// The cycles in which the beats of one read port's bursts are on its bus at the earliest.
class ReadTimes {
 public:
  // Books a burst that is requested in cycle `now`, and calls beat(cycle) for each beat in order.
  template <typename Beat>
  void Book(MemoryBus& bus, uint64_t now, uint64_t address, uint64_t beats, uint64_t beat_bytes,
            const Beat& beat) {
    const MemoryBus::Burst burst = bus.Book(now, address, beats, beat_bytes);
    // A beat is on the bus when it has arrived completely, and at least one cycle after the
    // previous beat.
    uint64_t whole = burst.begin + std::max(burst.per_beat, MemoryBus::kCycle) - MemoryBus::kCycle;
    for (uint64_t i = 0; i < beats; ++i, whole += burst.per_beat) {
      next_ = std::max(next_ + 1, whole >> MemoryBus::kTickBits);
      beat(next_);
    }
  }

 private:
  uint64_t next_ = 0;  // cycle of the last beat
};

// The cycles in which the responses of one write port's bursts are on its bus at the earliest.
class WriteTimes {
 public:
  // Books a burst whose address and data have arrived by cycle `now`. Returns the cycle of its
  // response.
  uint64_t Book(MemoryBus& bus, uint64_t now, uint64_t address, uint64_t beats,
                uint64_t beat_bytes) {
    const MemoryBus::Burst burst = bus.Book(now, address, beats, beat_bytes);
    // An ideal memory has stored the data as they arrived; a DRAM transfers them over its bus now.
    const uint64_t last =
        bus.is_dram() ? burst.begin + burst.per_beat * beats - MemoryBus::kCycle : burst.begin;
    next_ = std::max(next_ + 1, last >> MemoryBus::kTickBits);
    return next_;
  }

 private:
  uint64_t next_ = 0;  // cycle of the last response
};

}  // namespace kiln::testbench

#endif  // KILN_TESTBENCH_MEMORY_TIMING_H_
