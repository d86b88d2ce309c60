// A machine whose kernels read and write whole tensors: the host stores the values of the network
// and passes each kernel its operands. It is meant for machines without their own memory for
// activations, such as stream machines.
#ifndef KILN_TARGETS_RUN_TENSOR_MACHINE_H_
#define KILN_TARGETS_RUN_TENSOR_MACHINE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
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
};

// The base class of such machines. It processes one image at a time. fp32 values are rounded to
// their annotations.
class TensorMachine : public ImageMachine {
 public:
  // The machine runs the kernels of a program in order: kernel k on the host if there is a subgraph
  // hosts[k], else by RunKernel. `network` is the graph from which the program was compiled. Both
  // arguments must outlive the machine, as must `derived`, values that no kernel computes.
  TensorMachine(const Graph& network, const std::vector<std::optional<HostGraph>>& hosts,
                std::span<const DerivedValue> derived = {})
      : network_(network), hosts_(hosts), derived_(derived) {}

  void Begin(const ImageGroup& group) override;
  Status Load(int64_t row, size_t input, const Tensor& tensor) override;
  StatusOr<Trace> Run() override;
  std::vector<OutputTensor> Outputs(int64_t row) const override;

 protected:
  // Runs an accelerator kernel: gets the operands by CodesOf and stores the results by SetCodes.
  // Returns the trace of the kernel, without Trace::kernels.
  virtual StatusOr<Trace> RunKernel(size_t kernel) = 0;

  // Return and set the codes of a value that has an annotation.
  Tensor CodesOf(const Value* value) const;
  void SetCodes(const Value* value, const Tensor& codes);

 private:
  const Graph& network_;
  // Returns the tensor of a value, derived or not.
  Tensor ValueOf(const Value* value) const;

  const std::vector<std::optional<HostGraph>>& hosts_;
  const std::span<const DerivedValue> derived_;
  std::unordered_map<const Value*, Tensor> values_;
};

// Runs a program on machines of one image each (run_program.h) and then its tail (host_tail.h).
//   network  the graph whose inputs the machines load
//   prepare  prepares what the machines of the rtl level need; called once, and only at that level
//   make     returns a machine. rtl.seed is the seed of the options plus the number of the
//            machine's first image.
StatusOr<RunResult> RunOnTensorMachines(
    const Program& program, const Graph& network, const Batch& batch, const RunOptions& options,
    const std::function<Status()>& prepare,
    const std::function<std::unique_ptr<TensorMachine>(const RtlOptions& rtl)>& make);

}  // namespace kiln

#endif  // KILN_TARGETS_RUN_TENSOR_MACHINE_H_
