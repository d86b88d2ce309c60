// Runs the segments of a program at the cycle level and in RTL, side by side.
#include "kiln/targets/dataflow/waveform.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "kiln/targets/dataflow/compile/channels.h"
#include "kiln/targets/dataflow/run_network.h"
#include "kiln/targets/dataflow/simulate/cycle/data.h"
#include "kiln/targets/dataflow/simulate/cycle/timing.h"
#include "kiln/targets/dataflow/simulate/rtl/segment_simulation.h"
#include "kiln/targets/interface/difference.h"
#include "kiln/targets/run/stream_simulation.h"
#include "kiln/targets/run/tensor_machine.h"

namespace kiln::dataflow {
namespace {

namespace fs = std::filesystem;
using Codes = std::vector<int64_t>;

// Cycles recorded after the last word of the layer that differs.
constexpr int64_t kAfter = 16;

// The words of a channel at one level.
using Events = SimulatedImages::ChannelEvents;

Events EventsOf(const ChannelTiming& timing) {
  Events events;
  events.words = timing.words;
  events.highest = timing.highest;
  events.first = timing.first_pushes.empty() ? -1 : timing.first_pushes.front();
  events.last = timing.last_pushes.empty() ? -1 : timing.last_pushes.back();
  return events;
}

// Compares one image in a segment at both levels. Wrong codes are located by a second simulation
// that watches every layer; late words by the cycles of the first and the last push of each
// channel.
class SegmentOnBoth {
 public:
  SegmentOnBoth(const DataflowProgram& program, size_t segment, const RtlOptions& options)
      : program_(program),
        pipeline_(program.segments()[segment].pipeline),
        segment_(segment),
        options_(options) {}

  // Returns the codes of the sinks at the cycle level; sets found() if the hardware differs.
  StatusOr<std::vector<Codes>> Run(const std::vector<Codes>& inputs, bool timed,
                                   const fs::path& file) {
    fs::path folder = options_.folder;
    if (!folder.empty() && program_.segments().size() > 1)
      folder /= "segment" + std::to_string(segment_);
    const std::optional<hardware::AxiTiming> memory = StreamMemoryOf(options_);
    KILN_ASSIGN_OR_RETURN(
        const auto simulation,
        SegmentSimulation::Build(pipeline_, EmitOptionsOf(program_.config()), folder,
                                 {.trace = true, .netlist = options_.netlist}, memory.has_value()));
    KILN_ASSIGN_OR_RETURN(timing_, SimulateTiming(pipeline_, {.memory = memory}));
    options_ = LimitedOptions(options_, timed, timing_.cycles);
    std::vector<Codes> expected = StreamData(pipeline_, inputs);
    KILN_ASSIGN_OR_RETURN(actual_, simulation->Run(inputs, 1, options_));
    std::optional<int> stage;
    if (actual_.outputs != expected) {
      KILN_ASSIGN_OR_RETURN(stage, FirstWrongStage(inputs, expected));
    }
    if (timed) {
      const std::optional<int> late = FirstLateStage();
      if (late.has_value() && (!stage.has_value() || *late < *stage)) stage = late;
    }
    if (!stage.has_value()) return expected;
    const Waveform window = WindowOf(*stage);
    KILN_RETURN_IF_ERROR(
        simulation
            ->Run(inputs, 1, options_, {.file = file, .begin = window.begin, .end = window.end})
            .status());
    found_ = window;
    return expected;
  }
  const Waveform& found() const { return found_; }

