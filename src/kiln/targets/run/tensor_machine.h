// A machine whose kernels read and write whole tensors: the host stores the values of the network
// and passes each kernel its operands. It is meant for machines without their own memory for
// activations, such as stream machines.
#ifndef KILN_TARGETS_RUN_TENSOR_MACHINE_H_
#define KILN_TARGETS_RUN_TENSOR_MACHINE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/run/host_graph.h"
#include "kiln/targets/run/run_program.h"

namespace kiln {

// A value that moves the elements of another one: a kernel that reads it reads `from`.
struct DerivedValue {
  const Value* value = nullptr;
  const Value* from = nullptr;
  std::function<Tensor(const Tensor&)> derive;
  std::string text = {};  // the element of `from` that is element e of `value`, in row-major order
};

// Where an accelerator kernel is in the run of an image.
struct KernelPlace {
  int kernel = 0;     // index into Program::kernels()
  int64_t begin = 0;  // cycles of the kernels before it since the host ran one, as Waveform counts
};

// Returns the host's graph of each element of a list, or null where it has none. `host` is the
// element's std::optional<HostGraph>: a member, or the element itself.
template <typename Steps, typename Host = std::identity>
std::vector<const HostGraph*> HostsOf(const Steps& steps, Host host = {}) {
  std::vector<const HostGraph*> hosts;
  for (const auto& step : steps) {
    const std::optional<HostGraph>& graph = std::invoke(host, step);
    hosts.push_back(graph.has_value() ? &*graph : nullptr);
  }
  return hosts;
}

// The base class of such machines. It processes one image at a time. fp32 values are rounded to
// their annotations.
class TensorMachine : public ImageMachine {
 public:
  // The machine runs the kernels of a program in order: kernel k on the host if hosts[k] is not
  // null, else by RunKernel. `network` is the graph from which the program was compiled. All
  // arguments must outlive the machine, and the host's graphs as well. `derived` are values that no
  // kernel computes.
  TensorMachine(const Graph& network, std::vector<const HostGraph*> hosts,
                std::span<const DerivedValue> derived = {});

  void Begin(const ImageGroup& group) override;
  Status Load(int64_t row, size_t input, const Tensor& tensor) override;
  StatusOr<Trace> Run() override;
  std::vector<OutputTensor> Outputs(int64_t row) const override;

 protected:
  // Runs an accelerator kernel: gets the operands by CodesOf and stores the results by SetCodes or
  // SetNumbers. Returns the trace. If its Trace::kernels is empty, all of it belongs to this
  // kernel; a machine that runs several kernels of the program at a time sets it, and the kernels
  // of spans.
  virtual StatusOr<Trace> RunKernel(size_t kernel) = 0;

  // Return and set the codes of a value that has an annotation.
  Tensor CodesOf(const Value* value) const;
  void SetCodes(const Value* value, const Tensor& codes);
  // Sets a value without annotation to fp32 numbers. If it is an output, RunResult::codes has
  // `codes`, the integers that the machine wrote, or the numbers without them.
  void SetNumbers(const Value* value, const Tensor& numbers,
                  const std::optional<Tensor>& codes = std::nullopt);

  // Returns the place of the kernel that RunKernel is running.
  KernelPlace PlaceOf(size_t kernel) const {
    return {.kernel = static_cast<int>(kernel), .begin = cycles_since_host_};
  }

 private:
  // Returns the tensor of a value, derived or not.
  Tensor ValueOf(const Value* value) const;
  Status RunHost(const HostGraph& host);

  const Graph& network_;
  const std::vector<const HostGraph*> hosts_;
  std::unordered_map<const Value*, const DerivedValue*> derived_;
  std::unordered_map<const Value*, Tensor> values_;
  std::unordered_map<const Value*, Tensor> codes_;  // that RunKernel has set
  int64_t cycles_since_host_ = 0;
};

// Runs a program on machines of one image each (run_program.h) and then its tail (host_tail.h).
//   network  the graph whose inputs the machines load
//   prepare  prepares what all machines need at the level of the options, such as the simulation.
//            Called once, unless the host runs all kernels. May be null.
//   make     returns a machine. rtl.seed is the seed of the options plus the number of the
//            machine's first image.
StatusOr<RunResult> RunOnTensorMachines(
    const Program& program, const Graph& network, const Batch& batch, const RunOptions& options,
    const std::function<Status()>& prepare,
    const std::function<std::unique_ptr<TensorMachine>(const RtlOptions& rtl)>& make);

// Returns the difference that a machine finds on the only image of a batch
// (Accelerator::RecordDifference). The machine that `make` returns runs each kernel at the cycle
// and the rtl level and stores the results of the cycle level. If the levels differ, it records the
// signals, sets `found` and stops with any error. The tail does not run.
//   errors  the errors of RunProgram, unless something was recorded
StatusOr<Waveform> RecordOnTensorMachine(
    const Program& program, const Graph& network, const Batch& batch,
    const std::function<std::unique_ptr<TensorMachine>(Waveform* found)>& make);

}  // namespace kiln

#endif  // KILN_TARGETS_RUN_TENSOR_MACHINE_H_
