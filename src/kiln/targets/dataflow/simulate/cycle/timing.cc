// Runs the actors of a pipeline in the order of their next events.

#include "kiln/targets/dataflow/simulate/cycle/timing.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <queue>
#include <utility>

#include "fmt/format.h"
#include "kiln/hardware/stream_memory_model.h"
#include "kiln/support/integer.h"
#include "kiln/targets/dataflow/isa/derived.h"
#include "kiln/targets/dataflow/simulate/cycle/links.h"

namespace kiln::dataflow {
namespace {

// Cycles in which nothing moves after which a run behind memory has stopped. The model answers
// sooner, but for the memory's own time.
constexpr int64_t kMostQuietCycles = 1000;

// The memory of the options, and where it is free.
struct Memory {
  explicit Memory(const hardware::AxiTiming& timing)
      : bus(std::make_shared<hardware::MemoryBus>(timing)) {}
  const std::shared_ptr<hardware::MemoryBus> bus;
  uint64_t end = 0;  // address behind the streams and weights
};

// An event queue. An actor is called when it asked for it, or when a neighbour has freed room or
// sent a word in a channel that they share. Each actor has at most one valid entry; older ones are
// skipped.
class TimingSimulation final : public Schedule {
 public:
  // nullptr: the options name no memory.
  TimingSimulation(const Pipeline& pipeline, const TimingOptions& options, Memory* memory)
      : pipeline_(pipeline),
        options_(options),
        sources_(pipeline.Find(StageKind::kSource)),
        sinks_(pipeline.Find(StageKind::kSink)) {
    for (const Channel& channel : pipeline.channels) {
      // A weight stream never ends: only the room of its channel stops it.
      links_.emplace_back(channel, options.unbounded && !pipeline.HoldsWeights(channel));
    }
    if (memory != nullptr) PlaceIn(memory);
    for (size_t i = 0; i < pipeline.stages.size(); ++i) {
      const auto index = static_cast<int>(i);
      if (memory != nullptr && pipeline.stages[i].kind == StageKind::kWeightStream) {
        auto port =
            std::make_unique<WeightPortActor>(pipeline, index, bus_.get(), weights_, &links_, this);
        ports_.push_back(port.get());
        actors_.push_back(std::move(port));
      } else {
        actors_.push_back(MakeActor(pipeline, index, options, &links_, this));
      }
      wakes_.push_back(kNever);
    }
    for (size_t i = 0; i < actors_.size(); ++i) Wake(static_cast<int>(i), 0);
  }

  void Wake(int actor, int64_t when) override {
    // Behind memory, sources and sinks act in each cycle in which a beat passes, and in no other,
    // and streams of weights in each cycle.
    if (bus_ != nullptr && MeetsMemory(actor)) return;
    int64_t& wake = wakes_[static_cast<size_t>(actor)];
    if (when >= wake) return;
    wake = when;
    queue_.emplace(when, actor);
  }

  // Calls actors until no event before or in cycle `until` is left.
  Status RunEvents(int64_t until) {
    while (!queue_.empty() && queue_.top().first <= until) {
      const auto [now, actor] = queue_.top();
      queue_.pop();
      int64_t& wake = wakes_[static_cast<size_t>(actor)];
      if (wake != now) continue;  // it was called earlier
      wake = kNever;
      if (options_.most_events > 0 && events_ == options_.most_events)
        return ErrorAt("", "the pipeline",
                       fmt::format("takes more than {} events to simulate", options_.most_events),
                       "a smaller network");
      ++events_;
      const int64_t next = actors_[static_cast<size_t>(actor)]->Run(now);
      if (next != kNever) Wake(actor, next);
    }
    return OkStatus();
  }

