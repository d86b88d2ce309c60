// A compiled network of any family: its kernels in order, which of them run on the host, the sizes
// of its memory, and a readable listing.
#ifndef KILN_TARGETS_INTERFACE_PROGRAM_H_
#define KILN_TARGETS_INTERFACE_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kiln/ir/graph.h"

namespace kiln {

// An optimiser's proof about the cost of its result.
struct Certificate {
  double cost = 0;         // cost of the result, in `unit`
  double lower_bound = 0;  // no result can cost less
  bool optimal = false;    // proved: the searched space contains no cheaper result
  std::string unit;        // "cycles", ...
  std::string bound_from;  // "multiply-accumulates", "memory traffic", "exhaustive search"
  // Returns the cost over the bound, less 1.
  double gap() const { return lower_bound > 0 ? cost / lower_bound - 1 : 0; }
};

// Returns the names of a kernel's nodes joined by '+'. If no node has a name, returns the operator
// and the result of the first node: "conv_7".
std::string KernelName(std::span<const Node* const> nodes);

// One fused region that runs as one unit of work.
// A value at the border of a kernel.
struct KernelValue {
  std::string name;
  std::string shape;  // "1 x 10"; may be empty
};

struct KernelInfo {
  std::string name;                       // KernelName of its nodes
  std::vector<std::string> source_nodes;  // ONNX node names
  // Names of the values that do not leave the kernel and are not rounded to their annotations: only
  // other nodes of the kernel read them.
  std::vector<std::string> unrounded_values = {};
  std::string unit;         // "matrix", "depthwise", "vector", "host", ...
  std::string operation;    // "conv 3x3 16->16 /1 @32x32 +add +relu", for reports
  int64_t macs = 0;         // multiply-accumulates of its nodes for one image
  int64_t operations = 0;   // MACs, or elementary operations if it has no MACs; for host shares
  std::string schedule;     // its tiling, for reports; may be empty
  Certificate certificate;  // of its schedule; cost 0 for host kernels
  // Values that other kernels compute or the network is given, and values that leave the kernel.
  std::vector<KernelValue> reads = {}, results = {};
  std::string host_reason;  // why the host runs it; empty on the accelerator
  bool on_host() const { return !host_reason.empty(); }
};

// Returns whether the host runs every kernel; true if there is none.
bool HostRunsAll(std::span<const KernelInfo> kernels);

// A picture of how a machine runs a kernel (Accelerator::DrawKernels).
struct KernelPicture {
  int kernel = 0;     // index into Program::kernels()
  std::string title;  // one line of text
  // An SVG element for an HTML page: no namespace, and ids that no other picture of the program
  // has. One of class "paper" has colours of its own on white, on dark pages, too. Empty: there is
  // only the title, which says what is not drawn.
  std::string svg;
};

struct HostTail;

// A compiled network. Each family derives a class with its instructions or its hardware.
class Program {
 public:
  virtual ~Program() = default;
  const std::vector<KernelInfo>& kernels() const { return kernels_; }
  // Warnings for the reader of results, one line each: where results can be wrong, and what to
  // change.
  const std::vector<std::string>& notes() const { return notes_; }
  // Bytes of constants (weights, parameters) in memory, and of activations at their peak.
  int64_t constant_bytes() const { return constant_bytes_; }
  int64_t activation_bytes() const { return activation_bytes_; }
  // The number of images that the machine runs at the same time. A run of fewer images takes the
  // same cycles, with a part of the machine idle.
  int64_t images_at_once() const { return images_at_once_; }
  // Cycles between the results of consecutive images, on machines that pipeline images; 0 if an
  // image ends before the next one begins.
  int64_t interval_cycles() const { return interval_cycles_; }
  // The largest number of multiply-accumulates per cycle of hardware that is built for this
  // program; 0 for fixed hardware (Accelerator::PeakMacsPerCycle).
  double peak_macs_per_cycle() const { return peak_macs_per_cycle_; }
  // The part of the network that the host runs after the last kernel, because its shapes depend on
  // the data (host_tail.h), or null.
  const HostTail* tail() const { return tail_.get(); }
  // Sets the tail and appends its kernel to kernels().
  void SetTail(std::shared_ptr<const HostTail> tail);
  // Returns the multiply-accumulates of all kernels, including the host's.
  int64_t MacsTotal() const;
  // Returns the host's share of all operations, 0 to 1.
  double HostShare() const;
  // Returns the instructions or the pipeline as readable text.
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
