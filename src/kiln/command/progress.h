// Progress bars on one line of a terminal, for work that takes seconds or longer.
#ifndef KILN_COMMAND_PROGRESS_H_
#define KILN_COMMAND_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>

namespace kiln::cli {

// A bar for one piece of work. It is redrawn at most ten times per second, not drawn in the first
// half second, and erased at the end. If the work reports the name of its current part, the bar is
// redrawn at once and shows the name instead of the time left.
class Progress {
 public:
  // Creates a bar for `total` units of work. It draws nothing unless `show`.
  Progress(std::ostream& err, bool show, std::string title, int64_t total);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();
  // Sets the work done and the name of the current part. May be called from any thread.
  void Update(int64_t done, const std::string& what = "");

 private:
  using Clock = std::chrono::steady_clock;
  std::ostream& err_;
  const bool show_;
  const std::string title_;
  const int64_t total_;
  const Clock::time_point start_ = Clock::now();
  std::mutex mutex_;
  Clock::time_point next_ = start_ + std::chrono::milliseconds(500);
  bool drawn_ = false;
  std::string what_;
};

// A sequence of bars, one per step. With `lines` and without bars, prints the name of each step on
// a line of its own when the step begins.
class ProgressBars {
 public:
  ProgressBars(std::ostream& err, bool show, bool lines = false)
      : err_(err), show_(show), lines_(lines && !show) {}
  // Returns a callback with parameters step name, done and total; valid as long as the object.
  std::function<void(const std::string&, int64_t, int64_t)> Callback();
  // Updates the bar of a step, replacing the bar of another step. `what` is as in Progress::Update.
  // May be called from any thread.
  void Show(const std::string& step, int64_t done, int64_t total, const std::string& what);

 private:
  std::mutex mutex_;
  std::ostream& err_;
  const bool show_, lines_;
  std::string step_;
  std::unique_ptr<Progress> bar_;
};

}  // namespace kiln::cli

#endif  // KILN_COMMAND_PROGRESS_H_
