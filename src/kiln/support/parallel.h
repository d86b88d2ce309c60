// Parallel loops over a fixed number of threads. Work is cut by index, never by thread, so that results do not depend
// on the thread count.
#ifndef KILN_SUPPORT_PARALLEL_H_
#define KILN_SUPPORT_PARALLEL_H_

#include <cstdint>
#include <functional>

namespace kiln {

// Sets how many threads ParallelFor may use from now on; 0 means one per hardware thread (the default).
void SetThreadCount(int threads);
int ThreadCount();

// Calls body(begin, end) over disjoint pieces that cover [0, count), each at most `grain` long; blocks until all are
// done. Pieces run in any order and at once: they must not depend on each other. Nested calls are allowed.
void ParallelFor(int64_t count, int64_t grain,
                 const std::function<void(int64_t begin, int64_t end)>& body);

}  // namespace kiln

#endif  // KILN_SUPPORT_PARALLEL_H_
