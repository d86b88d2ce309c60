// The machine of one image: its values on the host, and the launches that the host streams.

#include "kiln/targets/cgra/run_network.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <utility>

#include "kiln/execute/codes.h"
#include "kiln/support/check.h"
#include "kiln/targets/cgra/isa/program.h"
#include "kiln/targets/cgra/isa/stream.h"
#include "kiln/targets/cgra/simulate/cycle/cycle.h"
#include "kiln/targets/cgra/simulate/functional/functional.h"
#include "kiln/targets/cgra/simulate/rtl/machine.h"
#include "kiln/targets/run/level_machines.h"
#include "kiln/targets/run/merge_trace.h"
#include "kiln/targets/run/run_program.h"

namespace kiln::cgra {
namespace {

// Runs of a launch are sent in pieces of at most this many bytes; each piece loads the program.
constexpr int64_t kMostPieceBytes = int64_t{1} << 26;
constexpr size_t kMostSpans = size_t{1} << 16;  // of the trace

int64_t RunsInPiece(const Launch& launch, int64_t lanes) {
  const int64_t bytes = 4 * launch.threads * lanes * std::max<int64_t>(1, std::ssize(launch.feeds));
  return std::clamp<int64_t>(kMostPieceBytes / bytes, 1, launch.runs);
}

}  // namespace

Status RunByStream(const Launch& launch, const StreamRun& run, BufferContents* contents,
                   Trace* trace) {
  const CgraProgram& program = launch.mapped->program;
  const int64_t lanes = program.config.lanes, results = ResultsOf(launch, lanes);
  const int64_t piece = RunsInPiece(launch, lanes);
  for (int64_t begin = 0; begin < launch.runs; begin += piece) {
    const int64_t end = std::min(launch.runs, begin + piece);
    LaunchStream stream{.beats_of_run = results / lanes};
    AppendLoad(program, &stream.bytes);
    for (int64_t r = begin; r < end; ++r) {
      AppendRun(program, launch.threads, launch.first_sent, DataOf(launch, r, lanes, *contents),
                &stream.bytes);
      stream.ends.push_back(stream.bytes.size());
    }
    KILN_ASSIGN_OR_RETURN(const std::vector<uint8_t> out, run(stream, trace));
    KILN_CHECK(std::ssize(out) == (end - begin) * results * 4);
    std::vector<int32_t> numbers(static_cast<size_t>(results));
    for (int64_t r = begin; r < end; ++r) {
      std::memcpy(numbers.data(), &out[static_cast<size_t>((r - begin) * results * 4)],
                  static_cast<size_t>(results) * 4);
      StoreResults(launch, r, lanes, numbers, contents);
    }
  }
  return OkStatus();
}

namespace {

// What all machines of a run share: the level, and the simulation of the hardware.
class Levels {
 public:
  Levels(const NetworkProgram& program, const RunOptions& options)
      : config_(program.config()), options_(options) {}

  Status Prepare(bool uses_machine) {
    if (options_.level != Level::kRtl || !uses_machine) return OkStatus();
    KILN_ASSIGN_OR_RETURN(simulation_, RtlMachine::Build(config_, options_.rtl));
    return OkStatus();
  }

  Status Run(const Launch& launch, const RtlOptions& rtl, BufferContents* contents,
             Trace* trace) const {
    const StreamRun run = [&](const LaunchStream& stream,
                              Trace* all) -> StatusOr<std::vector<uint8_t>> {
      if (options_.level == Level::kFunctional) return FunctionalMachine(config_).Run(stream.bytes);
      if (options_.level == Level::kCycle) {
        KILN_ASSIGN_OR_RETURN(CycleResult result, CycleMachine(config_).Run(stream.bytes));
        AppendTrace(result.trace, all);
        return std::move(result.bytes);
      }
      KILN_ASSIGN_OR_RETURN(const RtlMachine::Result result,
                            simulation_->RunStream(stream.bytes, stream.beats_out(), rtl));
      AppendTrace(result.trace, all);
      std::vector<uint8_t> bytes(result.data.size() * 4);
      std::memcpy(bytes.data(), result.data.data(), bytes.size());
      return bytes;
    };
    return RunByStream(launch, run, contents, trace);
  }

 private:
  const Config& config_;
  const RunOptions& options_;
  std::unique_ptr<RtlMachine> simulation_;
};

class NetworkMachine final : public ImageMachine {
 public:
  NetworkMachine(const NetworkProgram& program, LaunchRun run)
      : program_(program), run_(std::move(run)) {
    for (const ViewedValue& view : program.views()) views_.emplace(view.value, &view);
  }

  void Begin(const ImageGroup&) override { values_.clear(); }

  Status Load(int64_t, size_t input, const Tensor& tensor) override {
    const Value* value = program_.network().inputs()[input];
    values_[value] = RoundedAsAnnotated(tensor, value->quantisation());
    return OkStatus();
  }

  StatusOr<Trace> Run() override {
    Trace trace;
    for (size_t k = 0; k < program_.lowered().size(); ++k) {
      const LoweredKernel& kernel = program_.lowered()[k];
      if (kernel.machine.has_value()) {
        Trace part;
        KILN_RETURN_IF_ERROR(RunMachine(*kernel.machine, &part));
        part.kernels = {{.kernel = static_cast<int>(k), .begin = 0, .end = part.cycles}};
        for (Span& span : part.spans) span.kernel = static_cast<int>(k);
        AppendTrace(part, &trace);
        if (trace.spans.size() > 2 * kMostSpans) LimitSpans(kMostSpans, &trace);
      } else {
        KILN_RETURN_IF_ERROR(RunHost(*kernel.host));
      }
    }
    LimitSpans(kMostSpans, &trace);
    return trace;
  }

