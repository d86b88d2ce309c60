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

TensorMachine::TensorMachine(const Graph& network, std::vector<const HostGraph*> hosts,
                             std::span<const DerivedValue> derived)
    : network_(network), hosts_(std::move(hosts)) {
  for (const DerivedValue& value : derived) derived_.emplace(value.value, &value);
}

void TensorMachine::Begin(const ImageGroup&) {
  values_.clear();
  codes_.clear();
  cycles_since_host_ = 0;
}

Status TensorMachine::Load(int64_t, size_t input, const Tensor& tensor) {
  const Value* const value = network_.inputs()[input];
  values_[value] = RoundedAsAnnotated(tensor, value->quantisation());
  return OkStatus();
}

StatusOr<Trace> TensorMachine::Run() {
  Trace trace;
  for (size_t k = 0; k < hosts_.size(); ++k) {
    if (hosts_[k] != nullptr) {
      KILN_RETURN_IF_ERROR(RunHost(*hosts_[k]));
      cycles_since_host_ = 0;
      continue;
    }
    KILN_ASSIGN_OR_RETURN(Trace part, RunKernel(k));
    cycles_since_host_ += part.cycles;
    if (part.kernels.empty()) {
      const auto kernel = static_cast<int>(k);
      part.kernels = {{.kernel = kernel,
                       .begin = 0,
                       .end = part.cycles,
                       .macs = 0,
                       .busy_cycles = BusyCycles(part)}};
      for (Span& span : part.spans) span.kernel = kernel;
    }
    AppendTrace(part, &trace);
    if (trace.spans.size() > 2 * kMostSpans) LimitSpans(kMostSpans, &trace);
  }
  LimitSpans(kMostSpans, &trace);
  return trace;
}

Status TensorMachine::RunHost(const HostGraph& host) {
  return RunHostKernel(
      host.graph, [&](size_t i) { return ValueOf(host.inputs[i]); },
      [&](size_t i, const Tensor& computed) {
        const Value* const value = host.outputs[i];
        values_[value] = RoundedAsAnnotated(computed, value->quantisation());
        return OkStatus();
      });
}

std::vector<OutputTensor> TensorMachine::Outputs(int64_t) const {
  std::vector<OutputTensor> outputs;
  for (const Value* output : network_.outputs()) {
    const Tensor value = ValueOf(output);
    if (const auto codes = codes_.find(output); codes != codes_.end()) {
      outputs.push_back({value, codes->second});
      continue;
    }
    const bool coded = output->quantisation() && value.type() == ElementType::kFloat32;
    outputs.push_back({value, coded ? EncodeTensor(value, *output->quantisation()) : value});
  }
  return outputs;
}

Tensor TensorMachine::ValueOf(const Value* value) const {
  if (const auto at = values_.find(value); at != values_.end()) return at->second;
  if (value->is_constant()) return RoundedAsAnnotated(value->constant(), value->quantisation());
  const auto derived = derived_.find(value);
  KILN_CHECK(derived != derived_.end());
  return derived->second->derive(ValueOf(derived->second->from));
}

Tensor TensorMachine::CodesOf(const Value* value) const {
  if (const auto codes = codes_.find(value); codes != codes_.end()) return codes->second;
  return EncodeTensor(ValueOf(value), *value->quantisation());
}

void TensorMachine::SetCodes(const Value* value, const Tensor& codes) {
  values_[value] = DequantiseTensor(codes, *value->quantisation());
  codes_[value] = codes;
}

void TensorMachine::SetNumbers(const Value* value, const Tensor& numbers,
                               const std::optional<Tensor>& codes) {
  values_[value] = numbers;
  if (codes.has_value()) codes_[value] = *codes;
}

StatusOr<RunResult> RunOnTensorMachines(
    const Program& program, const Graph& network, const Batch& batch, const RunOptions& options,
    const std::function<Status()>& prepare,
    const std::function<std::unique_ptr<TensorMachine>(const RtlOptions& rtl)>& make) {
  const bool uses_machine = std::ranges::any_of(
      program.kernels(), [](const KernelInfo& kernel) { return !kernel.on_host(); });
  LevelMachines machines(network, options, uses_machine ? prepare : nullptr, make);
  KILN_ASSIGN_OR_RETURN(RunResult head, RunProgram(program, batch, options, machines));
  return RunTail(program, batch, std::move(head));
}

StatusOr<Waveform> RecordOnTensorMachine(
    const Program& program, const Graph& network, const Batch& batch,
    const std::function<std::unique_ptr<TensorMachine>(Waveform* found)>& make) {
  KILN_CHECK(batch.images() == 1);
  Waveform found;
  const RunOptions options;
  LevelMachines machines(network, options, nullptr,
                         [&](const RtlOptions&) { return make(&found); });
  Status status = RunProgram(program, batch, options, machines).status();
  if (!status.ok() && !found.recorded) return status;
  return found;
}

}  // namespace kiln
