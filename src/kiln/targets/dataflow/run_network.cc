// The machine of one image: its values on the host, the segments it sends them to, and the time that
// they take.

#include "kiln/targets/dataflow/run_network.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "fmt/format.h"
#include "kiln/execute/codes.h"
#include "kiln/support/check.h"
#include "kiln/targets/dataflow/simulate/cycle/data.h"
#include "kiln/targets/dataflow/simulate/cycle/timing.h"
#include "kiln/targets/dataflow/simulate/functional/functional.h"
#include "kiln/targets/dataflow/simulate/rtl/segment_simulation.h"
#include "kiln/targets/run/level_machines.h"
#include "kiln/targets/run/merge_trace.h"
#include "kiln/targets/run/run_program.h"

namespace kiln::dataflow {
namespace {

using Codes = std::vector<int64_t>;

// What all machines of a run share: prepared pipelines of its level.
class Machines {
 public:
  Machines(const DataflowProgram& program, const RunOptions& options)
      : program_(program), options_(options) {}

  Status Prepare() {
    for (size_t i = 0; i < program_.segments().size(); ++i) {
      const Pipeline& pipeline = program_.segments()[i].pipeline;
      if (options_.level == Level::kFunctional)
        functional_.push_back(std::make_unique<FunctionalPipeline>(pipeline));
      if (options_.level == Level::kCycle) {
        KILN_ASSIGN_OR_RETURN(PipelineTiming timing, SimulateTiming(pipeline, {}));
        timings_.push_back(std::move(timing));
      }
      if (options_.level == Level::kRtl) {
        if (options_.rtl.dram_bytes_per_cycle > 0 || options_.rtl.memory_latency > 0)
          return ErrorAt("", "the memory", "does not exist: the machine has streams only",
                         "leave out the memory's latency and DRAM");
        std::filesystem::path folder = options_.rtl.folder;
        if (!folder.empty() && program_.segments().size() > 1)
          folder /= fmt::format("segment{}", i);
        KILN_ASSIGN_OR_RETURN(
            auto simulation,
            SegmentSimulation::Build(pipeline, EmitOptionsOf(program_.config()), folder));
        simulations_.push_back(std::move(simulation));
      }
    }
    return OkStatus();
  }

  // Runs a segment; sets the cycle in which each channel got its last word, at levels with time.
  StatusOr<std::vector<Codes>> Run(size_t segment, const std::vector<Codes>& inputs,
                                   const RtlOptions& rtl, Trace* trace) const {
    const Pipeline& pipeline = program_.segments()[segment].pipeline;
    if (options_.level == Level::kFunctional) return functional_[segment]->Run(inputs);
    if (options_.level == Level::kCycle) {
      const PipelineTiming& timing = timings_[segment];
      std::vector<int64_t> last;
      for (const ChannelTiming& channel : timing.channels)
        last.push_back(channel.last_pushes.empty() ? 0 : channel.last_pushes.back());
      AddTime(segment, timing.cycles, last, trace);
      AddStages(segment, timing, trace);
      return StreamData(pipeline, inputs);
    }
    KILN_ASSIGN_OR_RETURN(SimulatedImages run, simulations_[segment]->Run(inputs, 1, rtl));
    std::vector<int64_t> last;
    for (const auto& channel : run.channels) last.push_back(channel.last);
    AddTime(segment, run.cycles, last, trace);
    return std::move(run.outputs);
  }

 private:
  // Adds the part of a segment to a trace: a layer's kernel ends with its last word.
  void AddTime(size_t segment, int64_t cycles, const std::vector<int64_t>& last,
               Trace* trace) const {
    const Pipeline& pipeline = program_.segments()[segment].pipeline;
    std::vector<std::pair<int64_t, int>> ends;  // cycle, kernel
    for (const Stage& stage : pipeline.stages) {
      if (stage.layer < 0) continue;
      const int64_t end = last[static_cast<size_t>(stage.outputs[0])] + 1;
      ends.emplace_back(end, program_.KernelOfLayer(static_cast<size_t>(stage.layer)));
    }
    // Kernels are listed in the program's order, each from where the ones before it have ended.
    std::ranges::sort(ends, {}, &std::pair<int64_t, int>::second);
    Trace part;
    part.cycles = cycles;
    int64_t begin = 0;
    for (size_t i = 0; i < ends.size(); ++i) {
      const int64_t end =
          i + 1 == ends.size() ? cycles : std::min(cycles, std::max(begin, ends[i].first));
      part.kernels.push_back({.kernel = ends[i].second, .begin = begin, .end = end});
      begin = end;
    }
    AppendTrace(part, trace);
  }

