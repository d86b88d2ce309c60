// What limits each kernel of a run: the machine's units, a memory port's bandwidth, or waiting.
#ifndef KILN_REPORT_KERNEL_LOADS_H_
#define KILN_REPORT_KERNEL_LOADS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/report/run_report.h"

namespace kiln {

enum class Limit : uint8_t {
  kUnknown,
  kCompute,    // a unit that computes is busy in most of the kernel's cycles
  kBandwidth,  // a memory port is busy in most of them
  kLatency,    // neither is: units wait for memory, for each other, or to fill and drain
  kPipeline,   // the kernel is a stage that waits for slower stages of a pipeline
};
// Returns the name: "compute", "bandwidth", "latency" or "pipeline"; empty if it is unknown.
std::string_view NameOf(Limit limit);

// From this share of a kernel's cycles on, a unit or a port bounds the kernel.
inline constexpr double kBoundingShare = 0.75;

// The work and the traffic of a kernel, for the images of the run's trace.
struct KernelLoad {
  int kernel = 0;  // index into RunReport::kernels
  // The kernel's own cycles: those of KernelRow or, on machines that pipeline images, between
  // images.
  double cycles = 0;
  // Two for each multiply-accumulate; of kernels without any, elementary operations.
  double operations = 0;
  bool multiplies = false;
  int64_t bytes_read = 0, bytes_written = 0;
  // The port that needs the most cycles for its bytes, an index into Traffic::ports; -1: none moves
  // bytes. `port_share` is the share of `cycles` that it needs at least, at most 1.
  int port = -1;
  int64_t port_bytes = 0;
  double port_share = 0;
  // The largest share of `cycles` in which a unit that computes is busy, or that the
  // multiply-accumulates take at the machine's peak; at most 1.
  double compute_share = 0;
  std::string unit;  // the unit with that share; empty: the peak
  Limit limit = Limit::kUnknown;

  // Returns the operations for each byte of that port; 0 without bytes.
  double intensity() const {
    return port_bytes > 0 ? operations / static_cast<double>(port_bytes) : 0;
  }
  // Returns the operations a cycle; 0 without cycles.
  double operations_per_cycle() const { return cycles > 0 ? operations / cycles : 0; }
};

// Returns what limits the kernel, with the unit or port that does and its share of the cycles:
// "compute (array 93.0 %)", "bandwidth (weights 97.2 %)", "latency"; empty if it is unknown.
std::string LimitText(const KernelLoad& load, const Traffic& traffic);

// Returns one load per kernel in program order; empty if the traffic is not known. Without a trace,
// and for host kernels, there are bytes and operations but no cycles and no limit.
std::vector<KernelLoad> KernelLoads(const RunReport& report);

}  // namespace kiln

#endif  // KILN_REPORT_KERNEL_LOADS_H_
