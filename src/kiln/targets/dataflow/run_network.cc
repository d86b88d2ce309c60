// The machine of one image: what segments read and write, and the time that they take.

#include "kiln/targets/dataflow/run_network.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "fmt/format.h"
#include "kiln/execute/codes.h"
#include "kiln/support/integer.h"
#include "kiln/targets/dataflow/simulate/cycle/data.h"
#include "kiln/targets/dataflow/simulate/cycle/timing.h"
#include "kiln/targets/dataflow/simulate/functional/functional.h"
#include "kiln/targets/dataflow/simulate/rtl/segment_simulation.h"
#include "kiln/targets/lower/channel_line.h"
#include "kiln/targets/lower/strided_view.h"
#include "kiln/targets/run/stream_simulation.h"

namespace kiln::dataflow {
namespace {

using Codes = std::vector<int64_t>;

constexpr size_t kMostStreams = 48;  // of kiln_stream_control

// Error: a segment with too many streams.
Status CheckMayBeBehindMemory(const DataflowProgram& program) {
  for (const Segment& segment : program.segments()) {
    const size_t streams = segment.pipeline.Find(StageKind::kSource).size() +
                           segment.pipeline.Find(StageKind::kSink).size();
    if (streams <= kMostStreams) continue;
    return ErrorAt("", "the memory",
                   fmt::format("cannot be put behind a segment with {} streams; it takes {}",
                               streams, kMostStreams),
                   "leave out the memory");
  }
  return OkStatus();
}

// What all machines of a run share: prepared pipelines of its level.
class Machines {
 public:
  Machines(const DataflowProgram& program, const RunOptions& options)
      : program_(program), options_(options) {}

  Status Prepare() {
    const std::optional<hardware::AxiTiming> memory = StreamMemoryOf(options_.rtl);
    if (memory.has_value()) KILN_RETURN_IF_ERROR(CheckMayBeBehindMemory(program_));
    for (size_t i = 0; i < program_.segments().size(); ++i) {
      const Pipeline& pipeline = program_.segments()[i].pipeline;
      if (options_.level == Level::kFunctional)
        functional_.push_back(std::make_unique<FunctionalPipeline>(pipeline));
      if (options_.level == Level::kCycle) {
        KILN_ASSIGN_OR_RETURN(PipelineTiming timing, SimulateTiming(pipeline, {.memory = memory}));
        timings_.push_back(std::move(timing));
      }
      if (options_.level == Level::kRtl) {
        std::filesystem::path folder = options_.rtl.folder;
        if (!folder.empty() && program_.segments().size() > 1)
          folder /= fmt::format("segment{}", i);
        KILN_ASSIGN_OR_RETURN(
            auto simulation,
            SegmentSimulation::Build(pipeline, EmitOptionsOf(program_.config()), folder,
                                     {.netlist = options_.rtl.netlist}, memory.has_value()));
        simulations_.push_back(std::move(simulation));
      }
    }
    if (options_.level == Level::kCycle) AddUnits();
    return OkStatus();
  }

  // Runs a segment; sets its trace at levels with time.
  StatusOr<std::vector<Codes>> Run(size_t segment, const std::vector<Codes>& inputs,
                                   const RtlOptions& rtl, Trace* trace) const {
    if (options_.level == Level::kFunctional) return functional_[segment]->Run(inputs);
    std::vector<int64_t> last;
    if (options_.level == Level::kCycle) {
      const PipelineTiming& timing = timings_[segment];
      for (const ChannelTiming& channel : timing.channels)
        last.push_back(channel.last_pushes.empty() ? 0 : channel.last_pushes.back());
      SetTime(segment, timing.cycles, last, trace);
      SetStages(segment, trace);
      return StreamData(program_.segments()[segment].pipeline, inputs);
    }
    KILN_ASSIGN_OR_RETURN(SimulatedImages run, simulations_[segment]->Run(inputs, 1, rtl));
    for (const auto& channel : run.channels) last.push_back(channel.last);
    SetTime(segment, run.cycles, last, trace);
    return std::move(run.outputs);
  }

