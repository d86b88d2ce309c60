// What a run did in time: spans of units and kernels, and the reasons why units waited.
#ifndef KILN_TARGETS_INTERFACE_TRACE_H_
#define KILN_TARGETS_INTERFACE_TRACE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace kiln {

// A half-open interval of cycles in which one unit worked on one kernel.
struct Span {
  int unit = 0;       // index into Trace::units
  int kernel = 0;     // index into Program::kernels()
  int64_t begin = 0;  // first cycle
  int64_t end = 0;    // one past the last
};

struct UnitTrace {
  std::string name;  // "input_fetch", "array", "vector", ...
  int64_t busy_cycles = 0;
  std::map<std::string, int64_t>
      stall_cycles;        // cause -> cycles: "input bank empty", "output port", ...
  int64_t bytes_read = 0;  // from the accelerator's outer memory
  int64_t bytes_written = 0;
};

struct KernelTrace {
  int kernel = 0;  // index into Program::kernels()
  int64_t begin = 0;
  int64_t end = 0;
  int64_t macs = 0;
};

struct Trace {
  int64_t images = 1;  // that the accelerator works on at once
  int64_t cycles = 0;  // of these, start of the first instruction to the last write
  std::vector<UnitTrace> units;
  std::vector<KernelTrace>
      kernels;  // accelerator kernels in program order; host kernels take no cycles
  // In order of begin. Spans of one unit and kernel that lie at most span_resolution cycles apart
  // are one span, so that a long run has a picture of bounded size; UnitTrace::busy_cycles counts
  // exactly.
  std::vector<Span> spans;
  int64_t span_resolution = 0;
};

}  // namespace kiln

#endif  // KILN_TARGETS_INTERFACE_TRACE_H_
