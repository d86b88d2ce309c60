// Channels and stages of the timing simulation: a Link counts the words of a channel, an Actor is
// a stage.
#ifndef KILN_TARGETS_DATAFLOW_SIMULATE_CYCLE_LINKS_H_
#define KILN_TARGETS_DATAFLOW_SIMULATE_CYCLE_LINKS_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kiln/hardware/axi_port_model.h"
#include "kiln/targets/dataflow/isa/pipeline.h"
#include "kiln/targets/dataflow/simulate/cycle/timing.h"

namespace kiln::dataflow {

inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// The words of a channel. Methods take the current cycle and answer by the state at its start, so
// producer and consumer may act in either order.
class Link {
 public:
  Link(const Channel& channel, bool unbounded)
      : from(channel.from),
        to(channel.to),
        words_per_image_(channel.words()),
        depth_(unbounded ? kNever / 2 : channel.depth),
        free_(depth_) {}

  const int from, to;  // actors

  bool HasRoom(int64_t now, int64_t words) const {
    return free_ - (last_pop_ == now ? 1 : 0) >= words;
  }
  bool HasWord(int64_t now) const { return !ready_.empty() && ready_.front() <= now; }
  // Returns the cycle from which a word is stored; kNever if none is on its way.
  int64_t NextWord() const { return ready_.empty() ? kNever : ready_.front(); }

  void Reserve(int64_t now, int64_t words) {
    Settle(now);
    const int64_t free_before = free_ - (last_pop_ == now ? 1 : 0);
    timing_.needed = std::max(timing_.needed, depth_ - free_before + words);
    free_ -= words;
  }
  // Pushes a reserved word in cycle `when`, now or later.
  void Push(int64_t when) {
    ready_.push_back(when + 1);
    const int64_t in_image = timing_.words++ % words_per_image_;
    if (in_image == 0) timing_.first_pushes.push_back(when);
    if (in_image == words_per_image_ - 1) timing_.last_pushes.push_back(when);
  }
  void Pop(int64_t now) {
    Settle(now);
    ready_.pop_front();
    ++free_;
    last_pop_ = now;
  }
  // Returns what happened, once the simulation has ended.
  ChannelTiming Finish() {
    Settle(kNever);
    return timing_;
  }

 private:
  // Counts the level at the end of the last cycle with a change, once a change in a later cycle
  // comes.
  void Settle(int64_t now) {
    if (now != changed_) timing_.highest = std::max(timing_.highest, depth_ - free_);
    changed_ = now;
  }

  const int64_t words_per_image_, depth_;
  int64_t free_;
  int64_t last_pop_ = -1, changed_ = -1;
  std::deque<int64_t> ready_;  // by stored or reserved word: the cycle from which it is stored
  ChannelTiming timing_;
};

// The simulation as an actor sees it.
class Schedule {
 public:
  virtual ~Schedule() = default;
  // Calls an actor in cycle `when`, if it is not called earlier.
  virtual void Wake(int actor, int64_t when) = 0;
};

// A stage. Act is called in cycles in which it may have something to do, at least in every cycle in
// which it has.
class Actor {
 public:
  Actor(const Pipeline& pipeline, int index, std::vector<Link>* links, Schedule* schedule);
  virtual ~Actor() = default;

  // Acts in cycle `now`, once, and returns the next cycle in which to be called without a change at
  // a channel; kNever if there is none.
  int64_t Run(int64_t now) {
    if (now == last_) return next_;
    last_ = now;
    next_ = Act(now);
    return next_;
  }
  // Returns whether the stage is between words of an image, and what it waits for ("" if for
  // nothing). For the message about a deadlock.
  const std::string& waits_for() const { return cause_; }
  StageTiming Finish() const { return timing_; }

 protected:
  virtual int64_t Act(int64_t now) = 0;

  bool HasWord(int64_t now, size_t i = 0) const { return in(i).HasWord(now); }
  bool HasRoom(int64_t now, int64_t words = 1, size_t i = 0) const {
    return out(i).HasRoom(now, words);
  }
  Link& in(size_t i = 0) const { return (*links_)[static_cast<size_t>(stage_.inputs[i])]; }
  Link& out(size_t i = 0) const { return (*links_)[static_cast<size_t>(stage_.outputs[i])]; }

  void Pop(int64_t now, size_t i = 0) {
    in(i).Pop(now);
    schedule_->Wake(in(i).from, now + 1);
  }
  // Reserves a word and pushes it in cycle `when`.
  void SendAt(int64_t now, int64_t when) {
    out().Reserve(now, 1);
    out().Push(when);
    schedule_->Wake(out().to, when + 1);
  }
  // Pushes a word that was reserved earlier.
  void PushReserved(int64_t now) {
    out().Push(now);
    schedule_->Wake(out().to, now + 1);
  }
  // Reserves words and pushes them in consecutive cycles, the first after the stage's latency.
  void Send(int64_t now, int64_t words = 1, size_t i = 0) {
    out(i).Reserve(now, words);
    for (int64_t k = 0; k < words; ++k) out(i).Push(now + latency_ + k);
    schedule_->Wake(out(i).to, now + latency_ + 1);
  }

  // Record a step of `cycles` cycles, or the cause for which there is none.
  void Busy(int64_t now, int64_t cycles = 1) {
    if (!cause_.empty() && timing_.busy > 0) timing_.stalls[cause_] += now - since_;
    if (timing_.busy == 0) timing_.begin = now;
    cause_.clear();
    timing_.busy += cycles;
    timing_.end = now + cycles;
  }
  void Stalled(int64_t now, const char* cause) {
    if (cause_.empty()) since_ = now;
    cause_ = cause;
  }

  const Pipeline& pipeline_;
  const Stage& stage_;
  const int latency_;

 private:
  std::vector<Link>* const links_;
  Schedule* const schedule_;
  int64_t last_ = -1, next_ = 0;
  StageTiming timing_;
  std::string cause_ = "input";
  int64_t since_ = 0;
};

// Makes the actor of a stage.
std::unique_ptr<Actor> MakeActor(const Pipeline& pipeline, int index, const TimingOptions& options,
                                 std::vector<Link>* links, Schedule* schedule);
// A stream of weights whose port reads a simulated memory. It acts in every cycle, because it does
// not know when its words arrive. Cycle t of the machine is cycle t + 1 of the memory.
class WeightPortActor final : public Actor {
 public:
  // `memory` is the address of weights.bin.
  WeightPortActor(const Pipeline& pipeline, int index, hardware::MemoryBus* bus, uint64_t memory,
                  std::vector<Link>* links, Schedule* schedule);

  // Takes the word that arrives in cycle `now`, and requests the next one.
  void Step(int64_t now);
  // Performs the handshake with the memory in cycle `now`.
  void Sample(int64_t now) { port_.Sample(static_cast<uint64_t>(now) + 1); }
  // Returns whether words are in flight.
  bool busy() const { return port_.busy(); }
  // Returns whether no word is in flight and none can be requested in the cycle after `now`.
  bool full(int64_t now) const { return !busy() && !HasRoom(now + 1); }

 protected:
  int64_t Act(int64_t) override { return kNever; }

 private:
  hardware::AxiReadBus bus_;
  hardware::AxiReadPortModel<int> port_;  // without tags
  const uint64_t base_;                   // address of the first word
  int64_t next_word_ = 0;                 // of a pass
};

// Makes the actor of a convolution, depthwise convolution or pool.
std::unique_ptr<Actor> MakeWindowActor(const Pipeline& pipeline, int index,
                                       std::vector<Link>* links, Schedule* schedule);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_SIMULATE_CYCLE_LINKS_H_
