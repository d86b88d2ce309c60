// Tasks that wait for others, and start as soon as those are done.
#ifndef KILN_SUPPORT_TASKS_H_
#define KILN_SUPPORT_TASKS_H_

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "kiln/support/status.h"

namespace kiln {

struct Task {
  std::function<Status()> work;
  std::vector<size_t> after;  // tasks before this one that it waits for
  // One of those that a thread of their own works through in their order, as a machine beside this one would.
  bool in_lane = false;
};

// Runs all tasks and blocks until they are done. Of `threads` threads, the calling one included, one works through the
// lane and the others share the rest, of those that can start the first. With one thread, the calling one runs all in
// their order, and nothing runs beside it. A task sees what those that it waits for have done; others must not depend
// on each other.
//
// The error is that of the first task that would have failed had all run one by one in their order, whatever the
// threads do: tasks behind one that has failed no longer start, tasks before it do. Work that throws fails:
// ResourceExhausted where memory is out, else Internal. All threads are gone on return; fewer than `threads` work where
// the system gives no more.
Status RunTasks(std::span<const Task> tasks, int threads);

}  // namespace kiln

#endif  // KILN_SUPPORT_TASKS_H_