 private:
  // Returns the first stage of a layer whose result is wrong, by a simulation that shows them all.
  // It has no memory, on which bits do not depend.
  StatusOr<std::optional<int>> FirstWrongStage(const std::vector<Codes>& inputs,
                                               const std::vector<Codes>& outputs) const {
    WatchedPipeline watched = Watch(pipeline_);
    KILN_RETURN_IF_ERROR(SetDepths({}, &watched.pipeline).status());
    KILN_ASSIGN_OR_RETURN(
        const auto simulation,
        SegmentSimulation::Build(watched.pipeline, EmitOptionsOf(program_.config()), {},
                                 {.netlist = options_.netlist}));
    const std::vector<Codes> expected = StreamData(watched.pipeline, inputs);
    KILN_ASSIGN_OR_RETURN(const SimulatedImages actual, simulation->Run(inputs, 1, options_));
    std::optional<int> first;
    for (size_t i = 0; i < expected.size(); ++i) {
      const int stage = watched.stages[i];
      if (expected[i] != actual.outputs[i] && (!first.has_value() || stage < *first)) first = stage;
    }
    if (first.has_value()) return first;
    // The fault shows only in the original pipeline: the stage in front of the wrong sink.
    const std::vector<int> sinks = pipeline_.Find(StageKind::kSink);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] == actual_.outputs[i]) continue;
      return pipeline_.input(pipeline_.stages[static_cast<size_t>(sinks[i])]).from;
    }
    return first;
  }

  // Returns the cycle from which on the words of a channel differ, if they do.
  std::optional<int64_t> FirstLateWord(int channel) const {
    const auto c = static_cast<size_t>(channel);
    const Events should = EventsOf(timing_.channels[c]), is = actual_.channels[c];
    if (should.first != is.first) return std::min(should.first, is.first);
    if (pipeline_.HoldsWeights(pipeline_.channels[c])) return std::nullopt;  // read ahead
    if (should.last != is.last || should.words != is.words) return std::min(should.last, is.last);
    return std::nullopt;
  }

  // Returns the stage whose words move in other cycles first. Of stages that wait for room, the one
  // at the end that does not empty its channel in time.
  std::optional<int> FirstLateStage() const {
    std::optional<int> channel;
    for (int c = 0; c < static_cast<int>(pipeline_.channels.size()); ++c) {
      const std::optional<int64_t> when = FirstLateWord(c);
      if (when.has_value() && (!channel.has_value() || *when < *FirstLateWord(*channel)))
        channel = c;
    }
    if (!channel.has_value()) {
      if (timing_.cycles == actual_.cycles) return std::nullopt;
      return static_cast<int>(pipeline_.stages.size()) - 1;
    }
    while (true) {
      const Channel& here = pipeline_.channels[static_cast<size_t>(*channel)];
      const Stage& consumer = pipeline_.stages[static_cast<size_t>(here.to)];
      if (actual_.channels[static_cast<size_t>(*channel)].highest < here.depth) return here.from;
      if (consumer.outputs.empty() || !FirstLateWord(consumer.outputs[0])) return here.to;
      channel = consumer.outputs[0];
    }
  }

  // Returns the kernel of a stage, or of the nearest layer before or behind it, and the cycles from
  // its first input to a little after its last result.
  Waveform WindowOf(int stage) const {
    int layer = stage;
    while (layer > 0 && pipeline_.stages[static_cast<size_t>(layer)].layer < 0) --layer;
    while (pipeline_.stages[static_cast<size_t>(layer)].layer < 0) ++layer;
    const Stage& here = pipeline_.stages[static_cast<size_t>(stage)];
    Waveform wave;
    wave.recorded = true;
    wave.kernel = program_.KernelOfLayer(
        static_cast<size_t>(pipeline_.stages[static_cast<size_t>(layer)].layer));
    wave.begin = timing_.cycles;
    for (const int input : here.inputs)
      wave.begin =
          std::min(wave.begin, EventsOf(timing_.channels[static_cast<size_t>(input)]).first);
    if (here.inputs.empty()) wave.begin = 0;
    wave.begin = std::max<int64_t>(0, wave.begin);
    for (const int output : here.outputs) {
      const auto c = static_cast<size_t>(output);
      wave.end = std::max({wave.end, EventsOf(timing_.channels[c]).last, actual_.channels[c].last});
    }
    if (here.outputs.empty()) wave.end = std::max(timing_.cycles, actual_.cycles);
    wave.end += kAfter;
    return wave;
  }

  const DataflowProgram& program_;
  const Pipeline& pipeline_;
  const size_t segment_;
  RtlOptions options_;
  PipelineTiming timing_;
  SimulatedImages actual_;
  Waveform found_;
};

}  // namespace

WatchedPipeline Watch(const Pipeline& pipeline) {
  WatchedPipeline watched;
  Pipeline& to = watched.pipeline;
  std::vector<int> channel_of(pipeline.channels.size(), -1);  // that its consumer reads
  const auto add_channel = [&](const Channel& form, int from) {
    to.channels.push_back(form);
    to.channels.back().from = from;
    return static_cast<int>(to.channels.size()) - 1;
  };
  const auto add_stage = [&](Stage stage) {
    const auto index = static_cast<int>(to.stages.size());
    for (const int input : stage.inputs) to.channels[static_cast<size_t>(input)].to = index;
    to.stages.push_back(std::move(stage));
    return index;
  };
  for (size_t i = 0; i < pipeline.stages.size(); ++i) {
    const Stage& from = pipeline.stages[i];
    Stage stage = from;
    for (int& input : stage.inputs) input = channel_of[static_cast<size_t>(input)];
    if (from.kind == StageKind::kSink) watched.stages.push_back(pipeline.input(from).from);
    const int index = add_stage(std::move(stage));
    auto& outputs = to.stages[static_cast<size_t>(index)].outputs;
    for (int& output : outputs) {
      const auto old = static_cast<size_t>(output);
      output = channel_of[old] = add_channel(pipeline.channels[old], index);
    }
    if (from.layer < 0) continue;
    const auto old = static_cast<size_t>(from.outputs[0]);
    if (pipeline.stages[static_cast<size_t>(pipeline.channels[old].to)].kind == StageKind::kSink)
      continue;
    Stage fork;
    fork.kind = StageKind::kFork;
    fork.name = from.name + "_watch";
    fork.inputs = {channel_of[old]};
    const int at = add_stage(std::move(fork));
    channel_of[old] = add_channel(pipeline.channels[old], at);
    const int seen = add_channel(pipeline.channels[old], at);
    to.stages[static_cast<size_t>(at)].outputs = {channel_of[old], seen};
    Stage sink;
    sink.kind = StageKind::kSink;
    sink.name = from.name + "_watched";
    sink.inputs = {seen};
    add_stage(std::move(sink));
    watched.stages.push_back(static_cast<int>(i));
  }
  return watched;
}

StatusOr<Waveform> RecordDifference(const DataflowProgram& program, const Batch& batch,
                                    const RtlOptions& options, bool timed, const fs::path& file) {
  return RecordOnTensorMachine(program, program.network().graph, batch, [&](Waveform* found) {
    return MakeNetworkMachine(program,
                              [&, found](size_t segment, const std::vector<Codes>& inputs,
                                         Trace*) -> StatusOr<std::vector<Codes>> {
                                SegmentOnBoth both(program, segment, options);
                                KILN_ASSIGN_OR_RETURN(std::vector<Codes> outputs,
                                                      both.Run(inputs, timed, fs::absolute(file)));
                                *found = both.found();
                                if (found->recorded) return absl::CancelledError("recorded");
                                return outputs;
                              });
  });
}

}  // namespace kiln::dataflow