  // Behind memory the machine first reads its weights ahead. Returns whether it has read all that
  // its channels hold by the end of cycle `now`, and waits for its input.
  bool waits(int64_t now) const {
    return queue_.empty() &&
           std::ranges::all_of(ports_, [&](const auto* port) { return port->full(now); });
  }
  // Starts the run behind memory in cycle `now`.
  void Start(int64_t now) {
    start_ = now;
    quiet_ = 0;
    memory_.emplace(bus_, static_cast<uint64_t>(now), places_, sources_.size());
  }
  // Returns whether the run behind memory has something to do. It has nothing to do after
  // kMostQuietCycles in which nothing moves; Finish then names the stage that waits.
  bool busy() const { return (memory_->busy() || !queue_.empty()) && quiet_ <= kMostQuietCycles; }
  // Simulates cycle `now` behind memory, with its events.
  Status Step(int64_t now) {
    ++quiet_;
    for (WeightPortActor* port : ports_) {
      port->Step(now);
      if (port->busy()) quiet_ = 0;
    }
    if (memory_.has_value()) {
      KILN_RETURN_IF_ERROR(StepRun(now));
    } else {
      KILN_RETURN_IF_ERROR(RunEvents(now));
    }
    for (WeightPortActor* port : ports_) port->Sample(now);
    return OkStatus();
  }
  // Returns what happened, once nothing is left to do.
  StatusOr<PipelineTiming> Finish() {
    KILN_RETURN_IF_ERROR(CheckFinished());
    return Result();
  }

 private:
  // Simulates cycle `now` of the run, with its events, but for the ports.
  Status StepRun(int64_t now) {
    uint64_t ready = 0, valid = 0;
    const auto pass = [&](int actor) {
      actors_[static_cast<size_t>(actor)]->Run(now);
      ++events_;
      quiet_ = 0;
    };
    for (size_t i = 0; i < sources_.size(); ++i) {
      const Stage& stage = pipeline_.stages[static_cast<size_t>(sources_[i])];
      if (!links_[static_cast<size_t>(stage.outputs[0])].HasRoom(now, 1)) continue;
      ready |= uint64_t{1} << i;
      if (memory_->offers(i)) pass(sources_[i]);
    }
    KILN_RETURN_IF_ERROR(RunEvents(now));
    // Sinks come last: a stage that acts later in this cycle would miss their wake-up call.
    for (size_t i = 0; i < sinks_.size(); ++i) {
      const Stage& stage = pipeline_.stages[static_cast<size_t>(sinks_[i])];
      if (!links_[static_cast<size_t>(stage.inputs[0])].HasWord(now)) continue;
      valid |= uint64_t{1} << i;
      if (memory_->takes(i)) pass(sinks_[i]);
    }
    if (!queue_.empty() || memory_->answers()) quiet_ = 0;
    memory_->Clock(ready, valid);
    return OkStatus();
  }

  // Returns whether an actor passes words from or to the memory.
  bool MeetsMemory(int actor) const {
    const StageKind kind = pipeline_.stages[static_cast<size_t>(actor)].kind;
    return kind == StageKind::kSource || kind == StageKind::kSink ||
           kind == StageKind::kWeightStream;
  }

  // Places the streams, and the weights behind them.
  void PlaceIn(Memory* memory) {
    bus_ = memory->bus;
    const auto place = [&](const Channel& channel) {
      places_.push_back({static_cast<uint64_t>(channel.words() * options_.images),
                         static_cast<int>(BytesOfBeat(channel))});
    };
    for (const int source : sources_)
      place(pipeline_.output(pipeline_.stages[static_cast<size_t>(source)]));
    for (const int sink : sinks_)
      place(pipeline_.input(pipeline_.stages[static_cast<size_t>(sink)]));
    const uint64_t bytes = hardware::PlaceStreams(&places_);
    for (hardware::StreamPlace& stream : places_) stream.address += memory->end;
    weights_ = memory->end + bytes;
    memory->end = AlignUp(weights_ + static_cast<uint64_t>(BytesOfWeightMemory(pipeline_)),
                          hardware::kStreamAlignment);
  }

  // Every sink has taken all words of all images; otherwise the stages wait for one another.
  Status CheckFinished() {
    for (const int sink : sinks_) {
      const Stage& stage = pipeline_.stages[static_cast<size_t>(sink)];
      const int64_t words = pipeline_.input(stage).words() * options_.images;
      if (actors_[static_cast<size_t>(sink)]->Finish().busy == words) continue;
      for (size_t i = 0; i < actors_.size(); ++i) {
        if (actors_[i]->waits_for() != "output") continue;
        return ErrorAt("", fmt::format("stage '{}'", pipeline_.stages[i].name),
                       "waits for room in its output for ever: the pipeline is in a deadlock",
                       "a deeper channel at the join behind it");
      }
      return ErrorAt("", fmt::format("stage '{}'", stage.name),
                     "waits for ever: the pipeline is in a deadlock", "deeper channels");
    }
    return OkStatus();
  }

