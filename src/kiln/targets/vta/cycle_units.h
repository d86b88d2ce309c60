// Parts of the cycle level: queues, tokens, the memory's read port.
#ifndef KILN_TARGETS_VTA_CYCLE_UNITS_H_
#define KILN_TARGETS_VTA_CYCLE_UNITS_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "kiln/support/check.h"
#include "kiln/targets/vta/cycle_decode.h"
#include "kiln/targets/vta/instruction.h"

namespace kiln::vta {

using Cycle = uint64_t;  // 0 is the first after launch
inline constexpr Cycle kNever = ~Cycle{0};

// kiln_fifo: what is pushed or popped in a cycle shows behind EndCycle. At most one of each in a cycle.
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

// Things that happen in known cycles, in order.
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

// The four links between neighbouring stages. A token that is given can be taken from the next cycle on (EndCycle).
//
// The machine's links are counters. Here each token also carries how many instructions of each stage its giver knows to
// be done by then: its own stage's up to itself, and what the tokens that it had taken told it. So FINISH shows, when
// it retires, whether it waited for all other instructions or only came last by its speed.
class TokenLinks {
 public:
  // Tokens that an earlier launch has left stay, and say nothing of this one.
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
  // The instruction starts: takes its tokens.
  void Take(const Instruction& in, size_t index) {
    const size_t stage = Number(in);
    if (in.pop_previous) Learn(stage, links_[Forward(stage - 1)]);
    if (in.pop_next) Learn(stage, links_[Backward(stage)]);
    known_at_start_[index] = knows_[stage];
    known_at_start_[index][stage] = started_[stage]++;
  }
  // The instruction is done: gives its tokens.
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
  // Returns the instructions that instruction `index`, which has started, knows to be done before it ends.
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
  // Between stage `lower` and the one behind it.
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
  std::array<Done, kStages> knows_{};  // each stage, from tokens
  std::vector<Done> known_at_start_;   // by instruction
};

// The elements of a load on chip, in order, as requests to the read port: an element each, or one request of padding
// for a load without elements.
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
  // Whether the next request is one of data, and how many more like it follow at least, it included.
  bool data() const { return y_ >= y_begin_ && y_ < y_end_ && x_ >= x_begin_ && x_ < x_end_; }
  uint64_t Alike() const {
    if (y_ < y_begin_ || y_ >= y_end_ || x_ >= x_end_) return width_ - x_;
    return (x_ < x_begin_ ? x_begin_ : x_end_) - x_;
  }
  // Takes `count` requests, at most Alike().
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

// When requests are taken and when their words are there.
class ReadPort {
 public:
  explicit ReadPort(int latency) : latency_(static_cast<Cycle>(latency)) {}

  Cycle free_at() const { return free_at_; }
  // Takes `count` requests of `beats` each, one behind the other from cycle `at` on, and returns the cycle of the last
  // one's word. No beats: padding. Data are never kept waiting by the word before: that is there `latency_` cycles
  // after its own last beat, which is earlier.
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

#endif  // KILN_TARGETS_VTA_CYCLE_UNITS_H_
