// Models of rtl/bus/kiln_axi_read_port.sv and kiln_axi_write_port.sv behind a memory whose time
// depends on what all ports request: each burst is booked in the cycle of its handshake with the
// memory, in the object that the memory of the testbenches uses. Cycle levels step these models
// cycle by cycle where the memory's latency is not one number.
//
// A cycle `now` of a port consists of
//
//   port.ready(now), port.Request(now, ...)     the unit's side
//   port.Sample(now)                            the memory's side, for all ports in the
//                                               testbench's order
//
// The memory accepts an address in every cycle, and a master accepts its words at once.
#ifndef KILN_HARDWARE_AXI_PORT_MODEL_H_
#define KILN_HARDWARE_AXI_PORT_MODEL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "../../../rtl/testbench/kiln_memory_timing.h"
#include "kiln/hardware/axi_port.h"
#include "kiln/support/check.h"

namespace kiln::hardware {

using testbench::AxiTiming;
using testbench::MemoryBus;

inline constexpr uint64_t kNeverDone = ~uint64_t{0};

// Returns how many of `beats` beats from beat `place` of the memory on are in their first burst
// (kiln_axi_bursts.sv).
inline uint64_t BeatsOfBurst(uint64_t place, uint64_t beats, uint64_t port_bytes) {
  const uint64_t page = std::min<uint64_t>(4096 / port_bytes, 256);
  return std::min(beats, page - place % page);
}

// A bus on which read ports request: one port alone, or several behind kiln_axi_arbiter.sv. Ports
// that share a bus must not request in the same cycle (kiln_bus_turns.sv).
struct AxiReadBus {
  MemoryBus& memory;
  uint64_t address_delay = 0;  // cycles in which an address passes to the memory: 1 in an arbiter
  testbench::ReadTimes times{};
  uint64_t last_beat = 0;  // when the last beat so far is accepted
};

// A read port. `Tag` identifies a request when its word arrives.
template <typename Tag>
class AxiReadPortModel {
 public:
  // `outstanding` is the number of requests that can be in flight. With `holds_words`, a word stays
  // at the output until the cycle that TakeWord states; otherwise it is taken at once.
  AxiReadPortModel(AxiReadBus& bus, int64_t port_bytes, size_t outstanding,
                   bool holds_words = false)
      : bus_(bus),
        port_bytes_(static_cast<uint64_t>(port_bytes)),
        outstanding_(outstanding),
        holds_words_(holds_words) {}

  // Returns whether the port accepts a request in cycle `now`.
  bool ready(uint64_t now) {
    while (!popped_.empty() && popped_.front() < now) popped_.pop_front();
    return now >= free_at_ && waiting_.size() + popped_.size() < outstanding_;
  }
  // Requests `bytes` bytes from `address` on, in a cycle in which the port is ready. Without bytes
  // it is a null request.
  void Request(uint64_t now, uint64_t address, uint64_t bytes, const Tag& tag) {
    const auto beats = static_cast<uint64_t>(
        BeatsOf(address, static_cast<int64_t>(bytes), static_cast<int64_t>(port_bytes_)));
    free_at_ = now + std::max<uint64_t>(beats, 1);
    // A null request leaves the queue one cycle after it entered, or after the request before it.
    waiting_.push_back({beats == 0 ? now + 1 : 0, beats, 0, tag});
    uint64_t place = address / port_bytes_, left = beats;
    for (uint64_t cycle = now + 1 + bus_.address_delay; left > 0; ++cycle) {
      const uint64_t burst = BeatsOfBurst(place, left, port_bytes_);
      bursts_.push_back({cycle, place * port_bytes_, burst});
      place += burst;
      left -= burst;
      ++waiting_.back().bursts;
    }
    Resolve();
  }
  // Performs the handshake of the memory's address channel in cycle `now`.
  void Sample(uint64_t now) {
    if (bursts_.empty() || bursts_.front().cycle > now) return;
    KILN_CHECK(bursts_.front().cycle == now);
    const Burst burst = bursts_.front();
    bursts_.pop_front();
    Waiting& request = waiting_[booked_];
    bus_.times.Book(bus_.memory, now, burst.address, burst.beats, port_bytes_,
                    [&](uint64_t cycle) { request.last = std::max(cycle, request.last + 1); });
    --request.bursts;
    Resolve();
  }