  PipelineTiming Result() {
    PipelineTiming timing;
    timing.events = events_;
    for (Link& link : links_) {
      ChannelTiming& channel = timing.channels.emplace_back(link.Finish());
      for (int64_t& push : channel.first_pushes) push -= start_;
      for (int64_t& push : channel.last_pushes) push -= start_;
    }
    for (const auto& actor : actors_) {
      StageTiming& stage = timing.stages.emplace_back(actor->Finish());
      stage.begin -= start_;
      stage.end -= start_;
    }
    int64_t begin = kNever;
    for (const int source : sources_)
      begin = std::min(begin, timing.stages[static_cast<size_t>(source)].begin);
    timing.finished.assign(static_cast<size_t>(options_.images), 0);
    for (const int sink : sinks_) {
      // A sink pops every word in the cycle after its push.
      const Stage& stage = pipeline_.stages[static_cast<size_t>(sink)];
      const auto& pushes = timing.channels[static_cast<size_t>(stage.inputs[0])].last_pushes;
      for (size_t i = 0; i < pushes.size(); ++i)
        timing.finished[i] = std::max(timing.finished[i], pushes[i] + 2 - begin);
    }
    timing.cycles = memory_.has_value() ? memory_->cycles() : timing.finished.back();
    return timing;
  }

  using Event = std::pair<int64_t, int>;
  const Pipeline& pipeline_;
  const TimingOptions options_;
  const std::vector<int> sources_, sinks_;
  // Behind memory:
  std::shared_ptr<hardware::MemoryBus> bus_;
  std::vector<hardware::StreamPlace> places_;  // of the streams
  uint64_t weights_ = 0;                       // address of weights.bin
  std::vector<WeightPortActor*> ports_;
  int64_t start_ = 0;  // of the run
  std::vector<Link> links_;
  std::vector<std::unique_ptr<Actor>> actors_;
  std::vector<int64_t> wakes_;  // by actor: the cycle of its next call
  std::optional<hardware::StreamMemoryModel> memory_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> queue_;
  int64_t events_ = 0;
  int64_t quiet_ = 0;  // cycles in which nothing moves
};

using TimedMachines = std::vector<std::unique_ptr<TimingSimulation>>;

// Simulates machines behind one memory, whose runs start in the same cycle: as soon as all of them
// have read their weights ahead.
Status RunBehindMemory(const TimedMachines& machines) {
  const auto all = [&](const auto& has) { return std::ranges::all_of(machines, has); };
  int64_t now = 0;
  do {
    for (const auto& machine : machines) KILN_RETURN_IF_ERROR(machine->Step(now));
    ++now;
  } while (!all([&](const auto& machine) { return machine->waits(now - 1); }));
  for (const auto& machine : machines) machine->Start(now);
  for (; !all([](const auto& machine) { return !machine->busy(); }); ++now) {
    for (const auto& machine : machines) {
      if (machine->busy()) KILN_RETURN_IF_ERROR(machine->Step(now));
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<PipelineTiming> SimulateTiming(const Pipeline& pipeline, const TimingOptions& options) {
  if (!options.memory.has_value()) {
    TimingSimulation simulation(pipeline, options, nullptr);
    KILN_RETURN_IF_ERROR(simulation.RunEvents(kNever));
    return simulation.Finish();
  }
  Memory memory(*options.memory);
  TimedMachines machines;
  machines.push_back(std::make_unique<TimingSimulation>(pipeline, options, &memory));
  KILN_RETURN_IF_ERROR(RunBehindMemory(machines));
  return machines[0]->Finish();
}

StatusOr<int64_t> CyclesOfRunsTogether(std::span<const Pipeline* const> pipelines,
                                       const TimingOptions& options) {
  Memory memory(options.memory.value());
  TimedMachines machines;
  for (const Pipeline* pipeline : pipelines)
    machines.push_back(std::make_unique<TimingSimulation>(*pipeline, options, &memory));
  KILN_RETURN_IF_ERROR(RunBehindMemory(machines));
  int64_t cycles = 0;
  for (const auto& machine : machines) {
    KILN_ASSIGN_OR_RETURN(const PipelineTiming timing, machine->Finish());
    cycles = std::max(cycles, timing.cycles);
  }
  return cycles;
}

}  // namespace kiln::dataflow
