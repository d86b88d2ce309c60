// Draws progress bars with a carriage return and ANSI's "erase to end of line". Updates may come
// from many threads, so drawing is under a lock.
#include "kiln/command/progress.h"

#include <fmt/format.h>

#include <algorithm>

namespace kiln::cli {

Progress::Progress(std::ostream& err, bool show, std::string title, int64_t total)
    : err_(err), show_(show), title_(std::move(title)), total_(std::max<int64_t>(total, 1)) {}

Progress::~Progress() {
  if (drawn_) err_ << "\r\x1b[K" << std::flush;
}

void Progress::Update(int64_t done, const std::string& what) {
  if (!show_) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  const Clock::time_point now = Clock::now();
  // Redraw at most ten times per second, but show a new part at once.
  if (now < next_ && what == what_) return;
  what_ = what;
  next_ = now + std::chrono::milliseconds(100);
  constexpr int kWidth = 30;
  const double part = std::clamp(static_cast<double>(done) / static_cast<double>(total_), 0.0, 1.0);
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const int filled = static_cast<int>(part * kWidth);
  err_ << fmt::format("\r{} [{}{}] {}/{}", title_, std::string(static_cast<size_t>(filled), '#'),
                      std::string(static_cast<size_t>(kWidth - filled), '.'), done, total_);
  if (what.empty()) {
    err_ << fmt::format("  {:.0f} s left", part > 0 ? seconds * (1 - part) / part : 0);
  } else {
    err_ << "  " << what;  // named parts take unequal times, so an estimate would mislead
  }
  err_ << "\x1b[K" << std::flush;
  drawn_ = true;
}

std::function<void(const std::string&, int64_t, int64_t)> ProgressBars::Callback() {
  return
      [this](const std::string& step, int64_t done, int64_t total) { Show(step, done, total, ""); };
}

void ProgressBars::Show(const std::string& step, int64_t done, int64_t total,
                        const std::string& what) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (step != step_) {
    bar_.reset();
    if (lines_) err_ << "kiln: " << step << '\n' << std::flush;
    bar_ = std::make_unique<Progress>(err_, show_, step, total);
    step_ = step;
  }
  bar_->Update(done, what);
}

}  // namespace kiln::cli
