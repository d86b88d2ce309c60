// Building blocks of the cycle level: queues, scheduled events, tokens, the elements of a load, and
// the read port. The stages in cycle_compute.h and cycle_memory.h use them.
#ifndef KILN_TARGETS_VTA_SIMULATE_CYCLE_CYCLE_UNITS_H_
#define KILN_TARGETS_VTA_SIMULATE_CYCLE_CYCLE_UNITS_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "kiln/support/check.h"
#include "kiln/targets/vta/isa/instruction.h"
#include "kiln/targets/vta/simulate/cycle/cycle_decode.h"

namespace kiln::vta {

using Cycle = uint64_t;  // counted from the first cycle after launch, which is 0
inline constexpr Cycle kNever = ~Cycle{0};

// A model of kiln_fifo. Pushes and pops of a cycle become visible with EndCycle; at most one of
// each is allowed per cycle.
template <typename T>
class Fifo {
 public:
  explicit Fifo(size_t depth) : words_(std::bit_ceil(depth)), depth_(depth) {}

  bool empty() const { return count_ == 0; }
  bool full() const { return count_ == depth_; }
  size_t size() const { return count_; }
  const T& front() const { return words_[head_]; }
  void Push(const T& word) {
    words_[(head_ + count_) & (words_.size() - 1)] = word;
    pushed_ = 1;
  }
  void Pop() { popped_ = 1; }
  void EndCycle() {
    count_ += pushed_ - popped_;
    head_ = (head_ + popped_) & (words_.size() - 1);
    pushed_ = popped_ = 0;
  }

 private:
  std::vector<T> words_;
  const size_t depth_;
  size_t head_ = 0, count_ = 0, pushed_ = 0, popped_ = 0;
};

// A queue of events in known cycles. Events must be added in the order of their cycles.
template <typename T>
class Schedule {
 public:
  explicit Schedule(size_t most) : entries_(std::bit_ceil(most)) {}

  void Add(Cycle cycle, const T& what) {
    KILN_CHECK(end_ - begin_ < entries_.size());
    entries_[end_++ & (entries_.size() - 1)] = {cycle, what};
  }
  Cycle next() const {
    return begin_ == end_ ? kNever : entries_[begin_ & (entries_.size() - 1)].cycle;
  }
  const T& front() const { return entries_[begin_ & (entries_.size() - 1)].what; }
  void Pop() { ++begin_; }

 private:
  struct Entry {
    Cycle cycle;
    T what;
  };
  std::vector<Entry> entries_;
  size_t begin_ = 0, end_ = 0;
};

// The four links between neighbouring stages. A token that is given can be taken from the next
// cycle on (EndCycle).
//
// The hardware's links are counters. In this model each token also carries how many instructions of
// each stage its giver knows to be done: those of its own stage up to itself, and those known from
// the tokens that it took. When FINISH retires, this shows whether it waited for all other
// instructions or merely happened to be last.
class TokenLinks {
 public:
  // Begins a launch. Tokens left by earlier launches remain, but prove nothing about this one.
  void BeginLaunch(size_t instructions) {
    for (Link& link : links_) std::fill(link.tokens.begin(), link.tokens.end(), Done{});
    started_ = {};
    knows_ = {};
    known_at_start_.assign(instructions, Done{});
  }
  bool Ready(const Instruction& in) const {
    const size_t stage = Number(in);
    return (!in.pop_previous || links_[Forward(stage - 1)].visible > 0) &&
           (!in.pop_next || links_[Backward(stage)].visible > 0);
  }
  // Takes the tokens of an instruction that starts.
  void Take(const Instruction& in, size_t index) {
    const size_t stage = Number(in);
    if (in.pop_previous) Learn(stage, links_[Forward(stage - 1)]);
    if (in.pop_next) Learn(stage, links_[Backward(stage)]);
    known_at_start_[index] = knows_[stage];
    known_at_start_[index][stage] = started_[stage]++;
  }
  // Gives the tokens of an instruction that is done.
  void Give(const Instruction& in, size_t index) {
    const size_t stage = Number(in);
    Done done = known_at_start_[index];
    ++done[stage];
    if (in.push_previous) links_[Backward(stage - 1)].tokens.push_back(done);
    if (in.push_next) links_[Forward(stage)].tokens.push_back(done);
  }
  void EndCycle() {
    for (Link& link : links_) link.visible = link.tokens.size();
  }
  // Returns the number of instructions that instruction `index`, which has started, knows to be
  // done before it ends.
  uint64_t KnownDone(size_t index) const {
    const Done& done = known_at_start_[index];
    return done[0] + done[1] + done[2];
  }