 private:
  // Sets the cycles of a segment and of its kernels: a layer's kernel ends with its last word.
  void SetTime(size_t segment, int64_t cycles, const std::vector<int64_t>& last,
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
    trace->cycles = cycles;
    int64_t begin = 0;
    for (size_t i = 0; i < ends.size(); ++i) {
      const int64_t end =
          i + 1 == ends.size() ? cycles : std::min(cycles, std::max(begin, ends[i].first));
      trace->kernels.push_back({.kernel = ends[i].second, .begin = begin, .end = end});
      begin = end;
    }
  }

  // Lists the units and queues of all segments in the order in which the segments run, so that
  // their traces can be joined.
  void AddUnits() {
    units_.resize(program_.segments().size());
    first_queues_.resize(program_.segments().size());
    for (const NetworkStep& step : program_.network().steps) {
      if (step.host.has_value()) continue;
      const auto segment = static_cast<size_t>(step.segment);
      const Pipeline& pipeline = program_.segments()[segment].pipeline;
      for (const Stage& stage : pipeline.stages) {
        units_[segment].push_back(stage.layer < 0 ? -1 : static_cast<int>(idle_.units.size()));
        if (stage.layer >= 0) idle_.units.emplace_back().name = stage.name;
      }
      // A queue leads from layer to layer, because the trace leaves forks and converters out.
      const auto stage_at = [&](int index) -> const Stage& {
        return pipeline.stages[static_cast<size_t>(index)];
      };
      first_queues_[segment] = idle_.queues.size();
      for (const Channel& channel : pipeline.channels) {
        int from = channel.from, to = channel.to;
        while (stage_at(from).layer < 0 && !stage_at(from).inputs.empty())
          from = pipeline.input(stage_at(from)).from;
        while (stage_at(to).layer < 0 && !stage_at(to).outputs.empty())
          to = pipeline.output(stage_at(to)).to;
        idle_.queues.push_back(
            {.name = stage_at(channel.from).name + " to " + stage_at(channel.to).name,
             .from = units_[segment][static_cast<size_t>(from)],
             .to = units_[segment][static_cast<size_t>(to)],
             .depth = channel.depth});
      }
    }
  }

  // Sets what the stages and channels of a segment did.
  void SetStages(size_t segment, Trace* trace) const {
    const Pipeline& pipeline = program_.segments()[segment].pipeline;
    const PipelineTiming& timing = timings_[segment];
    trace->units = idle_.units;
    trace->queues = idle_.queues;
    for (size_t i = 0; i < pipeline.stages.size(); ++i) {
      const Stage& stage = pipeline.stages[i];
      if (stage.layer < 0) continue;
      const StageTiming& did = timing.stages[i];
      const int unit = units_[segment][i];
      trace->units[static_cast<size_t>(unit)].busy_cycles = did.busy;
      trace->units[static_cast<size_t>(unit)].stall_cycles = did.stalls;
      trace->spans.push_back({.unit = unit,
                              .kernel = program_.KernelOfLayer(static_cast<size_t>(stage.layer)),
                              .begin = did.begin,
                              .end = did.end});
      for (KernelTrace& kernel : trace->kernels) {
        if (kernel.kernel != trace->spans.back().kernel) continue;
        kernel.busy_cycles.resize(trace->units.size());
        kernel.busy_cycles[static_cast<size_t>(unit)] = did.busy;
      }
    }
    for (size_t c = 0; c < pipeline.channels.size(); ++c)
      trace->queues[first_queues_[segment] + c].highest = timing.channels[c].highest;
  }

  const DataflowProgram& program_;
  const RunOptions& options_;
  std::vector<std::unique_ptr<FunctionalPipeline>> functional_;
  std::vector<PipelineTiming> timings_;
  std::vector<std::unique_ptr<SegmentSimulation>> simulations_;
  Trace idle_;                           // units and queues of all segments
  std::vector<std::vector<int>> units_;  // by segment and stage; -1: none
  std::vector<size_t> first_queues_;     // by segment
};

class NetworkMachine final : public TensorMachine {
 public:
  NetworkMachine(const DataflowProgram& program, SegmentRun run)
      : TensorMachine(program.network().graph, HostsOf(program.network().steps, &NetworkStep::host),
                      program.network().aliases),
        network_(program.network()),
        run_(std::move(run)) {}

