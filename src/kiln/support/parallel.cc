#include "kiln/support/parallel.h"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <thread>

namespace kiln {
namespace {

struct Control {
  std::mutex mutex;
  int threads = 0;
  std::unique_ptr<tbb::global_control> limit;
};

Control& GetControl() {
  static Control* control = new Control;  // never destroyed: threads may outlive static objects
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
      tbb::simple_partitioner());
}

}  // namespace kiln