 private:
  using Done = std::array<uint64_t, kStages>;  // by stage
  struct Link {
    std::deque<Done> tokens;
    size_t visible = 0;
  };
  static size_t Number(const Instruction& in) { return static_cast<size_t>(QueueOf(in)); }
  // Indices of the links between stage `lower` and the next stage, in either direction.
  static constexpr size_t Forward(size_t lower) { return 2 * lower; }
  static constexpr size_t Backward(size_t lower) { return 2 * lower + 1; }
  void Learn(size_t stage, Link& link) {
    for (size_t s = 0; s < kStages; ++s)
      knows_[stage][s] = std::max(knows_[stage][s], link.tokens.front()[s]);
    link.tokens.pop_front();
    --link.visible;
  }

  std::array<Link, 4> links_;
  Done started_{};                     // instructions of each stage that have started
  std::array<Done, kStages> knows_{};  // by stage: what it knows from tokens
  std::vector<Done> known_at_start_;   // by instruction
};

// The requests that a load makes to the read port, in order: one for each element on chip, or a
// single padding request for a load without elements.
class ElementRun {
 public:
  void Begin(const Instruction& in) {
    width_ = uint64_t{in.x_pad_before} + in.x_size + in.x_pad_after;
    x_begin_ = in.x_pad_before;
    x_end_ = x_begin_ + in.x_size;
    y_begin_ = in.y_pad_before;
    y_end_ = y_begin_ + in.y_size;
    left_ = ElementsMoved(in);
    x_ = y_ = 0;
    if (left_ > 0) return;
    left_ = width_ = 1;
    y_begin_ = y_end_ = 0;
  }
  bool active() const { return left_ > 0; }
  uint64_t left() const { return left_; }
  // Return the row and column of the next request, which reads data, in the rectangle in memory.
  uint64_t row() const { return y_ - y_begin_; }
  uint64_t column() const { return x_ - x_begin_; }
  // Return whether the next request reads data, and a lower bound of the number of requests of this
  // kind that follow each other, the next one included.
  bool data() const { return y_ >= y_begin_ && y_ < y_end_ && x_ >= x_begin_ && x_ < x_end_; }
  uint64_t Alike() const {
    if (y_ < y_begin_ || y_ >= y_end_ || x_ >= x_end_) return width_ - x_;
    return (x_ < x_begin_ ? x_begin_ : x_end_) - x_;
  }
  // Advances by `count` requests, at most Alike().
  void Advance(uint64_t count) {
    left_ -= count;
    x_ += count;
    if (x_ < width_) return;
    x_ = 0;
    ++y_;
  }

 private:
  uint64_t left_ = 0, width_ = 1, x_ = 0, y_ = 0;
  uint64_t x_begin_ = 0, x_end_ = 0, y_begin_ = 0, y_end_ = 0;
};

// The timing of the read port: when it accepts requests and when their words arrive.
class ReadPort {
 public:
  explicit ReadPort(int latency) : latency_(static_cast<Cycle>(latency)) {}

  Cycle free_at() const { return free_at_; }
  // Accepts `count` consecutive requests of `beats` beats each (0: padding) from cycle `at` on, and
  // returns the cycle in which the last one's word arrives. Data never wait for the previous word,
  // because that arrives at most `latency_` cycles after its own last beat, which is earlier.
  Cycle Take(Cycle at, uint64_t beats, uint64_t count) {
    free_at_ = at + std::max<uint64_t>(beats, 1) * count;
    last_word_ = beats > 0 ? free_at_ - 1 + latency_ : std::max(at + 2, last_word_ + 1) + count - 1;
    return last_word_;
  }

 private:
  const Cycle latency_;
  Cycle free_at_ = 0, last_word_ = 0;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_SIMULATE_CYCLE_CYCLE_UNITS_H_
