// The timeline of a run: spans of units and kernels, busy cycles, and stalls by cause.
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

// The activity of one unit over the whole run.
struct UnitTrace {
  std::string name;  // "input_fetch", "array", "vector", ...
  int64_t busy_cycles = 0;
  // Stall cycles by cause: "input bank empty", "output port", ...
  std::map<std::string, int64_t> stall_cycles;
  int64_t bytes_read = 0;  // from the accelerator's outer memory
  int64_t bytes_written = 0;
  bool transfers = false;  // whether it only moves data between memory and the machine
};

// A queue of words between two units, or between a unit and the machine's streams.
struct QueueTrace {
  std::string name;     // "conv1 to add1"
  int from = -1;        // unit that fills it, index into Trace::units; -1: an input of the machine
  int to = -1;          // unit that empties it; -1: an output of the machine
  int64_t depth = 0;    // words that it can hold
  int64_t highest = 0;  // the most words that it held
};

// The cycles [begin, end) of one accelerator kernel.
struct KernelTrace {
  int kernel = 0;  // index into Program::kernels()
  int64_t begin = 0;
  int64_t end = 0;
  int64_t macs = 0;
  // The cycles in which each unit of Trace::units worked on the kernel, before `begin` as well if
  // units work ahead; empty if they are not known.
  std::vector<int64_t> busy_cycles = {};
};

// The timeline of the images that the accelerator runs at the same time.
struct Trace {
  int64_t images = 1;  // number of these images
  int64_t cycles = 0;  // from the start of the first instruction to the last write
  std::vector<UnitTrace> units;
  // Queues of machines whose units work on streams, in the order of the data; may be empty.
  std::vector<QueueTrace> queues;
  // Accelerator kernels in program order. Host kernels take no cycles.
  std::vector<KernelTrace> kernels;
  // Sorted by `begin`. Spans of the same unit and kernel that are at most span_resolution cycles
  // apart are merged, which bounds the number of spans of a long run. UnitTrace::busy_cycles is
  // exact.
  std::vector<Span> spans;
  int64_t span_resolution = 0;
};

}  // namespace kiln

#endif  // KILN_TARGETS_INTERFACE_TRACE_H_
