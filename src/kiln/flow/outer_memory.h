// The memory behind a machine's ports as people state it: bandwidth, latency, and what a row miss
// adds to it.
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
  double row_miss_seconds = 0;  // more for a burst to another row of its bank
  std::string text;             // as it was given
};

// Parses "19.2GB/s,100ns" or "19.2GB/s,100ns,30ns": a bandwidth in B/s, kB/s, MB/s, GB/s or TB/s
// (powers of 10) or KiB/s, MiB/s, GiB/s (powers of 2), a latency, and the time that a row miss
// adds, both in ns, us or ms. Error: any other form, a bandwidth outside 10^6 B/s to 10^15 B/s, or
// a time that is negative or above 1 ms.
StatusOr<OuterMemory> ParseOuterMemory(std::string_view text);

// Parses a time above 0 such as "1ms" or "250 us", in ns, us, ms or s, and returns it in seconds.
// `option` names it in the error of any other text.
StatusOr<double> ParseTime(std::string_view text, std::string_view option);

// Returns that memory at a clock of `mhz`, for RtlOptions and reports. Times are rounded up to
// whole cycles; the latency is at least 1.
RunReport::Memory MemoryAtClock(const OuterMemory& memory, double mhz);

// Replaces the accelerator by one whose ports have requests in flight for the memory's latency
// (Accelerator::WithMemoryLatency) if its own do not suffice, and notes that in the report. The
// ports of a stream machine stay as they are: its cycle level simulates any latency. Sets the
// bandwidth that schedules of other machines take into account.
//   errors  the machine has no memory; its clock is not known; a latency that its keys do not allow
Status AdaptToMemory(const OuterMemory& memory, CompileOptions* compile,
                     std::unique_ptr<Accelerator>* accelerator, RunReport* report);

// Sets the memory of a run on the accelerator, and adds it to the report and to the ports of the
// report's traffic (Traffic::PutBehindMemory). The ports share a DRAM of this bandwidth and latency
// with these row misses. AdaptToMemory comes before.
Status ApplyMemory(const OuterMemory& memory, const Accelerator& accelerator, RunReport* report,
                   RtlOptions* rtl);

}  // namespace kiln

#endif  // KILN_FLOW_OUTER_MEMORY_H_
