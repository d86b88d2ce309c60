// The recurrence of a run over its threads.

#include "kiln/targets/cgra/isa/timing.h"

#include <algorithm>
#include <vector>

#include "kiln/targets/cgra/isa/derived.h"

namespace kiln::cgra {
namespace {

// Computes the clock cycles of a run period by period. A period starts when the last one has ended,
// the thread has its inputs, and every output queue has room; deliveries wait for the thread whose
// ring entry they reuse, and results leave in the order of threads and outputs, one per cycle. Each
// of these depends on earlier periods only, so one pass over the periods suffices.
class Recurrence {
 public:
  Recurrence(const CgraProgram& program, int64_t threads, int64_t parameters)
      : program_(program),
        threads_(threads),
        interval_(program.interval),
        deliveries_(static_cast<int64_t>(program.deliveries.size())),
        outputs_(program.output_issues.size()),
        next_delivery_(parameters + 1) {
    fabric_free_ = parameters + kFirstFabricCycle;
    arrived_.resize(outputs_);
    left_.resize(outputs_);
  }

  // Follows all periods to the end of the run. Returns when the last result leaves, and when the
  // last fabric cycle is.
  std::pair<int64_t, int64_t> Follow() {
    const int64_t cycles = (threads_ - 1) * interval_ + program_.latency;
    const int64_t periods = (cycles + interval_ - 1) / interval_;
    starts_.reserve(static_cast<size_t>(periods));
    for (int64_t period = 0; period < periods; ++period) {
      int64_t start = fabric_free_;
      if (period < threads_ && deliveries_ > 0) start = std::max(start, Ready(period));
      start = WithSpace(start);
      starts_.push_back(start);
      fabric_free_ = start + interval_;
      AddResults(period);
    }
    return {last_left_, CycleAt(cycles - 1)};
  }

 private:
  // Returns the clock cycle of a fabric cycle whose period has started.
  int64_t CycleAt(int64_t fabric) const {
    return starts_[static_cast<size_t>(fabric / interval_)] + fabric % interval_;
  }

  // Returns from when on a thread has its inputs.
  int64_t Ready(int64_t thread) {
    const int64_t before = thread - program_.config.ring_entries;
    if (before >= 0) {
      const int64_t freed = CycleAt(before * interval_ + program_.latency - 1) + 1;
      next_delivery_ = std::max(next_delivery_, freed);
    }
    next_delivery_ += deliveries_;
    return next_delivery_ - 1 + kDeliveryToReady;
  }

  // Adds the results that are in queues because of a period that has started, in the order in which
  // they leave.
  void AddResults(int64_t period) {
    for (size_t output = 0; output < outputs_; ++output) {
      const int64_t last = program_.output_issues[output] + program_.config.pipeline_latency - 1;
      const int64_t thread = period - last / interval_;
      if (thread < 0 || thread >= threads_) continue;
      arrived_[output].push_back(CycleAt(thread * interval_ + last) + kResultToQueueCycles);
    }
    while (static_cast<int64_t>(arrived_[turn_].size()) > leaving_) {
      last_left_ = std::max(last_left_ + 1, arrived_[turn_][static_cast<size_t>(leaving_)]);
      left_[turn_].push_back(last_left_);
      if (++turn_ < outputs_) continue;
      turn_ = 0;
      ++leaving_;
    }
  }

  // Returns the first cycle from `start` on in which every queue has space.
  int64_t WithSpace(int64_t start) const {
    const int64_t most = program_.config.output_depth - kReservedEntries;
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t output = 0; output < outputs_; ++output) {
        const std::vector<int64_t>& in = arrived_[output];
        const int64_t count = std::upper_bound(in.begin(), in.end(), start) - in.begin();
        if (count <= most) continue;
        // This many have come; all but `most` of them must have left before.
        const int64_t needed = left_[output][static_cast<size_t>(count - most - 1)] + 1;
        moved = moved || needed > start;
        start = std::max(start, needed);
      }
    }
    return start;
  }

  const CgraProgram& program_;
  const int64_t threads_, interval_, deliveries_;
  const size_t outputs_;
  int64_t next_delivery_;
  int64_t fabric_free_ = 0;
  std::vector<int64_t> starts_;                // by period: the clock cycle of slot 0
  std::vector<std::vector<int64_t>> arrived_;  // by output and thread: when it is in its queue
  std::vector<std::vector<int64_t>> left_;     // and when it leaves
  int64_t leaving_ = 0;                        // the thread whose results leave next
  size_t turn_ = 0;
  int64_t last_left_ = -1;
};

}  // namespace

RunTimes TimesOfRun(const CgraProgram& program, int64_t threads, int64_t header) {
  const auto [left, fabric] = Recurrence(program, threads, header + 1).Follow();
  // Dispatch sees in the next cycle that both have been, and takes a header in the one after.
  return {left + 1, std::max(left, fabric) + 2};
}

int64_t CyclesOf(const CgraProgram& program, int64_t threads) {
  // Beat number i is accepted in cycle i and taken in i + 1.
  return TimesOfRun(program, threads, LoadBeats(program) + 1).last_beat + 1;
}

int64_t CyclesOfThread(const CgraProgram& program) {
  return std::max({static_cast<int64_t>(program.interval),
                   static_cast<int64_t>(program.deliveries.size()),
                   static_cast<int64_t>(program.outputs.size())});
}

}  // namespace kiln::cgra
