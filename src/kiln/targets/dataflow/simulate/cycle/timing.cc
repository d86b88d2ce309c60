// Runs the actors of a pipeline in the order of their next events.

#include "kiln/targets/dataflow/simulate/cycle/timing.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <queue>
#include <utility>

#include "fmt/format.h"
#include "kiln/targets/dataflow/simulate/cycle/links.h"

namespace kiln::dataflow {
namespace {

// An event queue. An actor is called when it asked for it, or when a neighbour has freed room or
// sent a word in a channel that they share. Each actor has at most one valid entry; older ones are
// skipped.
class TimingSimulation final : public Schedule {
 public:
  TimingSimulation(const Pipeline& pipeline, const TimingOptions& options)
      : pipeline_(pipeline), options_(options) {
    for (const Channel& channel : pipeline.channels) {
      // A weight stream never ends: only the room of its channel stops it.
      links_.emplace_back(channel, options.unbounded && !pipeline.HoldsWeights(channel));
    }
    for (size_t i = 0; i < pipeline.stages.size(); ++i) {
      actors_.push_back(MakeActor(pipeline, static_cast<int>(i), options, &links_, this));
      wakes_.push_back(kNever);
    }
    for (size_t i = 0; i < actors_.size(); ++i) Wake(static_cast<int>(i), 0);
  }

  void Wake(int actor, int64_t when) override {
    int64_t& wake = wakes_[static_cast<size_t>(actor)];
    if (when >= wake) return;
    wake = when;
    queue_.emplace(when, actor);
  }

  StatusOr<PipelineTiming> Run() {
    PipelineTiming timing;
    while (!queue_.empty()) {
      const auto [now, actor] = queue_.top();
      queue_.pop();
      int64_t& wake = wakes_[static_cast<size_t>(actor)];
      if (wake != now) continue;  // it was called earlier
      wake = kNever;
      if (options_.most_events > 0 && timing.events == options_.most_events)
        return ErrorAt("", "the pipeline",
                       fmt::format("takes more than {} events to simulate", options_.most_events),
                       "a smaller network");
      ++timing.events;
      const int64_t next = actors_[static_cast<size_t>(actor)]->Run(now);
      if (next != kNever) Wake(actor, next);
    }
    KILN_RETURN_IF_ERROR(CheckFinished());
    return Finish(std::move(timing));
  }

 private:
  // Every sink has taken all words of all images; otherwise the stages wait for one another.
  Status CheckFinished() {
    for (const int sink : pipeline_.Find(StageKind::kSink)) {
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

  PipelineTiming Finish(PipelineTiming timing) {
    for (Link& link : links_) timing.channels.push_back(link.Finish());
    for (const auto& actor : actors_) timing.stages.push_back(actor->Finish());
    int64_t begin = kNever;
    for (const int source : pipeline_.Find(StageKind::kSource))
      begin = std::min(begin, timing.stages[static_cast<size_t>(source)].begin);
    timing.finished.assign(static_cast<size_t>(options_.images), 0);
    for (const int sink : pipeline_.Find(StageKind::kSink)) {
      // A sink pops every word in the cycle after its push.
      const Stage& stage = pipeline_.stages[static_cast<size_t>(sink)];
      const auto& pushes = timing.channels[static_cast<size_t>(stage.inputs[0])].last_pushes;
      for (size_t i = 0; i < pushes.size(); ++i)
        timing.finished[i] = std::max(timing.finished[i], pushes[i] + 2 - begin);
    }
    timing.cycles = timing.finished.back();
    return timing;
  }

  using Event = std::pair<int64_t, int>;
  const Pipeline& pipeline_;
  const TimingOptions options_;
  std::vector<Link> links_;
  std::vector<std::unique_ptr<Actor>> actors_;
  std::vector<int64_t> wakes_;  // by actor: the cycle of its next call
  std::priority_queue<Event, std::vector<Event>, std::greater<>> queue_;
};

}  // namespace

StatusOr<PipelineTiming> SimulateTiming(const Pipeline& pipeline, const TimingOptions& options) {
  return TimingSimulation(pipeline, options).Run();
}

}  // namespace kiln::dataflow
