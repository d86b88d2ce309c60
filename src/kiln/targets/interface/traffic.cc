// Creates the ports of machines of streams, and adds those that a memory behind a machine adds.
#include "kiln/targets/interface/traffic.h"

namespace kiln {

Traffic Traffic::ForStreams(int64_t beat_bytes, int bus_bytes, size_t kernels) {
  const auto width = static_cast<double>(beat_bytes);
  Traffic traffic =
      For({{.name = "stream in", .bytes_per_cycle = width, .stream = true},
           {.name = "stream out", .bytes_per_cycle = width, .writes = true, .stream = true}},
          kernels);
  traffic.bus_bytes_per_cycle = bus_bytes;
  return traffic;
}

void Traffic::PutBehindMemory(double bytes_per_cycle) {
  const bool has_bus = bus_bytes_per_cycle > 0;
  for (size_t k = 0; k < bytes.size(); ++k) {
    std::vector<int64_t>& row = bytes[k];
    const int64_t all = Bytes(k);
    int64_t read = 0, written = 0;  // of streams
    for (size_t p = 0; p < ports.size(); ++p) {
      if (ports[p].stream) (ports[p].writes ? written : read) += row[p];
    }
    if (has_bus) row.insert(row.end(), {read, written});
    row.push_back(all);
  }
  if (has_bus) {
    ports.push_back({.name = "bus, reads", .bytes_per_cycle = bus_bytes_per_cycle, .shared = true});
    ports.push_back({.name = "bus, writes",
                     .bytes_per_cycle = bus_bytes_per_cycle,
                     .writes = true,
                     .shared = true});
  }
  ports.push_back(
      {.name = "memory", .bytes_per_cycle = bytes_per_cycle, .shared = true, .both = true});
}

}  // namespace kiln
