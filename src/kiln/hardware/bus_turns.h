// Turns of read ports that share a bus, in event-driven models: the twin of rtl/bus/kiln_bus_turns.sv.
#ifndef KILN_HARDWARE_BUS_TURNS_H_
#define KILN_HARDWARE_BUS_TURNS_H_

#include <coroutine>
#include <cstdint>
#include <vector>

#include "kiln/hardware/event_kernel.h"
#include "kiln/support/check.h"

namespace kiln::hardware {

// Request by request: who asks while the bus is free gets it, round robin from behind the last one who did, and keeps
// it for the beats of the request. Requests of one cycle are all seen before one is chosen, in whatever order their
// processes run.
class BusTurns final : private EndOfCycle {
 public:
  static constexpr int64_t kWithdrawn = -1;

  BusTurns(Simulator& simulator, int masters)
      : simulator_(simulator), waiting_(static_cast<size_t>(masters)) {}

  // co_await turns.Turn(master, beats): asks from the present cycle on; goes on in the cycle after the one in which the
  // request had its turn, and gives that one, or kWithdrawn. A master asks for one request at a time.
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

  // The master asks no more, from the present cycle on. Nothing, where it does not.
  void Withdraw(int master) {
    Request& request = waiting_[static_cast<size_t>(master)];
    if (request.handle) Answer(request, kWithdrawn, simulator_.now());
  }

 private:
  struct Request {
    std::coroutine_handle<> handle;  // null: none
    int64_t beats = 0;
    int64_t taken = 0;
  };

  // Chooses at the end of this cycle, or of the first in which the bus is free.
  void Wake() {
    if (woken_) return;
    woken_ = true;
    simulator_.AtEndOf(std::max(simulator_.now(), free_), this);
  }
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
  void Answer(Request& request, int64_t taken, int64_t at) {
    request.taken = taken;
    simulator_.Schedule(at, std::exchange(request.handle, nullptr));
  }

  Simulator& simulator_;
  std::vector<Request> waiting_;
  size_t first_ = 0;  // who comes first
  int64_t free_ = 0;
  bool woken_ = false;
};

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_BUS_TURNS_H_
