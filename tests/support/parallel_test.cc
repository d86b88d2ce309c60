// Tests loops in parallel: all indices are visited, and isolated loops keep to themselves.
#include "kiln/support/parallel.h"

#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace kiln {
namespace {

TEST(ParallelFor, CoversEveryIndexOnce) {
  for (const int64_t count : {0, 1, 7, 64, 1000}) {
    for (const int64_t grain : {0, 1, 3, 64, 5000}) {
      std::vector<std::atomic<int>> visits(static_cast<size_t>(count));
      ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
        EXPECT_LE(end - begin, std::max<int64_t>(grain, 1));
        for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
      });
      for (const std::atomic<int>& visit : visits) ASSERT_EQ(visit, 1) << count << " by " << grain;
    }
  }
}

// A thread that waits in an inner loop takes pieces of the outer one unless the inner is isolated.
// Eight threads share the processor, so that some wait while others have pieces left.
TEST(RunIsolated, WaitingThreadsTakeNoOuterPieces) {
  SetThreadCount(8);
  std::atomic<int> nested = 0, ran = 0;
  tbb::task_arena(8).execute([&] {
    ParallelFor(400, 1, [&](int64_t, int64_t) {
      thread_local int depth = 0;
      nested += depth;
      ++depth;
      RunIsolated([&] {
        ParallelFor(4, 1, [&](int64_t piece, int64_t) {
          std::this_thread::sleep_for(std::chrono::microseconds(100 * piece));
          ++ran;
        });
      });
      --depth;
    });
  });
  SetThreadCount(0);
  EXPECT_EQ(nested, 0);
  EXPECT_EQ(ran, 400 * 4);
}

}  // namespace
}  // namespace kiln
