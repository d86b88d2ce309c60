// A progress bar on one line of a terminal, for work that takes seconds.
#ifndef KILN_CLI_PROGRESS_H_
#define KILN_CLI_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>

namespace kiln::cli {

// Draws at most ten times a second, nothing in the first half second, and wipes its line in the end. A piece of work
// that has a name is shown at once, with its name in place of the time that is left.
class Progress {
 public:
  // Draws nothing unless `show`.
  Progress(std::ostream& err, bool show, std::string title, int64_t total);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();
  void Update(int64_t done, const std::string& what = "");  // from any thread

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

// One bar after the other, a new one for each step. With `lines`, where there are no bars, a step's name on a line of
// its own when it begins.
class ProgressBars {
 public:
  ProgressBars(std::ostream& err, bool show, bool lines = false)
      : err_(err), show_(show), lines_(lines && !show) {}
  // Of step name, done, total; valid as long as the bars are.
  std::function<void(const std::string&, int64_t, int64_t)> Callback();
  // What is begun: `what`, as in Progress. From any thread.
  void Show(const std::string& step, int64_t done, int64_t total, const std::string& what);

 private:
  std::mutex mutex_;
  std::ostream& err_;
  const bool show_, lines_;
  std::string step_;
  std::unique_ptr<Progress> bar_;
};

}  // namespace kiln::cli

#endif  // KILN_CLI_PROGRESS_H_
