// Runs the actors of a pipeline in the order of their next events.

#include "kiln/targets/dataflow/simulate/cycle/timing.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <queue>
#include <utility>

#include "fmt/format.h"
#include "kiln/hardware/stream_memory_model.h"
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
  uint64_t end = 0;  // address behind the streams
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
    for (size_t i = 0; i < pipeline.stages.size(); ++i) {
      actors_.push_back(MakeActor(pipeline, static_cast<int>(i), options, &links_, this));
      wakes_.push_back(kNever);
    }
    if (memory != nullptr) PutBehind(memory);
    for (size_t i = 0; i < actors_.size(); ++i) Wake(static_cast<int>(i), 0);
  }

  void Wake(int actor, int64_t when) override {
    // Behind memory, sources and sinks act in each cycle in which a beat passes, and in no other.
    if (memory_.has_value() && IsEnd(actor)) return;
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

  // Returns whether the run behind memory goes on. A run that has stopped does not: Finish says
  // what waits.
  bool busy() const { return (memory_->busy() || !queue_.empty()) && quiet_ <= kMostQuietCycles; }
  // Simulates cycle `now` of a run behind memory, with its events.
  Status Step(int64_t now) {
    ++quiet_;
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

  // Returns what happened, once nothing is left to do.
  StatusOr<PipelineTiming> Finish() {
    KILN_RETURN_IF_ERROR(CheckFinished());
    return Result();
  }

 private:
  bool IsEnd(int actor) const {
    const StageKind kind = pipeline_.stages[static_cast<size_t>(actor)].kind;
    return kind == StageKind::kSource || kind == StageKind::kSink;
  }

  void PutBehind(Memory* memory) {
    std::vector<hardware::StreamPlace> places;
    const auto place = [&](const Channel& channel) {
      places.push_back({static_cast<uint64_t>(channel.words() * options_.images),
                        static_cast<int>(BytesOfBeat(channel))});
    };
    for (const int source : sources_)
      place(pipeline_.output(pipeline_.stages[static_cast<size_t>(source)]));
    for (const int sink : sinks_)
      place(pipeline_.input(pipeline_.stages[static_cast<size_t>(sink)]));
    const uint64_t bytes = hardware::PlaceStreams(&places);
    for (hardware::StreamPlace& stream : places) stream.address += memory->end;
    memory->end += bytes;
    memory_.emplace(memory->bus, 0, places, sources_.size());
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
    for (Link& link : links_) timing.channels.push_back(link.Finish());
    for (const auto& actor : actors_) timing.stages.push_back(actor->Finish());
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
  std::vector<Link> links_;
  std::vector<std::unique_ptr<Actor>> actors_;
  std::vector<int64_t> wakes_;  // by actor: the cycle of its next call
  std::optional<hardware::StreamMemoryModel> memory_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> queue_;
  int64_t events_ = 0;
  int64_t quiet_ = 0;  // cycles in which nothing moves
};

}  // namespace

StatusOr<PipelineTiming> SimulateTiming(const Pipeline& pipeline, const TimingOptions& options) {
  if (!options.memory.has_value()) {
    TimingSimulation simulation(pipeline, options, nullptr);
    KILN_RETURN_IF_ERROR(simulation.RunEvents(kNever));
    return simulation.Finish();
  }
  Memory memory(*options.memory);
  TimingSimulation simulation(pipeline, options, &memory);
  for (int64_t now = 0; simulation.busy(); ++now) KILN_RETURN_IF_ERROR(simulation.Step(now));
  return simulation.Finish();
}

StatusOr<int64_t> CyclesOfRunsTogether(std::span<const Pipeline* const> pipelines,
                                       const TimingOptions& options) {
  Memory memory(options.memory.value());
  std::vector<std::unique_ptr<TimingSimulation>> machines;
  for (const Pipeline* pipeline : pipelines)
    machines.push_back(std::make_unique<TimingSimulation>(*pipeline, options, &memory));
  const auto busy = [](const auto& machine) { return machine->busy(); };
  for (int64_t now = 0; std::ranges::any_of(machines, busy); ++now) {
    for (const auto& machine : machines) {
      if (machine->busy()) KILN_RETURN_IF_ERROR(machine->Step(now));
    }
  }
  int64_t cycles = 0;
  for (const auto& machine : machines) {
    KILN_ASSIGN_OR_RETURN(const PipelineTiming timing, machine->Finish());
    cycles = std::max(cycles, timing.cycles);
  }
  return cycles;
}

}  // namespace kiln::dataflow