  // Returns the cycle in which the oldest word is at the output, or kNeverDone while that is open:
  // the memory has still to accept one of its addresses, or the port holds an earlier word. Words
  // leave in the order of their requests, at most one per cycle.
  uint64_t next_word() const { return words_.empty() ? kNeverDone : words_.front().cycle; }
  // Returns the tag of that word.
  const Tag& next_tag() const { return words_.front().tag; }
  // Takes that word; with `holds_words` in cycle `taken`.
  Tag TakeWord(uint64_t taken = 0) {
    const Tag tag = words_.front().tag;
    words_.pop_front();
    output_free_ = taken;
    if (holds_words_) Resolve();
    return tag;
  }
  // Returns whether an address has still to be accepted by the memory.
  bool asks() const { return !bursts_.empty(); }
  // Returns whether requests are in flight, or words wait at the output.
  bool busy() const { return !waiting_.empty() || !words_.empty(); }

 private:
  struct Waiting {
    uint64_t last;  // when the last beat so far would be accepted if the port never waited
    uint64_t beats;
    uint64_t bursts;  // whose times are not known yet; 0 for a null request
    Tag tag;
  };
  struct Burst {
    uint64_t cycle;  // of its handshake
    uint64_t address, beats;
  };
  struct Word {
    uint64_t cycle;
    Tag tag;
  };

  // Finds when requests leave the queue: with their last beats, which follow each other on the bus
  // and are accepted while the output is free.
  void Resolve() {
    while (booked_ < waiting_.size() && waiting_[booked_].bursts == 0) ++booked_;
    for (; booked_ > 0 && !(holds_words_ && !words_.empty()); --booked_) {
      const Waiting& oldest = waiting_.front();
      uint64_t first = std::max(last_beat_ + 1, output_free_);
      if (oldest.beats > 0) first = std::max(first, bus_.last_beat + 1) + oldest.beats - 1;
      last_beat_ = std::max(first, oldest.last);
      if (oldest.beats > 0) bus_.last_beat = last_beat_;
      popped_.push_back(last_beat_);
      words_.push_back({last_beat_ + 1, oldest.tag});
      waiting_.pop_front();
    }
  }

  AxiReadBus& bus_;
  const uint64_t port_bytes_;
  const size_t outstanding_;
  const bool holds_words_;
  uint64_t free_at_ = 0;    // first cycle after the beats of the last request
  uint64_t last_beat_ = 0;  // when the last beat so far is accepted, or the last null request ends
  uint64_t output_free_ = 0;  // when the word taken last leaves the output
  std::deque<Waiting> waiting_;
  size_t booked_ = 0;  // of these, the oldest ones: all of their addresses have been accepted
  std::deque<Burst> bursts_;
  std::deque<uint64_t> popped_;  // when requests leave the queue that limits those in flight
  std::deque<Word> words_;
};

// A write port. `Tag` identifies a request when it is in memory.
template <typename Tag>
class AxiWritePortModel {
 public:
  // `outstanding` is the number of bursts that can be in flight, and `delay` the cycles in which
  // addresses and beats pass to the memory: 1 behind kiln_axi_arbiter.sv or kiln_shared_bus.sv.
  AxiWritePortModel(MemoryBus& bus, int64_t port_bytes, size_t outstanding, uint64_t delay = 0)
      : bus_(bus),
        port_bytes_(static_cast<uint64_t>(port_bytes)),
        outstanding_(outstanding),
        delay_(delay) {}

