// The memory behind a machine's ports as people state it: bandwidth and latency.
#ifndef KILN_FLOW_OUTER_MEMORY_H_
#define KILN_FLOW_OUTER_MEMORY_H_

#include <memory>
#include <string>
#include <string_view>

#include "kiln/report/run_report.h"
#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"

namespace kiln {

struct OuterMemory {
  double bytes_per_second = 0;  // of all ports together
  double seconds = 0;           // from an address to its first beat
  std::string text;             // as it was given
};

// Parses "19.2GB/s,100ns": a bandwidth in B/s, kB/s, MB/s, GB/s or TB/s (powers of 10) or KiB/s,
// MiB/s, GiB/s (powers of 2), and a latency in ns, us or ms. Error: any other form, a bandwidth
// outside 1 B/s to 10^15 B/s, or a latency that is negative or above 1 s.
StatusOr<OuterMemory> ParseOuterMemory(std::string_view text);

// Returns that memory at a clock of `mhz`, for RtlOptions and reports. The latency is rounded up to
// whole cycles and is at least 1.
RunReport::Memory MemoryAtClock(const OuterMemory& memory, double mhz);

// Replaces the accelerator by one whose ports have requests in flight for the memory's latency
// (Accelerator::WithMemoryLatency) if its own do not suffice, and notes that in the report.
//   errors  the machine has no memory; its clock is not known; a latency that its keys do not allow
Status AdaptToMemory(const OuterMemory& memory, int node_nm,
                     std::unique_ptr<Accelerator>* accelerator, RunReport* report);

// Sets the memory of a run at `level` on the accelerator, adds it to the report and to the report's
// traffic as the port "memory", and sets the memory of the run. At the rtl level the ports share a
// DRAM of this bandwidth and latency. The cycle level has the latency; what the bandwidth costs at
// least follows from the bytes (Performance::bounded).
// AdaptToMemory comes before.
Status ApplyMemory(const OuterMemory& memory, const Accelerator& accelerator, Level level,
                   RunReport* report, RtlOptions* rtl);

}  // namespace kiln

#endif  // KILN_FLOW_OUTER_MEMORY_H_
