// Runs the images of a batch in groups, in parallel. Results and errors keep the images' order.
#include "kiln/execute/run_batch.h"

#include <algorithm>
#include <utility>

#include "kiln/ir/batch_shape.h"
#include "kiln/support/check.h"
#include "kiln/support/integer.h"
#include "kiln/support/parallel.h"

namespace kiln {
namespace {

// The error of the lowest group that has failed, whichever thread met it first.
class LowestError {
 public:
  void Report(int64_t image, const Status& status) {
    std::lock_guard lock(mutex_);
    if (image_ >= 0 && image_ < image) return;
    image_ = image;
    status_ = status;
  }
  // Returns whether no image below this one has failed.
  bool CouldBe(int64_t image) const {
    std::lock_guard lock(mutex_);
    return image_ < 0 || image < image_;
  }
  Status status() const {
    std::lock_guard lock(mutex_);
    return status_;
  }

 private:
  mutable std::mutex mutex_;
  int64_t image_ = -1;
  Status status_;
};

// Returns the error of the group's lowest image that fails alone, else `together`.
Status ErrorOfOne(const ImageGroup& group, const Status& together,
                  const std::function<Status(const ImageGroup&)>& run) {
  for (int64_t i = 0; group.count > 1 && i < group.count; ++i) {
    if (Status alone = run({group.first + i, 1}); !alone.ok()) return alone;
  }
  return together;
}

}  // namespace

Status RunGroups(const BatchLoop& loop, const std::function<Status(const ImageGroup&)>& run) {
  KILN_CHECK(loop.at_once > 0);
  const int64_t groups = CeilDivide(loop.images, loop.at_once);
  LowestError error;
  std::mutex mutex;  // of `done` and the progress call
  int64_t done = 0;
  const auto run_group = [&](int64_t index) {
    const int64_t first = index * loop.at_once;
    const ImageGroup group{first, std::min(loop.at_once, loop.images - first)};
    if (!error.CouldBe(first)) return;
    if (const Status status = run(group); !status.ok()) {
      error.Report(first, ErrorOfOne(group, status, run));
      return;
    }
    if (!loop.progress) return;
    std::lock_guard lock(mutex);
    done += group.count;
    loop.progress(done, loop.images);
  };
  const int64_t alone = loop.first_alone ? std::min<int64_t>(groups, 1) : 0;
  if (alone > 0) run_group(0);
  ParallelFor(groups - alone, 1, [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) run_group(alone + index);
  });
  return error.status();
}

void BatchTensors::Add(int64_t image, std::span<const Tensor> tensors) {
  std::call_once(allocated_, [&] {
    for (const Tensor& one : tensors) {
      tensors_.emplace_back(one.type(), BatchShape(one.shape(), images_));
    }
  });
  KILN_CHECK(tensors.size() == tensors_.size());
  for (size_t i = 0; i < tensors.size(); ++i) SetSample(tensors[i], image, &tensors_[i]);
}

}  // namespace kiln
