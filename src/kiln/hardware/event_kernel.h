// An event-driven simulation kernel for cycle models. Units are coroutines that communicate through
// bounded queues and counters.
//
//   Process Unit(Simulator& sim, Queue<Item>& in, Queue<Item>& out) {
//     for (;;) {
//       Item item = co_await in.Pop();      // waits for an item that is ready
//       co_await sim.Delay(item.cycles);    // the unit is busy
//       co_await out.Push(item, latency);   // waits for space; the item is ready `latency` later
//     }
//   }
//
// Time is counted in whole cycles. Events of the same cycle run in the order in which they were
// scheduled, so that a simulation is a pure function of its inputs. Code that must see all events
// of a cycle, such as an arbiter, runs after them (EndOfCycle). A process that waits forever
// is not an error in itself: Run returns when no events are left, and the caller can ask which
// processes have not finished (Simulator::unfinished).
#ifndef KILN_HARDWARE_EVENT_KERNEL_H_
#define KILN_HARDWARE_EVENT_KERNEL_H_

#include <algorithm>
#include <coroutine>
#include <cstdint>
#include <deque>
#include <exception>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "kiln/support/check.h"

namespace kiln::hardware {

class Simulator;

// The coroutine type of a unit. It does not start by itself: Simulator::Spawn takes ownership and
// starts it.
class Process {
 public:
  struct promise_type {
    Process get_return_object() {
      return Process(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };

  explicit Process(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Process(Process&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Process& operator=(Process&&) = delete;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    if (handle_) handle_.destroy();
  }

 private:
  friend class Simulator;
  std::coroutine_handle<promise_type> handle_;
};

// The coroutine type of a subroutine that a process calls by co_await Name(...). It starts at once;
// its arguments must stay valid until it returns.
class Part {
 public:
  struct promise_type {
    Part get_return_object() {
      return Part(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    // Resumes the caller directly (symmetric transfer), without an event.
    std::suspend_always initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct Awaiter {
        bool await_ready() noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> handle) noexcept {
          return handle.promise().waiting;
        }
        void await_resume() noexcept {}
      };
      return Awaiter{};
    }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
    std::coroutine_handle<> waiting;  // the caller
  };

  explicit Part(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Part(Part&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Part& operator=(Part&&) = delete;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  ~Part() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting) {
    handle_.promise().waiting = waiting;
    return handle_;
  }
  void await_resume() const {}

 private:
  std::coroutine_handle<promise_type> handle_;
};

// A callback after all events of a cycle (Simulator::AtEndOf). It may only schedule events of later
// cycles.
class EndOfCycle {
 public:
  // Called after all events of `cycle`.
  virtual void At(int64_t cycle) = 0;

 protected:
  ~EndOfCycle() = default;
};

// The event queue and the clock. Owns all processes.
class Simulator {
 public:
  Simulator() = default;
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  int64_t now() const { return now_; }  // the present cycle

  // Takes ownership of a process and schedules its start in the present cycle. `name` is for
  // diagnosis.
  void Spawn(std::string name, Process process) {
    Schedule(now_, process.handle_);
    processes_.push_back({std::move(name), std::move(process)});
  }

  // Resumes `handle` in cycle `at`, which must not be in the past.
  void Schedule(int64_t at, std::coroutine_handle<> handle) {
    KILN_CHECK(at >= now_);
    events_.push({at, sequence_++, handle});
  }

  // Calls `what` after all events of cycle `at`. This is not an event: it does not advance now().
  // `what` must stay valid until then.
  void AtEndOf(int64_t at, EndOfCycle* what) {
    KILN_CHECK(at >= now_);
    ends_.push({at, sequence_++, what});
  }

  // Returns whether no process waits for a cycle.
  bool idle() const { return events_.empty(); }

  // Processes all events. Stops at the first one after cycle `limit` and then returns false.
  bool Run(int64_t limit) {
    while (!events_.empty() || !ends_.empty()) {
      // The end of a cycle is due when no event of that cycle is left.
      if (events_.empty() || (!ends_.empty() && ends_.top().at < events_.top().at)) {
        const End end = ends_.top();
        if (end.at > limit) return false;
        ends_.pop();
        end.what->At(end.at);
        continue;
      }
      const Event event = events_.top();
      if (event.at > limit) return false;
      events_.pop();
      now_ = event.at;
      event.handle.resume();
    }
    return true;
  }

  // Returns the names of processes that have not finished.
  std::vector<std::string> unfinished() const {
    std::vector<std::string> names;
    for (const auto& [name, process] : processes_) {
      if (!process.handle_.done()) names.push_back(name);
    }
    return names;
  }

  // co_await sim.WaitUntil(t): resumes in cycle t, or continues at once if t has passed.
  auto WaitUntil(int64_t at) {
    struct Awaiter {
      Simulator& simulator;
      int64_t at;
      bool await_ready() const { return at <= simulator.now_; }
      void await_suspend(std::coroutine_handle<> handle) { simulator.Schedule(at, handle); }
      void await_resume() const {}
    };
    return Awaiter{*this, at};
  }
  // co_await sim.Delay(n): resumes n cycles later. With n = 0 it continues without yielding.
  auto Delay(int64_t cycles) { return WaitUntil(now_ + cycles); }

 private:
  struct Event {
    int64_t at;
    uint64_t sequence;  // breaks ties in the order of scheduling
    std::coroutine_handle<> handle;
    bool operator<(const Event& other) const {  // reversed: std::priority_queue takes the largest
      return at != other.at ? at > other.at : sequence > other.sequence;
    }
  };
  struct End {
    int64_t at;
    uint64_t sequence;
    EndOfCycle* what;
    bool operator<(const End& other) const {
      return at != other.at ? at > other.at : sequence > other.sequence;
    }
  };
  struct Named {
    std::string name;
    Process process;
  };
  int64_t now_ = 0;
  uint64_t sequence_ = 0;
  std::priority_queue<Event> events_;
  std::priority_queue<End> ends_;
  std::vector<Named> processes_;
};

// A bounded first-in, first-out queue. An item may become ready some cycles after its push, which
// models the latency of a pipeline or memory. It occupies its entry from the push on and can be
// popped once it is ready. Items leave in the order of their pushes.
template <typename T>
class Queue {
 public:
  Queue(Simulator& simulator, size_t capacity) : simulator_(simulator), capacity_(capacity) {
    KILN_CHECK(capacity > 0);
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // The number of items, ready or not.
  size_t size() const { return items_.size(); }

  // co_await queue.Push(item, latency): waits until the queue has space.
  auto Push(T item, int64_t latency = 0) {
    struct Awaiter {
      Queue& queue;
      T item;
      int64_t latency;
      bool waited = false;
      bool await_ready() const { return queue.HasRoom(); }
      void await_suspend(std::coroutine_handle<> handle) {
        waited = true;
        queue.senders_.push_back(handle);
      }
      void await_resume() {
        if (waited) --queue.promised_;
        queue.items_.push_back({queue.simulator_.now() + latency, std::move(item)});
        queue.WakeReceiver();
      }
    };
    return Awaiter{*this, std::move(item), latency};
  }

  // Pushes an item that is ready in cycle `ripe`. The queue must have space. May be called at the
  // end of a cycle (EndOfCycle) if `ripe` is a later one.
  void Put(T item, int64_t ripe) {
    KILN_CHECK(HasRoom());
    items_.push_back({ripe, std::move(item)});
    WakeReceiver();
  }

  // T item = co_await queue.Pop(): waits until the first item is ready.
  auto Pop() {
    struct Awaiter {
      Queue& queue;
      bool waited = false;
      bool await_ready() const {
        return queue.receivers_.empty() && !queue.waking_ && !queue.items_.empty() &&
               queue.items_.front().ripe <= queue.simulator_.now();
      }
      void await_suspend(std::coroutine_handle<> handle) {
        waited = true;
        queue.receivers_.push_back(handle);
        queue.WakeReceiver();
      }
      T await_resume() {
        if (waited) queue.waking_ = false;
        T item = std::move(queue.items_.front().item);
        queue.items_.pop_front();
        queue.WakeSender();
        queue.WakeReceiver();
        return item;
      }
    };
    return Awaiter{*this};
  }

 private:
  struct Entry {
    int64_t ripe;  // first cycle in which the item is ready
    T item;
  };
  // Entries that are promised to woken senders, which have not run yet, count as occupied.
  bool HasRoom() const { return items_.size() + promised_ < capacity_ && senders_.empty(); }
  // Wakes at most one receiver at a time: another could take the item for which it is woken.
  void WakeReceiver() {
    if (waking_ || receivers_.empty() || items_.empty()) return;
    waking_ = true;
    simulator_.Schedule(std::max(items_.front().ripe, simulator_.now()), receivers_.front());
    receivers_.pop_front();
  }
  // Wakes the first waiting sender if there is space, and promises the space to it.
  void WakeSender() {
    if (senders_.empty() || items_.size() + promised_ >= capacity_) return;
    ++promised_;
    simulator_.Schedule(simulator_.now(), senders_.front());
    senders_.pop_front();
  }

  Simulator& simulator_;
  const size_t capacity_;
  size_t promised_ = 0;  // woken senders that have not pushed yet
  bool waking_ = false;  // a receiver is woken and has not popped yet
  std::deque<Entry> items_;
  std::deque<std::coroutine_handle<>> senders_, receivers_;  // waiting, in order of arrival
};

// A monotone count (instructions finished, banks released). Processes wait until it reaches a
// number.
class Counter {
 public:
  explicit Counter(Simulator& simulator) : simulator_(simulator) {}
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  int64_t value() const { return value_; }

  // Increases the count and resumes, in this cycle, the processes whose number is reached.
  void Add(int64_t n = 1) {
    value_ += n;
    for (size_t i = 0; i < waiting_.size();) {
      if (waiting_[i].first <= value_) {
        simulator_.Schedule(simulator_.now(), waiting_[i].second);
        waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
  }

  // co_await counter.AtLeast(n): waits until the count is at least n.
  auto AtLeast(int64_t n) {
    struct Awaiter {
      Counter& counter;
      int64_t n;
      bool await_ready() const { return counter.value_ >= n; }
      void await_suspend(std::coroutine_handle<> handle) {
        counter.waiting_.emplace_back(n, handle);
      }
      void await_resume() const {}
    };
    return Awaiter{*this, n};
  }

 private:
  Simulator& simulator_;
  int64_t value_ = 0;
  std::vector<std::pair<int64_t, std::coroutine_handle<>>> waiting_;  // number and process
};

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_EVENT_KERNEL_H_
