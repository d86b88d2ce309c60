// Runs kernels on whole tensors, and makes tensor machines for RunProgram.

#include "kiln/targets/run/tensor_machine.h"

#include <algorithm>
#include <utility>

#include "kiln/execute/codes.h"
#include "kiln/support/check.h"
#include "kiln/targets/run/host_tail.h"
#include "kiln/targets/run/level_machines.h"
#include "kiln/targets/run/merge_trace.h"

namespace kiln {

void TensorMachine::Begin(const ImageGroup&) {
  values_.clear();
  for (const Value* value : network_.Values()) {
    if (!value->is_constant()) continue;
    values_[value] = RoundedAsAnnotated(value->constant(), value->quantisation());
  }
}

Status TensorMachine::Load(int64_t, size_t input, const Tensor& tensor) {
  const Value* const value = network_.inputs()[input];
  values_[value] = RoundedAsAnnotated(tensor, value->quantisation());
  return OkStatus();
}

StatusOr<Trace> TensorMachine::Run() {
  Trace trace;
  for (size_t k = 0; k < hosts_.size(); ++k) {
    if (!hosts_[k].has_value()) {
      KILN_ASSIGN_OR_RETURN(Trace part, RunKernel(k));
      part.kernels = {{.kernel = static_cast<int>(k), .begin = 0, .end = part.cycles}};
      AppendTrace(part, &trace);
      continue;
    }
    const HostGraph& host = *hosts_[k];
    KILN_RETURN_IF_ERROR(RunHostKernel(
        host.graph, [&](size_t i) { return ValueOf(host.inputs[i]); },
        [&](size_t i, const Tensor& computed) {
          const Value* const value = host.outputs[i];
          values_[value] = RoundedAsAnnotated(computed, value->quantisation());
          return OkStatus();
        }));
  }
  return trace;
}

std::vector<OutputTensor> TensorMachine::Outputs(int64_t) const {
  std::vector<OutputTensor> outputs;
  for (const Value* output : network_.outputs()) {
    const Tensor value = ValueOf(output);
    const bool coded = output->quantisation() && value.type() == ElementType::kFloat32;
    outputs.push_back({value, coded ? EncodeTensor(value, *output->quantisation()) : value});
  }
  return outputs;
}

Tensor TensorMachine::ValueOf(const Value* value) const {
  if (const auto at = values_.find(value); at != values_.end()) return at->second;
  const auto derived = std::ranges::find(derived_, value, &DerivedValue::value);
  KILN_CHECK(derived != derived_.end());
  return derived->derive(ValueOf(derived->from));
}

Tensor TensorMachine::CodesOf(const Value* value) const {
  return EncodeTensor(ValueOf(value), *value->quantisation());
}

void TensorMachine::SetCodes(const Value* value, const Tensor& codes) {
  values_[value] = DequantiseTensor(codes, *value->quantisation());
}

StatusOr<RunResult> RunOnTensorMachines(
    const Program& program, const Graph& network, const Batch& batch, const RunOptions& options,
    const std::function<Status()>& prepare,
    const std::function<std::unique_ptr<TensorMachine>(const RtlOptions& rtl)>& make) {
  const bool simulates = options.level == Level::kRtl;
  LevelMachines machines(network, options, simulates ? prepare : nullptr, make);
  KILN_ASSIGN_OR_RETURN(RunResult head, RunProgram(program, batch, options, machines));
  return RunTail(program, batch, std::move(head));
}

}  // namespace kiln