  // Returns whether the port accepts a request in cycle `now`.
  bool ready(uint64_t now) { return now >= free_at_ && left_ == 0 && HasRoom(now); }
  // Requests that `bytes` bytes, at least 1, are written from `address` on, in a cycle in which the
  // port is ready.
  void Request(uint64_t now, uint64_t address, uint64_t bytes, const Tag& tag) {
    left_ = static_cast<uint64_t>(
        BeatsOf(address, static_cast<int64_t>(bytes), static_cast<int64_t>(port_bytes_)));
    place_ = address / port_bytes_;
    free_at_ = now + left_;
    data_at_ = now;
    tag_ = tag;
    ++in_flight_;
    Push(now);
  }
  // Performs the handshakes of the address and data channels in cycle `now`.
  void Sample(uint64_t now) {
    if (left_ > 0 && now > pushed_at_ && HasRoom(now)) Push(now);
    while (!bursts_.empty() && bursts_.front().complete <= now) {
      const Burst burst = bursts_.front();
      bursts_.pop_front();
      const uint64_t response = times_.Book(bus_, now, burst.address, burst.beats, port_bytes_);
      responses_.push_back(response);
      if (burst.last) done_.push_back({response + 1, burst.tag});
    }
  }

  // Returns the cycle in which the port reports the oldest request as done, or kNeverDone while
  // the memory has not accepted its address and all of its data.
  uint64_t next_done() const { return done_.empty() ? kNeverDone : done_.front().cycle; }
  Tag TakeDone() {
    const Tag tag = done_.front().tag;
    idle_from_ = done_.front().cycle + 1;
    done_.pop_front();
    --in_flight_;
    return tag;
  }
  // Returns whether nothing is outstanding in cycle `now`, if all requests that are done before it
  // have been taken.
  bool idle(uint64_t now) const { return in_flight_ == 0 && now >= idle_from_; }
  // Returns whether addresses or data have still to be accepted by the memory.
  bool asks() const { return left_ > 0 || !bursts_.empty(); }
  // Returns whether requests are in flight.
  bool busy() const { return in_flight_ > 0; }

 private:
  struct Burst {
    uint64_t complete;  // when the memory has accepted its address and its last beat
    uint64_t address, beats;
    bool last;  // of its request
    Tag tag;
  };
  struct Done {
    uint64_t cycle;
    Tag tag;
  };

  bool HasRoom(uint64_t now) {
    while (!responses_.empty() && responses_.front() < now) responses_.pop_front();
    return bursts_.size() + responses_.size() < outstanding_;
  }
  // Passes the next burst of the current request to the address channel. Its beats follow the
  // request by one cycle each.
  void Push(uint64_t now) {
    const uint64_t beats = BeatsOfBurst(place_, left_, port_bytes_);
    data_at_ += beats;  // one cycle after the last beat is offered to its queue
    bursts_.push_back(
        {std::max(now + 1, data_at_) + delay_, place_ * port_bytes_, beats, beats == left_, tag_});
    place_ += beats;
    left_ -= beats;
    pushed_at_ = now;
  }

  MemoryBus& bus_;
  const uint64_t port_bytes_;
  const size_t outstanding_;
  const uint64_t delay_;
  testbench::WriteTimes times_;
  uint64_t free_at_ = 0;  // first cycle after the beats of the last request
  // The current request: its beats without a burst, where they begin, and when the next beat's
  // handshake is one cycle away.
  uint64_t left_ = 0, place_ = 0, data_at_ = 0, pushed_at_ = 0;
  Tag tag_{};
  uint64_t in_flight_ = 0, idle_from_ = 0;
  std::deque<Burst> bursts_;        // that are not booked yet
  std::deque<uint64_t> responses_;  // of bursts in flight, and their cycles
  std::deque<Done> done_;
};

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_AXI_PORT_MODEL_H_
