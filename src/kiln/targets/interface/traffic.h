// The bytes that kernels move through the machine's ports to outer memory, counted from a program
// without running it.
#ifndef KILN_TARGETS_INTERFACE_TRAFFIC_H_
#define KILN_TARGETS_INTERFACE_TRAFFIC_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kiln/support/integer.h"

namespace kiln {

// A port to outer memory, or one of the machine's streams. Ports work at the same time.
struct MemoryPort {
  std::string name;            // "weights", "results"
  double bytes_per_cycle = 0;  // at most
  bool writes = false;         // to memory; otherwise it reads
  bool moves_scales = false;   // of blocks; traces do not count their bytes
  bool stream = false;         // it uses the bus of Traffic::bus_bytes_per_cycle
  bool shared = false;         // bytes of other ports pass through it, too
  bool both = false;           // a shared port in both directions
};

// The traffic of a program.
struct Traffic {
  std::vector<MemoryPort> ports;
  int64_t images = 1;  // that the program computes at once; the bytes are for all of them
  // Behind a memory, all streams share the bus of one AXI4 master. It reads, and at the same time
  // writes, this number of bytes per cycle. 0: no port is a stream.
  double bus_bytes_per_cycle = 0;
  // Bytes by kernel of the program and port; 0 for kernels on the host.
  std::vector<std::vector<int64_t>> bytes;

  // Creates a table without bytes for a program of `kernels` kernels.
  static Traffic For(std::vector<MemoryPort> ports, size_t kernels) {
    const size_t count = ports.size();
    return {.ports = std::move(ports),
            .bytes = std::vector<std::vector<int64_t>>(kernels, std::vector<int64_t>(count, 0))};
  }
  // Creates a table without bytes for a machine with one stream in and one stream out, whose beats
  // have `beat_bytes` bytes. Behind a memory they share a bus of `bus_bytes` bytes per cycle.
  static Traffic ForStreams(int64_t beat_bytes, int bus_bytes, size_t kernels);
  // Returns how often the program runs for `count` images.
  int64_t RunsFor(int64_t count) const { return CeilDivide(count, images); }
  // Return the bytes that a kernel reads from memory, writes to it, and both.
  int64_t BytesRead(size_t kernel) const { return Sum(kernel, false); }
  int64_t BytesWritten(size_t kernel) const { return Sum(kernel, true); }
  int64_t Bytes(size_t kernel) const { return BytesRead(kernel) + BytesWritten(kernel); }
  // Returns the bytes of all kernels that pass through a port.
  int64_t BytesOf(size_t port) const {
    int64_t sum = 0;
    for (const std::vector<int64_t>& kernel : bytes) sum += kernel[port];
    return sum;
  }

  // Adds the shared ports of a machine behind a memory that moves `bytes_per_cycle` for all ports
  // together: "bus, reads" and "bus, writes" if there are streams, and "memory".
  void PutBehindMemory(double bytes_per_cycle);

 private:
  int64_t Sum(size_t kernel, bool writes) const {
    int64_t sum = 0;
    for (size_t p = 0; p < ports.size(); ++p)
      sum += ports[p].writes == writes && !ports[p].shared ? bytes[kernel][p] : 0;
    return sum;
  }
};

}  // namespace kiln

#endif  // KILN_TARGETS_INTERFACE_TRAFFIC_H_
