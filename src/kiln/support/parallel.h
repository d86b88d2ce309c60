// Parallel loops with results that do not depend on the number of threads.
//
// A loop is divided by index into pieces of fixed size, never by thread. Graphs of dependent tasks
// use tasks.h instead.
#ifndef KILN_SUPPORT_PARALLEL_H_
#define KILN_SUPPORT_PARALLEL_H_

#include <cstdint>
#include <functional>

namespace kiln {

// Sets the number of threads that ParallelFor may use from now on. 0, the default, means one per
// hardware thread.
void SetThreadCount(int threads);
// Returns the number of threads that ParallelFor may use; at least 1.
int ThreadCount();

// Calls body(begin, end) for disjoint pieces of at most `grain` indices that cover [0, count), and
// blocks until all calls have returned. Pieces run concurrently and in any order, and must not
// depend on each other. `body` may call ParallelFor.
void ParallelFor(int64_t count, int64_t grain,
                 const std::function<void(int64_t begin, int64_t end)>& body);

// Calls body(). A thread that waits for the end of a ParallelFor in `body` takes no pieces of loops
// outside `body`. Whoever calls ParallelFor while holding a mutex needs this: such a piece might
// lock the same mutex.
void RunIsolated(const std::function<void()>& body);

}  // namespace kiln

#endif  // KILN_SUPPORT_PARALLEL_H_