  void Begin(const ImageGroup& group) override {
    TensorMachine::Begin(group);
    maps_.clear();
  }

 protected:
  // Runs a step of the network: a segment, with all of its kernels.
  StatusOr<Trace> RunKernel(size_t k) override {
    const NetworkStep& step = network_.steps[k];
    std::vector<Codes> inputs;
    for (const int map : SourceMaps(network_, step.segment)) {
      if (const int from = network_.maps[static_cast<size_t>(map)].copied_from; from >= 0) {
        inputs.push_back(maps_.at(from));
        continue;
      }
      const auto sent = std::ranges::find_if(
          step.sends, [&](const HostTensor& tensor) { return tensor.place.map == map; });
      inputs.push_back(Gather(CodesOf(sent->value), sent->place.view).ToInts());
    }
    Trace trace;
    KILN_ASSIGN_OR_RETURN(const std::vector<Codes> outputs,
                          run_(static_cast<size_t>(step.segment), inputs, &trace));
    const std::vector<int> sinks = SinkMaps(network_, step.segment);
    for (size_t i = 0; i < sinks.size(); ++i) maps_[sinks[i]] = outputs[i];
    for (const HostTensor& tensor : step.receives) {
      const auto sink =
          static_cast<size_t>(std::ranges::find(sinks, tensor.place.map) - sinks.begin());
      Receive(tensor, outputs[sink]);
    }
    return trace;
  }

 private:
  // Stores a tensor that the machine has computed.
  void Receive(const HostTensor& tensor, std::span<const int64_t> map) {
    const Value* value = tensor.value;
    const Shape elements{static_cast<int64_t>(map.size())};
    const auto placed = [&](const Tensor& in_order) {
      return Gather(in_order, tensor.place.view).Reshaped(value->shape());
    };
    if (!tensor.line.has_value()) {
      SetCodes(value, placed(TensorOfCodes(value->quantisation()->type.format, elements, map)));
      return;
    }
    const std::vector<int32_t> sums(map.begin(), map.end());
    SetNumbers(value, placed(ValuesOfSums(map, *tensor.line, elements)),
               placed(Tensor::Of(elements, sums)));
  }

  const Lowered& network_;
  const SegmentRun run_;
  std::unordered_map<int, Codes> maps_;  // that segments wrote
};

}  // namespace

std::unique_ptr<TensorMachine> MakeNetworkMachine(const DataflowProgram& program, SegmentRun run) {
  return std::make_unique<NetworkMachine>(program, std::move(run));
}

StatusOr<int64_t> IntervalBehindMemory(const DataflowProgram& program, const RtlOptions& rtl) {
  KILN_RETURN_IF_ERROR(CheckMayBeBehindMemory(program));
  constexpr int64_t kFew = 2, kMore = 4;  // images: the first ones fill the pipeline
  std::map<int, std::vector<const Pipeline*>> parts;
  for (const Segment& segment : program.segments())
    parts[segment.part].push_back(&segment.pipeline);
  std::map<int, int64_t> intervals;
  for (const auto& [part, pipelines] : parts) {
    TimingOptions timing{.memory = StreamMemoryOf(rtl)};
    timing.images = kMore;
    KILN_ASSIGN_OR_RETURN(const int64_t more, CyclesOfRunsTogether(pipelines, timing));
    timing.images = kFew;
    KILN_ASSIGN_OR_RETURN(const int64_t few, CyclesOfRunsTogether(pipelines, timing));
    intervals[part] = CeilDivide(more - few, kMore - kFew);
  }
  return program.IntervalOfParts(intervals);
}

StatusOr<RunResult> RunNetwork(const DataflowProgram& program, const Batch& batch,
                               const RunOptions& options) {
  Machines machines(program, options);
  return RunOnTensorMachines(
      program, program.network().graph, batch, options, [&] { return machines.Prepare(); },
      [&](const RtlOptions& rtl) {
        return MakeNetworkMachine(
            program,
            [&machines, rtl](size_t segment, const std::vector<Codes>& inputs, Trace* trace) {
              return machines.Run(segment, inputs, rtl, trace);
            });
      });
}

}  // namespace kiln::dataflow
