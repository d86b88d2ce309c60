// An event-driven kernel for cycle models: units are coroutines, connected by bounded queues and counters.
//
//   Process Unit(Simulator& sim, Queue<Item>& in, Queue<Item>& out) {
//     for (;;) {
//       Item item = co_await in.Pop();        // waits until an item is there and ripe
//       co_await sim.Delay(item.cycles);      // the unit is busy
//       co_await out.Push(item, latency);     // waits for room; the item ripens `latency` cycles later
//     }
//   }
//
// Time is in whole cycles. What happens in one cycle is ordered by when it was scheduled, so a run is a pure function
// of its inputs. What must see everything that happens in a cycle (an arbiter its requests) comes behind it
// (EndOfCycle). A process that waits for what never comes is no error by itself: Run returns when no event is left,
// and the caller sees which processes have not ended (Simulator::unfinished).
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

// The coroutine type of a unit. It starts when handed to Simulator::Spawn, which owns it from then on.
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

// A part of a process that a process waits for: co_await Name(...). It starts there; what it is given must live so
// long.
class Part {
 public:
  struct promise_type {
    Part get_return_object() {
      return Part(std::coroutine_handle<promise_type>::from_promise(*this));
    }
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
    std::coroutine_handle<> waiting;
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

// What is called behind all that happens in a cycle (Simulator::AtEndOf). It schedules nothing but later cycles.
class EndOfCycle {
 public:
  virtual void At(int64_t cycle) = 0;

 protected:
  ~EndOfCycle() = default;
};

class Simulator {
 public:
  Simulator() = default;
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  int64_t now() const { return now_; }

  // Takes over a process; it begins at the present cycle once Run gets to it. `name` is for diagnosis.
  void Spawn(std::string name, Process process) {
    Schedule(now_, process.handle_);
    processes_.push_back({std::move(name), std::move(process)});
  }

  // Resumes `handle` at cycle `at`.
  void Schedule(int64_t at, std::coroutine_handle<> handle) {
    KILN_CHECK(at >= now_);
    events_.push({at, sequence_++, handle});
  }

  // Calls `what` behind everything in cycle `at`. It is no event: it does not move now(), and must live so long.
  void AtEndOf(int64_t at, EndOfCycle* what) {
    KILN_CHECK(at >= now_);
    ends_.push({at, sequence_++, what});
  }

  // Works off all events, or stops when the next lies beyond `limit` (then returns false).
  bool Run(int64_t limit) {
    while (!events_.empty() || !ends_.empty()) {
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

  // Names of processes that have not reached their end.
  std::vector<std::string> unfinished() const {
    std::vector<std::string> names;
    for (const auto& [name, process] : processes_) {
      if (!process.handle_.done()) names.push_back(name);
    }
    return names;
  }

  // co_await sim.WaitUntil(t): goes on at cycle t, or at once when t has come.
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
  // co_await sim.Delay(n): goes on n cycles later (n = 0: at once, without giving way).
  auto Delay(int64_t cycles) { return WaitUntil(now_ + cycles); }

 private:
  struct Event {
    int64_t at;
    uint64_t sequence;
    std::coroutine_handle<> handle;
    bool operator<(const Event& other) const {  // std::priority_queue takes the greatest first
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

// A bounded queue, first in, first out. An item may need time to ripen (a pipeline's or memory's latency): it holds its
// place from the push on and can be popped once it is ripe. Items leave in the order of their pushes.
template <typename T>
class Queue {
 public:
  Queue(Simulator& simulator, size_t capacity) : simulator_(simulator), capacity_(capacity) {
    KILN_CHECK(capacity > 0);
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  size_t size() const { return items_.size(); }

  // co_await queue.Push(item, latency)
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

  // T item = co_await queue.Pop()
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
    int64_t ripe;
    T item;
  };
  // Places already promised to senders that were woken but have not run yet count as taken.
  bool HasRoom() const { return items_.size() + promised_ < capacity_ && senders_.empty(); }
  // At most one receiver is on its way at a time, so that the item it was woken for is there when it arrives.
  void WakeReceiver() {
    if (waking_ || receivers_.empty() || items_.empty()) return;
    waking_ = true;
    simulator_.Schedule(std::max(items_.front().ripe, simulator_.now()), receivers_.front());
    receivers_.pop_front();
  }
  void WakeSender() {
    if (senders_.empty() || items_.size() + promised_ >= capacity_) return;
    ++promised_;
    simulator_.Schedule(simulator_.now(), senders_.front());
    senders_.pop_front();
  }

  Simulator& simulator_;
  const size_t capacity_;
  size_t promised_ = 0;
  bool waking_ = false;
  std::deque<Entry> items_;
  std::deque<std::coroutine_handle<>> senders_, receivers_;
};

// A count that only grows; processes wait until it has reached a number (instructions finished, banks released).
class Counter {
 public:
  explicit Counter(Simulator& simulator) : simulator_(simulator) {}
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  int64_t value() const { return value_; }

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

  // co_await counter.AtLeast(n)
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
  std::vector<std::pair<int64_t, std::coroutine_handle<>>> waiting_;
};

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_EVENT_KERNEL_H_