  // Adds what the stages and channels of a segment did, to the part that AddTime has appended.
  void AddStages(size_t segment, const PipelineTiming& timing, Trace* trace) const {
    const Pipeline& pipeline = program_.segments()[segment].pipeline;
    const int64_t shift = trace->cycles - timing.cycles;
    std::vector<int> units(pipeline.stages.size(), -1);  // by stage
    for (size_t i = 0; i < pipeline.stages.size(); ++i) {
      const Stage& stage = pipeline.stages[i];
      if (stage.layer < 0) continue;
      const StageTiming& did = timing.stages[i];
      UnitTrace unit;
      unit.name = stage.name;
      unit.busy_cycles = did.busy;
      unit.stall_cycles = did.stalls;
      units[i] = static_cast<int>(trace->units.size());
      trace->spans.push_back({.unit = units[i],
                              .kernel = program_.KernelOfLayer(static_cast<size_t>(stage.layer)),
                              .begin = shift + did.begin,
                              .end = shift + did.end});
      trace->units.push_back(std::move(unit));
    }
    // Forks and converters are no units: a channel leads from the layer before to the layer behind.
    const auto stage_at = [&](int index) -> const Stage& {
      return pipeline.stages[static_cast<size_t>(index)];
    };
    for (size_t c = 0; c < pipeline.channels.size(); ++c) {
      const Channel& channel = pipeline.channels[c];
      int from = channel.from, to = channel.to;
      while (stage_at(from).layer < 0 && !stage_at(from).inputs.empty())
        from = pipeline.input(stage_at(from)).from;
      while (stage_at(to).layer < 0 && !stage_at(to).outputs.empty())
        to = pipeline.output(stage_at(to)).to;
      trace->queues.push_back(
          {.name = stage_at(channel.from).name + " to " + stage_at(channel.to).name,
           .from = units[static_cast<size_t>(from)],
           .to = units[static_cast<size_t>(to)],
           .depth = channel.depth,
           .highest = timing.channels[c].highest});
    }
  }

  const DataflowProgram& program_;
  const RunOptions& options_;
  std::vector<std::unique_ptr<FunctionalPipeline>> functional_;
  std::vector<PipelineTiming> timings_;
  std::vector<std::unique_ptr<SegmentSimulation>> simulations_;
};

class NetworkMachine final : public ImageMachine {
 public:
  NetworkMachine(const DataflowProgram& program, SegmentRun run)
      : network_(program.network()), run_(std::move(run)) {}

  void Begin(const ImageGroup&) override {
    values_.clear();
    codes_.clear();
    maps_.clear();
  }
  Status Load(int64_t, size_t input, const Tensor& tensor) override {
    const Value* value = network_.graph.inputs()[input];
    values_[value] = RoundedAsAnnotated(tensor, value->quantisation());
    return OkStatus();
  }

  StatusOr<Trace> Run() override {
    Trace trace;
    for (const NetworkStep& step : network_.steps) {
      if (step.host.has_value()) {
        KILN_RETURN_IF_ERROR(RunHost(*step.host));
      } else {
        KILN_RETURN_IF_ERROR(RunSegment(step, &trace));
      }
    }
    std::ranges::sort(trace.spans, {},
                      [](const Span& span) { return std::pair(span.begin, span.unit); });
    return trace;
  }

  std::vector<OutputTensor> Outputs(int64_t) const override {
    std::vector<OutputTensor> outputs;
    for (const Value* output : network_.graph.outputs()) {
      const Tensor values = ValueOf(output);
      const auto at = codes_.find(output);
      if (at != codes_.end()) {
        outputs.push_back({values, at->second});
      } else {
        const bool coded = output->quantisation() && values.type() == ElementType::kFloat32;
        outputs.push_back({values, coded ? EncodeTensor(values, *output->quantisation()) : values});
      }
    }
    return outputs;
  }

 private:
  // Returns a value on the host, through a view of another if it is an alias.
  Tensor ValueOf(const Value* value) const {
    if (const auto at = values_.find(value); at != values_.end()) return at->second;
    if (value->is_constant()) return RoundedAsAnnotated(value->constant(), value->quantisation());
    const auto alias = std::ranges::find(network_.aliases, value, &HostAlias::value);
    KILN_CHECK(alias != network_.aliases.end());
    return Gather(ValueOf(alias->root), alias->view).Reshaped(value->shape());
  }

