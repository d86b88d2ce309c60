// Runs tasks on threads in dependency order, with the same error as a sequential run would have.
//
// One thread executes the lane in index order; the other threads take the ready shared task with
// the lowest index.

#include "kiln/support/tasks.h"

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "kiln/support/check.h"

namespace kiln {
namespace {

// Runs the work of a task. Converts exceptions to errors: an exception that left the thread would
// end the program, and other threads would wait for this task forever.
Status Work(const Task& task) {
  try {
    return task.work();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory");
  } catch (const std::exception& error) {
    return absl::InternalError(std::string("a fault of Kiln: ") + error.what());
  }
}

// Runs all tasks on the calling thread in index order; stops at the first error.
Status RunInOrder(std::span<const Task> tasks) {
  for (const Task& task : tasks) KILN_RETURN_IF_ERROR(Work(task));
  return OkStatus();
}

// The shared state of one RunTasks call. Every thread runs either RunLane or RunShared.
class TaskRun {
 public:
  // Counts the open dependencies of every task and finds those that are ready at once.
  explicit TaskRun(std::span<const Task> tasks)
      : tasks_(tasks), waiting_(tasks.size()), successors_(tasks.size()) {
    for (size_t i = 0; i < tasks.size(); ++i) {
      waiting_[i] = tasks[i].after.size();
      for (const size_t before : tasks[i].after) {
        KILN_CHECK(before < i);
        successors_[before].push_back(i);
      }
      if (tasks[i].in_lane) continue;
      ++shared_left_;
      if (waiting_[i] == 0) ready_.insert(i);
    }
  }

  // Runs the tasks of the lane in index order, waiting for the dependencies of each.
  void RunLane() {
    std::unique_lock lock(mutex_);
    for (size_t task = 0; task < tasks_.size(); ++task) {
      if (!tasks_[task].in_lane) continue;
      changed_.wait(lock, [&] { return waiting_[task] == 0; });
      RunOne(task, lock);
    }
  }

  // Runs ready shared tasks, lowest index first, until all of them have been started.
  void RunShared() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return !ready_.empty() || shared_left_ == 0; });
      if (ready_.empty()) return;
      const size_t task = *ready_.begin();
      ready_.erase(ready_.begin());
      --shared_left_;
      RunOne(task, lock);
    }
  }

  // The error of the first failed task by index; OK if none failed.
  Status failure() const { return failure_; }

 private:
  // Runs one task with `lock` released, then makes its successors ready. A task with a higher index
  // than the first failed one is skipped but still counts as done, so that no thread waits for it.
  // Since a task depends on lower indices only, every task before the first failure does run: the
  // reported error is the error of a sequential run.
  void RunOne(size_t task, std::unique_lock<std::mutex>& lock) {
    if (task < first_failed_) {
      lock.unlock();
      Status status = Work(tasks_[task]);
      lock.lock();
      if (!status.ok() && task < first_failed_) {
        first_failed_ = task;
        failure_ = std::move(status);
      }
    }
    for (const size_t next : successors_[task]) {
      if (--waiting_[next] == 0 && !tasks_[next].in_lane) ready_.insert(next);
    }
    changed_.notify_all();
  }

  const std::span<const Task> tasks_;
  std::mutex mutex_;  // guards all members below
  std::condition_variable changed_;
  std::vector<size_t> waiting_;  // by task: number of dependencies that are not done
  std::vector<std::vector<size_t>> successors_;
  std::set<size_t> ready_;          // shared tasks without open dependencies
  size_t shared_left_ = 0;          // shared tasks that have not been started
  size_t first_failed_ = SIZE_MAX;  // lowest index of a failed task
  Status failure_;
};

}  // namespace

Status RunTasks(std::span<const Task> tasks, int threads) {
  KILN_CHECK(threads >= 1);
  if (threads == 1) return RunInOrder(tasks);
  TaskRun run(tasks);
  {
    std::vector<std::jthread> others;
    others.reserve(static_cast<size_t>(threads - 1));
    try {
      others.emplace_back([&run] { run.RunLane(); });
      for (int i = 2; i < threads; ++i) others.emplace_back([&run] { run.RunShared(); });
    } catch (const std::system_error&) {
      // The system has no more threads. The threads that did start share the work.
      if (others.empty()) return RunInOrder(tasks);
    }
    run.RunShared();
  }
  return run.failure();
}

}  // namespace kiln
