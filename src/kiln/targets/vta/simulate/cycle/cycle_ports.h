// Models the machine's two ports behind a simulated memory, for runs in which the latency of a
// request depends on the requests of both ports.
#ifndef KILN_TARGETS_VTA_SIMULATE_CYCLE_CYCLE_PORTS_H_
#define KILN_TARGETS_VTA_SIMULATE_CYCLE_CYCLE_PORTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kiln/hardware/axi_port_model.h"
#include "kiln/targets/vta/config/config.h"
#include "kiln/targets/vta/config/derived.h"

namespace kiln::vta {

// The ports during one launch.
class SharedMemory {
 public:
  // The owner of a word: a source of kiln_vta_reads.sv, and its number for the word. Only the last
  // word of a load has an effect.
  struct Word {
    uint8_t owner = 0;
    uint64_t id = 0;
    bool has_effect = false;
  };
  // The owner of a written element: its instruction, and whether it is the instruction's last.
  struct Element {
    size_t instruction = 0;
    bool last = false;
  };

  SharedMemory(hardware::MemoryBus& bus, const Config& config)
      : read_bus{bus},
        reads(read_bus, config.memory_port_bytes, InFlight(config)),
        writes(bus, config.memory_port_bytes, InFlight(config)) {}

  // The memory's side of a cycle, in the order of rtl/testbench/kiln_vta_bench.h.
  void Sample(uint64_t now) {
    reads.Sample(now);
    writes.Sample(now);
  }
  // Returns whether the memory has addresses or data to accept.
  bool asks() const { return reads.asks() || writes.asks(); }
  // Returns the next cycle in which a word arrives or an element is in memory, or kNeverDone.
  uint64_t NextEvent() const { return std::min(reads.next_word(), writes.next_done()); }

  hardware::AxiReadBus read_bus;
  hardware::AxiReadPortModel<Word> reads;
  hardware::AxiWritePortModel<Element> writes;

 private:
  static size_t InFlight(const Config& config) {
    return static_cast<size_t>(OutstandingRequests(config.memory_latency));
  }
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_SIMULATE_CYCLE_CYCLE_PORTS_H_
