// A compiled network, whatever the family: kernels in order, which of them the host runs, memory,
// and text to read.
#ifndef KILN_TARGETS_INTERFACE_PROGRAM_H_
#define KILN_TARGETS_INTERFACE_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kiln/ir/graph.h"

namespace kiln {

// What an optimiser proves about its result.
struct Certificate {
  double cost = 0;         // what was found, in `unit`
  double lower_bound = 0;  // nothing can be below this
  bool optimal = false;    // proved: no better point in the space that was searched
  std::string unit;        // "cycles", ...
  std::string bound_from;  // "multiply-accumulates", "memory traffic", "exhaustive search"
  double gap() const { return lower_bound > 0 ? cost / lower_bound - 1 : 0; }
};

// The names of a kernel's nodes joined by '+'; where none of them has one, the first one's operator
// and result: "conv_7".
std::string KernelName(std::span<const Node* const> nodes);

// One fused region that runs as one unit of work.
struct KernelInfo {
  std::string name;                       // KernelName of its nodes
  std::vector<std::string> source_nodes;  // ONNX node names
  std::string unit;                       // "matrix", "depthwise", "vector", "host", ...
  std::string operation;                  // "conv 3x3 16->16 /1 @32x32 +add +relu", for reports
  int64_t macs = 0;                       // multiply-accumulates of the network in it, one image
  int64_t operations =
      0;  // MACs, or elementary operations where there are none; host share is in these
  std::string
      schedule;  // how it is cut into tiles, for reports; empty where there is nothing to say
  Certificate certificate;  // of its schedule; cost 0 for host kernels
  std::string host_reason;  // why the host runs it; empty on the accelerator
  bool on_host() const { return !host_reason.empty(); }
};

struct HostTail;

class Program {
 public:
  virtual ~Program() = default;
  const std::vector<KernelInfo>& kernels() const { return kernels_; }
  // What whoever reads its results should know, a line each: where they can be wrong, and what
  // would be right.
  const std::vector<std::string>& notes() const { return notes_; }
  // Memory image sizes in bytes: constants (weights, parameters), and activations at their peak.
  int64_t constant_bytes() const { return constant_bytes_; }
  int64_t activation_bytes() const { return activation_bytes_; }
  // On how many images a run of the machine works. Cycles of fewer are those of a machine that is
  // partly empty.
  int64_t images_at_once() const { return images_at_once_; }
  // Cycles between the results of images that follow one another, on machines that work on several
  // stages of different images; 0 if an image ends before the next one begins.
  int64_t interval_cycles() const { return interval_cycles_; }
  // Multiply-accumulates that the hardware can do in a cycle at most, if it is built for this
  // program; 0 if it is the design point's (Accelerator::PeakMacsPerCycle).
  double peak_macs_per_cycle() const { return peak_macs_per_cycle_; }
  // What the host runs behind the last kernel, as it has shapes that depend on the data
  // (host_tail.h); null: nothing.
  const HostTail* tail() const { return tail_.get(); }
  void SetTail(std::shared_ptr<const HostTail> tail);  // adds its kernel
  int64_t MacsTotal() const;
  // Share of operations that runs on the host, 0 to 1.
  double HostShare() const;
  // The instructions (configuration, pipeline) as readable text.
  virtual std::string Print() const = 0;

 protected:
  std::vector<KernelInfo> kernels_;
  std::vector<std::string> notes_;
  int64_t images_at_once_ = 1;
  int64_t interval_cycles_ = 0;
  double peak_macs_per_cycle_ = 0;
  int64_t constant_bytes_ = 0;
  int64_t activation_bytes_ = 0;

 private:
  std::shared_ptr<const HostTail> tail_;
};

}  // namespace kiln

#endif  // KILN_TARGETS_INTERFACE_PROGRAM_H_