  Status RunHost(const HostGraph& host) {
    return RunHostKernel(
        host.graph, [&](size_t i) { return ValueOf(host.inputs[i]); },
        [&](size_t i, const Tensor& computed) {
          values_[host.outputs[i]] = RoundedAsAnnotated(computed, host.outputs[i]->quantisation());
          return OkStatus();
        });
  }

  Status RunSegment(const NetworkStep& step, Trace* trace) {
    const auto segment = static_cast<size_t>(step.segment);
    std::vector<Codes> inputs;
    for (const int map : SourceMaps(network_, step.segment)) {
      if (const int from = network_.maps[static_cast<size_t>(map)].copied_from; from >= 0) {
        inputs.push_back(maps_.at(from));
        continue;
      }
      const auto sent = std::ranges::find_if(
          step.sends, [&](const HostTensor& tensor) { return tensor.place.map == map; });
      const Tensor codes = EncodeTensor(ValueOf(sent->value), *sent->value->quantisation());
      inputs.push_back(Gather(codes, sent->place.view).ToInts());
    }
    KILN_ASSIGN_OR_RETURN(const std::vector<Codes> outputs, run_(segment, inputs, trace));
    const std::vector<int> sinks = SinkMaps(network_, step.segment);
    for (size_t i = 0; i < sinks.size(); ++i) maps_[sinks[i]] = outputs[i];
    for (const HostTensor& tensor : step.receives) {
      const auto sink =
          static_cast<size_t>(std::ranges::find(sinks, tensor.place.map) - sinks.begin());
      Receive(tensor, outputs[sink]);
    }
    return OkStatus();
  }

  // Stores a tensor that the machine has computed.
  void Receive(const HostTensor& tensor, const Codes& map) {
    const Value* value = tensor.value;
    const auto elements = Shape{static_cast<int64_t>(map.size())};
    if (tensor.is_sum()) {
      std::vector<float> numbers;
      std::vector<int32_t> sums;
      for (size_t i = 0; i < map.size(); ++i) {
        const size_t c = i % tensor.factors.size();
        const double number = static_cast<double>(map[i]) * tensor.factors[c] + tensor.offsets[c];
        numbers.push_back(static_cast<float>(std::min(std::max(number, tensor.low), tensor.high)));
        sums.push_back(static_cast<int32_t>(map[i]));
      }
      values_[value] =
          Gather(Tensor::Of(elements, numbers), tensor.place.view).Reshaped(value->shape());
      codes_[value] =
          Gather(Tensor::Of(elements, sums), tensor.place.view).Reshaped(value->shape());
      return;
    }
    Tensor codes(CodeElementType(value->quantisation()->type.format), elements);
    for (size_t i = 0; i < map.size(); ++i) StoreCode(map[i], i, &codes);
    codes_[value] = Gather(codes, tensor.place.view).Reshaped(value->shape());
    values_[value] = DequantiseTensor(codes_[value], *value->quantisation());
  }

  static void StoreCode(int64_t code, size_t at, Tensor* codes) {
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

  const Lowered& network_;
  const SegmentRun run_;
  std::unordered_map<const Value*, Tensor> values_;  // as nodes of the host read them
  std::unordered_map<const Value*, Tensor> codes_;   // that the machine wrote
  std::unordered_map<int, Codes> maps_;              // that segments wrote
};

}  // namespace

StatusOr<RunResult> RunNetwork(const DataflowProgram& program, const Batch& batch,
                               const RunOptions& options) {
  Machines machines(program, options);
  LevelMachines factory(
      program.network().graph, options, [&] { return machines.Prepare(); },
      [&](const RtlOptions& rtl) {
        return std::make_unique<NetworkMachine>(
            program,
            [&machines, rtl](size_t segment, const std::vector<Codes>& inputs, Trace* trace) {
              return machines.Run(segment, inputs, rtl, trace);
            });
      });
  return RunProgram(program, batch, options, factory);
}

StatusOr<RunResult> RunSegments(const DataflowProgram& program, const Batch& batch,
                                const SegmentRun& run) {
  const RunOptions options;
  LevelMachines factory(program.network().graph, options, nullptr, [&](const RtlOptions&) {
    return std::make_unique<NetworkMachine>(program, run);
  });
  return RunProgram(program, batch, options, factory);
}

}  // namespace kiln::dataflow
