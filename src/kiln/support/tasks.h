// Runs a list of tasks with dependencies on several threads. Loops without dependencies use
// parallel.h.
#ifndef KILN_SUPPORT_TASKS_H_
#define KILN_SUPPORT_TASKS_H_

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "kiln/support/status.h"

namespace kiln {

// One unit of work in a list of tasks.
struct Task {
  std::function<Status()> work;
  // The indices of the tasks that must be done first; all lower than the task's own.
  std::vector<size_t> after;
  // Whether the task belongs to the lane: the tasks that one dedicated thread executes in index
  // order, as an accelerator beside the host would.
  bool in_lane = false;
};

// Runs all tasks and blocks until they are done. Uses up to `threads` threads including the calling
// one: one thread executes the lane, the others share the remaining tasks and take the ready task
// with the lowest index first. With one thread the calling thread runs all tasks in index order. A
// task sees the effects of the tasks that it waits for; tasks without a dependency between them run
// concurrently.
//
// Returns the error of the first task, by index, that fails; this is the error of a sequential run,
// whatever the timing of the threads. Tasks with a higher index than a failed task do not start;
// tasks with a lower index do. Exceptions in a task's work become errors: ResourceExhausted if
// memory is exhausted, otherwise Internal. All threads have ended on return. If the system refuses
// to start more threads, fewer than `threads` do the work.
Status RunTasks(std::span<const Task> tasks, int threads);

}  // namespace kiln

#endif  // KILN_SUPPORT_TASKS_H_
