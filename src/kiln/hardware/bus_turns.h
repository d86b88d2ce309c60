// Round-robin arbitration of the read requests of several ports on one bus, for event-driven
// models. The counterpart of rtl/bus/kiln_bus_turns.sv.
#ifndef KILN_HARDWARE_BUS_TURNS_H_
#define KILN_HARDWARE_BUS_TURNS_H_

#include <coroutine>
#include <cstdint>
#include <vector>

#include "kiln/hardware/event_kernel.h"
#include "kiln/support/check.h"

namespace kiln::hardware {

// The arbiter. When the bus is free, it is granted to one of the requesting masters, in round-robin
// order after the last master that was granted; that master holds it for the beats of its request.
// All requests of a cycle are considered before one is granted, whatever the order in which their
// processes run.
class BusTurns final : private EndOfCycle {
 public:
  static constexpr int64_t kWithdrawn = -1;  // the result of Turn for a withdrawn request

  BusTurns(Simulator& simulator, int masters)
      : simulator_(simulator), waiting_(static_cast<size_t>(masters)) {}

  // co_await turns.Turn(master, beats): requests the bus from the present cycle on. Resumes in the
  // cycle after the grant and returns the cycle of the grant, or kWithdrawn. A master has at most
  // one request at a time.
  auto Turn(int master, int64_t beats) {
    struct Awaiter {
      BusTurns& turns;
      Request& request;
      int64_t beats;
      bool await_ready() const { return false; }
      void await_suspend(std::coroutine_handle<> handle) {
        KILN_CHECK(!request.handle && beats > 0);
        request.handle = handle;
        request.beats = beats;
        turns.Wake();
      }
      int64_t await_resume() const { return request.taken; }
    };
    return Awaiter{*this, waiting_[static_cast<size_t>(master)], beats};
  }

  // Withdraws the request of a master from the present cycle on. Does nothing if it has none.
  void Withdraw(int master) {
    Request& request = waiting_[static_cast<size_t>(master)];
    if (request.handle) Answer(request, kWithdrawn, simulator_.now());
  }

 private:
  // The request of one master.
  struct Request {
    std::coroutine_handle<> handle;  // null: no request
    int64_t beats = 0;
    int64_t taken = 0;  // cycle of the grant, or kWithdrawn
  };

  // Schedules the next decision for the end of this cycle, or of the first cycle with a free bus.
  void Wake() {
    if (woken_) return;
    woken_ = true;
    simulator_.AtEndOf(std::max(simulator_.now(), free_), this);
  }
  // Grants the bus to the first requesting master in round-robin order.
  void At(int64_t cycle) override {
    woken_ = false;
    const size_t masters = waiting_.size();
    for (size_t i = 0; i < masters; ++i) {
      Request& request = waiting_[(first_ + i) % masters];
      if (!request.handle) continue;
      first_ = (first_ + i + 1) % masters;
      free_ = cycle + request.beats;
      Answer(request, cycle, cycle + 1);
      break;
    }
    for (const Request& request : waiting_) {
      if (!request.handle) continue;
      woken_ = true;
      simulator_.AtEndOf(free_, this);
      return;
    }
  }
  // Resumes the process of a request in cycle `at`.
  void Answer(Request& request, int64_t taken, int64_t at) {
    request.taken = taken;
    simulator_.Schedule(at, std::exchange(request.handle, nullptr));
  }

  Simulator& simulator_;
  std::vector<Request> waiting_;
  size_t first_ = 0;    // the master with the highest priority
  int64_t free_ = 0;    // first cycle in which the bus is free
  bool woken_ = false;  // a decision is scheduled
};

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_BUS_TURNS_H_