  std::vector<OutputTensor> Outputs(int64_t) const override {
    std::vector<OutputTensor> outputs;
    for (const Value* output : program_.network().outputs()) {
      const Tensor value = ValueOf(output);
      const bool coded = output->quantisation() && value.type() == ElementType::kFloat32;
      outputs.push_back({value, coded ? EncodeTensor(value, *output->quantisation()) : value});
    }
    return outputs;
  }

 private:
  Tensor ValueOf(const Value* value) const {
    if (const auto at = values_.find(value); at != values_.end()) return at->second;
    if (value->is_constant()) return RoundedAsAnnotated(value->constant(), value->quantisation());
    const auto view = views_.find(value);
    KILN_CHECK(view != views_.end());
    return Gather(ValueOf(view->second->of), view->second->view).Reshaped(value->shape());
  }

  Status RunHost(const HostGraph& host) {
    return RunHostKernel(
        host.graph, [&](size_t i) { return ValueOf(host.inputs[i]); },
        [&](size_t i, const Tensor& computed) {
          values_[host.outputs[i]] = RoundedAsAnnotated(computed, host.outputs[i]->quantisation());
          return OkStatus();
        });
  }

  Status RunMachine(const MachineKernel& kernel, Trace* trace) {
    BufferContents contents;
    size_t result = 0;
    for (const Buffer& buffer : kernel.buffers) {
      if (buffer.is_result) result = contents.size();
      if (buffer.value != nullptr) {
        const Tensor codes = EncodeTensor(ValueOf(buffer.value), *buffer.value->quantisation());
        const std::vector<int64_t> wide = codes.ToInts();
        contents.emplace_back(wide.begin(), wide.end());
      } else if (!buffer.constants.empty()) {
        contents.push_back(buffer.constants);
      } else {
        contents.emplace_back(static_cast<size_t>(buffer.size), buffer.fill);
      }
    }
    for (const Launch& launch : kernel.launches)
      KILN_RETURN_IF_ERROR(run_(launch, &contents, trace));
    Store(kernel, contents[result]);
    return OkStatus();
  }

  void Store(const MachineKernel& kernel, const std::vector<int32_t>& numbers) {
    const Value* value = kernel.result;
    if (kernel.factors.empty()) {
      // Dequantisation of codes is exact in the way of execute/codes.h.
      Tensor codes(CodeElementType(value->quantisation()->type.format), value->shape());
      for (size_t i = 0; i < numbers.size(); ++i) StoreCode(numbers[i], i, &codes);
      values_[value] = DequantiseTensor(codes, *value->quantisation());
      return;
    }
    Tensor reals(ElementType::kFloat32, value->shape());
    for (size_t i = 0; i < numbers.size(); ++i) {
      const double real = numbers[i] * kernel.factors[i] + kernel.offsets[i];
      reals.data<float>()[i] =
          static_cast<float>(std::min(std::max(real, kernel.low), kernel.high));
    }
    values_[value] = reals;
  }

  static void StoreCode(int32_t code, size_t at, Tensor* codes) {
    switch (codes->type()) {
      case ElementType::kInt8:
        codes->data<int8_t>()[at] = static_cast<int8_t>(code);
        break;
      case ElementType::kUint8:
        codes->data<uint8_t>()[at] = static_cast<uint8_t>(code);
        break;
      case ElementType::kInt16:
        codes->data<int16_t>()[at] = static_cast<int16_t>(code);
        break;
      default:
        codes->data<uint16_t>()[at] = static_cast<uint16_t>(code);
        break;
    }
  }

  const NetworkProgram& program_;
  const LaunchRun run_;
  std::unordered_map<const Value*, const ViewedValue*> views_;
  std::unordered_map<const Value*, Tensor> values_;
};

bool UsesMachine(const NetworkProgram& program) {
  return std::ranges::any_of(program.lowered(),
                             [](const LoweredKernel& k) { return k.machine.has_value(); });
}

}  // namespace

StatusOr<RunResult> RunNetwork(const NetworkProgram& program, const Batch& batch,
                               const RunOptions& options) {
  Levels levels(program, options);
  LevelMachines factory(
      program.network(), options, [&] { return levels.Prepare(UsesMachine(program)); },
      [&](const RtlOptions& rtl) {
        return std::make_unique<NetworkMachine>(
            program, [&levels, rtl](const Launch& launch, BufferContents* contents, Trace* trace) {
              return levels.Run(launch, rtl, contents, trace);
            });
      });
  return RunProgram(program, batch, options, factory);
}

StatusOr<RunResult> RunLaunches(const NetworkProgram& program, const Batch& batch,
                                const LaunchRun& run) {
  const RunOptions options;
  LevelMachines factory(program.network(), options, nullptr, [&](const RtlOptions&) {
    return std::make_unique<NetworkMachine>(program, run);
  });
  return RunProgram(program, batch, options, factory);
}

}  // namespace kiln::cgra
