// The loop over the images of a batch, which the reference level and all accelerator families
// share: images in parallel, one or several at once, the error of the lowest image, progress, and
// the results of single images joined to tensors of the batch.
#ifndef KILN_EXECUTE_RUN_BATCH_H_
#define KILN_EXECUTE_RUN_BATCH_H_

#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "kiln/ir/tensor.h"
#include "kiln/support/status.h"

namespace kiln {

// Receives the number of images that are done and the number of all images. Called from one thread
// at a time, with a growing `done`, after each group of images that has not failed.
using BatchProgress = std::function<void(int64_t done, int64_t total)>;

// Images [first, first + count) of a batch, which one call works on.
struct ImageGroup {
  int64_t first = 0;
  int64_t count = 1;
};

struct BatchLoop {
  int64_t images = 0;
  int64_t at_once = 1;          // images of a group; the last group has the rest
  bool first_alone = false;     // the first group ends before another begins
  BatchProgress progress = {};  // may be empty
};

// Calls `run` for the groups of a batch, in parallel (support/parallel.h). Does not start a group
// that is above an image known to have failed.
//   errors  that of the lowest image that fails, for any number of threads. A group of several
//           images that fails is run again image by image, because the image that stopped it need
//           not be its lowest; if none fails alone, the error is the group's.
Status RunGroups(const BatchLoop& loop, const std::function<Status(const ImageGroup&)>& run);

// Joins the results of single images to tensors of the batch (ir/batch_shape.h).
class BatchTensors {
 public:
  explicit BatchTensors(int64_t images) : images_(images) {}

  // Copies the tensors of one image to their places. All images have as many tensors, of the same
  // types and shapes. Threads may add different images at once.
  void Add(int64_t image, std::span<const Tensor> tensors);
  // Returns one tensor for each of an image's; none if no image was added.
  std::vector<Tensor> Take() { return std::move(tensors_); }

 private:
  const int64_t images_;
  std::once_flag allocated_;
  std::vector<Tensor> tensors_;
};

}  // namespace kiln

#endif  // KILN_EXECUTE_RUN_BATCH_H_
