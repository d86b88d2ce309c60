// Implements ParallelFor and the global thread limit with oneTBB.

#include "kiln/support/parallel.h"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <thread>

namespace kiln {
namespace {

// The process-wide thread limit. `threads` is 0 for one thread per hardware thread.
struct Control {
  std::mutex mutex;
  int threads = 0;
  std::unique_ptr<tbb::global_control> limit;
};

// Returns the only Control.
Control& GetControl() {
  // Leaked on purpose: worker threads may still use it while static objects are destroyed.
  static Control* control = new Control;
  return *control;
}

}  // namespace

void SetThreadCount(int threads) {
  Control& control = GetControl();
  std::lock_guard lock(control.mutex);
  control.limit.reset();
  control.threads = std::max(threads, 0);
  if (threads > 0) {
    control.limit = std::make_unique<tbb::global_control>(
        tbb::global_control::max_allowed_parallelism, threads);
  }
}

int ThreadCount() {
  Control& control = GetControl();
  std::lock_guard lock(control.mutex);
  return control.threads > 0 ? control.threads : std::max(1u, std::thread::hardware_concurrency());
}

void ParallelFor(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
  if (count <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  // The bounds of a piece depend on `count` and `grain` only, never on the number of threads: a sum
  // that is computed per piece is therefore the same for every thread count.
  const int64_t pieces = (count + grain - 1) / grain;
  if (pieces == 1) {
    body(0, count);
    return;
  }
  tbb::parallel_for(
      tbb::blocked_range<int64_t>(0, pieces, 1),
      [&](const tbb::blocked_range<int64_t>& range) {
        for (int64_t piece = range.begin(); piece != range.end(); ++piece) {
          body(piece * grain, std::min(count, (piece + 1) * grain));
        }
      },
      // One TBB task per piece, for an even load: pieces may differ in cost.
      tbb::simple_partitioner());
}

void RunIsolated(const std::function<void()>& body) {
  tbb::this_task_arena::isolate([&] { body(); });
}

}  // namespace kiln
